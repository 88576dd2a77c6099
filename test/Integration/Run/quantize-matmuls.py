"""Runs bf16 linalg matmuls before and after mx-quantize-matmuls, on the CPU path and on the simulator.

RUN: %python %s mx-run mx-opt %t
REQUIRES: compiler, numpy

The signal-to-noise ratio of a matmul of Gaussian matrices must match the formats (docs/guide/MoE.md); a higher ratio
would mean that the operands are not quantized. Operands are transposed or not. Groups contain any number of rows, and
rows outside of all groups keep their contents.
"""

import numpy as np
from harness import BF16, Harness, widen

test = Harness("mx_run", "mx_opt", "folder", seed=1)
rng = test.rng
MAPS = "\n".join(f"#{name} = affine_map<(m, n, k) -> ({name[0]}, {name[1]})>" for name in ["mk", "km", "nk", "kn", "mn"])
MAPS += "\n#all = affine_map<(r, c) -> (r, c)>"
# Signal-to-noise ratio of each recipe in dB. For 8-bit formats the noise is the sum of two noises of docs/guide/MoE.md.
# For other formats the ratio was measured, because small numbers in a block have fewer significant bits.
RATIOS = {"mxfp8": 28.5, "mxfp8-e5m2": 22.5, "mxfp6-e2m3": 27.8, "mxfp6-e3m2": 22.5, "mxfp4": 15.7, "nvfp4": 17.4}


def normal(*sizes):
    return rng.standard_normal(sizes).astype(BF16)


def shape(a, b, letters):
    return f"tensor<{a}x{b}xbf16>" if letters in ("mk", "nk") else f"tensor<{b}x{a}xbf16>"


def rounding(to, value, rows, size=""):
    """Returns operations to round rows of 96 elements to bf16."""
    tensor = lambda element: f"tensor<{rows}x96x{element}>"
    return f"""
  %for_{to} = tensor.empty({size}) : {tensor("bf16")}
  %{to} = linalg.generic {{indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}}
      ins(%{value} : {tensor("f32")}) outs(%for_{to} : {tensor("bf16")}) {{
  ^bb0(%wide: f32, %old: bf16):
    %narrow = arith.truncf %wide : f32 to bf16
    linalg.yield %narrow : bf16
  }} -> {tensor("bf16")}"""


def dense(a, b, adds, result="f32"):
    """Returns a program to multiply bf16 matrices with m = 152, n = 96, k = 128."""
    left, right, out = shape(152, 128, a), shape(96, 128, b), "tensor<152x96xf32>"
    init = "" if adds else f"""
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {out}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {out}) -> {out}"""
    last = "" if result == "f32" else rounding("t", "r", 152)
    return f"""{MAPS}
func.func @main(%a: {left}, %b: {right}, %c: {out}) -> tensor<152x96x{result}> {{{init}
  %r = linalg.matmul indexing_maps = [#{a}, #{b}, #mn] ins(%a, %b : {left}, {right}) outs({'%c' if adds else '%init'} : {out}) -> {out}{last}
  return {'%r' if result == 'f32' else '%t'} : tensor<152x96x{result}>
}}
"""


def dense_arguments(a, b):
    left, right = normal(152, 128), normal(96, 128)
    return [left if a == "mk" else left.T, right if b == "nk" else right.T,
            rng.standard_normal((152, 96)).astype(np.float32)]


LOOP = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %groups = arith.constant 5 : index
  %zero = arith.constant 0.0 : f32"""
RANGE = """
    %e = tensor.extract %ends[%g] : tensor<5xi32>
    %end = arith.index_cast %e : i32 to index
    %n = arith.subi %end, %start : index"""


def rows(b, result):
    """Returns a program to multiply the rows of X by the matrix of their group, with K = 128 and N = 96. Rows that
    belong to no group stay zero."""
    matrix = shape(96, 128, b)
    return f"""{MAPS}
