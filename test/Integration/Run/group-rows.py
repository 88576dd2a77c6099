"""mx.group_rows sorts pairs of a token and an expert. Every byte of rows, slots, ends and count equals NumPy's stable
sort on the CPU path and on every kind of chip, under two thread orders.

RUN: %python %s mx-run %t
REQUIRES: compiler, numpy

Ids are uniform, all equal, negative, too large, at the limits of their type, or repeated within a token. Some cases
contain no tokens, a single expert, or enough pairs for several chunks of 128 and parts of 4096. The number of places is
the number of pairs with an expert, one more, one less, zero, or twice as large. With `first`, id `first + g` selects
expert g.
"""

import numpy as np
from harness import Harness, everywhere

PROGRAM = """
!ids = tensor<{t}x{k}x{integer}>
!list = tensor<{c}xi32>
!ends = tensor<{e}xi32>
func.func @main(%ids: !ids, %first: index, %r: !list, %s: !list, %e: !ends, %c: tensor<i32>) -> (!list, !list, !ends, tensor<i32>) {{
  %g:4 = mx.group_rows ins(%ids : !ids) {first} outs(%r, %s, %e, %c : !list, !list, !ends, tensor<i32>)
      -> !list, !list, !ends, tensor<i32>
  return %g#0, %g#1, %g#2, %g#3 : !list, !list, !ends, tensor<i32>
}}
"""


def draw(random, kind, tokens, choices, experts, integer, first):
    shape, limits = (tokens, choices), np.iinfo(integer.replace("i", "int"))
    if kind == "near":
        ids = np.clip(first + random.integers(-3, experts + 3, shape), limits.min, limits.max)
        return np.where(random.random(shape) < 0.2, random.choice([limits.min, limits.max, -1, 0], shape), ids)
    if kind == "uniform":
        return random.integers(0, experts, shape)
    if kind == "distinct":
        return np.array([random.permutation(experts)[:choices] for _ in range(tokens)]).reshape(shape)
    if kind == "one expert":
        return np.full(shape, experts - 1)
    if kind == "twice":
        return np.repeat(random.integers(-1, experts, (tokens, 1)), choices, axis=1)
    if kind == "none":
        return np.full(shape, -1)
    if kind == "limits":
        return random.choice([limits.min, limits.max, -1, 0, experts - 1, experts], shape)
    assert kind == "uneven"
    return np.minimum(random.geometric(0.4, shape) - 2, experts)


def group(ids, experts, places):
    """Returns rows, slots, ends and count, computed by a stable sort. Ids begin at 0."""
    flat = ids.ravel()
    pairs = np.flatnonzero((flat >= 0) & (flat < experts))
    pairs = pairs[np.argsort(flat[pairs], kind="stable")]
    rows, slots = np.full((2, places), -1, np.int32)
    kept = pairs[:places]
    slots[:len(kept)] = kept
    rows[:len(kept)] = kept // max(ids.shape[1], 1)
    ends = np.searchsorted(flat[pairs], np.arange(experts), side="right")
    return rows, slots, np.minimum(ends, places).astype(np.int32), np.array(len(pairs), np.int32)


CASES = [  # kind, tokens, choices, experts, integers, surplus places, dynamic, optional first
    ("distinct", 300, 8, 32, "i32", 0, True),
    ("distinct", 700, 3, 8, "i64", 1, False),
    ("uniform", 1024, 2, 5, "i32", -1, True),
    ("uniform", 513, 2, 300, "i64", 500, True),
    ("one expert", 600, 4, 7, "i32", 0, False),
    ("twice", 500, 5, 9, "i32", -100, True),
    ("limits", 200, 8, 16, "i64", 3, True),
    ("limits", 200, 8, 16, "i32", 0, False),
    ("uneven", 1000, 6, 12, "i32", 0, True),
    ("none", 40, 3, 4, "i32", 20, True),
    ("none", 40, 3, 4, "i64", 0, True),
    ("distinct", 1200, 8, 64, "i32", 0, True),
    ("uniform", 512, 8, 3, "i32", 0, False),
    ("uniform", 1, 1, 1, "i32", 0, False),
    ("uniform", 0, 8, 4, "i32", 9, True),
    ("uniform", 0, 3, 4, "i64", 2, False),
    ("uniform", 50, 2, 3, "i32", -100, True),
    *(("near", 20, 2, 3, integer, 10, integer == "i32", first)
      for integer in ("i32", "i64") for first in (0, 4, -2, 2**31 - 2, -2**31)),
]

test = Harness("mx_run", "folder", seed=1)
for case in test.select(CASES):
    kind, tokens, choices, experts, integer, more, dynamic, *first = case
    begin = first[0] if first else 0
    random = np.random.default_rng([test.seed, CASES.index(case)])
    ids = draw(random, kind, tokens, choices, experts, integer, begin).astype(integer.replace("i", "int"))
    numbers = ids.astype(np.int64) - begin  # limits wrap, but to no expert
    places = max(int(((numbers >= 0) & (numbers < experts)).sum()) + more, 0)
    size = (lambda n: "?") if dynamic else str
    text = PROGRAM.format(t=size(tokens), k=choices, e=size(experts), c=size(places), integer=integer,
                          first="first(%first)" * bool(first))
    expected = group(numbers, experts, places)
    # Previous contents of the results must not affect the results.
    arrays = [ids, np.int64(begin), *(np.full_like(array, 0x5a5a5a5a) for array in expected)]
    for where, options in everywhere():
        for name, found, array in zip(["rows", "slots", "ends", "count"],
                                      test.run(text, arrays, 4, quiet=True, **options), expected):
            test.expect(f"{name} on {where}", found, array)
test.finish(least=100000)
