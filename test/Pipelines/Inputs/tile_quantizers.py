"""Prints a program with every kind of quantizer that uses shared memory. The quantizers
differ in axes, input types, element types with their scales, layouts and ragged rows.
Tiles are loaded whole or in parts, or threads compute or gather the tiles.
Some quantizers also compute the amax.

usage: tile_quantizers.py [N [CHIP]]   prints every Nth of them, for sm_100a
"""

import sys

import swiglu
from chips import adapt_quantize_schedule

FORWARD = swiglu.prologue(swiglu.FORWARD, "%y : bf16")
BACKWARD = swiglu.prologue(swiglu.BACKWARD, "%x, %y : bf16, bf16")

ELEMENTS = ["f8E4M3FN", "f8E5M2", "f6E3M2FN", "f6E2M3FN", "f4E2M1FN", "i8", "nvfp4"]
ROUNDINGS = ["ceil", "floor", "even"]
SCHEDULES = {
    2: "tile = [256, 256], threads = 256, vector = 32, stage_rows = 32, stages = 2, "
       "ctas = 2",
    1: "tile = [256, 128], threads = 128, vector = 32, stage_rows = 64, stages = 4, "
       "ctas = 2, raster = columns, atomic_counter = true",
}
GROUPS = 4
every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
chip = sys.argv[2] if len(sys.argv) > 2 else "sm_100a"
count = 0


def emit(function):
    global count
    if count % every == 0:
        print(function)
    count += 1


def destination(axis, element, layout, ragged):
    mark, scale_layout = "", ["", "#mx.scale_layout<sf_128x4>"][layout == "sf_128x4"]
    if ragged:
        kind = "rows" if axis else "reduction"
        mark = "" if axis else f", #mx.ragged<groups = {GROUPS}, align = 128>"
        scale_layout = (f"#mx.scale_layout<{layout}, ragged = {kind}, "
                        f"groups = {GROUPS}>")
    scale = "f8E4M3FN" if element == "nvfp4" else "f8E8M0FNU"
    element = "f4E2M1FN" if element == "nvfp4" else element
    if scale_layout:
        scale_layout = ", " + scale_layout
    return [f"tensor<?x?x{element}{mark}>", f"tensor<?x?x{scale}{scale_layout}>"]


def quantizer(source, axes, element, layout, ragged=False, schedule="", square="", seed="", amax=False):
    x, o = f"tensor<?x?x{source}>", f"tensor<{GROUPS}xi32>"
    types = sum((destination(a, element, layout, ragged) for a in axes), []) + ["tensor<f32>"] * amax
    names = [f"%e{i}" for i in range(len(types))]
    outs, results = ", ".join(names), ", ".join(types)
    arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, types))
    is_nvfp4 = element == "nvfp4"
    factor = "global_scale(%g) " if is_nvfp4 else ""
    offsets = f"offsets(%o : {o}) " if ragged else ""
    options = (f"block_size = 16 {square} {'amax' if amax else ''}" if is_nvfp4 else
               f"{square} {'amax' if amax else ''} scale_rounding = {ROUNDINGS[count % 3]}")
    if schedule:
        schedule = ("{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<"
                    f"{adapt_quantize_schedule(schedule, chip)}>}}")
    emit(f"""
func.func @k{count}(%x: {x}, %o: {o}, %g: f32, %seed: i64, {arguments}) -> ({results}) {{
  %q:{len(types)} = mx.fused_quantize {"ragged = rows" if ragged else ""} ins(%x : {x}) {factor}{seed}{offsets}outs({outs} : {results}) axes = {axes} {options} {schedule} -> {results}
  return {", ".join(f"%q#{i}" for i in range(len(types)))} : {results}
}}""")


for axes in [[0], [1, 0]]:
    for source in ["bf16", "f16", "f32"]:
        for element in ELEMENTS:
            quantizer(source, axes, element, ["sf_128x4", "linear"][count % 2])
            if source != "f16":
                quantizer(source, axes, element, "sf_128x4", ragged=True)
            if source == "bf16":
                quantizer(source, axes, element, "sf_128x4",
                          schedule=SCHEDULES[len(axes)])
