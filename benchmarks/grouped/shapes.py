# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grouped matmuls of mixtures of experts: shapes of published models, and distributions of
tokens over experts."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Shape:
    """Grouped matmul. Expert groups of rows multiply total x k by groups x n x k; expert groups
    of a reduction multiply m x total by n x total."""
    name: str
    groups: int
    total: int  # rows or reduction elements of all groups
    n: int
    k: int = 0
    m: int = 0

    @property
    def kind(self):
        return "reduction" if self.m else "rows"

    def describe(self):
        if self.m:
            return f"{self.groups} of {self.m} x {self.n}, K {self.total}"
        return f"{self.total} in {self.groups} x {self.n} x {self.k}"

    def reduced(self):
        """Returns a shape with fewer tokens, columns and groups, but with all partial tiles."""
        def shrink(size, multiple):
            whole, tail = min(size // 128, 2) * 128, size % 128
            return whole + tail // multiple * multiple
        if self.m:
            return dataclasses.replace(
                self, groups=min(self.groups, 6), total=min(self.total, 700),
                m=shrink(self.m, 32), n=shrink(self.n, 8))
        return dataclasses.replace(
            self, groups=min(self.groups, 12), total=min(self.total, 700),
            n=shrink(self.n, 8), k=shrink(self.k, 32))


# Names contain model, kind of parallelism and matmul.
SHAPES = [
    Shape("dsv3-ep32-fwd1", 8, 131072, 4096, 7168),
    Shape("dsv3-ep32-fwd2", 8, 131072, 7168, 2048),
    Shape("dsv3-ep32-dgrad1", 8, 131072, 7168, 4096),
    Shape("dsv3-ep8-prefill", 32, 32768, 4096, 7168),
    Shape("dsv3-ep32-decode", 8, 1024, 4096, 7168),
    Shape("dsv3-ep64-decode", 4, 1024, 7168, 2048),
    Shape("kimi-ep32-fwd1", 12, 98304, 4096, 7168),
    Shape("v4flash-ep8-fwd1", 32, 49152, 4096, 4096),
    Shape("v4pro-ep8-fwd2", 48, 49152, 7168, 3072),
    Shape("scout-ep1-fwd1", 16, 131072, 16384, 5120),
    Shape("scout-ep8-fwd2", 2, 128000, 5120, 8192),
    Shape("maverick-ep16", 8, 128000, 8192, 5120),
    Shape("gptoss20-ep1-fwd1", 32, 32768, 5760, 2880),
    Shape("gptoss120-ep8-fwd2", 16, 16384, 2880, 2880),
    Shape("qwen235-ep8-fwd1", 16, 65536, 3072, 4096),
    Shape("qwen30-ep1-fwd2", 128, 65536, 2048, 768),
    Shape("mixtral-fwd1", 8, 32768, 28672, 4096),
    Shape("nemotron-nano-fwd", 128, 49152, 1856, 2688),
    Shape("dsv3-16b", 8, 131072, 1408, 2048),
    Shape("dsv3-wgrad1", 8, 131072, 7168, m=4096),
    Shape("dsv3-wgrad2", 8, 131072, 2048, m=7168),
    Shape("scout-wgrad1", 2, 128000, 5120, m=16384),
    Shape("deepgemm-k1", 4, 32768, 7168, m=4096),
    Shape("deepgemm-k2", 16, 32768, 2048, m=7168),
    Shape("gptoss-wgrad", 32, 32768, 2880, m=5760),
]


def split(total, shares):
    """Returns integers in proportion to `shares` that sum to `total`."""
    ends = np.round(np.cumsum(shares) / np.sum(shares) * total).astype(int)
    return np.diff([0, *ends])


def balanced(rng, groups, total):
    return split(total, np.ones(groups))


def uneven(rng, groups, total):
    return split(total, rng.uniform(0.6, 1.4, groups))


def hot(rng, groups, total):
    """Gives one group 70 % of the total."""
    shares = np.full(groups, 0.3 / max(groups - 1, 1))
    shares[rng.integers(groups)] = 0.7
    return split(total, shares)


def some_empty(rng, groups, total):
    shares = np.ones(groups)
    shares[rng.permutation(groups)[:-(-groups // 4)]] = 0
    return split(total, shares) if shares.any() else np.zeros(groups, int)


def odd(rng, groups, total):
    """Uses odd sizes until the total is used up."""
    sizes = rng.choice([1, 31, 33, 127, 129, 257], groups)
    return np.diff([0, *np.minimum(np.cumsum(sizes), total)])


def nothing(rng, groups, total):
    return np.zeros(groups, int)


REGIMES = {"balanced": balanced, "uneven": uneven, "hot": hot,
           "empty": some_empty, "odd": odd, "nothing": nothing}
