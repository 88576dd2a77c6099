"""Every byte of a matmul with a scaled operand A and a bf16 operand B equals numpy's, on the simulator and the CPU
path.

RUN: %python %s mx-run %t
REQUIRES: compiler, numpy

Shapes, formats, tiles and kinds of matmuls are random: single matrices, split reductions, row groups with a shared B or
with one matrix B for each group, scattered sums of rows, and parts with an epilogue. In some
cases, an earlier kernel permutes the reduction dimension of B. Operands are small, so sums are exact in any order."""

import mx_reference as ref
import numpy as np
from harness import BF16, FLOATS, Harness, exact_operand, widen

ELEMENTS = ["f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN"]
NUMBERS = np.array([-2, -1.5, -1, -0.5, 0, 0.5, 1, 2])
KINDS = ["dense", "accumulate", "split", "rows", "masked", "scatter", "parts"]
TILES = [(64, 16), (64, 256), (128, 48), (128, 256), (256, 96), (192, 160)]


class Case:
    def __init__(self, number, seed):
        self.rng = rng = np.random.default_rng([seed, number])
        self.kind = KINDS[number % len(KINDS)]
        self.element = ELEMENTS[rng.integers(5)]
        self.block = 16 if self.element == "f4E2M1FN" and rng.random() < 0.4 else 32
        self.groups = int(rng.integers(1, 5)) if self.kind in ("rows", "masked", "scatter", "parts") else 0
        self.m, self.n = int(rng.integers(1, 400)), 8 * int(rng.integers(1, 50))
        self.k = 32 * int(rng.integers(1, 14))
        if self.kind == "parts":
            self.n = 128 * int(rng.integers(1, 3))
        self.bulk = self.kind in ("dense", "rows") and rng.random() < 0.6
        tiles = [tile for tile in TILES if not self.groups or tile[0] % 128 == 0]
        rows, columns = tiles[rng.integers(len(tiles))]
        if self.groups and rows == 192:
            rows, columns = 128, 64
        if self.kind == "parts":
            rows, columns = 128, 256
        splits = min(3, -(-self.k // 64)) if self.kind == "split" else 1
        depth = 64 if splits > 1 else int(rng.choice([64, 128]))
        own = "<permuted_b = true>, workspace = b" if rng.random() < 0.5 else ""
        self.schedule = (f"tile = [{rows}, {columns}, {depth}], strategy = #mxgpu.wgmma_upcast_a{own}"
                         + (f", split_k = {splits}" if splits > 1 else "")
                         + (", epilogue = tma_store" if self.bulk else "")
                         + (", pdl" if rng.random() < 0.5 else ""))
        self.out = "f32" if self.kind in ("scatter", "accumulate") or rng.random() < 0.5 else "bf16"

    def __str__(self):
        return (f"{self.kind} {self.m}x{self.n}x{self.k} {self.element} blocks of {self.block}, "
                f"{self.groups} groups, {self.out}, {self.schedule}")


def make(case):
    """Returns the program, its arguments, and the expected result."""
    rng, m, n, k = case.rng, case.m, case.n, case.k
    scale = "f8E4M3FN" if case.block == 16 else "f8E8M0FNU"
    parts, groups = (2 if case.kind == "parts" else 1), case.groups
    masked = case.kind == "masked"
    rows = groups * m if masked else m
    codes, scales, a = exact_operand(rng, rows, k, case.element, case.block)
    b = rng.choice(NUMBERS, (max(groups, 1), parts * n, k))
    blocks = k // case.block
    lead = f"{groups}x" if masked else ""
    ragged = f", ragged = rows, groups = {groups}" if groups and not masked else ""
    bytes_ = ref.pack(codes, case.element)
    arguments = [bytes_.reshape(groups, m, -1) if masked else bytes_]
    ends = None
    if groups:
        cuts = np.sort(rng.integers(0, m + 1, groups - 1))
        ends = np.append(cuts, m)
        if masked:
            ends = np.cumsum(rng.integers(0, m + 1, groups))
    if masked:
        arguments.append(scales.reshape(groups, m, -1))
    else:
        arguments.append(ref.tile_rows(scales, ends, slack=255) if groups else ref.tile(scales))
    if masked:
        arguments[1] = np.stack([ref.tile(one) for one in arguments[1]])
    weights = b if groups else b[0]
    arguments.append(weights.astype(BF16))
    types = {"a": f"tensor<{lead}{m}x{k}x{case.element}>",
             "as": f"tensor<{lead}{m}x{blocks}x{scale}, #mx.scale_layout<sf_128x4{ragged}>>",
             "b": f"tensor<{f'{groups}x' if groups else ''}{parts * n}x{k}xbf16>",
             "y": f"tensor<{lead}{m}x{n}x{case.out}>"}
    extra = offsets = scatter = ""
    init = np.zeros(0)
    if groups:
        extra += f", %o: tensor<{groups}xi32>"
        offsets = f" offsets(%o : tensor<{groups}xi32>)"
        arguments.append(ends.astype(np.int32))
    expected = np.zeros((rows, n))
    if not groups:
        expected = a @ b[0].T
    for group in range(groups):
        begin = group * m if masked else (ends[group - 1] if group else 0)
        count = ends[group] - (ends[group - 1] if group else 0)
        sums = a[begin:begin + count] @ b[group].T
        expected[begin:begin + count] = sums[:, :n] * sums[:, n:] if parts > 1 else sums
    has_init = case.kind in ("scatter", "accumulate")
    if case.kind == "scatter":
        to = rng.permutation(m).astype(np.int32)
        scatter = f" scatter(%to : tensor<{m}xi32>)"
        extra += f", %to: tensor<{m}xi32>"
        arguments.append(to)
    if has_init:
        extra += ", %init: !y"
        init = rng.choice(NUMBERS, (m, n)).astype(np.float32)
        arguments.append(init)
        placed = expected if case.kind == "accumulate" else np.zeros((m, n))
        if case.kind == "scatter":
            placed[to] = expected
        expected = init + placed
    op = "mx.grouped_matmul ragged = rows" + " masked" * masked if groups else "mx.matmul"
    attributes = (" block_size = 16" * (case.block == 16) + " accumulate" * (case.kind == "accumulate")
                  + " num_b = 2" * (parts > 1))
    epilogue = ""
    if parts > 1:
        rounded = "%v" if case.out == "f32" else "%r"
        round_ = "" if case.out == "f32" else "\n      %r = arith.truncf %v : f32 to bf16"
        epilogue = f""" epilogue {{
    ^bb0(%g: f32, %u: f32, %row: index, %column: index):
      %v = arith.mulf %g, %u : f32{round_}
      mx.yield {rounded} : {case.out}
    }}"""
    empty = "" if has_init else "  %init = tensor.empty() : !y\n"
    text = "".join(f"!{name} = {type_}\n" for name, type_ in types.items()) + f"""
func.func @main(%a: !a, %as: !as, %b: !b{extra}) -> !y {{
{empty}  %y = {op} ins(%a, %as, %b : !a, !as, !b){offsets}{scatter} outs(%init : !y){attributes}
      {{mxgpu.schedule = #mxgpu.schedule<{case.schedule}>}} -> !y{epilogue}
  return %y : !y
}}
"""
    written = np.ones(rows, bool)
    if masked:
        counts = np.diff(np.append(0, ends))
        written = (np.arange(m) < counts[:, None]).reshape(-1)
    return text, arguments, expected, written


test = Harness("mx_run", "folder", seed=0, count=28)
for case in test.select(Case(number, test.seed) for number in range(test.count)):
    text, arguments, expected, written = make(case)
    for device in ("cpu", "sim"):
        found, = test.run(text, arguments, 1, device=device, chip="sm_90a" if device == "sim" else None)
        test.expect_numbers(device, widen(found).reshape(expected.shape)[written],
                            expected[written].astype(FLOATS[case.out]).astype(np.float64))
test.finish(least=100000)
