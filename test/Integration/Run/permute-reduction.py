"""With #mxgpu.k_order, mx.pack_operand permutes K as docs/reference/Spec.md defines, on the CPU path and the GPU. numpy
computes the expected elements.

RUN: %python %s mx-run %t
REQUIRES: compiler, numpy

Covers bf16, elements with scales, and row groups with separate scale tiles; reduction sizes that are multiples of
64 or not; rows that do not fill tiles; and a batch."""

import mx_reference as ref
import numpy as np
from harness import BF16, Function, Harness


def permuted(numbers):
    """Permutes one element at a time by index arithmetic."""
    columns = numbers.shape[-1]
    width, lanes = (64, 4) if columns % 64 == 0 else (32, 4)
    out = np.empty_like(numbers)
    for k in range(columns):
        t, e = k % width // (width // lanes), k % (width // lanes)
        s, h, j = e // 4, e // 2 % 2, e % 2
        out[..., k - k % width + 16 * s + 8 * h + 2 * t + j] = numbers[..., k]
    return out


def order(columns):
    return f"#mxgpu.k_order<{32 if columns % 64 else 64}>"


def of_numbers(shape):
    numbers = test.rng.normal(size=shape).astype(BF16)
    t, f = f"tensor<{'x'.join(map(str, shape))}xbf16>", Function()
    f.call(f"mx.pack_operand order = {order(shape[-1])} ins({f.argument(t, numbers)} : {t}) OUTS", [t])
    return f, numbers


def of_elements(rows, columns, element, scale, groups):
    block, nvfp4 = (16, True) if scale == "f8E4M3FN" else (32, False)
    codes = test.rng.integers(0, 2**int(element[1]), (rows, columns)).astype(np.uint8)
    if element == "f8E4M3FN":
        codes[codes % 128 == 127] = 1  # no NaN
    low, high = (40, 80) if nvfp4 else (110, 140)
    scales = test.rng.integers(low, high, (rows, columns // block)).astype(np.uint8)
    tq, ts, f = f"tensor<{rows}x{columns}x{element}>", f"tensor<{rows}x{columns // block}x{scale}", Function()
    f.argument(tq, ref.pack(codes, element), "q")
    offsets = ragged = ""
    if groups:
        ends, count = np.cumsum(groups), len(groups)
        ts += f", #mx.scale_layout<sf_128x4, ragged = rows, groups = {count}>"
        offsets, ragged = f"offsets(%o : tensor<{count}xi32>)", "ragged = rows"
        f.argument(f"tensor<{count}xi32>", ends.astype(np.int32), "o")
        scales_given = ref.tile_rows(scales, ends, slack=0xA5)
    f.argument(ts + ">", scales_given if groups else scales, "s")
    f.call(f"mx.pack_operand order = {order(columns)} {ragged} ins(%q : {tq}) scales(%s : {ts}>) {offsets} OUTS "
           f"{'block_size = 16' if nvfp4 else ''}", [f"tensor<{rows}x{columns}xbf16>"])
    return f, ref.real(codes, scales, element, nvfp4=nvfp4)


test = Harness("mx_run", "folder", seed=11)
CASES = {
    "bf16": of_numbers((5, 192)),
    "bf16-32": of_numbers((130, 96)),
    "bf16-batch": of_numbers((3, 2, 128)),
    "mxfp8": of_elements(37, 256, "f8E4M3FN", "f8E8M0FNU", ()),
    "mxfp6-32": of_elements(9, 160, "f6E2M3FN", "f8E8M0FNU", ()),
    "mxfp4": of_elements(129, 64, "f4E2M1FN", "f8E8M0FNU", ()),
    "nvfp4-32": of_elements(20, 288, "f4E2M1FN", "f8E4M3FN", ()),
    "rows": of_elements(300, 128, "f8E4M3FN", "f8E8M0FNU", (100, 0, 1, 199)),
    "nvfp4-rows": of_elements(140, 96, "f4E2M1FN", "f8E4M3FN", (130, 10)),
}
for name in test.select(CASES):
    function, numbers = CASES[name]
    for device in ("cpu", "sim"):
        found, = test.run(function, device=device, chip="sm_90a" if device == "sim" else None)
        test.expect(device, found, permuted(numbers.astype(BF16)))
test.finish(least=100000)
