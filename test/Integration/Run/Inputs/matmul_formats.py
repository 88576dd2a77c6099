"""Runs mx.matmul on operands of every format and compares with numpy.

Operands and scales are random codes, so that every value of a format occurs. Slack contains NaN scales, in rows and
blocks beyond the matrix. Case i is reproducible: a long run can be interrupted and resumed with --first.
"""

import os
import sys

import mx_reference as ref
import numpy as np
from chips import adapt_schedule, as_operand, count_roundings, reduction_multiple
from harness import Harness, widen

FORMATS = [name for name in ref.ELEMENTS if name != "i8"]
OUTS = {"f32": 23, "bf16": 7}
NAN_SCALE = {"f8E8M0FNU": 0xFF, "f8E4M3FN": 0x7F}

PROGRAM = """
!a = tensor<{m}x{k}x{a}>
!b = tensor<{n}x{k}x{b}>
!as = tensor<{m}x{blocks}x{s}, #mx.scale_layout<sf_128x4>>
!bs = tensor<{n}x{blocks}x{s}, #mx.scale_layout<sf_128x4>>
!out = tensor<{m}x{n}x{out}>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs) -> !out {{
  {empty}
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%init : !out)
      {block}{{{schedule}}} -> !out
  return %y : !out
}}
"""
DYNAMIC = """%c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : !a
  %n = tensor.dim %b, %c0 : !b
  %init = tensor.empty(%m, %n) : !out"""


def make_codes(rng, rows, k, name, specials):
    codes = rng.integers(0, 1 << int(name[1]), (rows, k)).astype(np.uint8)
    values = ref.decode(codes, name)
    if not specials:
        codes[~np.isfinite(values)] = 1
        values = ref.decode(codes, name)
    return ref.pack(codes, name), values


def make_scales(rng, rows, blocks, kind):
    """Returns the scales as values, and in tiles with NaN in all slack."""
    if kind == "f8E8M0FNU":
        bytes_ = rng.integers(121, 134, (rows, blocks)).astype(np.uint8)
    else:
        bytes_ = rng.integers(0, 0x7F, (rows, blocks)).astype(np.uint8)
    return ref.decode_scale(bytes_, kind == "f8E4M3FN"), tile_scales(bytes_, kind)


def tile_scales(scales, kind):
    """Returns the bytes of scales in tiles, with NaN in all slack."""
    return ref.tile(scales, slack=NAN_SCALE[kind])


def compare(y, a, b, steps, mantissa):
    """Counts elements beyond the bound of exact sums in each step."""
    a, b = as_operand(a), as_operand(b)
    with np.errstate(invalid="ignore", over="ignore"):
        exact, total = a @ b.T, np.abs(a) @ np.abs(b).T
        nan = np.isnan(exact)
        wrong = int((nan != np.isnan(y)).sum())
        inf = np.isinf(exact)
        wrong += int((y[inf] != exact[inf]).sum())
        use = ~nan & ~inf & ~np.isnan(y)
        e, t, v = exact[use], total[use], y[use]
        exponent = np.maximum(np.frexp(np.maximum(np.abs(v), np.abs(e)))[1] - 1, -126)
        bound = steps * 2.0**-23 * t + np.ldexp(0.5, exponent - mantissa) * (1 + 1e-9)
        ratio = np.abs(v - e) / bound
        largest = float(ratio.max()) if ratio.size else 0.0
        return wrong + int((~(ratio <= 1)).sum()), largest


def main():
    test = Harness("mx_run", "device", "folder", count=0, first=0, formats="", schedule="", shape="", least_k=0,
                   multiple_of_n=1, order="")
    pairs = [(a, b, "f8E8M0FNU") for a in FORMATS for b in FORMATS]
    pairs.append(("f4E2M1FN", "f4E2M1FN", "f8E4M3FN"))
    if test.formats:
        wanted = test.formats.split(",")
        pairs = [p for p in pairs if list(p[: len(wanted)]) == wanted]
        if not pairs:
            sys.exit(f"no such formats: {test.formats}")
    for index in range(test.first, test.first + (test.count or len(pairs))):
        run_case(test, index, *pairs[index % len(pairs)])
        test.cases += 1
    test.finish()


def run_case(args, index, a, b, s):
    rng = np.random.default_rng(1000 + index)
    multiple = reduction_multiple(a, b)
    m = int(rng.choice([1, 31, 128, 129, rng.integers(1, 300)]))
    n = int(rng.choice([1, 24, 128, 200, rng.integers(1, 300)]))
    k = int(rng.choice([multiple, 128 + multiple, 256, 384, 512 + multiple]))
    k, n = max(k, args.least_k), -(-n // args.multiple_of_n) * args.multiple_of_n
    if args.shape:
        m, n, k = map(int, args.shape.split("x"))
    block = 32 if s == "f8E8M0FNU" else 16
    out = list(OUTS)[index % len(OUTS)]
    dynamic = index % 3 == 0 and not args.shape
    specials = index % 4 == 1
    a_codes, a_values = make_codes(rng, m, k, a, specials)
    b_codes, b_values = make_codes(rng, n, k, b, specials)
    a_scales, a_tiles = make_scales(rng, m, k // block, s)
    b_scales, b_tiles = make_scales(rng, n, k // block, s)
    size = "?" if dynamic else None
    schedule = f"mxgpu.schedule = #mxgpu.schedule<{adapt_schedule(args.schedule)}>" if args.schedule else ""
    text = PROGRAM.format(a=a, b=b, s=s, out=out, m=size or m, n=size or n, k=size or k, blocks=size or k // block,
                          empty=DYNAMIC if dynamic else "%init = tensor.empty() : !out",
                          block="" if block == 32 else "block_size = 16 ", schedule=schedule)
    what = f"{index}: {a} x {b} scaled by {s}, {m} x {n} x {k} to {out}{', dynamic' * dynamic}"
    y = widen(args.run(text, [a_codes, a_tiles, b_codes, b_tiles], 1, check=True, seed=args.order or index % 2,
                       sms=os.environ.get("MX_SIM_SM_COUNT", "3"))[0])
    with np.errstate(invalid="ignore"):
        x = a_values * a_scales.repeat(block, axis=1)
        w = b_values * b_scales.repeat(block, axis=1)
    wrong, ratio = compare(y, x, w, count_roundings(k, a, b), OUTS[out])
    print(f"{what}: {wrong} wrong, largest deviation {ratio:.3f} of the bound", flush=True)
    args.compared += y.size
    if wrong:
        args.fail(what)


if __name__ == "__main__":
    main()
