"""Programs of mma.sync matmuls in every form.

A form defines the operand types, which depend on the batching of rows, columns and the
reduction, and the text between operands and results. make_program returns the functions for a
pair of formats. The compiler selects all schedules.
"""

import dataclasses

GROUPS = 8
TILED = "#mx.scale_layout<sf_128x4>"
RAGGED_ROWS = f"#mx.scale_layout<sf_128x4, ragged = rows, groups = {GROUPS}>"
RAGGED_K = f"#mx.scale_layout<sf_128x4, ragged = reduction, groups = {GROUPS}>"
SEGMENTS = f"#mx.ragged<groups = {GROUPS}, align = 128>"
SCALES = {"rows": (RAGGED_ROWS, TILED), "reduction": (RAGGED_K, RAGGED_K)}
# Values of `grouped` for which A, B and the result, in this order, contain one matrix per group.
MATRICES = [("batch", "masked"), ("batch", "masked", "rows"), ("batch", "masked", "reduction")]
PACKED = "#mxgpu.fragment_64x64"

# Epilogues with one sum, %x0, or two sums, %x0 and %x1.
BIAS = """
      %bias = tensor.extract %p[%column] : tensor<{n}xf32>
      %moved = arith.addf %x0, %bias : f32
      %one = arith.constant 1.0 : f32
      %minus = arith.negf %moved : f32
      %e = math.exp %minus : f32
      %d = arith.addf %one, %e : f32
      %v = arith.divf %moved, %d : f32"""
SWIGLU = """
      %weight = tensor.extract %p[%row] : tensor<{m}xf32>
      %one = arith.constant 1.0 : f32
      %minus = arith.negf %x0 : f32
      %e = math.exp %minus : f32
      %d = arith.addf %one, %e : f32
      %gate = arith.divf %x0, %d : f32
      %h = arith.mulf %gate, %x1 : f32
      %v = arith.mulf %h, %weight : f32"""


@dataclasses.dataclass(frozen=True)
class Form:
    """Form of a matmul besides its operand types."""

    name: str
    grouped: str = ""  # "batch", "rows", "masked" or "reduction"
    out: str = "bf16"  # f32, or an element type for a quantized result
    parts: int = 1  # number of B matrices
    region: str = ""
    alpha: bool = False
    scatter: bool = False
    accumulate: bool = False

    @property
    def is_quantized(self):
        return self.out not in ("f32", "bf16", "f16")


FORMS = [
    Form("dense"),
    Form("f32", out="f32"),
    Form("added", out="f32", accumulate=True),
    Form("alpha", alpha=True),
    Form("region", region=BIAS, alpha=True),
    Form("batch", "batch"),
    Form("batch_added", "batch", out="f32", accumulate=True),
    Form("rows", "rows"),
    Form("rows_added", "rows", out="f32", accumulate=True),
    Form("rows_region", "rows", region=BIAS),
    Form("scattered", "rows", out="f32", scatter=True),
    Form("masked", "masked"),
    Form("masked_region", "masked", region=BIAS, out="f32"),
    Form("gated", "rows", parts=2, region=SWIGLU),
    Form("masked_gated", "masked", parts=2, region=SWIGLU),
    Form("quantized", "rows", out="f8E4M3FN"),
    Form("quantized_f6", "rows", out="f6E2M3FN"),
    Form("quantized_f4", "rows", out="f4E2M1FN"),
    Form("quantized_region", "rows", out="f8E5M2", region=BIAS),
    Form("quantized_masked", "masked", out="f8E4M3FN"),
    Form("quantized_gated", "rows", out="f8E4M3FN", parts=2, region=SWIGLU),
    Form("quantized_gated_f4", "rows", out="f4E2M1FN", parts=2, region=SWIGLU),
    Form("quantized_masked_gated", "masked", out="f8E4M3FN", parts=2, region=SWIGLU),
    Form("reduction", "reduction", out="f32"),
    Form("reduction_bf16", "reduction"),
    Form("reduction_added", "reduction", out="f32", accumulate=True),
]


def divide(size, by):
    return size if size == "?" else size // by


def times(size, by):
    return size if size == "?" else size * by


