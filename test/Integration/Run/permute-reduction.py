"""mx.permute_reduction on the CPU path and on the GPU: the numbers of numpy, in the
order that docs/reference/Spec.md gives.

RUN: %python %s mx-run %t
REQUIRES: compiler, numpy

bf16, elements with scales and groups of rows whose scales have tiles of their own;
reductions that 64 divide, and others; rows that fill no tile; a batch."""

import os
import subprocess
import sys

import ml_dtypes
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(here, "Inputs"), os.path.join(here, "..", "CPU")]
import mx_reference as ref

mx_run, directory = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
rng = np.random.default_rng(11)


def permuted(numbers):
    """By index arithmetic on each element alone."""
    columns = numbers.shape[-1]
    width, lanes = (64, 4) if columns % 64 == 0 else (32, 4)
    out = np.empty_like(numbers)
    for k in range(columns):
        t, e = k % width // (width // lanes), k % (width // lanes)
        s, h, j = e // 4, e // 2 % 2, e % 2
        out[..., k - k % width + 16 * s + 8 * h + 2 * t + j] = numbers[..., k]
    return out


def run(name, device, text, arguments):
    path = lambda file: os.path.join(directory, f"{name}-{device}-{file}")
    with open(path("program.mlir"), "w") as f:
        f.write(text)
    command = [mx_run, path("program.mlir"), f"--device={device}", "--result=" + path("out.npy")]
    command += ["--chip=sm_90a"] if device == "sim" else []
    for i, array in enumerate(arguments):
        np.save(path(f"in{i}.npy"), array)
        command.append("--arg=" + path(f"in{i}.npy"))
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return np.load(path("out.npy")).view(np.uint16)


def check(name, text, arguments, numbers):
    expected = permuted(numbers.astype(ml_dtypes.bfloat16)).view(np.uint16)
    wrong = 0
    for device in ("cpu", "sim"):
        different = int((run(name, device, text, arguments) != expected).sum())
        print(f"{name} on {device}: {different} differ")
        wrong += different
    return wrong


def of_numbers(shape):
    numbers = rng.normal(size=shape).astype(ml_dtypes.bfloat16)
    t = f"tensor<{'x'.join(map(str, shape))}xbf16>"
    text = f"""func.func @main(%x: {t}) -> {t} {{
  %e = tensor.empty() : {t}
  %y = mx.permute_reduction ins(%x : {t}) outs(%e : {t}) -> {t}
  return %y : {t}
}}
"""
    return text, [numbers.view(np.uint16)], numbers


def of_elements(rows, columns, element, scale, groups):
    block, nvfp4 = (16, True) if scale == "f8E4M3FN" else (32, False)
    width = int(element[1])
    codes = rng.integers(0, 2**width, (rows, columns)).astype(np.uint8)
    if element == "f8E4M3FN":
        codes[codes % 128 == 127] = 1  # no NaN
    low, high = (40, 80) if nvfp4 else (110, 140)
    scales = rng.integers(low, high, (rows, columns // block)).astype(np.uint8)
    numbers = ref.real(codes, scales, element, nvfp4=nvfp4)
    tq, ts = f"tensor<{rows}x{columns}x{element}>", f"tensor<{rows}x{columns // block}x{scale}"
    tr = f"tensor<{rows}x{columns}xbf16>"
    arguments = [ref.pack(codes, element), scales]
    layout = ">"
    offsets = ragged = extra = ""
    if groups:
        layout = f", #mx.scale_layout<sf_128x4, ragged = rows, groups = {len(groups)}>>"
        ends = np.cumsum(groups)
        slack = np.full(((rows // 128 + len(groups)) * 128, -(-columns // block // 4) * 4), 0xA5, np.uint8)
        begin = 0
        for group, end in enumerate(ends):  # docs/reference/Spec.md, Groups
            row = (begin // 128 + group) * 128
            slack[row:row + end - begin, :columns // block] = scales[begin:end]
            begin = end
        arguments = [arguments[0], ref.tile(slack), ends.astype(np.int32)]
        offsets, ragged = f" offsets(%o : tensor<{len(groups)}xi32>)", "ragged = rows "
        extra = f", %o: tensor<{len(groups)}xi32>"
    ts += layout
    size = " block_size = 16" if nvfp4 else ""
    text = f"""func.func @main(%q: {tq}, %s: {ts}{extra}) -> {tr} {{
  %e = tensor.empty() : {tr}
  %y = mx.permute_reduction {ragged}ins(%q : {tq}) scales(%s : {ts}){offsets} outs(%e : {tr}){size} -> {tr}
  return %y : {tr}
}}
"""
    return text, arguments, numbers


CASES = {
    "bf16": of_numbers((5, 192)),
    "bf16-32": of_numbers((130, 96)),
    "bf16-batch": of_numbers((3, 2, 128)),
    "mxfp8": of_elements(37, 256, "f8E4M3FN", "f8E8M0FNU", ()),
    "mxfp6-32": of_elements(9, 160, "f6E2M3FN", "f8E8M0FNU", ()),
    "mxfp4": of_elements(129, 64, "f4E2M1FN", "f8E8M0FNU", ()),
    "nvfp4-32": of_elements(20, 288, "f4E2M1FN", "f8E4M3FN", ()),
    "rows": of_elements(300, 128, "f8E4M3FN", "f8E8M0FNU", (100, 0, 1, 199)),
    "nvfp4-rows": of_elements(140, 96, "f4E2M1FN", "f8E4M3FN", (130, 10)),
}
sys.exit(sum(check(name, *case) for name, case in CASES.items()) != 0)
