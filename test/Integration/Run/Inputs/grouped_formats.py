"""Runs mx.grouped_matmul over random groups and compares with numpy.

KIND is `rows` or `reduction`. Covers no groups, empty groups, groups of one row, a group of all rows, groups of odd
sizes, and rows after the last group. Slack contains poison: NaN scales beyond the matrices and between groups of rows,
NaN elements after the last expert group, and a result full of NaN. Case i is reproducible.
"""

import os

import numpy as np
from chips import adapt_schedule, count_roundings
from harness import FLOATS, Harness, widen
from matmul_formats import NAN_SCALE, OUTS, compare, make_codes, make_scales, ref, tile_scales

ROWS = """
!a = tensor<{t}x{k}x{a}>
!as = tensor<{t}x{blocks}x{s}, #mx.scale_layout<sf_128x4, ragged = rows, groups = {g}>>
!b = tensor<{g}x{n}x{k}x{b}>
!bs = tensor<{g}x{n}x{blocks}x{s}, #mx.scale_layout<sf_128x4>>
!out = tensor<{t}x{n}x{out}>
"""
REDUCTION = """
!a = tensor<{m}x{k}x{a}, #mx.ragged<groups = {g}, align = 128>>
!as = tensor<{m}x{blocks}x{s}, #mx.scale_layout<sf_128x4, ragged = reduction, groups = {g}>>
!b = tensor<{n}x{k}x{b}, #mx.ragged<groups = {g}, align = 128>>
!bs = tensor<{n}x{blocks}x{s}, #mx.scale_layout<sf_128x4, ragged = reduction, groups = {g}>>
!out = tensor<{g}x{m}x{n}x{out}>
"""
PROGRAM = """
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: tensor<{g}x{offset}>,
                %init: !out) -> !out {{
  %y = mx.grouped_matmul ragged = {kind} ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : tensor<{g}x{offset}>) outs(%init : !out)
      {block}{accumulate}{{{schedule}}} -> !out {epilogue}
  return %y : !out
}}
"""
# Places count within the rows, or within the group's own matrix.
EPILOGUE = """epilogue {{
  ^bb0(%acc: f32, %row: index, %col: index):
    %two = arith.constant 2 : index
    %odd = arith.remui %row, %two : index
    %number = arith.index_cast %odd : index to i32
    %factor = arith.sitofp %number : i32 to f32
    %one = arith.constant 1.0 : f32
    %scale = arith.addf %factor, %one : f32
    %z = arith.mulf %acc, %scale : f32
    {store}
  }}"""
# Smallest reductions of element types supported by the copy engine.
PAIRS = [("f8E4M3FN", "f8E4M3FN", "f8E8M0FNU", 32),
         ("f8E5M2", "f8E4M3FN", "f8E8M0FNU", 32),
         ("f4E2M1FN", "f4E2M1FN", "f8E8M0FNU", 64),
         ("f8E4M3FN", "f4E2M1FN", "f8E8M0FNU", 128),
         ("f4E2M1FN", "f4E2M1FN", "f8E4M3FN", 64),
         ("f6E3M2FN", "f8E5M2", "f8E8M0FNU", 128)]


def random_sizes(rng, index):
    """Draws the sizes of groups, and the number of rows outside of all expert groups."""
    groups = int(rng.choice([1, 2, 3, 5, 8, 33, 40]))
    kind = index % 6
    if kind == 0:
        sizes = rng.choice([0, 1, 31, 32, 33, 127, 128, 129, 200], groups)
    elif kind == 1:
        sizes = np.zeros(groups, int)
        sizes[rng.integers(groups)] = rng.integers(1, 500)
    elif kind == 2:
        sizes = rng.multinomial(rng.integers(1, 400), rng.dirichlet(
            np.full(groups, 0.2)))
    elif kind == 3:
        sizes = np.zeros(groups, int)
    elif kind == 4:
        sizes = rng.integers(0, 4, groups)
    else:
        sizes = rng.integers(100, 300, min(groups, 3))
    behind = int(rng.choice([0, 0, 1, 150]))
    if sizes.sum() + behind == 0:
        behind = 7
    return sizes.astype(int), behind