def get_types(form, formats, sizes, packed):
    """Returns the types of A, its scales, B, its scales, and the results."""
    a, b, s, block = formats
    m, n, k = sizes
    blocks = divide(k, block)
    columns = times(n, form.parts)
    of_a, of_b, of_y = (f"{GROUPS}x" if form.grouped in kinds else "" for kinds in MATRICES)
    segments = f", {SEGMENTS}" if form.grouped == "reduction" else ""
    a_scales, b_scales = SCALES.get(form.grouped, (TILED, TILED))
    layout = f", {PACKED}" if packed else segments
    types = {
        "a": f"tensor<{of_a}{m}x{k}x{a}{segments}>",
        "as": f"tensor<{of_a}{m}x{blocks}x{s}, {a_scales}>",
        "b": f"tensor<{of_b}{columns}x{k}x{b}{layout}>",
        "bs": f"tensor<{of_b}{columns}x{blocks}x{s}, {b_scales}>",
    }
    if a == "bf16":
        del types["as"]
    results = [f"tensor<{of_y}{m}x{n}x{form.out}>"]
    if form.is_quantized:
        results.append(f"tensor<{of_y}{m}x{divide(n, 32)}xf8E8M0FNU, {a_scales}>")
    return types, results


def make_region(form, sizes):
    if not form.region:
        return ""
    value = "f32" if form.is_quantized else form.out
    taken = ", ".join(f"%x{i}: f32" for i in range(form.parts))
    store = "" if value == "f32" else f"\n      %t = arith.truncf %v : f32 to {value}"
    body = form.region.format(m=sizes[0], n=sizes[1])
    return (f" epilogue {{\n    ^bb0({taken}, %row: index, %column: index):{body}{store}"
            f"\n      mx.yield {'%v' if value == 'f32' else '%t'} : {value}\n  }}")


def make_function(name, form, formats, sizes, packed):
    """Returns a matmul of `sizes` (rows, columns, reduction elements)."""
    types, results = get_types(form, formats, sizes, packed)
    outs = [f"%y{i}" for i in range(len(results))]
    arguments = [f"%{key}: {type}" for key, type in types.items()]
    arguments += [f"{out}: {type}" for out, type in zip(outs, results)]
    arguments += ["%alpha: f32", f"%o: tensor<{GROUPS}xi32>", f"%to: tensor<{sizes[0]}xi32>"]
    if form.region:
        arguments.append(f"%p: tensor<{sizes[0 if form.parts == 2 else 1]}xf32>")
    is_grouped = form.grouped in ("rows", "masked", "reduction")
    ragged = "reduction" if form.grouped == "reduction" else "rows"
    clauses = [
        "mx.grouped_matmul" if is_grouped else "mx.matmul",
        f"ragged = {ragged}" if is_grouped else "",
        "masked" if form.grouped == "masked" else "",
        f"ins({', '.join('%' + key for key in types)} : {', '.join(types.values())})",
        f"offsets(%o : tensor<{GROUPS}xi32>)" if is_grouped else "",
        "alpha(%alpha)" if form.alpha else "",
        f"scatter(%to : tensor<{sizes[0]}xi32>)" if form.scatter else "",
        f"outs({', '.join(outs)} : {', '.join(results)})",
        f"block_size = {formats[3]}",
        f"num_b = {form.parts}" if form.parts > 1 else "",
        "accumulate" if form.accumulate else "",
        f"-> {', '.join(results)}" + make_region(form, sizes),
    ]
    matmul = " ".join(clause for clause in clauses if clause)
    value = "%r" + (f":{len(results)}" if len(results) > 1 else "")
    values = [f"%r#{i}" for i in range(len(results))] if len(results) > 1 else ["%r"]
    return (f"func.func @{name}({', '.join(arguments)}) -> ({', '.join(results)}) {{\n"
            f"  {value} = {matmul}\n  return {', '.join(values)} : {', '.join(results)}\n}}\n")


def is_allowed(form, formats, sizes):
    """Returns True if the operations support these sizes and formats."""
    m, n, k = sizes
    if form.grouped == "reduction" and (formats[0] == "bf16" or (k != "?" and k % 128)):
        return False
    return n == "?" or n % 128 == 0 or not (form.is_quantized or form.parts > 1)


def make_program(forms, formats, shapes, packed=False):
    """Returns the functions for a pair of formats: each form in each shape."""
    return "".join(
        make_function(f"{form.name}_{number}", form, formats, sizes, packed)
        for form in forms
        for number, sizes in enumerate(shapes)
        if is_allowed(form, formats, sizes))
