"""Packs weights with the formula in docs/reference/Spec.md."""

import numpy as np

TILE, THREADS, VALUES = 64, 128, 32


def places():
    """Returns the row and column in a tile of each element of each thread."""
    t, e = np.meshgrid(np.arange(THREADS), np.arange(VALUES), indexing="ij")
    rows = 16 * (t // 32) + 2 * (t % 32 // 4) + e // 2 % 2
    columns = 2 * (t % 4) + e % 2 + 8 * (e // 4 % 2) + 16 * (e // 8)
    return rows, columns


def pack_tiles(codes):
    """Packs codes, one per byte, from `[b...] x N x K` to `[b...] x ceil(N/64) x ceil(K/64) x 128 x 32`. Padding is
    0."""
    *batch, n, k = codes.shape
    i, j = -(-n // TILE), -(-k // TILE)
    whole = np.zeros((*batch, i * TILE, j * TILE), np.uint8)
    whole[..., :n, :k] = codes
    tiles = whole.reshape(*batch, i, TILE, j, TILE).swapaxes(-3, -2)
    rows, columns = places()
    return np.ascontiguousarray(tiles[..., rows, columns])
