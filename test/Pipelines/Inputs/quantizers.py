"""Prints a program with every row-wise quantizer and dequantizer, for all input
types, all element types with their scales, and both layouts. The program also contains SwiGLU
forward and backward with gathered rows, and some quantizers with an amax.
"""

import swiglu

FORWARD = swiglu.prologue(swiglu.FORWARD, "%y : bf16")
BACKWARD = swiglu.prologue(swiglu.BACKWARD, "%x, %y : bf16, bf16")

ELEMENTS = ["f8E4M3FN", "f8E5M2", "f6E3M2FN", "f6E2M3FN", "f4E2M1FN", "i8"]
LAYOUTS = ["", ", #mx.scale_layout<sf_128x4>"]
ROUNDINGS = ["ceil", "floor", "even"]


def quantizer(name, source, element, scale, layout, options, factor=""):
    x, e = f"tensor<?x?x{source}>", f"tensor<?x?x{element}>"
    s = f"tensor<?x?x{scale}{layout}>"
    return f"""
func.func @{name}(%x: {x}, %e: {e}, %s: {s}, %g: f32) -> ({e}, {s}) {{
  %q:2 = mx.fused_quantize ins(%x : {x}) {factor}outs(%e, %s : {e}, {s}) {options} -> {e}, {s}
  return %q#0, %q#1 : {e}, {s}
}}"""


def with_amax(name, source, element, scale, options, factor=""):
    x, e, m = f"tensor<?x?x{source}>", f"tensor<?x?x{element}>", "tensor<f32>"
    s = f"tensor<?x?x{scale}{LAYOUTS[1]}>"
    return f"""
func.func @{name}(%x: {x}, %e: {e}, %s: {s}, %m: {m}, %g: f32) -> ({e}, {s}, {m}) {{
  %q:3 = mx.fused_quantize ins(%x : {x}) {factor}outs(%e, %s, %m : {e}, {s}, {m}) {options} amax -> {e}, {s}, {m}
  return %q#0, %q#1, %q#2 : {e}, {s}, {m}
}}"""


def dequantizer(name, result, element, scale, layout, options, factor=""):
    x, q = f"tensor<?x?x{result}>", f"tensor<?x?x{element}>"
    s = f"tensor<?x?x{scale}{layout}>"
    return f"""
func.func @{name}(%q: {q}, %s: {s}, %x: {x}, %g: f32) -> {x} {{
  %y = mx.dequantize ins(%q, %s : {q}, {s}) {factor}outs(%x : {x}) {options} -> {x}
  return %y : {x}
}}"""


def relayout(name, source, result):
    s, t = (f"tensor<?x?xf8E8M0FNU{layout}>" for layout in (source, result))
    return f"""
func.func @{name}(%s: {s}, %t: {t}) -> {t} {{
  %y = mx.relayout ins(%s : {s}) outs(%t : {t}) -> {t}
  return %y : {t}
}}"""


count = 0
for source in ["bf16", "f16", "f32"]:
    for layout in LAYOUTS:
        for element in ELEMENTS:
            options = f"scale_rounding = {ROUNDINGS[count % 3]}"
            print(quantizer(f"k{count}", source, element, "f8E8M0FNU", layout,
                            options))
            print(dequantizer(f"d{count}", source, element, "f8E8M0FNU", layout,
                              ""))
            count += 1
        nvfp4 = ("f4E2M1FN", "f8E4M3FN", layout, "block_size = 16",
                 "global_scale(%g) ")
        print(quantizer(f"k{count}", source, *nvfp4))
        print(dequantizer(f"d{count}", source, *nvfp4))
        count += 1
for source in ["bf16", "f16", "f32"]:
    for element in ["f8E4M3FN", "f6E3M2FN", "f4E2M1FN"]:
        print(with_amax(f"a{count}", source, element, "f8E8M0FNU", ""))
        count += 1
    print(with_amax(f"a{count}", source, "f4E2M1FN", "f8E4M3FN", "block_size = 16", "global_scale(%g) "))
    count += 1
print(relayout("to_tiles", *LAYOUTS))
print(relayout("from_tiles", *LAYOUTS[::-1]))

def program(name, inputs, values, gather, element, body, amax=False):
    x, e, s = "tensor<?x?xbf16>", f"tensor<?x?x{element}>", "tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>"
    ins = ", ".join(f"%{i}_t" for i in inputs)
    numbers = values if amax else 0
    types = ", ".join([e, s] * values + ["tensor<f32>"] * numbers)
    outs = ", ".join([f"%e{i}, %s{i}" for i in range(values)] + [f"%m{i}" for i in range(numbers)])
    arguments = ", ".join(f"%{i}_t: {x}" for i in inputs)
    arguments += "".join(f", %e{i}: {e}, %s{i}: {s}" for i in range(values))
    arguments += "".join(f", %m{i}: tensor<f32>" for i in range(numbers))
    results = 2 * values + numbers
    return f"""
func.func @{name}({arguments}, %ps: tensor<?xf32>, %n: tensor<?xi32>) -> ({types}) {{
  %q:{results} = mx.fused_quantize ins({ins} : {", ".join([x] * len(inputs))}) {"gather(%n : tensor<?xi32>)" if gather else ""}
    outs({outs} : {types}) {"amax" if amax else ""} -> {types} prologue {{
  ^bb0({", ".join(f"%{i}: bf16" for i in inputs)}, %row: index, %col: index):{body}
  }}
  return {", ".join(f"%q#{i}" for i in range(results))} : {types}
}}"""


for element in ["f8E4M3FN", "f4E2M1FN"]:
    for gather in [False, True]:
        for name, inputs, values, body in [("forward", ["gate", "up"], 1, FORWARD),
                                           ("backward", ["gate", "up", "dh"], 2, BACKWARD)]:
            print(program(f"{name}{count}", inputs, values, gather, element, body))
            count += 1
print(program("forward_amax", ["gate", "up"], 1, False, "f8E4M3FN", FORWARD, amax=True))
print(program("backward_amax", ["gate", "up", "dh"], 2, True, "f8E4M3FN", BACKWARD, amax=True))
