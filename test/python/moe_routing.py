"""Random routings of a mixture of experts, in several kinds.

A routing contains the number of tokens, the token and the weight of each row, and the ends of the expert groups. Rows
are sorted by expert, and rows after the last group belong to no expert.
"""

import numpy as np

KINDS = ["balanced", "uneven by 40 %", "one with 70 %", "empty experts",
         "odd sizes", "groups of one row", "one with everything", "no rows",
         "fewer than the tensor has"]


class Routing:
    def __init__(self, kind, tokens, rows, prob, ends):
        self.kind, self.tokens = kind, tokens
        self.rows, self.prob, self.ends = rows, prob, ends

    def __str__(self):
        sizes = np.diff([0, *self.ends]).tolist()
        return f"{self.kind}: {self.tokens} tokens, {len(self.rows)} rows, {sizes}"


def draw_sizes(rng, kind, groups, most):
    """Draws the row count of each group, and the number of rows outside of all groups."""
    behind = int(rng.choice([0, 1, 40]))
    if kind == "balanced":
        return np.full(groups, rng.integers(1, most + 1)), 0
    if kind == "uneven by 40 %":
        mean = rng.integers(most // 2, most + 1)
        return np.round(mean * rng.uniform(0.6, 1.4, groups)).astype(int), 0
    if kind == "one with 70 %":
        total = int(rng.integers(most, groups * most // 2))
        share = np.full(groups, 0.3 / (groups - 1))
        share[rng.integers(groups)] = 0.7
        return rng.multinomial(total, share), behind
    if kind == "empty experts":
        sizes = rng.integers(1, most, groups)
        sizes[rng.permutation(groups)[:rng.integers(1, groups)]] = 0
        return sizes, behind
    if kind == "odd sizes":
        return rng.choice([1, 3, 31, 33, 63, 65, 127, 129], groups), behind
    if kind == "groups of one row":
        return rng.integers(0, 2, groups), behind
    if kind == "one with everything":
        sizes = np.zeros(groups, int)
        sizes[rng.integers(groups)] = rng.integers(1, 4 * most)
        return sizes, behind
    if kind == "no rows":
        return np.zeros(groups, int), 40
    return rng.integers(0, most, groups), int(rng.integers(1, 2 * most))


def draw(rng, kind, groups=8, most=64, top=2):
    """Draws a routing with up to `top` rows per token, each for a different expert."""
    sizes, behind = draw_sizes(rng, kind, groups, most)
    total = int(sizes.sum())
    # Draw enough tokens so no token needs more than `top` rows or the same expert twice.
    tokens = max(-(-total // top), int(sizes.max()), 1) + int(rng.integers(0, 9))
    left = np.full(tokens, top)
    rows = np.full(total + behind, -1, np.int32)
    ends = np.cumsum(sizes).astype(np.int32)
    # Assign the largest groups first, so enough tokens are always left.
    for g in np.argsort(-sizes, kind="stable"):
        order = np.lexsort((rng.random(tokens), -left))
        chosen = np.sort(order[:sizes[g]])
        left[chosen] -= 1
        rows[ends[g] - sizes[g]:ends[g]] = chosen
    assert (left >= 0).all()
    prob = np.full(total + behind, np.nan, np.float32)
    prob[:total] = rng.uniform(0.05, 1, total)
    return Routing(kind, tokens, rows, prob, ends)
