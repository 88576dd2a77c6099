#!/usr/bin/env python3
"""Inputs and an independent check for mxfp8-gemm.ptx.

  mxfp8_gemm.py prepare DIR M N K        writes a.npy, b.npy, sfa.npy, sfb.npy, launch.json
  mxfp8_gemm.py prepare-pair DIR M N K   the same for mxfp8-gemm-pair.ptx
  mxfp8_gemm.py check DIR                compares c.npy with NumPy in float64

The script shares no code with the project: E4M3 is decoded by its definition (OCP MX
v1.0, 5.3.1), and scale tiles follow their definition in the PTX ISA.
"""
import json, os, sys
import numpy as np


def e4m3_table():
    codes = np.arange(256)
    sign = np.where(codes & 0x80, -1.0, 1.0)
    e, m = (codes >> 3) & 15, codes & 7
    value = np.where(e == 0, m * 2.0 ** -9, (8 + m) * 2.0 ** (e - 10.0))
    value[(codes & 0x7F) == 0x7F] = np.nan
    return sign * value


def scale_tiles(s):
    """Converts rows x K blocks to 128x4 tiles of 512 bytes, K fastest."""
    rows, cols = s.shape
    r, c = -(-rows // 128) * 128, -(-cols // 4) * 4
    full = np.zeros((r, c), np.uint8)
    full[:rows, :cols] = s
    # (tile row, j, i, tile column, b) to (tile row, tile column, i, j, b)
    return full.reshape(r // 128, 4, 32, c // 4, 4).transpose(0, 3, 2, 1, 4).copy()


def prepare(out, m, n, k, pair=False):
    os.makedirs(out, exist_ok=True)
    rng = np.random.default_rng(m * 7 + n * 3 + k)
    def codes(rows):
        c = rng.integers(0, 256, (rows, k), dtype=np.uint8)
        return np.where((c & 0x7F) == 0x7F, 0x38, c).astype(np.uint8)
    a, b = codes(m), codes(n)
    sa = rng.integers(120, 134, (m, k // 32), dtype=np.uint8)
    sb = rng.integers(120, 134, (n, k // 32), dtype=np.uint8)
    for name, array in [("a", a), ("b", b), ("sa", sa), ("sb", sb),
                        ("sfa", scale_tiles(sa)), ("sfb", scale_tiles(sb))]:
        np.save(f"{out}/{name}.npy", array)
    steps = -(-k // 128)
    def tensor_map(name, rows):
        return {"buffer": name, "type": "u8", "dims": [k, rows], "strides": [k],
                "box": [128, 128], "swizzle": "128b"}
    launch = {
        "kernel": "gemm", "grid": [n // 128, m // 128], "block": [192],
        "dynamic_smem": 4 * 32768 + 4 * 1024,
        "buffers": {"A": {"file": "a.npy"}, "B": {"file": "b.npy"},
                    "SFA": {"file": "sfa.npy"}, "SFB": {"file": "sfb.npy"},
                    "C": {"bytes": m * n * 4}},
        "tensor_maps": {"a": tensor_map("A", m), "b": tensor_map("B", n)},
        "args": [{"tensor_map": "a"}, {"tensor_map": "b"}, {"buffer": "SFA"},
                 {"buffer": "SFB"}, {"buffer": "C"}, {"i32": n}, {"i32": steps}],
        "outputs": {"C": {"file": "c.npy", "dtype": "f32", "shape": [m, n]}},
    }
    if pair:
        def scale_map(name, rows):
            tiles = rows // 128 * steps
            return {"buffer": name, "type": "u16", "dims": [256, tiles],
                    "strides": [512], "box": [256, 1]}
        launch["tensor_maps"] |= {"sfa": scale_map("SFA", m), "sfb": scale_map("SFB", n)}
        launch["args"][2:4] = [{"tensor_map": "sfa"}, {"tensor_map": "sfb"}]
        launch |= {"grid": [n // 256 * 2, m // 256], "cluster": [2], "dynamic_smem": 4 * 34816}
    json.dump(launch, open(f"{out}/launch.json", "w"), indent=1)


def check(out):
    a, b, sa, sb = (np.load(f"{out}/{x}.npy") for x in ("a", "b", "sa", "sb"))
    c = np.load(f"{out}/c.npy").astype(np.float64)
    table = e4m3_table()
    wide = lambda x, s: table[x] * np.repeat(2.0 ** (s.astype(float) - 127), 32, axis=1)
    a, b = wide(a, sa), wide(b, sb)
    want, terms = a @ b.T, np.abs(a) @ np.abs(b).T
    # One rounding toward zero per K step of 32.
    bound = (a.shape[1] // 32) * 2.0 ** -23 * terms
    worst = np.max(np.abs(c - want) / np.maximum(bound, 1e-300))
    print(f"largest deviation: {worst:.3f} of the bound")
    if not worst <= 1:
        sys.exit("the result is wrong")


if __name__ == "__main__":
    if sys.argv[1].startswith("prepare"):
        prepare(sys.argv[2], *map(int, sys.argv[3:6]), sys.argv[1] == "prepare-pair")
    else:
        check(sys.argv[2])
