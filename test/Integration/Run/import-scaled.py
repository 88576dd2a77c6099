"""Compares arith and linalg operations after mx-import-scaled with their upstream semantics.

RUN: %python %s mx-run mx-opt %t
REQUIRES: compiler, numpy

For arith.scaling_extf, upstream folds arith.extf and expands the remaining operations (arith-expand), which then run on
the CPU for all codes of elements and scales. Matmuls are compared with the exact sums of these numbers, on the CPU and
on the simulator.
"""

import functools

import mx_reference as ref
import numpy as np
from harness import BF16, Harness, tensor
from imported import all_codes, run_imported

test = Harness("mx_run", "mx_opt", "folder", seed=1)
rng = test.rng
imported = functools.partial(run_imported, test)
FLOATS = [name for name in ref.ELEMENTS if name != "i8"]
EXPAND = "arith-expand{include-f8e8m0=true include-f4e2m1=true}"

# ---------------------------------------------------------------------------------------------------------------------
# Numbers with scales
# ---------------------------------------------------------------------------------------------------------------------


def run_expanded(text, passes, arguments):
    return test.run(test.rewrite(text, f"--pass-pipeline=builtin.module({passes})"), arguments, 1, chip="cpu")[0]


def upstream(element):
    """Returns all codes times all scales, [scale, code], as upstream folds and expands arith.scaling_extf."""
    count = len(all_codes(element))
    # Upstream does not fold signaling NaNs, so they are replaced by quiet NaNs.
    quiet = {0x7D: 0x7E, 0xFD: 0xFE} if element == "f8E5M2" else {}
    codes = "".join(f"{quiet.get(code, code):02X}" for code in range(count))
    text = f"""
func.func @main(%s: tensor<256xi8>) -> tensor<256x{count}xf32> {{
  %codes = arith.constant dense<"0x{codes}"> : tensor<{count}x{element}>
  %x = arith.extf %codes : tensor<{count}x{element}> to tensor<{count}xf32>
  %o = tensor.empty() : tensor<256x{count}xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}} ins(%x, %s : tensor<{count}xf32>, tensor<256xi8>) outs(%o : tensor<256x{count}xf32>) {{
  ^bb0(%a: f32, %b: i8, %c: f32):
    %t = arith.bitcast %b : i8 to f8E8M0FNU
    %u = arith.extf %t : f8E8M0FNU to f32
    %m = arith.mulf %a, %u : f32
    linalg.yield %m : f32
  }} -> tensor<256x{count}xf32>
  return %r : tensor<256x{count}xf32>
}}"""
    return run_expanded(text, f"canonicalize,{EXPAND}", [np.arange(256).astype(np.uint8).view(np.int8)])


def expanded_f4():
    """Returns the results of arith.scaling_extf for f4E2M1FN that upstream expands and executes."""
    text = """
func.func @main(%e: tensor<16xi8>, %s: tensor<256xi8>) -> tensor<256x16xf32> {
  %o = tensor.empty() : tensor<256x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%e, %s : tensor<16xi8>, tensor<256xi8>) outs(%o : tensor<256x16xf32>) {
  ^bb0(%a: i8, %b: i8, %c: f32):
    %d = arith.trunci %a : i8 to i4
    %f = arith.bitcast %d : i4 to f4E2M1FN
    %t = arith.bitcast %b : i8 to f8E8M0FNU
    %m = arith.scaling_extf %f, %t : f4E2M1FN, f8E8M0FNU to f32
    linalg.yield %m : f32
  } -> tensor<256x16xf32>
  return %r : tensor<256x16xf32>
}"""
    return run_expanded(text, EXPAND, [np.arange(count).astype(np.uint8).view(np.int8) for count in (16, 256)])


def numbers(element, result, blocks):
    """Returns a program that applies scaling_extf to `blocks` blocks for each of the 256 scales."""
    width = 32 * blocks
    return f"""
func.func @main(%a: tensor<256x{width}x{element}>, %s: tensor<256x{blocks}xf8E8M0FNU>) -> tensor<256x{width}x{result}> {{
  %e = tensor.empty() : tensor<256x{blocks}x32xf8E8M0FNU>
  %w = linalg.broadcast ins(%s : tensor<256x{blocks}xf8E8M0FNU>) outs(%e : tensor<256x{blocks}x32xf8E8M0FNU>) dimensions = [2]
  %b = tensor.collapse_shape %w [[0], [1, 2]] : tensor<256x{blocks}x32xf8E8M0FNU> into tensor<256x{width}xf8E8M0FNU>
  %r = arith.scaling_extf %a, %b : tensor<256x{width}x{element}>, tensor<256x{width}xf8E8M0FNU> to tensor<256x{width}x{result}>
  return %r : tensor<256x{width}x{result}>
}}"""


