"""Prints a program with quantizers of quantized tensors, for all pairs of formats,
each intermediate type, and rows, columns and both axes. The program also contains elementwise
products of two inputs, and SwiGLU of two inputs with gathered rows.

usage: requantizers.py [N]   prints every Nth of them
"""

import sys

import swiglu

FORMATS = ["f8E4M3FN", "f8E5M2", "f6E3M2FN", "f6E2M3FN", "f4E2M1FN", "i8", "nvfp4"]
NUMBERS = ["bf16", "f16", "f32"]
LAYOUTS = ["", ", #mx.scale_layout<sf_128x4>"]
FORWARD = swiglu.prologue(swiglu.FORWARD, "%y : bf16")
every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
count = 0


def tensors(name, layout):
    if name == "nvfp4":
        return ["tensor<?x?xf4E2M1FN>", f"tensor<?x?xf8E4M3FN{layout}>"]
    return [f"tensor<?x?x{name}>", f"tensor<?x?xf8E8M0FNU{layout}>"]


def quantizer(names, numbers, out, axes, body, gather=False):
    """Prints a quantizer; `body` is computed from %gate (and %up)."""
    global count
    layout = LAYOUTS[count % 2]
    sources = [tensors(name, layout) for name in names]
    outs = tensors(out, LAYOUTS[count // 2 % 2]) * len(axes)
    inputs = [f"%x{i}" for i in range(len(names))]
    scales = [f"%s{i}" for i in range(len(names))]
    empties = [f"%o{i}" for i in range(len(outs))]
    types = [t for pair in sources for t in pair] + outs
    arguments = [v for pair in zip(inputs, scales) for v in pair] + empties
    elements = ", ".join(f"%{v}: {numbers}" for v in ["gate", "up"][:len(names)])
    function = f"""
func.func @k{count}({", ".join(f"{a}: {t}" for a, t in zip(arguments, types))}, %ps: tensor<?xf32>, %n: tensor<?xi32>,
    %g: f32) -> ({", ".join(outs)}) {{
  %q:{len(outs)} = mx.fused_quantize ins({", ".join(inputs)} : {", ".join(s[0] for s in sources)})
    input_scales({", ".join(scales)} : {", ".join(s[1] for s in sources)})
    {"global_scale(%g)" if out == "nvfp4" else ""} {"gather(%n : tensor<?xi32>)" if gather else ""}
    outs({", ".join(empties)} : {", ".join(outs)}) axes = {axes} {"block_size = 16" if out == "nvfp4" else ""}
    -> {", ".join(outs)} prologue {{
  ^bb0({elements}, %row: index, %col: index):{body}
  }}
  return {", ".join(f"%q#{i}" for i in range(len(outs)))} : {", ".join(outs)}
}}"""
    if count % every == 0:
        print(function)
    count += 1


for axes in [[1], [0], [1, 0]]:
    for numbers in NUMBERS:
        for i, name in enumerate(FORMATS):
            quantizer([name], numbers, FORMATS[(i + count // 7) % 7], axes, f"\n  mx.yield %gate : {numbers}")
        quantizer(["f8E4M3FN", "nvfp4"], numbers, "f8E4M3FN", axes, f"""
  %p = arith.mulf %gate, %up : {numbers}
  mx.yield %p : {numbers}""")
    for out in ["f8E4M3FN", "f4E2M1FN", "nvfp4", "f6E2M3FN", "i8"]:
        for gather in [False, True]:
            quantizer(["f8E5M2", "f8E4M3FN"], "bf16", out, axes, FORWARD, gather)