func.func @main(%x: tensor<?x128xbf16>, %w: tensor<5x{matrix[7:]}, %ends: tensor<5xi32>) -> tensor<?x96x{result}> {{{LOOP}
  %t = tensor.dim %x, %c0 : tensor<?x128xbf16>
  %none = arith.constant 0.0 : {result}
  %empty = tensor.empty(%t) : tensor<?x96x{result}>
  %init = linalg.fill ins(%none : {result}) outs(%empty : tensor<?x96x{result}>) -> tensor<?x96x{result}>
  %y:2 = scf.for %g = %c0 to %groups step %c1 iter_args(%out = %init, %start = %c0) -> (tensor<?x96x{result}>, index) {{{RANGE}
    %xg = tensor.extract_slice %x[%start, 0] [%n, 128] [1, 1] : tensor<?x128xbf16> to tensor<?x128xbf16>
    %wg = tensor.extract_slice %w[%g, 0, 0] [1, {', '.join(matrix[7:].split('x')[:2])}] [1, 1, 1] : tensor<5x{matrix[7:]} to {matrix}
    %part = tensor.empty(%n) : tensor<?x96xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%part : tensor<?x96xf32>) -> tensor<?x96xf32>
    %r = linalg.matmul indexing_maps = [#mk, #{b}, #mn] ins(%xg, %wg : tensor<?x128xbf16>, {matrix}) outs(%zeros : tensor<?x96xf32>) -> tensor<?x96xf32>
    {rounding("rounded", "r", "?", "%n") if result == "bf16" else ""}
    %o = tensor.insert_slice %{"rounded" if result == "bf16" else "r"} into %out[%start, 0] [%n, 96] [1, 1] : tensor<?x96x{result}> into tensor<?x96x{result}>
    scf.yield %o, %end : tensor<?x96x{result}>, index
  }}
  return %y#0 : tensor<?x96x{result}>
}}
"""


def rows_arguments(b):
    w = normal(5, 96, 128)
    ends = np.array([40, 40, 41, 190, 250], np.int32)
    return [normal(264, 128), w if b == "nk" else w.transpose(0, 2, 1), ends]


def reduction(adds):
    """Returns a program to compute dW[g] = dY^T X over the rows of each group g."""
    init = "%dw" if adds else "%empty"
    return f"""{MAPS}