TABLES = {}
for element in FLOATS:
    table = upstream(element)
    if element == "f4E2M1FN":
        test.expect("upstream's folding and expansion", table, expanded_f4(), nan=True)
    # The expansion flushes the smallest scale to 0, although the value of its code is 2^-127.
    unscaled = table[127].astype(np.float64)
    finite = np.isfinite(unscaled)
    test.require("upstream's expansion of scale byte 0 is 0 (docs/guide/Import.md)", (table[0][finite] == 0).all())
    table[0] = unscaled * 2.0**-127
    TABLES[element] = table
    blocks = max(table.shape[1] // 32, 1)
    codes = np.resize(all_codes(element), (256, 32 * blocks))
    scales = np.repeat(np.arange(256, dtype=np.uint8)[:, None], blocks, 1)
    expected = table[scales.repeat(32, 1), codes]
    # The results are the same if upstream's passes run first.
    passes = f"func.func(convert-elementwise-to-linalg),{EXPAND},func.func(linalg-fuse-elementwise-ops),"
    for result, left in ("f32", ""), ("bf16", ""), ("f32", passes):
        with np.errstate(all="ignore"):
            numbers_of = expected.astype(BF16) if result == "bf16" else expected
        test.expect(f"{element} to {result} {left}",
                    imported(numbers(element, result, blocks), [ref.pack(codes, element), scales], passes=left),
                    numbers_of, nan=True)

# ---------------------------------------------------------------------------------------------------------------------
# Matmuls
# ---------------------------------------------------------------------------------------------------------------------


def operand(element, *shape, scales=(119, 136)):
    """Draws codes, scales and numbers. Every 32 elements along the last dimension share a scale."""
    legal = np.flatnonzero(np.isfinite(TABLES[element][127]))
    codes = rng.choice(legal, shape).astype(np.uint8)
    bytes_ = rng.integers(*scales, (*shape[:-1], shape[-1] // 32)).astype(np.uint8)
    return codes, bytes_, TABLES[element][np.repeat(bytes_, 32, -1), codes].astype(np.float64)


def close(name, found, x, y, equation, added=0):
    """Compares with exact sums. The tolerance is the rounding error of f32 sums of 16 products each, which the
    simulator truncates (docs/reference/Spec.md)."""
    exact = np.einsum(equation, x, y) + added
    steps = x.shape[-1] // 16 + 1
    bound = steps * (np.einsum(equation, np.abs(x), np.abs(y)) + np.abs(added)) * 2.0**-23 + np.abs(exact) * 2.0**-23 + 1e-44
    test.expect_numbers(name, found, exact, bound)


FOUR = ["(m, o, i)", "(n, o, i)", "(m, o)", "(n, o)"]


def four_operands(a, b, types, maps=FOUR, loops="m, n, o, i", out="(m, n)", sizes="8x16", kinds="ppr r", before=""):
    names = {"p": '"parallel"', "r": '"reduction"'}
    maps = ", ".join(f"affine_map<({loops}) -> {result}>" for result in [*maps, out])
    iterators = ", ".join(names[kind] for kind in kinds.replace(" ", ""))
    given = ", ".join(f"%x{i}: {type}" for i, type in enumerate(types))
    return f"""
func.func @main({given}, %c: tensor<{sizes}xf32>) -> tensor<{sizes}xf32> {{
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}
      ins(%x0, %x1, %x2, %x3 : {", ".join(types)}) outs(%c : tensor<{sizes}xf32>) {{
  ^bb0(%p: {a}, %q: {b}, %sp: f8E8M0FNU, %sq: f8E8M0FNU, %o: f32):
    %x = arith.scaling_extf %p, %sp : {a}, f8E8M0FNU to f32
    %y = arith.scaling_extf %q, %sq : {b}, f8E8M0FNU to f32
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }} -> tensor<{sizes}xf32>
  return %r : tensor<{sizes}xf32>
}}"""


CHIPS = ["cpu", "sm_100a", "sm_90a"]
for a, b in [("f4E2M1FN", "f4E2M1FN"), ("f8E4M3FN", "f8E4M3FN"), ("f8E5M2", "f4E2M1FN"), ("f6E2M3FN", "f6E3M2FN")]:
    ca, sa, x = operand(a, 8, 128)
    cb, sb, y = operand(b, 16, 128)
    c = rng.standard_normal((8, 16)).astype(np.float32)
    types = [tensor((8, 4, 32), a), tensor((16, 4, 32), b), tensor((8, 4), "f8E8M0FNU"), tensor((16, 4), "f8E8M0FNU")]
    arguments = [ref.pack(ca, a).reshape(8, 4, -1), ref.pack(cb, b).reshape(16, 4, -1), sa, sb, c]
    for chip in CHIPS if a == b else ["cpu"]:
        found = imported(four_operands(a, b, types), arguments, chip=chip, left=["linalg.generic"])
        close(f"four operands, {a} and {b}, {chip}", found, x, y, "mk,nk->mn", c)
    expanded = imported(four_operands(a, b, types), arguments, passes=EXPAND + ",", left=["linalg.generic"])
    close(f"four operands, expanded, {a} and {b}", expanded, x, y, "mk,nk->mn", c)

# Both operands are batches, or only operand A is a batch.
a = "f8E4M3FN"
ca, sa, x = operand(a, 3, 8, 64)
cb, sb, y = operand(a, 3, 16, 64)
c = rng.standard_normal((3, 8, 16)).astype(np.float32)
types = [tensor((3, 8, 2, 32), a), tensor((3, 16, 2, 32), a), tensor((3, 8, 2), "f8E8M0FNU"), tensor((3, 16, 2), "f8E8M0FNU")]
maps = ["(b, m, o, i)", "(b, n, o, i)", "(b, m, o)", "(b, n, o)"]
found = imported(four_operands(a, a, types, maps, "b, m, n, o, i", "(b, m, n)", "3x8x16", "ppprr"),
                 [ca.reshape(3, 8, 2, 32), cb.reshape(3, 16, 2, 32), sa, sb, c], left=["linalg.generic"])
close("a batch", found, x, y, "bmk,bnk->bmn", c)
types[1], types[3] = tensor((16, 2, 32), a), tensor((16, 2), "f8E8M0FNU")
maps = ["(b, m, o, i)", "(n, o, i)", "(b, m, o)", "(n, o)"]
for chip in CHIPS:
    found = imported(four_operands(a, a, types, maps, "b, m, n, o, i", "(b, m, n)", "3x8x16", "ppprr"),
                     [ca.reshape(3, 8, 2, 32), cb[0].reshape(16, 2, 32), sa, sb[0], c], left=["linalg.generic"], chip=chip)
    close(f"a batch of A, {chip}", found, x, y[0], "bmk,nk->bmn", c)

# Two nested loops over blocks, and blocks of 64 elements.
ca, sa, x = operand(a, 8, 256)
cb, _, _ = operand(a, 16, 256)
sb = rng.integers(119, 136, (16, 4)).astype(np.uint8)
y = TABLES[a][np.repeat(sb, 64, -1), cb].astype(np.float64)
c = rng.standard_normal((16, 8)).astype(np.float32)
types = [tensor((8, 4, 2, 32), a), tensor((16, 4, 2, 32), a), tensor((8, 4, 2), "f8E8M0FNU"), tensor((16, 4), "f8E8M0FNU")]
found = imported(four_operands(a, a, types, ["(m, o, h, i)", "(n, o, h, i)", "(m, o, h)", "(n, o)"], "m, n, o, h, i", "(n, m)", "16x8", "pprrr"),
                 [ca.reshape(8, 4, 2, 32), cb.reshape(16, 4, 2, 32), sa.reshape(8, 4, 2), sb, c], left=["linalg.generic"])
close("repeated scales", found, x, y, "mk,nk->nm", c)

# Operands are scaled before linalg.matmul. The shape of the second operand is K x N. In a bf16 matmul, only one operand
# is scaled.
ID, FLOOR = "affine_map<(r, k) -> (r, k)>", "affine_map<(r, k) -> (r, k floordiv 32)>"


def dequantized(name, rows, element, transposed=False):
    """Returns operations for the bf16 tensor %name from %c_name and %s_name."""
    ids = ID if not transposed else "affine_map<(r, k) -> (k, r)>"
    floor = FLOOR if not transposed else "affine_map<(r, k) -> (k floordiv 32, r)>"
    codes, scales = ((rows, 64), (rows, 2)) if not transposed else ((64, rows), (2, rows))
    return f"""
  %e_{name} = tensor.empty() : {tensor(codes, "bf16")}
  %{name} = linalg.generic {{indexing_maps = [{ids}, {floor}, {ids}], iterator_types = ["parallel", "parallel"]}}
      ins(%c_{name}, %s_{name} : {tensor(codes, element)}, {tensor(scales, "f8E8M0FNU")}) outs(%e_{name} : {tensor(codes, "bf16")}) {{
  ^bb0(%p: {element}, %s: f8E8M0FNU, %o: bf16):
    %wide = arith.scaling_extf %p, %s : {element}, f8E8M0FNU to bf16
    linalg.yield %wide : bf16
  }} -> {tensor(codes, "bf16")}"""


ca, sa, x = operand("f8E4M3FN", 8, 64)
cb, sb, y = operand("f8E5M2", 16, 64)
text = f"""
func.func @main(%c_a: tensor<8x64xf8E4M3FN>, %s_a: tensor<8x2xf8E8M0FNU>, %c_b: tensor<64x16xf8E5M2>, %s_b: tensor<2x16xf8E8M0FNU>) -> tensor<8x16xf32> {{
  {dequantized("a", 8, "f8E4M3FN")}
  {dequantized("b", 16, "f8E5M2", True)}
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %r = linalg.matmul ins(%a, %b : tensor<8x64xbf16>, tensor<64x16xbf16>) outs(%init : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}}"""
found = imported(text, [ca, sa, cb.T, sb.T])
close("matmul", found, x, y, "mk,nk->mn")
w = "f4E2M1FN"
cw, sw, y = operand(w, 16, 64)
v = rng.standard_normal((8, 64)).astype(BF16)
for first in [True, False]:
    maps = [f"affine_map<(m, n, k) -> ({letters})>" for letters in ["m, k", "n, k", "m, n"]]
    sizes = "8x16" if first else "16x8"
    ins = ("%v, %w : tensor<8x64xbf16>, tensor<16x64xbf16>" if first else "%w, %v : tensor<16x64xbf16>, tensor<8x64xbf16>")
    text = f"""
func.func @main(%v: tensor<8x64xbf16>, %c_w: tensor<16x64x{w}>, %s_w: tensor<16x2xf8E8M0FNU>, %c: tensor<{sizes}xf32>) -> tensor<{sizes}xf32> {{
  {dequantized("w", 16, w)}
  %r = linalg.contract indexing_maps = [{", ".join(maps)}] ins({ins}) outs(%c : tensor<{sizes}xf32>) -> tensor<{sizes}xf32>
  return %r : tensor<{sizes}xf32>
}}"""
    c = rng.standard_normal((8, 16) if first else (16, 8)).astype(np.float32)
    arguments = [v, ref.pack(cw, w), sw, c]
    for chip in CHIPS if first else ["cpu"]:
        found = imported(text, arguments, chip=chip, left=["linalg.contract"])
        close(f"weights, {first}, {chip}", found, v.astype(np.float64), y, "mk,nk->mn" if first else "mk,nk->nm", c)

# NaN in a scale or an element affects only its row.
ca, sa, x = operand("f8E4M3FN", 8, 128)
cb, sb, y = operand("f8E4M3FN", 16, 128)
sa[3, 1], ca[5, 7], sb[2, 0] = 255, 0x7F, 255
types = [tensor((8, 4, 32), a), tensor((16, 4, 32), a), tensor((8, 4), "f8E8M0FNU"), tensor((16, 4), "f8E8M0FNU")]
arguments = [ca.reshape(8, 4, 32), cb.reshape(16, 4, 32), sa, sb, np.zeros((8, 16), np.float32)]
expected = np.zeros((8, 16), bool)
expected[[3, 5]], expected[:, 2] = True, True
for chip in CHIPS:
    found = np.isnan(imported(four_operands(a, a, types), arguments, chip=chip, left=["linalg.generic"]))
    test.expect(f"NaN on {chip}", found, expected)
test.finish(least=500000)
