"""Compares mx.group_rows with a stable sort in NumPy, and runs an expert layer on its results.

RUN: rm -rf %t && mkdir %t
RUN: env MX_CACHE_DIR=%t MX_CHIP= MX_PTXAS=none %python -W error %s sim
RUN: env MX_CACHE_DIR=%t %python -W error %s cpu
"""

import sys

import ml_dtypes
import mx_compiler as mx
import numpy as np

mx.set_device(sys.argv[1])
rng = np.random.default_rng(5)


def check(ids, experts, capacity):
    found = mx.group_rows(ids, experts, capacity=capacity)
    flat = ids.ravel()
    pairs = np.flatnonzero((flat >= 0) & (flat < experts))
    pairs = pairs[np.argsort(flat[pairs], kind="stable")].astype(np.int32)
    places = flat.size if capacity is None else capacity
    slots = np.full(places, -1, np.int32)
    slots[:len(pairs)] = pairs[:places]
    ends = np.minimum([(flat[pairs] <= g).sum() for g in range(experts)], places)
    for name, wanted in (("slots", slots), ("rows", np.where(slots < 0, -1, slots // ids.shape[1])),
                         ("ends", ends), ("count", np.array(len(pairs)))):
        given = np.asarray(getattr(found, name))
        assert given.dtype == np.int32 and given.shape == wanted.shape, (name, given)
        assert (given == wanted).all(), (name, given, wanted)
    return found


for dtype, tokens, choices in ((np.int32, 70, 3), (np.int64, 41, 3), (np.int32, 0, 2)):
    ids = rng.integers(-2, 10, (tokens, choices)).astype(dtype)
    for capacity in (None, 0, 60, np.int64(500)):
        check(ids, 8, capacity)

    # `route` passes host results to a layer on the device. A fifth of the pairs have no expert.
ids = rng.permuted(np.tile(np.arange(4, dtype=np.int32), (50, 1)), axis=1)[:, :2].copy()
ids[rng.random(ids.shape) < 0.2] = -1
x, w1, w2 = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) / 8 for shape in ((50, 64), (4, 128, 64), (4, 64, 64)))
weights = rng.random(ids.shape).astype(np.float32)
grouped = check(ids, 4, None)
probs = weights.ravel()[np.asarray(grouped.slots)]
y, wanted = (np.asarray(mx.moe_layer(x, w1, w2, *routing)) for routing in (
    (grouped.rows, probs, grouped.ends), mx.route(ids, weights, 4)))
assert y.any() and y.tobytes() == wanted.tobytes()

# If there are more experts than 8-bit ids, an invalid id must stay invalid.
for dtype, experts in (np.int8, 200), (np.int8, 256), (np.int16, 65536):
    tokens, probs, ends = mx.route(np.array([[1, -1], [-1, 0]], dtype), np.arange(4).reshape(2, 2), experts)
    assert (tokens[:2].tolist(), probs[:2].tolist(), ends[0], ends[-1]) == ([1, 0], [3, 0], 1, 2)
