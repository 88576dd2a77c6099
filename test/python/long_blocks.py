"""Checks of quantizers to blocks of at least 128 elements."""

import numpy as np
from harness import Blocks, Function, group_ends, to_array

SEED = 0x2718281828459045


def make_input(rng, shape):
    x = rng.standard_normal(shape) * np.exp2(rng.integers(-140, 120, (*shape[:-1], 1)))
    near = rng.random(shape[:-1]) < 0.5
    x[near] = rng.standard_normal((near.sum(), shape[-1])) * np.exp2(rng.integers(-12, 12, (near.sum(), shape[-1])))
    for value in (0.0, -0.0, np.nan, np.inf, -np.inf, 448.0, 464.0, 1e-45, 3e38):
        x[rng.random(shape) < 0.0005] = value
    x[rng.random(shape[:-1]) < 0.05] = 0
    groups = x.reshape(*shape[:-1], -1, 32)
    apart = rng.random(groups.shape[:-1]) < 0.1
    groups[apart] *= np.exp2(rng.integers(-130, 30, (apart.sum(), 1)))
    groups[rng.random(groups.shape[:-1]) < 0.1] = 0
    x[..., :2, :] = 0
    x[..., 0, 0], x[..., 0, 40::64] = 1e-40, np.inf  # scales of 0 and 254
    x[..., 1, 0], x[..., 1, 40::64] = 1e-40, np.nan
    return x


def check(test, case, spreads=False, scale=None, refused=False):
    """Compares a quantizer to long blocks with numpy. The smallest chip rejects a case that is `refused`."""
    shape, static, dtype, destinations, options = case
    with np.errstate(over="ignore"):
        array, x = to_array(make_input(test.rng, shape), dtype)
    groups = 3 if options == "ragged" else 0
    ends = group_ends(test.rng, shape[0], groups) if groups else None
    batch = "".join(f"{n}x" for n in shape[:-2])
    outs = [Blocks(*args, size=size, groups=groups, batch=batch, spreads=spreads, scale=scale)
            for *args, size in destinations]
    values = 2 if options == "concat" else 1
    f, sizes = Function(), shape if static else ["?"] * 2
    t = f"tensor<{'x'.join(map(str, [*shape[:-2], *sizes[-2:]]))}x{dtype}>"
    f.argument(t, array, "x"), f.argument("i64", np.int64(SEED), "seed")
    dims, types = [], sum((out.types(sizes[-2], sizes[-1] * values) for out in outs), [])
    if not static:
        f.lines += [line for d in (0, 1)
                    for line in (f"%c{d} = arith.constant {d} : index", f"%d{d} = tensor.dim %x, %c{d} : {t}")]
        for i, out in enumerate(outs):
            rows, columns = ("%d0", "%d1") if out.axis else ("%d1", "%d0")
            f.lines += [f"%s{i} = arith.constant {out.block} : index",
                        f"%b{i} = arith.divui {columns}, %s{i} : index"] if out.block != "row" else []
            sizes_of_scales = [rows, f"%b{i}"] if out.block != "row" else [rows]
            if out.block_rows > 1:
                f.lines.append(f"%l{i} = arith.ceildivui {rows}, %s{i} : index")
                sizes_of_scales[0] = f"%l{i}"
            dims += [f"{rows}, {columns}", ", ".join(sizes_of_scales)]
            if spreads:
                dims.append(", ".join(sizes_of_scales[::1 if out.axis else -1]))
    region = ""
    if options in ("prologue", "concat"):  # doubles each value, which is exact
        region = f"""prologue {{
        ^bb0(%a: {dtype}, %row: index, %column: index):
          %b = arith.addf %a, %a : {dtype}
          mx.yield {"%a, %b" if values == 2 else "%b"} : {", ".join([dtype] * values)}
        }}"""
        with np.errstate(over="ignore"):
            _, x = to_array(np.hstack([x, x * np.float32(2)][-values:]), dtype)
    if groups:
        f.argument("tensor<3xi32>", ends, "o")
    clauses = {"ragged": "offsets(%o : tensor<3xi32>)", "seed": "seed(%seed)"}
    flag = options if options in ("amax", "concat") else ""
    f.call(f"mx.fused_quantize {'ragged = rows' if groups else ''} ins(%x : {t}) {clauses.get(options, '')} OUTS "
           f"axes = {[out.axis for out in outs]} block_size = {outs[0].size} {'spreads' * spreads} {flag} "
           f"scale_rounding = {outs[0].rounding}", types + ["tensor<f32>"] * (options == "amax"), region, dims)
    if test.chip == "sm_120a" and refused:
        return test.refuse("choose shorter blocks, or quantize on the host", f.text(), f.arrays, chip=test.chip)
    # Elements with a seed and amax are compared with the CPU path, and all other results of both with numpy.
    found = test.run(f, chip=test.chip, check=test.chip != "cpu" and options in ("seed", "amax"), sms=2)
    if options == "seed":
        return
    arrays = iter(found)
    for out in outs:
        out.compare(test, f"{out}", arrays, x, ends)
