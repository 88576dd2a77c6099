"""Quantizers with producers and gathered rows: the simulator and the CPU agree.

RUN: %python %s mx-run %t sm_90a sm_100a
REQUIRES: compiler, numpy

Along rows. SwiGLU forward and backward with a weight for each row, a bias for
each column, regions that do not map 0 to 0 (padding stays 0), rows in the order
of experts with padding; tiles that are not full. mx-run itself compares every
operation with the CPU path; what IEEE 754 defines is compared with numpy too.
"""

import os
import subprocess
import sys

import ml_dtypes
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(here, "..", "CPU")]
import mx_reference as ref

mx_run, directory, *chips = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
BF16 = ml_dtypes.bfloat16

SILU = """
    %one = arith.constant 1.0 : f32
    %gf = arith.extf %gate : bf16 to f32
    %minus = arith.negf %gf : f32
    %e = math.exp %minus : f32
    %d = arith.addf %one, %e : f32
    %silu = arith.divf %gf, %d : f32
    %uf = arith.extf %up : bf16 to f32
    %p = tensor.extract %weights[%row] : !weights"""
FORWARD = SILU + """
    %h = arith.mulf %silu, %uf : f32
    %weighted = arith.mulf %h, %p : f32
    %y = arith.truncf %weighted : f32 to bf16
    mx.yield %y : bf16"""
BACKWARD = SILU + """
    %sigma = arith.divf %one, %d : f32
    %dhf = arith.extf %dh : bf16 to f32
    %dhp = arith.mulf %dhf, %p : f32
    %left = arith.subf %one, %sigma : f32
    %slope = arith.mulf %silu, %left : f32
    %dsilu = arith.addf %sigma, %slope : f32
    %dgf0 = arith.mulf %dhp, %uf : f32
    %dgf = arith.mulf %dgf0, %dsilu : f32
    %duf = arith.mulf %dhp, %silu : f32
    %dgate = arith.truncf %dgf : f32 to bf16
    mx.yield %dgate, %duf : bf16, f32"""
BIAS = """
    %b = tensor.extract %bias[%col] : !bias
    %one = arith.constant 1.0 : bf16
    %s = arith.addf %gate, %b : bf16
    %t = arith.addf %s, %one : bf16
    mx.yield %t : bf16"""


def destination(rows, columns, element, layout="", scale="f8E8M0FNU", block=32):
    encoding = f", #mx.scale_layout<{layout}>" if layout else ""
    return [f"tensor<{rows}x{columns}x{element}>", f"tensor<{rows}x{columns // block}x{scale}{encoding}>"]


def cases(rows, columns, gathered):
    """Inputs, other operands, types of results, options, region."""
    swiglu = ["gate", "up"]
    yield swiglu, "", destination(rows, columns, "f8E4M3FN", "tcgen05"), "", FORWARD
    yield swiglu, "", destination(rows, columns, "f4E2M1FN"), "scale_rounding = floor", FORWARD
    yield (swiglu, "global_scale(%scale)",
           destination(rows, columns, "f4E2M1FN", "tcgen05", "f8E4M3FN", 16), "block_size = 16", FORWARD)
    yield (swiglu + ["dh"], "", destination(rows, columns, "f8E5M2", "tcgen05") +
           destination(rows, columns, "f6E2M3FN"), "", BACKWARD)
    yield ["gate"], "", destination(rows, columns, "f8E4M3FN", "tcgen05"), "", BIAS
    yield ["gate"], "gather(%index : !index)", destination(gathered, columns, "f8E4M3FN", "tcgen05"), "", BIAS
    yield ["gate"], "gather(%index : !index)", destination(gathered, columns, "f8E4M3FN"), "", ""


