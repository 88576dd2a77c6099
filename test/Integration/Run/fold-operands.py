# REQUIRES: numpy
# RUN: %python %s mx-run mx-opt %t cpu sm_90a
"""Forward passes and data gradients with operands folded by mx-fold-operands, or by a recipe of mx-quantize-matmuls,
have the bits and satisfy the bounds of docs/reference/Spec.md (Folded operands). Numpy folds the expected operands.
Kernels do not quantize whole columns, so most cases run on the CPU path only."""

import mx_reference as ref
import numpy as np
from harness import BF16, Harness, tensor

test = Harness("mx_run", "mx_opt", "folder", "*chips", seed=17)
E4M3, E5M2, PROMOTE = "f8E4M3FN", "f8E5M2", 128
ROUNDING = {E4M3: -10, E5M2: -17}  # exponent of the error of folding, relative to the scale
SIZES = {"128": 128, "row": None}
products = {}


def draw(*shape):
    """Returns bf16 values with different exponents in neighboring blocks, and a row of zeros."""
    exponents = test.rng.integers(-7, 7, (*shape[:-1], shape[-1] // 32)).repeat(32, -1)
    x = test.rng.standard_normal(shape) * np.exp2(exponents)
    x[..., 3, :] = 0
    return x.astype(BF16)


class Operand:
    """Matrix that is quantized in the function along `axes`, or stored (`axes` is empty) with blocks of 32 or folded to
    rows."""

    def __init__(self, name, array, axes=(), element=E4M3, ends=None, folded=False):
        self.name, self.axes, self.element, self.ends, self.folded = name, list(axes), element, ends, folded
        self.array, self.values = array, array.astype(np.float32)
        if not axes:
            size = array.shape[-1] if folded else 32
            self.codes, scales = ref.quantize(self.values, element, size=size)
            self.values = np.float32(ref.decode(self.codes, element) * np.repeat(ref.decode_scale(scales), size, -1))
            self.scales = scales if ends is None else ref.tile_rows(scales, ends)

    def arguments(self):
        if self.axes:
            return [(f"%{self.name}", tensor(self.array.shape, "bf16"), self.array)]
        return [(f"%{self.name}", tensor(self.codes.shape, self.element), self.codes),
                (f"%{self.name}s", tensor(self.scales.shape, "f8E8M0FNU"), self.scales)]

    def types(self, axis=1):
        if not self.axes:
            return [type_ for _, type_, _ in self.arguments()]
        *batch, rows, columns = self.array.shape
        if not axis:
            rows, columns = columns, rows
        layout = f", #mx.scale_layout<sf_128x4, ragged = rows, groups = {len(self.ends)}>" if self.ends is not None else ""
        return [tensor((*batch, rows, columns), self.element),
                tensor((*batch, rows, columns // 32), f"f8E8M0FNU{layout}")]

    def quantizer(self):
        if not self.axes:
            return ""
        types = sum(map(self.types, self.axes), [])
        names, joined = [f"%{self.name}_{i}" for i in range(len(types))], ", ".join(types)
        ragged = ("ragged = rows", f"offsets(%ends : {tensor(self.ends.shape, 'i32')})") if self.ends is not None else ("", "")
        return "\n".join([*(f"{name} = tensor.empty() : {type_}" for name, type_ in zip(names, types)),
                          f"%{self.name}q:{len(types)} = mx.quantize {ragged[0]} ins(%{self.name} : "
                          f"{tensor(self.array.shape, 'bf16')}) {ragged[1]} outs({', '.join(names)} : {joined}) "
                          f"axes = {self.axes} -> {joined}"])

    def text(self, axis=1):
        """Returns the names of elements and scales."""
        i = 2 * self.axes.index(axis) if self.axes else 0
        return f"%{self.name}q#{i}, %{self.name}q#{i + 1}" if self.axes else f"%{self.name}, %{self.name}s"


def fold(x, element, size):
    """Returns the elements and scales of a folded matrix, their values, and the largest error of each value."""
    codes, scales = ref.quantize(np.ascontiguousarray(x), element, size=size or x.shape[1])
    wide = np.repeat(ref.decode_scale(scales), size or x.shape[1], 1)
    return (codes, scales), ref.decode(codes, element) * wide, wide * 2.0**ROUNDING[element]


def multiply(operands, sizes, types):
    """Multiplies folded operands on the CPU path, which promoted.py compares with numpy."""
    key = sizes, types, *(array.tobytes() for array in sum(operands, ()))
    if key in products:
        return products[key]
    a, b = (operand[0].shape for operand in operands)
    pairs = [tensor(x.shape, e) for pair, t in zip(operands, types) for x, e in zip(pair, (t, "f8E8M0FNU"))]
    y, (a_block, b_block) = tensor((a[0], b[0]), "f32"), (size or "row" for size in sizes)
    found, = test.run(f"""
func.func @main(%a: {pairs[0]}, %s: {pairs[1]}, %b: {pairs[2]}, %t: {pairs[3]}) -> {y} {{
  %0 = tensor.empty() : {y}
  %1 = mx.matmul ins(%a, %s, %b, %t : {", ".join(pairs)}) outs(%0 : {y})
    block_size = {a_block} b_block_size = {b_block} promote = {PROMOTE} -> {y}
  return %1 : {y}
}}
""", sum(map(list, operands), []), 1, chip="cpu")
    products[key] = found
    return found


def check(name, found, a, b, sizes, types=(E4M3, E4M3), stored=False):
    """Compares a matmul with the product of folded operands, and with the bounds. Values of `stored` operands are
    unfolded. Returns the number of values that folding changes."""
    (ab, x, dx), (bb, y, dy) = (fold(*operand) for operand in zip((a, b), types, sizes))
    test.expect(name, found, multiply((ab, bb), sizes, types))
    sums = (PROMOTE // 32 * 34 * 2.0**-13 + a.shape[1] / PROMOTE * 2.0**-24) * (np.abs(x) @ np.abs(y).T)
    test.expect_numbers(f"{name}, sums", found, x @ y.T, sums)
    if not stored:
        return 0
    a, b = a.astype(np.float64), b.astype(np.float64)
    folding = dx @ np.abs(b).T + np.abs(a) @ dy.T + dx @ dy.T
    test.expect_numbers(f"{name}, folding", x @ y.T, a @ b.T, folding * (1 + 2.0**-40))
    return int((x != a).sum() + (y != b).sum())


def rewrite(name, text, matmuls, *options):
    module = test.rewrite(text, *options)
    test.require(f"{name}: folded", module.count("promote = 128") == matmuls)
    return module


def function(operands, matmuls, groups=None):
    """Returns the text of @main with matmuls, given as (a, axis of a, b, axis of b, shape of the result)."""
    arguments = sum((operand.arguments() for operand in operands), [])
    parameters = [f"{name}: {type_}" for name, type_, _ in arguments]
    kind, ends = "mx.matmul", ""
    if groups is not None:
        kind, ends = "mx.grouped_matmul ragged = rows", f"offsets(%ends : {tensor(groups.shape, 'i32')})"
        parameters.append(f"%ends: {tensor(groups.shape, 'i32')}")
    types = [tensor(shape, "f32") for *_, shape in matmuls]
    lines = [operand.quantizer() for operand in operands]
    for i, (a, a_axis, b, b_axis, shape) in enumerate(matmuls):
        lines += [f"%o{i} = tensor.empty() : {types[i]}",
                  f"%r{i} = {kind} ins({a.text(a_axis)}, {b.text(b_axis)} : "
                  f"{', '.join(a.types(a_axis) + b.types(b_axis))}) {ends} outs(%o{i} : {types[i]}) "
                  f"{'b_block_size = row' * b.folded} -> {types[i]}"]
    results = ", ".join(f"%r{i}" for i in range(len(matmuls)))
    newline = "\n"
    return (f"func.func @main({', '.join(parameters)}) -> ({', '.join(types)}) {{\n{newline.join(lines)}\n"
            f"return {results} : {', '.join(types)}\n}}\n",
            [array for *_, array in arguments] + [groups] * (groups is not None))


def dense(gradients):
    """y = x w^T, z = u v^T with stored u and v, and dx = g w. Returns the number of changed values."""
    m, n, k, changed = 40, 128, 256, 0
    x, w, g = Operand("x", draw(m, k), [1]), Operand("w", draw(n, k), [1, 0]), Operand("g", draw(m, n), [1], gradients)
    u, v = Operand("u", draw(m, k)), Operand("v", draw(n, k))
    text, arrays = function([x, w, g, u, v], [(x, 1, w, 1, (m, n)), (u, 1, v, 1, (m, n)), (g, 1, w, 0, (m, k))])
    for a, b in ("128", "row"), ("row", "128"), ("128", "128"), ("row", "row"):
        name, sizes = f"{gradients}, a = {a}, b = {b}", (SIZES[a], SIZES[b])
        options = f"--mx-fold-operands=a={a} b={b}", "--cse"
        for fuse in [], ["--mx-fuse-prologues"]:
            module = rewrite(name, text, 3, *options, *fuse)
            test.require(f"{name}: fused", not fuse or "mx.dequantize" not in module)
            y, z, dx = test.run(module, arrays, 3, chip="cpu")
            check(f"{name} y", y, x.values, w.values, sizes)
            check(f"{name} dx", dx, g.values, w.values.T, sizes, (gradients, E4M3))
            changed += check(f"{name} z", z, u.values, v.values, sizes, stored=True)
    return changed


def grouped(a, b, axes):
    """y = x w^T and dx = g v^T for each expert group, with stored weights. Without axes, g is also stored."""
    ends, n, k = np.array([5, 140, 140, 170], np.int32), 128, 256
    rows, name = int(ends[-1]) + 3, f"groups, a = {a}, b = {b}"
    x, g = Operand("x", draw(rows, k), [1], ends=ends), Operand("g", draw(rows, n), axes, ends=ends)
    w, v = Operand("w", draw(4, n, k)), Operand("v", draw(4, k, n))
    text, arrays = function([x, w, g, v], [(x, 1, w, 1, (rows, n)), (g, 1, v, 1, (rows, k))], ends)
    module = rewrite(name, text, 2, f"--mx-fold-operands=a={a} b={b}", "--cse", "--mx-fuse-prologues")
    for result, left, right in zip(test.run(module, arrays, 2, chip="cpu"), (x, g), (w, v)):
        for group, (start, end) in enumerate(zip([0, *ends], ends)):
            check(f"{name} {left.name} {group}", result[start:end], left.values[start:end], right.values[group],
                  (SIZES[a], SIZES[b]))


def weights(folded):
    """Activations are quantized, and weights are stored. This also runs on the GPU."""
    m, n, k, ends = 140, 96, 256, np.array([5, 130, 130, 140], np.int32)
    x, w = Operand("x", draw(m, k), [1]), Operand("w", draw(n, k), folded=folded)
    g, v = Operand("g", draw(m, k), [1], ends=ends), Operand("v", draw(4, n, k), folded=folded)
    sizes, options = (SIZES["128"], SIZES["row"]), ("--mx-fold-operands", "--cse", "--mx-fuse-prologues")
    dense = function([x, w], [(x, 1, w, 1, (m, n))])
    groups = function([g, v], [(g, 1, v, 1, (m, n))], ends)
    for chip in test.chips:
        y, = test.run(rewrite("weights", dense[0], 1, *options), dense[1], 1, chip=chip)
        z, = test.run(rewrite("weights of experts", groups[0], 1, *options), groups[1], 1, chip=chip)
        check(f"{chip} weights", y, x.values, w.values, sizes)
        for group, (start, end) in enumerate(zip([0, *ends], ends)):
            check(f"{chip} weights of expert {group}", z[start:end], g.values[start:end], v.values[group], sizes)


def recipes():
    """linalg matmuls with a recipe of the whole module, and with another recipe for the gradient."""
    m, n, k = 72, 128, 256
    x, w, g = draw(m, k), draw(n, k), draw(m, n)
    types = [tensor(array.shape, "bf16") for array in (x, w, g)]
    y, d = tensor((m, n), "f32"), tensor((m, k), "f32")
    text = f"""
func.func @main(%x: {types[0]}, %w: {types[1]}, %g: {types[2]}) -> ({y}, {d}) {{
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : {y}
  %1 = tensor.empty() : {d}
  %2 = linalg.fill ins(%zero : f32) outs(%0 : {y}) -> {y}
  %3 = linalg.fill ins(%zero : f32) outs(%1 : {d}) -> {d}
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%x, %w : {types[0]}, {types[1]}) outs(%2 : {y}) -> {y}
  %d = linalg.matmul {{mx.recipe = ["mxfp8-e5m2-fast", "mxfp8-fast"]}} ins(%g, %w : {types[2]}, {types[1]}) outs(%3 : {d}) -> {d}
  return %y, %d : {y}, {d}
}}
"""
    module = rewrite("recipes", text, 2, "--mx-quantize-matmuls=recipe=mxfp8-fast", "--cse", "--mx-fuse-prologues")
    test.require("recipes: one quantization for both axes", module.count("mx.fused_quantize") == 3)
    sizes = SIZES["128"], SIZES["row"]
    y, d = test.run(module, [x, w, g], 2, chip="cpu")
    x, w, g = (array.astype(np.float32) for array in (x, w, g))
    check("recipe y", y, x, w, sizes)
    check("recipe dx", d, g, w.T, sizes, (E5M2, E4M3))


changed = dense(E4M3) + dense(E5M2)
for case in ("128", "row", [1]), ("row", "row", []), ("128", "128", []):
    grouped(*case)
weights(folded=False)
weights(folded=True)
recipes()
print(f"folding changed {changed} values")
if changed < 1000:
    test.fail("expected folding to change more values")
test.finish(least=600000)
