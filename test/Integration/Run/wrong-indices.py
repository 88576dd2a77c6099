"""If a kernel computes an out-of-bounds index, it clamps the index like numpy.take(mode="clip"). If the host knows that
an index is out of bounds, it reports an error before the launch. The CPU path, both kinds of chips and compiled
programs agree, the simulator reports no finding, and no plan reads device memory (docs/reference/Spec.md, Indices).

RUN: %python %s mx-run mx-compile mx-launch %t
REQUIRES: compiler, numpy
"""

import ml_dtypes
import numpy as np
from harness import Harness

test = Harness("mx_run", "mx_compile", "mx_launch", "folder", seed=1)
random = test.rng
INTEGERS = {"i8": np.int8, "i32": np.int32, "i64": np.int64, "index": np.int64}


def make_indices(integer, size, count):
    """Draws indices inside, at the borders, far outside, or valid modulo 2^32."""
    limits = np.iinfo(INTEGERS[integer])
    pool = [0, size - 1, size, size + 1, -1, -size, -size - 1, limits.min, limits.max, limits.min + 2, limits.max - 2]
    if limits.bits == 64:
        pool += [2**32 + 3, -(2**32) + 3, 2**31, -(2**31), 2**63 - 2**32 + 1, 2**61 + 1, 2**62]
    pool += random.integers(-3 * size - 3, 3 * size + 3, 10).tolist()
    return np.clip(random.choice(np.array(pool, object), count), limits.min, limits.max).astype(INTEGERS[integer])


def cast(name, integer):
    """Returns operations to cast a tensor element to an index."""
    if integer == "index":
        return f"%zero_{name} = arith.constant 0 : index\n    %p{name} = arith.addi %{name}, %zero_{name} : index"
    return f"%p{name} = arith.index_cast %{name} : {integer} to index"


def clip(index, size):
    return np.clip(index.astype(np.int64), 0, size - 1)


def paths(text, arrays, ahead):
    """Yields each path, its process and its result file."""
    for chip in "cpu", "sm_100a", "sm_90a":
        yield chip, *test.call(text, arrays, 1, chip=chip, status=None)
    if ahead:
        yield "launch", *test.call_plan(test.compile(text, "--ptxas=none"), arrays, 1, status=None)


def lines(done):
    """Returns the messages of a process without compiler remarks and their source lines."""
    text = [line for line in done.stderr.split("\n") if line.strip() and not line.startswith(" ")]
    return "\n".join(line for line in text if ": remark: " not in line)


def run(name, text, arrays, expected, ahead=False):
    for path, done, (result,) in paths(text, arrays, ahead):
        good = not done.returncode and not lines(done)
        test.require(f"{name} on {path}", good, f"status {done.returncode}: {done.stderr}")
        if not done.returncode:
            test.expect(f"{name} on {path}", np.load(result), expected)


def refuse(name, text, arrays, op, what, ahead=False):
    """Checks that all paths report the message at the line of `op`."""
    line = next(i for i, row in enumerate(text.split("\n"), 1) if op in row)
    kind = op.split("= ")[1].split(" ")[0]
    for path, done, _ in paths(text, arrays, ahead):
        for said in f"case.mlir:{line}:", f"'{kind}' op expected an access inside of its array: {what}":
            test.require(f"{name} on {path}: {said}", done.returncode == 2 and said in lines(done), done.stderr)


# Gathers elements of a tensor at indices from another tensor.
def gather(integer, table, places):
    return f"""func.func @main(%x: {table}, %at: {places}) -> tensor<?xf32> {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %at, %c0 : {places}
  %0 = tensor.empty(%n) : tensor<?xf32>
  %z = tensor.cast %at : {places} to tensor<?x{integer}>
  %y = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      ins(%z : tensor<?x{integer}>) outs(%0 : tensor<?xf32>) {{
  ^bb0(%i: {integer}, %o: f32):
    {cast("i", integer)}
    %e = tensor.extract %x[%pi] : {table}
    linalg.yield %e : f32
  }} -> tensor<?xf32>
  return %y : tensor<?xf32>
}}
"""