class Rows:
    """C[m, n] = sum of A[m, k] * B[g, n, k] for the rows m of group g. Random
    `n` and `k` unless they are given."""

    def __init__(self, rng, sizes, behind, formats, specials, n=None, k=None):
        a, b, s, multiple = formats
        block = 32 if s == "f8E8M0FNU" else 16
        groups, total = len(sizes), int(sizes.sum()) + behind
        n = n or int(rng.choice([8, 128, 200, 264, rng.integers(1, 300)]))
        k = k or int(rng.choice([multiple, 128 + multiple, 256, 384]))
        ends = np.cumsum(sizes)
        packed, values = make_codes(rng, total, k, a, specials)
        if a.startswith("f8"):  # NaN in rows outside of all expert groups
            packed[ends[-1]:] = 0x7F
        tiles = np.full((total // 128 + groups, -(-k // block // 4), 32, 4, 4),
                        NAN_SCALE[s], np.uint8)
        bs, bts, self.matmuls = [], [], []
        begin = 0
        for g, end in enumerate(ends):
            scales, tiled = make_scales(rng, end - begin, k // block, s)
            first = begin // 128 + g
            tiles[first:first + len(tiled)] = tiled
            codes, own = make_codes(rng, n, k, b, specials)
            own_scales, own_tiles = make_scales(rng, n, k // block, s)
            bs.append(codes)
            bts.append(own_tiles)
            with np.errstate(invalid="ignore"):
                self.matmuls.append(
                    (slice(begin, end), np.arange(begin, end),
                     values[begin:end] * scales.repeat(block, axis=1),
                     own * own_scales.repeat(block, axis=1)))
            begin = end
        self.arrays = [packed, tiles, np.stack(bs), np.stack(bts)]
        self.shape = (total, n)
        self.types = ROWS
        self.sizes = dict(t=total, n=n, k=k, g=groups, blocks=k // block, m=0)
        self.k = k


class Reduction:
    """C[g, m, n] = sum of A[m, k] * B[n, k] for the k of group g. Random `m` and
    `n` unless they are given."""

    def __init__(self, rng, sizes, behind, formats, specials, m=None, n=None):
        a, b, s, multiple = formats
        block = 32 if s == "f8E8M0FNU" else 16
        groups, total = len(sizes), int(sizes.sum()) + behind
        m = m or int(rng.choice([1, 128, 200, rng.integers(1, 300)]))
        n = n or int(rng.choice([8, 128, 200, rng.integers(1, 300)]))
        cap = ref.capacity(total, groups)
        starts = ref.group_starts(np.cumsum(sizes))
        operands = []
        for rows, name in [(m, a), (n, b)]:
            codes = np.full((rows, cap), 0x7F if name.startswith("f8") else 1, np.uint8)
            scales = np.full((rows, cap // block), NAN_SCALE[s], np.uint8)
            for start, size, end in zip(starts, sizes, starts[1:]):
                codes[:, start:end] = 0  # zeros, as the quantizer writes them
                scales[:, start // block:end // block] = 0
                some = rng.integers(0, 1 << int(name[1]), (rows, size)).astype(np.uint8)
                if not specials:
                    some[~np.isfinite(ref.decode(some, name))] = 1
                codes[:, start:start + size] = some
                used = -(-size // block)
                scales[:, start // block:start // block + used] = (
                    rng.integers(121, 134, (rows, used)) if block == 32 else
                    rng.integers(0, 0x7F, (rows, used)))
            operands.append((ref.pack(codes, name), tile_scales(scales, s),
                             ref.real(codes, scales, name, block == 16)))
        self.matmuls = [
            (g, np.arange(m), operands[0][2][:, start:start + size],
             operands[1][2][:, start:start + size])
            for g, (start, size) in enumerate(zip(starts, sizes))]
        self.arrays = [array for o in operands for array in o[:2]]
        self.shape = (groups, m, n)
        self.types = REDUCTION
        self.sizes = dict(t=total, m=m, n=n, k=cap, g=groups, blocks=cap // block)
        self.k = max(int(sizes.max()), 1)


def run_case(args, index):
    rng = np.random.default_rng(7000 + index)
    sizes, behind = random_sizes(rng, index)
    formats = PAIRS[index % len(PAIRS) if rng.random() < 0.6 else 0]
    case = {"rows": Rows, "reduction": Reduction}[args.kind](
        rng, sizes, behind, formats, index % 4 == 1)
    return run_matmul(args, index, rng, sizes, formats, case,
                      out=list(OUTS)[index % len(OUTS)],
                       offset=["i32", "i64"][index // 2 % 2],
                       accumulate=index % 5 == 2, epilogue=index % 3 == 1)


def run_matmul(args, index, rng, sizes, formats, case, out, offset="i32",
               accumulate=False, epilogue=False):
    """Compiles, runs and compares one matmul. `args` is a `Harness` like the one in main."""
    a, b, s, _ = formats
    store = ("mx.yield %z : f32" if out == "f32" else
             "%w = arith.truncf %z : f32 to bf16 mx.yield %w : bf16")
    text = (case.types + PROGRAM).format(
        a=a, b=b, s=s, out=out, kind=args.kind, offset=offset,
        block="" if s == "f8E8M0FNU" else "block_size = 16 ",
        accumulate="accumulate " if accumulate else "",
        epilogue=EPILOGUE.format(store=store) if epilogue else "",
        schedule=f"mxgpu.schedule = #mxgpu.schedule<{adapt_schedule(args.schedule)}>"
        if args.schedule else "", **case.sizes)
    before = np.full(case.shape, np.nan, np.float32)
    if accumulate:
        before = rng.integers(-64, 64, case.shape).astype(np.float32)
    ends = np.cumsum(sizes).astype({"i32": np.int32, "i64": np.int64}[offset])
    what = (f"{index}: {a} x {b} scaled by {s}, {args.kind} "
            f"{[int(x) for x in sizes]}, {case.sizes} to {out}"
            f"{', accumulate' if accumulate else ''}"
            f"{', epilogue' if epilogue else ''}")
    done, outs = args.call(text, [*case.arrays, ends, before.astype(FLOATS[out])], 1, seed=args.order or index % 2,
                           sms=os.environ.get("MX_SIM_SM_COUNT", "3"))
    # A remark explains the epilogue if the copy engine cannot write the result.
    is_explained = "remark: epilogue = direct instead of tma_store" in done.stderr
    if done.stderr and not is_explained:
        args.fail(f"{what}: {done.stderr}")
    y = widen(np.load(outs[0]))
    steps = count_roundings(case.k, a, b) + 1
    wrong, largest = 0, 0.0
    for where, rows, left, right in case.matmuls:
        if accumulate:  # one more term, the old value times 1
            old = before[where].astype(np.float64)
            found = compare_sum(y[where], left, right, old, rows, epilogue,
                                steps, OUTS[out])
        else:
            factor = (1 + rows % 2)[:, None] if epilogue else 1
            found = compare(y[where], left * factor, right, steps, OUTS[out])
        wrong, largest = wrong + found[0], max(largest, found[1])
    print(f"{what}: {wrong} wrong, largest deviation {largest:.3f} of the bound", flush=True)
    args.compared += y.size
    if wrong:
        args.fail(what)
    return wrong == 0


def compare_sum(y, left, right, old, rows, epilogue, steps, mantissa):
    """Adds the old value of each column as one more element of the reduction."""
    factor = (1 + rows % 2)[:, None] if epilogue else np.ones((len(rows), 1))
    wrong, largest = 0, 0.0
    for column in range(right.shape[0]):
        a = np.concatenate([left, old[:, column:column + 1]], axis=1) * factor
        b = np.append(right[column], 1.0)[None]
        found = compare(y[:, column:column + 1], a, b, steps + 1, mantissa)
        wrong, largest = wrong + found[0], max(largest, found[1])
    return wrong, largest


def main():
    test = Harness("mx_run", "device", "folder", "kind", count=12, first=0, schedule="", order="")
    for index in range(test.first, test.first + test.count):
        run_case(test, index)
        test.cases += 1
    test.finish()


if __name__ == "__main__":
    main()
