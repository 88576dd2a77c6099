"""f16_scale_range changes how a matmul is computed, and not what: units whose scales lie
within a window go through f16, others through bf16 relative to references, if they have no
NaN, and the rest through bf16, with the same bits.

RUN: env MX_CHIP=sm_90a MX_SIM_TENSOR_SUMS=truncated %python %s mx-run %t sim
REQUIRES: compiler, numpy
TIER: slow

Compared bit for bit with the same schedule without it, and with numpy in float64.
"""

import os
import subprocess
import sys

import numpy as np

import mx_reference as ref

PROGRAM = """
!a = tensor<{m}x{k}xf8E4M3FN>
!b = tensor<{n}x{k}xf8E4M3FN>
!as = tensor<{m}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!bs = tensor<{n}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!out = tensor<{m}x{n}xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs) -> !out {{
  %init = tensor.empty() : !out
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%init : !out)
      {{mxgpu.schedule = #mxgpu.schedule<tile = {tile}{window}>}} -> !out
  return %y : !out
}}
"""
NAN = 0x7F


# Smallest and largest scales.
RANGES = {"forty": (107, 147), "large": (130, 169), "highest": (108, 169), "deepest": (73, 134),
          "over": (140, 170), "under": (72, 130), "all": (3, 246)}


def operand(rng, rows, k, kind):
    """Element codes and scale bytes of `rows` rows: of one kind, or for each 128 rows of
    the next one of several."""
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
    if kind == "tiny":  # one element that is not zero, in the last row
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
    elif kind == "low":  # all of them together, out of f16's own range
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
    if "ends" in more:  # the smallest and the largest numbers, with those scales
        codes[0, :32], codes[-1, -32:] = 0x01, 0x7E
    if "zeros" in more:
        scales[some] = 0
        blocks[some] = 0x80
    if "nans" in more:  # one, as one of the last elements
        codes[-1, -1 - rng.integers(0, 16)] = NAN | rng.integers(0, 2) << 7
    return codes, scales


def fits(codes, scales):
    """Of each 128 rows, whether they fit f16, bf16, and have no NaN."""
    found = []
    for row in range(0, len(codes), 128):
        some, of = codes[row:row + 128], scales[row:row + 128]
        counts = (some.reshape(*of.shape, 32) & 0x7F).any(2) | (of > 0)
        most, least = int(of.max()), int(of[counts].min(initial=255))
        reference = max(most, 134)
        found.append((94 <= most <= 169 and most - least <= 12,
                      most <= 169 and reference - least <= 61,
                      not (some & NAN == NAN).any()))
    return np.array(found)


def count_units(a, b, tile):
    """Units in f16, in bf16 relative to references, and in bf16."""
    rows = int(tile[1:4]) // 128
    counts = [0, 0, 0]
    for i in range(0, len(a), rows):
        for j in b:  # at most 128 columns
            unit = np.vstack([a[i:i + rows], j])
            in_f16 = unit[:, 0].all()
            counts[0 if in_f16 else 1 if unit[:, 1:].all() else 2] += 1
    return counts


