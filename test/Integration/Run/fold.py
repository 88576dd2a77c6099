# REQUIRES: numpy
# RUN: %python %s mx-run mx-opt %t cpu sm_90a
"""mx.fold, both operations that it stands for, and their fusion return the bytes and satisfy the bounds of
docs/reference/Spec.md (Folded operands), also of spreads."""

import mx_reference as ref
import numpy as np
from harness import Harness

test = Harness("mx_run", "mx_opt", "folder", "*chips", seed=3)
SHIFTS, TOP = 21, 140
LEAST = {"f8E4M3FN": -9, "f8E5M2": -16}  # exponent of the smallest element
LARGEST = {"f8E4M3FN": 0x7E, "f8E5M2": 0x7B}
OF_SPREAD = {"f8E4M3FN": 17.8, "f8E5M2": 31.8}


def fold(codes, scales, element, size):
    with np.errstate(over="ignore"):
        numbers = ref.round_to(ref.real(codes, scales, element), "f32").view(np.float32)
    return *ref.quantize(numbers, element, size=size), ref.spreads(numbers, element, "ceil", size)


def every_shift(element):
    """Returns rows that combine each code with each shift to the scale of the other blocks."""
    codes, shifts = np.arange(256, dtype=np.uint8).reshape(1, 8, 32), np.arange(SHIFTS)
    rows = np.full((SHIFTS, 8, 4, 32), LARGEST[element], np.uint8)
    rows[:, :, 1] = codes
    scales = np.full((SHIFTS, 8, 4), TOP, np.uint8)
    scales[:, :, 1] -= shifts[:, None].astype(np.uint8)
    return rows.reshape(-1, 128), scales.reshape(-1, 4)