def program(rows, columns, gathered):
    t = f"tensor<{rows}x{columns}xbf16>"
    lines, names, results = [], [], []
    for i, (inputs, operands, types, options, region) in enumerate(cases(rows, columns, gathered)):
        empties = [f"%e{i}_{j}" for j in range(len(types))]
        lines += [f"{e} = tensor.empty() : {t_}" for e, t_ in zip(empties, types)]
        if region:
            arguments = ", ".join(f"%{name}: bf16" for name in inputs)
            region = f"producer {{\n^bb0({arguments}, %row: index, %col: index):{region}\n}}"
        lines.append(f"""%q{i}:{len(types)} = mx.quantize ins({", ".join(f"%{name}_t" for name in inputs)}
            : {", ".join([t] * len(inputs))}) {operands} outs({", ".join(empties)} : {", ".join(types)})
            {options} -> {", ".join(types)} {region}""")
        names += [f"%q{i}#{j}" for j in range(len(types))]
        results += types
    return f"""
!weights = tensor<{rows}xf32>
!bias = tensor<{columns}xbf16>
!index = tensor<{gathered}xi32>
func.func @main(%gate_t: {t}, %up_t: {t}, %dh_t: {t}, %weights: !weights, %bias: !bias,
                %index: !index, %scale: f32) -> ({", ".join(results)}) {{
""" + "\n".join(lines) + f"\nreturn {', '.join(names)} : {', '.join(results)}\n}}\n", len(results)


def make_tensor(rng, rows, columns):
    x = (rng.standard_normal((rows, columns)) * np.exp2(rng.integers(-6, 4, (rows, 1)))).astype(BF16)
    x[:8] = rng.integers(0, 1 << 16, (8, columns)).astype(np.uint16).view(BF16)
    x[8, ::7], x[9, ::5] = np.inf, -0.0
    return x


def run(chip, rows, columns, gathered):
    rng = np.random.default_rng([rows, columns])
    text, count = program(rows, columns, gathered)
    gate, up, dh = (make_tensor(rng, rows, columns) for _ in range(3))
    bias = rng.standard_normal(columns).astype(BF16)
    index = rng.integers(-1, rows, gathered).astype(np.int32)
    index[::9] = -1
    arrays = [gate.view(np.uint16), up.view(np.uint16), dh.view(np.uint16),
              rng.uniform(0, 1, rows).astype(np.float32), bias.view(np.uint16), index, np.float32(3.5)]
    path = lambda name: os.path.join(directory, f"{chip}-{name}")
    with open(path("program.mlir"), "w") as file:
        file.write(text)
    command = [mx_run, path("program.mlir"), "--device=sim", f"--chip={chip}", "--check=cpu"]
    for i, array in enumerate(arrays):
        np.save(path(f"in{i}.npy"), array)
        command.append("--arg=" + path(f"in{i}.npy"))
    command += ["--result=" + path(f"out{i}.npy") for i in range(count)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")
    # Each of the operations was compared, and in every bit.
    assert "no bound" not in done.stdout + done.stderr, done.stdout + done.stderr
    outs = [np.load(path(f"out{i}.npy")) for i in range(count)]
    with np.errstate(all="ignore"):
        biased = ((gate + bias[None]).astype(BF16) + BF16(1)).astype(np.float32)
        taken = np.where(index[:, None] < 0, np.float32(0), biased[np.maximum(index, 0)])
        plain = np.where(index[:, None] < 0, np.float32(0), gate.astype(np.float32)[np.maximum(index, 0)])
    failures = 0
    for name, x, first, layout in [("bias", biased, 10, True), ("gathered bias", taken, 12, True),
                                   ("gathered", plain, 14, False)]:
        elements, scales = ref.quantize(x, "f8E4M3FN")
        for what, found, expected in [("elements", outs[first], elements),
                                      ("scales", outs[first + 1], ref.tile(scales) if layout else scales)]:
            wrong = np.count_nonzero(found != expected)
            if found.shape != expected.shape or wrong:
                failures += 1
                print(f"{chip} {rows}x{columns} {name} {what}: {wrong} of {expected.size} differ")
    return failures


failures = sum(run(chip, *size) for chip in chips for size in [(200, 160, 137), (128, 256, 384)])
print(f"{failures} arrays differ")
sys.exit(failures != 0)
