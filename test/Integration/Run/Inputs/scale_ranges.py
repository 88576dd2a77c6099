"""Operands with different kinds of scales, and matmuls of these operands with and without f16_scale_range."""

import mx_reference as ref
import numpy as np

NAN, NAN_SCALE = 0x7F, 255
WINDOW = ", strategy = #mxgpu.wgmma_upcast_b<f16_scale_range = true>"
# Smallest and largest scales.
RANGES = {"forty": (107, 147), "large": (130, 169), "highest": (108, 169), "deepest": (73, 134),
          "over": (140, 170), "under": (72, 130), "all": (3, 246)}


def operand(rng, rows, k, kind):
    """Draws element codes and scale bytes for `rows` rows. The kind is constant, or it changes every 128 rows."""
    if "+" in kind:
        parts = [operand(rng, min(128, rows - 128 * i), k, each)
                 for i, each in enumerate(kind.split("+"))]
        return tuple(np.concatenate(each) for each in zip(*parts))
    codes = rng.integers(0, 256, (rows, k), np.uint8)
    codes[codes & NAN == NAN] = 0x3C
    centre = 127 + rng.integers(-8, 9)
    scales = np.full((rows, k // 32), centre, np.uint8)
    kind, *more = kind.split("-")
    if kind != "even":
        scales += rng.integers(-6, 7, scales.shape).astype(np.uint8)  # 12 powers of two
    some = rng.random(scales.shape) < 0.1
    blocks = codes.reshape(rows, k // 32, 32)
    if kind in ("zeros", "tiny"):
        scales[some] = 0
        blocks[some] = np.where(rng.random(blocks[some].shape) < 0.5, 0, 0x80)
    if kind == "tiny":  # one nonzero element, in the last row
        scales[-1, -1] = 0
        blocks[-1, -1, 17] = 0x81
    elif kind == "wide":
        scales[0, 0], scales[1, 0] = centre - 7, centre + 6
    elif kind in RANGES:
        least, most = RANGES[kind]
        scales[:] = rng.integers(least, most + 1, scales.shape)
        scales[0, 0], scales[-1, -1] = least, most
    elif kind == "some":  # only the first 128 rows
        scales[3, -1] = centre - 40
    elif kind == "low":  # together, all scales are outside of f16's own range
        scales -= 60
    elif kind == "nan":
        scales[rows // 2, 0] = 255
    elif kind == "nans":
        codes[rng.integers(0, rows), rng.integers(0, k)] = NAN | 0x80
    elif kind == "none":
        scales[:] = 0
        codes[:] = 0
    if "subnormals" in more:
        codes &= 0x87
    if "ends" in more:  # the smallest and the largest numbers, with these scales
        codes[0, :32], codes[-1, -32:] = 0x01, 0x7E
    if "zeros" in more:
        scales[some] = 0
        blocks[some] = 0x80
    if "nans" in more:  # a single NaN near the end of the row
        codes[-1, -1 - rng.integers(0, 16)] = NAN | rng.integers(0, 2) << 7
    return codes, scales


def real(codes, scales):
    return ref.real(codes, scales, "f8E4M3FN")


def compare(test, text, schedule, arrays, matmuls, more=0, bounded=True):
    """Compares bits with and without windows, and numbers with float64. Each of `matmuls` contains a part of the
    result, A, B and the initial accumulator. `more` is the number of additional rounding steps. Unless `bounded` is
    true, sums may overflow f32."""
    found, other = (test.run(text.replace("SCHEDULE", schedule + window), arrays, 1)[0] for window in (WINDOW, ""))
    for part, a, b, added in matmuls:
        test.expect(f"{part}: bits", found[part], other[part], nan=True)
        exact, magnitude = a @ b.T + added, np.abs(a) @ np.abs(b).T + np.abs(added)
        bound = 4 * (-(-a.shape[1] // 64) + more) * 5 * 2.0**-23 * magnitude
        within = slice(None) if bounded else (bound <= 2.0**100) & (bound >= 2.0**-126)
        test.expect_numbers(f"{part}: numbers", found[part][within], exact[within], bound[within])