for integer in INTEGERS:
    for size, table in (9, "tensor<9xf32>"), (1, "tensor<1xf32>"), (7, "tensor<?xf32>"), (300, "tensor<?xf32>"):
        x, at = random.random(size, np.float32), make_indices(integer, size, 70)
        places = f"tensor<{random.choice(['?', '70'])}x{integer}>"
        run(f"gather of {integer} from {table}", gather(integer, table, places), [x, at], np.take(x, clip(at, size)),
            ahead=integer == "i64")

# A table without rows is an error, as in NumPy, unless nothing is read.
text = gather("i64", "tensor<?xf32>", "tensor<?xi64>")
refuse("nothing to read", text, [np.zeros(0, np.float32), np.zeros(3, np.int64)], "%e = tensor.extract",
       "dimension 0 has no elements to read", ahead=True)
run("nothing read", text, [np.zeros(0, np.float32), np.zeros(0, np.int64)], np.zeros(0, np.float32))


# Indexes rows and columns, with static and dynamic sizes, and with 8-bit, 1-bit and 4-bit elements.
def matrix(integer, shape, element):
    x = f"tensor<{shape}x{element}>"
    y = f"tensor<?x?x{element}>"
    return f"""func.func @main(%x: {x}, %rows: tensor<?x{integer}>, %columns: tensor<?x{integer}>) -> {y} {{
  %c0 = arith.constant 0 : index
  %m = tensor.dim %rows, %c0 : tensor<?x{integer}>
  %n = tensor.dim %columns, %c0 : tensor<?x{integer}>
  %0 = tensor.empty(%m, %n) : {y}
  %y = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%rows, %columns : tensor<?x{integer}>, tensor<?x{integer}>) outs(%0 : {y}) {{
  ^bb0(%i: {integer}, %j: {integer}, %o: {element}):
    {cast("i", integer)}
    {cast("j", integer)}
    %e = tensor.extract %x[%pi, %pj] : {x}
    linalg.yield %e : {element}
  }} -> {y}
  return %y : {y}
}}
"""


for integer, shape, element, numbers in (("i32", "6x11", "i8", np.int8), ("i64", "?x11", "f32", np.float32),
                                         ("index", "6x?", "i64", np.int64), ("i64", "?x?", "f16", np.float16)):
    x = random.integers(-100, 100, (6, 11)).astype(numbers)
    rows, columns = make_indices(integer, 6, 20), make_indices(integer, 11, 15)
    run(f"matrix of {shape}x{element} by {integer}", matrix(integer, shape, element), [x, rows, columns],
        x[np.ix_(clip(rows, 6), clip(columns, 11))])

# A branch that may not be taken indexes the table. If the table has no rows, the results are zeros.
lookup = """#id = affine_map<(i, j) -> (i, j)>
func.func @main(%table: tensor<?x12xf32>, %tokens: tensor<?xi64>) -> tensor<?x12xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %tokens, %c0 : tensor<?xi64>
  %y0 = tensor.empty(%n) : tensor<?x12xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%tokens : tensor<?xi64>) outs(%y0 : tensor<?x12xf32>) {
  ^bb0(%token: i64, %o: f32):
    %zero = arith.constant 0 : i64
    %none = arith.constant 7.0 : f32
    %j = linalg.index 1 : index
    %hidden = arith.cmpi slt, %token, %zero : i64
    %r = scf.if %hidden -> f32 {
      scf.yield %none : f32
    } else {
      %i = arith.index_cast %token : i64 to index
      %e = tensor.extract %table[%i, %j] : tensor<?x12xf32>
      scf.yield %e : f32
    }
    linalg.yield %r : f32
  } -> tensor<?x12xf32>
  return %y : tensor<?x12xf32>
}
"""
tokens = make_indices("i64", 5, 40)
for rows in 5, 0:
    table = random.random((rows, 12), np.float32)
    read = table[clip(tokens, 5)] if rows else np.zeros((40, 12), np.float32)
    run(f"lookup in {rows} rows", lookup, [table, tokens], np.where(tokens[:, None] < 0, np.float32(7), read), ahead=True)

