# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random words of stochastic rounding."""

import numpy as np


def philox(counter, key):
    """Philox-4x32-10 (Salmon et al., SC 2011). Counter and key are lists of uint64 arrays of 32-bit words."""
    low = np.uint64(0xFFFFFFFF)
    c = [np.asarray(word, np.uint64) for word in counter]
    k = [np.asarray(word, np.uint64) for word in key]
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ k[0], p1 & low,
             (p0 >> np.uint64(32)) ^ c[3] ^ k[1], p0 & low]
        k = [(k[0] + np.uint64(0x9E3779B9)) & low,
             (k[1] + np.uint64(0xBB67AE85)) & low]
    return c


# Known-answer tests published by the authors with their library.
for counter, key, answer in [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2,
     [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    ([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
     [0xA4093822, 0x299F31D0],
     [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
]:
    assert [int(word) for word in philox(counter, key)] == answer


def draw(shape, seed):
    """Returns the random word for every element of an input of the given shape."""
    index = np.arange(np.prod(shape, dtype=np.int64), dtype=np.uint64)
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    seed = np.uint64(seed % 2**64)
    zero = np.zeros_like(index)
    words = philox([index & low, index >> shift, zero, zero],
                   [seed & low, seed >> shift])
    return words[0].reshape(shape)