def random(element, columns, kind):
    """Returns 48 rows. The largest element of a block has the exponent of the format's largest number."""
    codes = test.rng.integers(0, 256, (48, columns)).astype(np.uint8)
    codes[~np.isfinite(ref.decode(codes, element))] = 1
    codes[:, ::32] = LARGEST[element]
    scales = test.rng.integers(120, 127, (48, columns // 32)).astype(np.uint8)
    blocks = np.repeat(test.rng.random(scales.shape) < 0.2, 32, axis=1)
    if kind == "large":
        scales[np.arange(48), test.rng.integers(0, scales.shape[1], 48)] = 140
    elif kind == "zeros":
        codes[blocks] = 0x80
        codes[::5] = 0
        scales[blocks[:, ::32]] = test.rng.integers(0, 255, blocks[:, ::32].sum())
    elif kind == "nan":
        codes[test.rng.random(codes.shape) < 0.001] = 0xFF
        scales[test.rng.random(scales.shape) < 0.02] = 255
    elif kind == "edges":
        scales = test.rng.choice([0, 1, 2, 9, 244, 246, 247, 254], scales.shape).astype(np.uint8)
    return codes, scales


def check_bounds(name, codes, scales, folded, top, spreads, element, size):
    """Compares with the bounds, and with elements shifted to the largest scale of their block."""
    wide = min(size, codes.shape[1])
    exact = ref.real(codes, scales, element)
    found = ref.decode(folded, element) * np.repeat(ref.decode_scale(top), wide, 1)
    error = np.abs(found - exact)
    limit = np.repeat(np.exp2(top - 127.0 + LEAST[element] - 1), wide, 1)
    test.require(f"{name}: bound", (error <= limit).all(), (error / limit).max())
    groups = np.abs(exact).reshape(len(exact), -1, 32).max(2).repeat(32, 1)
    limit = groups * np.exp2(np.repeat(spreads.astype(float), wide, 1) - OF_SPREAD[element])
    test.require(f"{name}: bound by the spread", (error <= limit).all())
    largest = np.repeat(ref.decode_scale(scales.reshape(-1, wide // 32).max(1).reshape(top.shape)), wide, 1)
    shifted = ref.decode(ref.encode(exact / largest, element), element) * largest
    test.require(f"{name}: not less exact than a shift", (error <= np.abs(shifted - exact)).all())
    return int((error > 0).sum())


def spell(size):
    return size if size in (128, 256, 512) else "row"


def sugar(element, codes, scales, size):
    rows, columns = codes.shape
    e, s = f"tensor<{rows}x{columns}x{element}>", f"tensor<{rows}x{columns // 32}xf8E8M0FNU>"
    f, d = (f"tensor<{rows}x{columns // size}x{kind}>" for kind in ("f8E8M0FNU", "i8"))
    return f"""
func.func @main(%e: {e}, %s: {s}, %rows: tensor<{rows}xi32>, %ends: tensor<0xi32>) -> ({e}, {f}, {d}) {{
  %0 = tensor.empty() : {e}
  %1 = tensor.empty() : {f}
  %2 = tensor.empty() : {d}
  %q:3 = mx.fold ins(%e, %s : {e}, {s}) outs(%0, %1, %2 : {e}, {f}, {d}) block_size = {spell(size)} spreads
    -> {e}, {f}, {d}
  return %q#0, %q#1, %q#2 : {e}, {f}, {d}
}}
"""


def program(element, codes, scales, size, out_rows, gather, ends, out_scales):
    rows, columns = codes.shape
    e, s, n = (f"tensor<{rows}x{columns}x{element}>", f"tensor<{rows}x{columns // 32}xf8E8M0FNU>",
               f"tensor<{rows}x{columns}xf32>")
    q, f = f"tensor<{out_rows}x{columns}x{element}>", f"tensor<{'x'.join(map(str, out_scales))}xf8E8M0FNU>"
    d = f"tensor<{out_rows}x{columns // size}xi8>"
    i, o = f"tensor<{out_rows}xi32>", f"tensor<{len(ends)}xi32>"
    return f"""
func.func @main(%e: {e}, %s: {s}, %rows: {i}, %ends: {o}) -> ({q}, {f}, {d}) {{
  %n = tensor.empty() : {n}
  %0 = tensor.empty() : {q}
  %1 = tensor.empty() : {f}
  %2 = tensor.empty() : {d}
  %x = mx.dequantize ins(%e, %s : {e}, {s}) outs(%n : {n}) -> {n}
  %q:3 = mx.fused_quantize {"ragged = rows" if len(ends) else ""} ins(%x : {n}) {f"gather(%rows : {i})" if gather else ""}
    {f"offsets(%ends : {o})" if len(ends) else ""} outs(%0, %1, %2 : {q}, {f}, {d})
    block_size = {spell(size)} spreads -> {q}, {f}, {d}
  return %q#0, %q#1, %q#2 : {q}, {f}, {d}
}}
"""


def run(name, element, codes, scales, size, bounds=True, gather=False, ends=()):
    """Runs all forms. Returns the number of elements that folding changes."""
    folded, top, spreads = fold(codes, scales, element, size)
    changed = check_bounds(name, codes, scales, folded, top, spreads, element, size) if bounds else 0
    index = test.rng.integers(-1, len(codes), ends[-1] + 9 if len(ends) else 70).astype(np.int32)
    if not gather:
        index = np.arange(len(codes), dtype=np.int32)
    folded, top, spreads = (ref.gather(array, index) for array in (folded, top, spreads))
    part = np.s_[:ends[-1]] if len(ends) else ()
    of_scales = ref.defined_tiles(ends) if len(ends) else ()
    expected = ref.tile_rows(top, ends) if len(ends) else top
    text = program(element, codes, scales, size, len(index), gather, ends, expected.shape)
    fused = test.rewrite(text, "--mx-fuse-prologues")
    test.require(f"{name}: fused", "mx.dequantize" not in fused and "input_scales" in fused)
    arguments = [codes, scales, index, np.array(ends, np.int32)]
    for form in [text, fused, *[sugar(element, codes, scales, size)] * (not gather and not len(ends))]:
        # Kernels quantize whole rows of matrices without expert groups.
        for chip in [chip for chip in test.chips if chip == "cpu" or spell(size) != "row" or not len(ends)]:
            found = test.run(form, arguments, 3, chip=chip)
            test.expect(f"{chip} {name}: elements", found[0], folded, part)
            test.expect(f"{chip} {name}: scales", found[1], expected, of_scales)
            test.expect(f"{chip} {name}: spreads", found[2].view(np.uint8), spreads, part)
    return changed


changed = 0
for element in LEAST:
    codes, scales = every_shift(element)
    finite = np.isfinite(ref.decode(codes, element)).all(1)
    changed += run(f"{element} shifts", element, codes[finite], scales[finite], 128)
    run(f"{element} all shifts", element, codes, scales, 128, bounds=False)
    for kind in "random", "large", "zeros", "nan", "edges":
        for size, columns in (128, 384), (256, 512), (512, 1024), (288, 288):
            codes, scales = random(element, columns, kind)
            changed += run(f"{element} {kind} {size}", element, codes, scales, size,
                           bounds=kind not in ("nan", "edges"))
    for size, columns in (128, 256), (288, 288):
        codes, scales = random(element, columns, "large")
        run(f"{element} gathered {size}", element, codes, scales, size, gather=True)
        run(f"{element} groups {size}", element, codes, scales, size, ends=[0, 7, 7, 40])
        run(f"{element} gathered groups {size}", element, codes, scales, size, gather=True, ends=[3, 140, 140, 150])
print(f"folding changed {changed} elements")
if changed < 2000:
    test.fail("expected folding to change more elements")
test.finish(least=3200000 * len(test.chips))