# Reads two concatenated tensors, one possibly empty. Branches guard the indices, so all of them are valid.
concat = """func.func @main(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : tensor<?xi32>
  %n = tensor.dim %b, %c0 : tensor<?xi32>
  %all = arith.addi %m, %n : index
  %y = tensor.generate %all {
  ^bb0(%i: index):
    %first = arith.cmpi slt, %i, %m : index
    %v = scf.if %first -> i32 {
      %e = tensor.extract %a[%i] : tensor<?xi32>
      scf.yield %e : i32
    } else {
      %p = arith.subi %i, %m : index
      %e = tensor.extract %b[%p] : tensor<?xi32>
      scf.yield %e : i32
    }
    tensor.yield %v : i32
  } : tensor<?xi32>
  return %y : tensor<?xi32>
}
"""
for m, n in (5, 8), (0, 8), (5, 0), (0, 0):
    a, b = random.integers(0, 99, m).astype(np.int32), random.integers(0, 99, n).astype(np.int32)
    run(f"concat of {m} and {n}", concat, [a, b], np.concatenate([a, b]))

# Computes indices with divisions by 0 and shifts by the width, which docs/reference/Math.md defines, but upstream's
# range analysis does not.
def computed(lines, table="tensor<7xf32>", made="%x"):
    return f"""func.func @main(%x: tensor<7xf32>, %at: tensor<64xi64>) -> tensor<64xf32> {{
  %0 = tensor.empty() : tensor<64xf32>
  %y = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      ins(%at : tensor<64xi64>) outs(%0 : tensor<64xf32>) {{
  ^bb0(%i: i64, %o: f32):
    %p = arith.index_cast %i : i64 to index
    %c6 = arith.constant 6 : index
    %c7 = arith.constant 7 : index
{lines}
    %e = tensor.extract {made}[%q] : {table}
    linalg.yield %e : f32
  }} -> tensor<64xf32>
  return %y : tensor<64xf32>
}}
"""


