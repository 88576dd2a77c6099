"""Prints a program with every quantizer along rows: each type of input, each
element type with its scales, both layouts.
"""

ELEMENTS = ["f8E4M3FN", "f8E5M2", "f6E3M2FN", "f6E2M3FN", "f4E2M1FN", "i8"]
LAYOUTS = ["", ", #mx.scale_layout<tcgen05>"]
ROUNDINGS = ["ceil", "floor", "even"]


def quantizer(name, source, element, scale, layout, options, factor=""):
    x, e = f"tensor<?x?x{source}>", f"tensor<?x?x{element}>"
    s = f"tensor<?x?x{scale}{layout}>"
    return f"""
func.func @{name}(%x: {x}, %e: {e}, %s: {s}, %g: f32) -> ({e}, {s}) {{
  %q:2 = mx.quantize ins(%x : {x}) {factor}outs(%e, %s : {e}, {s}) {options} -> {e}, {s}
  return %q#0, %q#1 : {e}, {s}
}}"""


count = 0
for source in ["bf16", "f16", "f32"]:
    for layout in LAYOUTS:
        for element in ELEMENTS:
            options = f"scale_rounding = {ROUNDINGS[count % 3]}"
            print(quantizer(f"k{count}", source, element, "f8E8M0FNU", layout,
                            options))
            count += 1
        print(quantizer(f"k{count}", source, "f4E2M1FN", "f8E4M3FN", layout,
                        "block_size = 16", "global_scale(%g) "))
        count += 1