quantizer("bf16", [1], "f8E4M3FN", "sf_128x4", ragged=True)
quantizer("bf16", [0, 1], "f8E4M3FN", "linear")
for source in ["bf16", "f16", "f32"]:
    quantizer(source, [[1], [0], [1, 0]][count % 3], "f8E4M3FN", "sf_128x4", square="square")
    quantizer(source, [1, 0], "f4E2M1FN", "linear", square="square")
    quantizer(source, [1, 0], "f8E4M3FN", "sf_128x4", seed="seed(%seed) ")
quantizer("bf16", [1, 0], "nvfp4", "sf_128x4", square="square")

NEGATE = """
  %y = arith.negf %gate : {0}
  mx.yield %y : {0}"""


def produced(inputs, values, axes, element, body="", source="bf16", gather=False, ragged=False,
             amax=False):
    """Prints a quantizer. Without a body, the quantizer only gathers rows."""
    x, n, o = f"tensor<?x?x{source}>", "tensor<?xi32>", f"tensor<{GROUPS}xi32>"
    types = sum((destination(a, element, "sf_128x4", ragged) for a in axes), []) * values
    types += ["tensor<f32>"] * values * amax
    names = [f"%e{i}" for i in range(len(types))]
    is_nvfp4 = element == "nvfp4"
    operands = (("global_scale(%g) " if is_nvfp4 else "") + (f"gather(%n : {n}) " if gather else "")
                + (f"offsets(%o : {o}) " if ragged else ""))
    region = "".join(f", %{i}: {source}" for i in inputs)[2:]
    region = f" prologue {{\n^bb0({region}, %row: index, %col: index):{body}\n}}" if body else ""
    emit(f"""
func.func @k{count}({"".join(f"%{i}_t: {x}, " for i in inputs)}%ps: tensor<?xf32>, %n: {n}, %o: {o}, %g: f32,
    {", ".join(f"{name}: {t}" for name, t in zip(names, types))}) -> ({", ".join(types)}) {{
  %q:{len(types)} = mx.fused_quantize {"ragged = rows" if ragged else ""} ins({", ".join(f"%{i}_t" for i in inputs)} : {", ".join([x] * len(inputs))})
    {operands}outs({", ".join(names)} : {", ".join(types)}) axes = {axes} {"block_size = 16" if is_nvfp4 else ""} {"amax" if amax else ""}
    -> {", ".join(types)}{region}
  return {", ".join(f"%q#{i}" for i in range(len(types)))} : {", ".join(types)}
}}""")


GATES = ["gate", "up"]
for axes in [[0], [1, 0]]:
    for element in ELEMENTS:
        produced(GATES, 1, axes, element, FORWARD)
    for element in ["f8E4M3FN", "f6E2M3FN", "f4E2M1FN"]:
        produced(GATES + ["dh"], 2, axes, element, BACKWARD)
    for source in ["bf16", "f16", "f32"]:
        produced(["gate"], 1, axes, "f8E4M3FN", source=source, gather=True)
        produced(["gate"], 1, axes, "f4E2M1FN", NEGATE.format(source), source, gather=True)
produced(GATES, 1, [0, 1], "f8E4M3FN", FORWARD)
for axes in [[1], [0], [1, 0]]:
    produced(GATES, 1, axes, "f8E4M3FN", FORWARD, ragged=True)
    produced(GATES, 1, axes, "f8E4M3FN", FORWARD, gather=True, ragged=True)

for axes in [[0], [1, 0], [0, 1]]:
    for source in ["bf16", "f16", "f32"]:
        quantizer(source, axes, "f8E4M3FN", "sf_128x4", amax=True)
    quantizer("bf16", axes, "f6E2M3FN", "linear", amax=True)
    quantizer("bf16", axes, "nvfp4", "sf_128x4", amax=True)
    quantizer("bf16", axes, "f8E4M3FN", "sf_128x4", schedule=SCHEDULES[len(axes)], amax=True)
    quantizer("bf16", axes, "f8E4M3FN", "sf_128x4", ragged=True, amax=True)
    produced(GATES, 1, axes, "f8E4M3FN", FORWARD, amax=True)
    produced(GATES + ["dh"], 2, axes, "f8E4M3FN", BACKWARD, amax=True)
    produced(GATES, 1, axes, "f8E4M3FN", FORWARD, gather=True, ragged=True, amax=True)
quantizer("f32", [1], "f8E4M3FN", "sf_128x4", square="square", amax=True)
quantizer("bf16", [1, 0], "f8E4M3FN", "sf_128x4", seed="seed(%seed) ", amax=True)