x, at = random.random(7, np.float32), np.arange(64, dtype=np.int64)
low = at & 7
with np.errstate(divide="ignore"):
    for op, expected in (("remui", np.where(low == 0, at, at % np.maximum(low, 1))),
                         ("remsi", np.where(low == 0, at, at % np.maximum(low, 1))),
                         ("divui", np.where(low == 0, -1, at // np.maximum(low, 1))),
                         ("divsi", np.where(low == 0, -1, at // np.maximum(low, 1)))):
        text = computed(f"    %n = arith.andi %p, %c7 : index\n    %q = arith.{op} %p, %n : index")
        run(f"{op} by 0 to 7", text, [x, at], x[clip(expected, 7)])
text = computed("    %n = arith.andi %p, %c7 : index\n    %q = arith.shrui %c6, %p : index")
run("shift by 0 to 63 and more", text, [x, at + 8], x[6 >> np.minimum(at + 8, 3)])

# The region itself creates the table.
text = computed("    %t = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n    %q = arith.subi %p, %c7 : index",
                "tensor<4xf32>", "%t")
run("constant of the region", text, [x, at], 1 + clip(at - 7, 4).astype(np.float32))
text = computed("    %t = tensor.cast %x : tensor<7xf32> to tensor<?xf32>\n    %q = arith.subi %p, %c7 : index", "tensor<?xf32>",
                "%t")
run("cast of the region", text, [x, at], x[clip(at - 7, 7)])

# Index computations share subexpressions, as in random generators.
chain = ["    %q0 = arith.addi %p, %p : index"]
chain += [f"    %q{i + 1} = arith.addi %q{i}, %q{i} : index" for i in range(40)]
text = computed("\n".join(chain) + "\n    %q = arith.addi %q40, %p : index")
run("shared sums", text, [x, at - 8], x[clip((at - 8) * (2**41 + 1), 7)])
chain = ["  %q0 = arith.addi %k, %k : index"] + [f"  %q{i + 1} = arith.addi %q{i}, %q{i} : index" for i in range(40)]
text = ("func.func @main(%x: tensor<9xf32>, %k: index) -> tensor<4xf32> {\n" + "\n".join(chain) + """
  %y = tensor.generate {
  ^bb0(%i: index):
    %p = arith.addi %i, %q40 : index
    %e = tensor.extract %x[%p] : tensor<9xf32>
    tensor.yield %e : f32
  } : tensor<4xf32>
  return %y : tensor<4xf32>
}
""")
x = random.random(9, np.float32)
run("shared sums of the host", text, [x, np.int64(0)], x[:4])
refuse("shared sums of the host", text, [x, np.int64(1)], "%e = tensor.extract", "index 0 is out-of-bounds")

# The host knows an index if it is computed from scalar arguments, loop indices and sizes.
five_from = """  %y = tensor.generate {
  ^bb0(%i: index):
    %first = arith.index_cast %from : i64 to index
    %p = arith.addi %i, %first : index
    %e = tensor.extract %x[%p] : tensor<?xf32>
    tensor.yield %e : f32
  } : tensor<5xf32>
  return %y : tensor<5xf32>
}
"""
window = "func.func @main(%x: tensor<?xf32>, %from: i64) -> tensor<5xf32> {\n" + five_from
x = random.random(20, np.float32)
for first in 0, 15:
    run(f"window from {first}", window, [x, np.int64(first)], x[first:first + 5])
for first in -1, 16, 2**32 + 1, 2**63 - 1, -2**63:
    refuse(f"window from {first}", window, [x, np.int64(first)], "%e = tensor.extract", "index 0 is out-of-bounds",
           ahead=first == 16)
row = """func.func @main(%x: tensor<4x?xf32>, %row: index) -> tensor<?xf32> {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : tensor<4x?xf32>
  %0 = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(j) -> (j)>], iterator_types = ["parallel"]} outs(%0 : tensor<?xf32>) {
  ^bb0(%o: f32):
    %j = linalg.index 0 : index
    %e = tensor.extract %x[%row, %j] : tensor<4x?xf32>
    linalg.yield %e : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
"""
x = random.random((4, 6), np.float32)
run("row", row, [x, np.int64(3)], x[3])
run("row of nothing", row, [x[:, :0].copy(), np.int64(4)], np.zeros(0, np.float32))
for number in -1, 4, 2**40:
    refuse(f"row {number}", row, [x, np.int64(number)], "%e = tensor.extract", "index 0 is out-of-bounds")
shorter = """func.func @main(%x: tensor<?xf32>, %other: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %0 = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.map ins(%x : tensor<?xf32>) outs(%0 : tensor<?xf32>) (%a: f32, %o: f32) {
    %i = linalg.index 0 : index
    %e = tensor.extract %other[%i] : tensor<?xf32>
    %d = arith.addf %a, %e : f32
    linalg.yield %d : f32
  }
  return %y : tensor<?xf32>
}
"""
x = random.random(9, np.float32)
run("as long", shorter, [x, x], x + x)
run("longer", shorter, [x[:5].copy(), x], x[:5] + x[:5])
refuse("shorter", shorter, [x, x[:5].copy()], "%e = tensor.extract", "index 0 is out-of-bounds", ahead=True)

# The host does not know a scalar that it would have to read from the device.
scalar = """func.func @main(%x: tensor<?xf32>, %numbers: tensor<3xi64>) -> tensor<5xf32> {
  %c1 = arith.constant 1 : index
  %from = tensor.extract %numbers[%c1] : tensor<3xi64>
""" + five_from
x = random.random(20, np.float32)
for first in -2, 3, 18, 2**32 + 1, -2**63:
    run(f"number {first} of the device", scalar, [x, np.array([0, first, 0])], x[clip(first + np.arange(5), 20)], ahead=first == 18)
with open(test.path("compiled/manifest.json"), encoding="utf-8") as file:
    test.require("number of the device: no plan reads it", '"read"' not in file.read())

# Matmuls and quantizations read a row and columns at indices from tensors.
matmul = """!a = tensor<?x64xf8E4M3FN>
!as = tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<96x64xf8E4M3FN>
!bs = tensor<96x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x96xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %at: tensor<?xi64>, %from: tensor<?xi64>, %table: tensor<TABLExf32>) -> !y {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : !a
  %y0 = tensor.empty(%n) : !y
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y0 : !y) -> !y epilogue {
  ^bb0(%acc: f32, %row: index, %col: index):
    %i = tensor.extract %at[%row] : tensor<?xi64>
    %p = arith.index_cast %i : i64 to index
    %j = tensor.extract %from[%row] : tensor<?xi64>
    %first = arith.index_cast %j : i64 to index
    %q = arith.addi %col, %first : index
    %e = tensor.extract %table[%p, %q] : tensor<TABLExf32>
    %s = arith.addf %acc, %e : f32
    mx.yield %s : f32
  }
  return %y : !y
}
"""
m, n = 150, 96
a, b = (random.integers(-3, 4, (rows, 64)).astype(np.float32) for rows in (m, n))
codes = [x.astype(ml_dtypes.float8_e4m3fn).view(np.uint8) for x in (a, b)]
scales = [np.full((tiles, 1, 32, 4, 4), 127, np.uint8) for tiles in (2, 1)]
at, begins = make_indices("i64", 13, m), make_indices("i64", 40, m)
with np.errstate(over="ignore"):
    columns = begins[:, None] + np.arange(n)
for shape in "13x40", "?x?":
    table = random.integers(-9, 9, (13, 40)).astype(np.float32)
    run(f"epilogue with a table of {shape}", matmul.replace("TABLE", shape),
        [codes[0], scales[0], codes[1], scales[1], at, begins, table],
        a @ b.T + table[clip(at, 13)[:, None], clip(columns, 40)], ahead=True)
refuse("epilogue without a table", matmul.replace("TABLE", "?x?"),
       [codes[0], scales[0], codes[1], scales[1], at, begins, table[:, :0].copy()],
       "%e = tensor.extract", "dimension 1 has no elements to read")
prologue = """!x = tensor<64x?xf32>
!e = tensor<64x?xf8E4M3FN>
!s = tensor<64x?xf8E8M0FNU>
func.func @main(%x: !x, %at: tensor<64xi32>, %table: tensor<?x128xf32>, %blocks: index) -> !e {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : !x
  %0 = tensor.empty(%n) : !e
  %1 = tensor.empty(%blocks) : !s
  %q:2 = mx.fused_quantize ins(%x : !x) outs(%0, %1 : !e, !s) -> !e, !s prologue {
  ^bb0(%a: f32, %row: index, %col: index):
    %i = tensor.extract %at[%row] : tensor<64xi32>
    %p = arith.index_cast %i : i32 to index
    %e = tensor.extract %table[%p, %col] : tensor<?x128xf32>
    %s = arith.addf %a, %e : f32
    mx.yield %s : f32
  }
  return %q#0 : !e
}
"""
x, table = np.zeros((64, 128), np.float32), np.where(random.random((5, 128)) < .5, 256, -128).astype(np.float32)
table[:, ::32] = 256  # so that all scales are 1
at = make_indices("i32", 5, 64)
expected = table[clip(at, 5)].astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
run("prologue", prologue, [x, at, table, np.int64(4)], expected)

test.finish(least=10000)