def run(directory, mx_run, device, text, arguments):
    program = os.path.join(directory, "program.mlir")
    with open(program, "w", encoding="utf-8") as file:
        file.write(text)
    command = [mx_run, program, f"--device={device}", "--result", f"{directory}/y.npy"]
    for i, argument in enumerate(arguments):
        np.save(f"{directory}/{i}.npy", argument)
        command += ["--arg", f"{directory}/{i}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return np.load(f"{directory}/y.npy")


def main():
    mx_run, directory, device = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    cases = [("even", "even", (256, 128, 64), "[256, 128, 64]"),
             ("full", "full", (130, 70, 96), "[128, 64, 64]"),
             ("zeros", "full", (300, 140, 128), "[256, 128, 64]"),
             ("tiny", "zeros", (256, 128, 160), "[256, 128, 64]"),
             ("wide", "full", (128, 128, 64), "[128, 128, 64]"),
             ("forty", "forty", (200, 100, 576), "[256, 64, 64]"),
             ("some", "some", (384, 200, 288), "[256, 128, 64]"),
             ("low", "full", (128, 128, 64), "[128, 128, 64]"),
             ("nan", "full", (256, 256, 64), "[128, 128, 64]"),
             ("nans", "nans", (256, 128, 128), "[256, 128, 64]"),
             ("none", "full", (128, 128, 64), "[128, 128, 64]"),
             # In bf16 relative to references.
             ("large", "forty", (256, 128, 128), "[256, 128, 64]"),
             ("highest-ends", "highest-ends", (128, 128, 128), "[128, 128, 64]"),
             ("deepest-ends", "highest-ends", (256, 128, 128), "[256, 128, 64]"),
             ("deepest-ends", "deepest-ends", (128, 128, 64), "[128, 64, 64]"),
             ("forty-subnormals", "large-subnormals", (256, 128, 64), "[256, 128, 64]"),
             ("forty-zeros", "even", (256, 128, 160), "[256, 128, 64]"),
             # Not, by one scale, and with all scales that are numbers.
             ("over", "forty", (128, 128, 64), "[128, 128, 64]"),
             ("under", "forty", (128, 128, 64), "[128, 128, 64]"),
             ("all", "all", (128, 128, 96), "[128, 128, 64]"),
             # NaN where the tile itself fits f16, in A or B, or beside one that does not.
             ("forty", "even-nans", (128, 128, 64), "[128, 128, 64]"),
             ("even-nans+forty", "even", (256, 128, 64), "[256, 128, 64]"),
             ("even+forty-nans", "forty+even-nans+even", (200, 300, 96), "[128, 128, 64]"),
             ("forty", "forty-nans", (128, 128, 1056), "[128, 128, 64]"),
             # All three ways beside each other.
             ("even+forty+all+nan", "even+large+even-nans", (512, 384, 64), "[128, 128, 64]"),
             ("even+even+forty+even+over+even", "even+forty", (700, 256, 64), "[256, 128, 64]")]
    failures, units = 0, np.zeros(3, int)
    for seed, (a_kind, b_kind, (m, n, k), tile) in enumerate(cases):
        rng = np.random.default_rng(seed)
        a, a_scales = operand(rng, m, k, a_kind)
        b, b_scales = operand(rng, n, k, b_kind)
        counts = count_units(fits(a, a_scales), fits(b, b_scales), tile)
        units += counts
        arguments = [a, ref.tile(a_scales), b, ref.tile(b_scales)]
        results = [run(directory, mx_run, device,
                       PROGRAM.format(m=m, n=n, k=k, blocks=k // 32, tile=tile, window=window),
                       arguments) for window in (", strategy = #mxgpu.wgmma_upcast_b<f16_scale_range = true>", "")]
        same = np.array_equal(*(result.view(np.uint32) for result in results))
        if not same:  # NaN has no sign
            nans = np.isnan(results[1])
            same = (np.array_equal(np.isnan(results[0]), nans)
                    and np.array_equal(results[0][~nans], results[1][~nans]))
        values = [ref.decode(codes, "f8E4M3FN").astype(np.float64)
                  * np.repeat(np.where(scales == 255, np.nan, 2.0 ** (scales - 127.0)), 32, 1)
                  for codes, scales in ((a, a_scales), (b, b_scales))]
        exact = values[0] @ values[1].T
        bound = 4 * -(-k // 64) * 5 * 2.0**-23 * (np.abs(values[0]) @ np.abs(values[1]).T)
        near = np.abs(results[0] - exact) <= bound
        right = near | (np.isnan(exact) & np.isnan(results[0]))
        if "all" in a_kind:  # sums leave the range of f32
            right |= (bound > 2.0**100) | (bound < 2.0**-126)
        right = bool(right.all())
        print(f"{a_kind} x {b_kind}, {m} x {n} x {k}: {'same' if same else 'OTHER'} bits, "
              f"{'within' if right else 'BEYOND'} the bound, {counts} units by class")
        failures += not (same and right)
    print(f"{len(cases)} matmuls, {failures} failures")
    return failures + int(units.min() == 0)


if __name__ == "__main__":
    sys.exit(main() != 0)