func.func @main(%x: tensor<?x64xbf16>, %dy: tensor<?x96xbf16>, %ends: tensor<5xi32>, %dw: tensor<5x96x64xf32>) -> tensor<5x96x64xf32> {{{LOOP}
  %empty = tensor.empty() : tensor<5x96x64xf32>
  %y:2 = scf.for %g = %c0 to %groups step %c1 iter_args(%out = {init}, %start = %c0) -> (tensor<5x96x64xf32>, index) {{{RANGE}
    %xg = tensor.extract_slice %x[%start, 0] [%n, 64] [1, 1] : tensor<?x64xbf16> to tensor<?x64xbf16>
    %dyg = tensor.extract_slice %dy[%start, 0] [%n, 96] [1, 1] : tensor<?x96xbf16> to tensor<?x96xbf16>
    %old = tensor.extract_slice %out[%g, 0, 0] [1, 96, 64] [1, 1, 1] : tensor<5x96x64xf32> to tensor<96x64xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%old : tensor<96x64xf32>) -> tensor<96x64xf32>
    %r = linalg.matmul indexing_maps = [#km, #kn, #mn] ins(%dyg, %xg : tensor<?x96xbf16>, tensor<?x64xbf16>) outs(%{"old" if adds else "zeros"} : tensor<96x64xf32>) -> tensor<96x64xf32>
    %o = tensor.insert_slice %r into %out[%g, 0, 0] [1, 96, 64] [1, 1, 1] : tensor<96x64xf32> into tensor<5x96x64xf32>
    scf.yield %o, %end : tensor<5x96x64xf32>, index
  }}
  return %y#0 : tensor<5x96x64xf32>
}}
"""


def reduction_arguments():
    ends = np.array([140, 140, 171, 390, 470], np.int32)
    return [normal(480, 64), normal(480, 96), ends, rng.standard_normal((5, 96, 64)).astype(np.float32)]


def check(name, text, arguments, recipe="mxfp8", added=0, devices=("cpu", "sim"), options=""):
    """Checks a program and returns its rewritten text. `added` is the part of the exact result that matmuls do not
    compute, so it contains no noise."""
    module = test.rewrite(text, f"--mx-quantize-matmuls=recipe={recipe} {options}", "--cse", "--canonicalize")
    for op in "linalg.matmul", "linalg.contract":
        test.require(f"{name}: no {op} is left", op not in module)
    plain = widen(test.run(text, arguments, 1, device="cpu")[0])
    matmuls = plain - added
    for device in devices:
        found = widen(test.run(module, arguments, 1, device=device)[0])
        zeros = matmuls == 0
        ratio = 10 * np.log10((matmuls**2).sum() / ((found - plain)**2).sum())
        what = f"{name}, {recipe}, on {device}"
        test.require(f"{what}: {RATIOS[recipe]} dB", abs(ratio - RATIOS[recipe]) <= 0.4, f"{ratio:.2f}")
        test.expect_numbers(f"{what}: zeros", found[zeros], plain[zeros])
    return module


for a, b in [("mk", "nk"), ("mk", "kn"), ("km", "kn"), ("km", "nk")]:
    check(f"{a} {b}", dense(a, b, False, "bf16"), dense_arguments(a, b))
arguments = dense_arguments("mk", "nk")
check("added to", dense("mk", "nk", True), arguments, added=arguments[2])
for recipe in RATIOS:
    check("recipes", dense("mk", "kn", False), dense_arguments("mk", "kn"), recipe)
check("rows", rows("nk", "bf16"), rows_arguments("nk"))
check("rows, transposed", rows("kn", "f32"), rows_arguments("kn"))
check("reduction", reduction(False), reduction_arguments())
arguments = reduction_arguments()
check("reduction, added to", reduction(True), arguments, added=arguments[3])
# The tokens of a batch of sequences are the rows of a matmul.
text = f"""
func.func @main(%x: tensor<3x?x128xbf16>, %w: tensor<128x96xbf16>, %c: tensor<3x?x96xf32>) -> tensor<3x?x96xf32> {{
  %r = linalg.contract indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%x, %w : tensor<3x?x128xbf16>, tensor<128x96xbf16>) outs(%c : tensor<3x?x96xf32>) -> tensor<3x?x96xf32>
  return %r : tensor<3x?x96xf32>
}}
"""
arguments = [normal(3, 50, 128), normal(128, 96), rng.standard_normal((3, 50, 96)).astype(np.float32)]
check("a batch of sequences", text, arguments, added=arguments[2])
# Only the CPU path supports several batch dimensions.
text = f"""
func.func @main(%q: tensor<2x3x40x128xbf16>, %k: tensor<2x3x24x128xbf16>, %c: tensor<2x3x40x24xf32>) -> tensor<2x3x40x24xf32> {{
  %r = linalg.contract indexing_maps = [affine_map<(b, h, m, n, k) -> (b, h, m, k)>, affine_map<(b, h, m, n, k) -> (b, h, n, k)>, affine_map<(b, h, m, n, k) -> (b, h, m, n)>]
      ins(%q, %k : tensor<2x3x40x128xbf16>, tensor<2x3x24x128xbf16>) outs(%c : tensor<2x3x40x24xf32>) -> tensor<2x3x40x24xf32>
  return %r : tensor<2x3x40x24xf32>
}}
"""
arguments = [normal(2, 3, 40, 128), normal(2, 3, 24, 128), rng.standard_normal((2, 3, 40, 24)).astype(np.float32)]
check("heads", text, arguments, added=arguments[2], devices=["cpu"])
# A weight gradient sums over a dynamic number of tokens.
text = f"""{MAPS}
func.func @main(%dy: tensor<?x96xbf16>, %x: tensor<?x64xbf16>, %dw: tensor<96x64xf32>) -> tensor<96x64xf32> {{
  %r = linalg.matmul indexing_maps = [#km, #kn, #mn] ins(%dy, %x : tensor<?x96xbf16>, tensor<?x64xbf16>) outs(%dw : tensor<96x64xf32>) -> tensor<96x64xf32>
  return %r : tensor<96x64xf32>
}}
"""
arguments = [normal(416, 96), normal(416, 64), rng.standard_normal((96, 64)).astype(np.float32)]
module = check("tokens", text, arguments, added=arguments[2], options="dynamic-reductions=true")
for device in ["cpu", "sim"]:
    test.refuse("multiple of 32", module, [normal(40, 96), normal(40, 64), arguments[2]], 1, device=device)
test.finish(least=30000)
