"""Tests RoutedMoELayer. Ranks are threads on the device cpu, or on one simulated GPU per rank. Results are compared
with the layer on a single rank with all tokens, and with NumPy in f64. If the capacity is too small or an argument is
wrong, the error is one sentence.

RUN: env MX_QUIET=1 %python %s cpu mxfp8
RUN: env MX_QUIET=1 %python %s cpu mxfp8_fast
RUN: env MX_QUIET=1 MX_SIM_DEVICES=2 MX_CUDA_DRIVER=none MX_PTXAS=none MX_CACHE_DIR=%t.cache %python %s sim mxfp8
RUN: env MX_QUIET=1 MX_SIM_DEVICES=2 MX_CHIP=sm_90a MX_CUDA_DRIVER=none MX_PTXAS=none MX_CACHE_DIR=%t.cache %python %s sim mxfp8_fast
"""

import sys

import ml_dtypes
import numpy as np

import mx_compiler as mx
from rank_helpers import Exchange
from refuses import refuses
from threads import in_threads

DEVICE, FORMAT = sys.argv[1:]
EXPERTS, TOKENS, K = 4, 48, 3
BLOCK, HIDDEN, INNER = (128, 256, 128) if FORMAT == "mxfp8_fast" else (32, 64, 32)
FORMATS = {"activations": FORMAT, "weights": FORMAT}
BF16 = ml_dtypes.bfloat16
rng = np.random.default_rng(7)


def on_ranks(function, size=2, raises=False):
    """Calls `function(rank)` in one thread per rank. Returns the results, and the errors if `raises` is set."""
    errors = [None] * size

    def run(rank):
        try:
            if DEVICE == "sim":
                mx.set_device(f"sim:{rank}")
            return function(rank)
        except BaseException as error:
            if not raises:
                raise
            errors[rank] = error

    results = in_threads(run, size)
    return (results, errors) if raises else results


def make_groups(size=2):
    exchange = Exchange(size)
    return on_ranks(lambda rank: mx.Group(rank, size, exchange.of(rank), timeout=120), size)


def make_layers(groups, **options):
    return on_ranks(lambda rank: mx.RoutedMoELayer(
        EXPERTS, HIDDEN, INNER, K, groups[rank], tokens=TOKENS, **FORMATS | options), len(groups))


def normal(*shape, deviation=1.0):
    return (rng.standard_normal(shape) * deviation).astype(BF16)


def draw(counts, ids=None):
    """Draws x, ids, weights and dy for each rank. If `ids` is not given, some choices are empty."""
    if ids is None:
        ids = [np.array([rng.permutation(EXPERTS)[:K] for _ in range(n)], np.int32).reshape(n, K)
               for n in counts]
        for own in ids:
            own[rng.random(own.shape) < 0.1] = -1
    return [(normal(n, HIDDEN), own, rng.random((n, K), np.float32), normal(n, HIDDEN))
            for n, own in zip(counts, ids)]


def step(layer, given, w1, w2, capacity=None, together=False):
    """Runs both passes of a rank with its share of the weights; `together` quantizes them in the
    forward pass."""
    part = slice(layer.rank * layer.own_experts, (layer.rank + 1) * layer.own_experts)
    x, ids, weights, dy = given
    if together:
        y, saved, quantized = layer.quantize_and_forward(
            x, ids, weights, w1[part], w2[part], capacity=capacity)
    else:
        quantized = layer.quantize_weights(w1[part], w2[part])
        y, saved = layer.forward(x, ids, weights, quantized, capacity=capacity)
    return (y, *layer.backward(dy, ids, quantized, saved)), saved


def reference(x, ids, weights, dy, w1, w2):
    """Returns y and all gradients in f64."""
    x, dy, w1, w2 = (a.astype(np.float64) for a in (x, dy, w1, w2))
    y, dx, dprobs = np.zeros_like(x), np.zeros_like(x), np.zeros(ids.shape)
    dw1, dw2 = np.zeros_like(w1), np.zeros_like(w2)
    for (t, j), e in np.ndenumerate(ids):
        if not 0 <= e < EXPERTS:
            continue
        gate, up = np.split(w1[e] @ x[t], 2)
        sigma, p = 1 / (1 + np.exp(-gate)), float(weights[t, j])
        h = gate * sigma * up
        y[t] += p * (w2[e] @ h)
        dh = w2[e].T @ dy[t]
        dw2[e] += p * np.outer(dy[t], h)
        dprobs[t, j] = h @ dh
        dgu = p * np.concatenate([dh * up * sigma * (1 + gate * (1 - sigma)), dh * gate * sigma])
        dw1[e] += np.outer(dgu, x[t])
        dx[t] += w1[e].T @ dgu
    return y, dx, dw1, dw2, dprobs


def distance(found, wanted):
    return np.linalg.norm(found - wanted) / max(np.linalg.norm(wanted), 1e-30)


def check(found, given, w1, w2, alone):
    """Compares the ranks' results with those of a single rank on all tokens, and with f64."""
    together = [np.concatenate(part) for part in zip(*given)]
    one, saved = step(alone, together, w1, w2)
    ranks = [results for results, _ in found]
    pairs = ((together[1] >= 0) & (together[1] < EXPERTS)).sum()
    assert sum(int(saved.count) for _, saved in found) == int(saved.count) == pairs
    y, dx, dw1, dw2, dweights = (np.concatenate(part) for part in zip(*ranks))
    # Sums over an expert's rows are equal. Sums over a token's experts differ, because each rank rounds its partial
    # sum.
    for name, a, b in ("dw1", dw1, one[2]), ("dw2", dw2, one[3]), ("dweights", dweights, one[4]):
        np.testing.assert_array_equal(a, b, name)
    for name, a, b in ("y", y, one[0]), ("dx", dx, one[1]):
        assert distance(a, b) < 2**-7, name
    if len(y):
        for name, a, b in zip(("y", "dx", "dw1", "dw2", "dweights"), (y, dx, dw1, dw2, dweights),
                              reference(*together, w1, w2)):
            assert distance(a, b) < 0.09, (name, distance(a, b))


mx.set_device(DEVICE)
# Maximum number of rows that a rank receives, in general and if no token names an expert twice.
MOST, DISTINCT = 2 * TOKENS * K, 2 * TOKENS * EXPERTS // 2
w1 = normal(EXPERTS, 2 * INNER, HIDDEN, deviation=HIDDEN**-0.5)
w2 = normal(EXPERTS, HIDDEN, INNER, deviation=INNER**-0.5)
groups = make_groups()
layers = make_layers(groups)
assert [(x.rank, x.own_experts, x.capacity) for x in layers] == [(0, 2, MOST), (1, 2, MOST)]
alone = mx.RoutedMoELayer(EXPERTS, HIDDEN, INNER, K, tokens=2 * TOKENS, **FORMATS)

for counts in (TOKENS, TOKENS), (17, 40), (0, 5), (0, 0):
    given = draw(counts)
    check(on_ranks(lambda rank: step(layers[rank], given[rank], w1, w2)), given, w1, w2, alone)


def draw_wild(count):
    """Draws repeated ids and invalid ids, up to the limits of i32."""
    ids = rng.integers(-2, EXPERTS + 2, (count, K)).astype(np.int32)
    ids[:, 0] = rng.choice(np.array([-2**31, 2**31 - 1, 3, 3, 3], np.int32), count)
    return ids


# Tokens that name an expert more than once, with room for all rows.
last = [np.full((TOKENS, K), EXPERTS - 1, np.int32)] * 2
for kinds, capacities in ((last, (None, MOST, MOST + 1)), ([draw_wild(31), draw_wild(40)], (None, MOST - 1, DISTINCT, 0))):
    given = draw([len(ids) for ids in kinds], kinds)
    needed = max(sum(int((ids // 2 == rank).sum()) for ids in kinds) for rank in range(2))
    for capacity in capacities if DEVICE == "cpu" else capacities[-1:]:
        capacity = needed if capacity == 0 else capacity
        found = on_ranks(lambda rank: step(layers[rank], given[rank], w1, w2, capacity))
        check(found, given, w1, w2, alone)
        assert all(saved.rows.shape == (min(capacity or MOST, MOST),) for _, saved in found)

# A second run returns the same bits, also if the forward pass quantizes the weights.
given = draw((30, 31))
first, again = (on_ranks(lambda rank: step(layers[rank], given[rank], w1, w2, together=together)[0])
                for together in (False, True))
for a, b in zip(first, again):
    for x, y in zip(a, b):
        np.testing.assert_array_equal(x, y)

# First, the capacity equals the number of received rows. Second, it is one row too small on rank 1.
needed = [sum(int((own[1] // 2 == rank).sum()) for own in given) for rank in range(2)]
exact = on_ranks(lambda rank: step(layers[rank], given[rank], w1, w2, needed[rank])[0])
for a, b in zip(first, exact):
    for x, y in zip(a, b):
        np.testing.assert_array_equal(x, y)
on_ranks(lambda rank: layers[rank].check())


def overflow(rank):
    step(layers[rank], given[rank], w1, w2, needed[rank] - rank)
    layers[rank].check()
    step(layers[rank], given[rank], w1, w2)


_, errors = on_ranks(overflow, raises=True)
assert isinstance(errors[1], mx.CapacityError) and (
    errors[1].rank, errors[1].needed, errors[1].available) == (1, needed[1], needed[1] - 1), errors
assert f"rank 1: expected at most {needed[1] - 1} rows" in str(errors[1])
# The rank that detects the error ends the group.
assert isinstance(errors[0], mx.Error) and "rank 1 gave up" in str(errors[0]), errors
assert f"found {needed[1]}" in groups[0].status().text
for layer, group in zip(layers, groups):
    layer.close()
    group.close()

# The ranks then create a new group.
groups = make_groups()
layers = make_layers(groups, **{"weights": "mxfp4", "gradients": "mxfp8_e5m2"} if (
    (DEVICE, FORMAT) == ("cpu", "mxfp8")) else {})
given = draw((9, 2))
found = on_ranks(lambda rank: step(layers[rank], given[rank], w1, w2)[0])
assert all(np.isfinite(x).all() for own in found for x in own)

# The capacity is one row too small. Only repeated experts need this row.
given = draw((TOKENS, TOKENS), last)
_, errors = on_ranks(lambda rank: step(layers[rank], given[rank], w1, w2, MOST - 1), raises=True)
assert isinstance(errors[1], mx.CapacityError) and (
    errors[1].rank, errors[1].needed, errors[1].available) == (1, MOST, MOST - 1), errors

# With slots for the tokens that each rank needs, results equal those with a row for each token.
groups = make_groups()
given = draw((TOKENS, 31))
needed = [max(int((own[1] // 2 == rank).any(axis=1).sum()) for rank in range(2)) for own in given]
assert max(needed) < TOKENS
whole, found = (on_ranks(lambda rank: step(layers[rank], given[rank], w1, w2)[0])
                for layers in (make_layers(groups), make_layers(groups, slots=max(needed))))
for a, b in zip(whole, found):
    for x, y in zip(a, b):
        np.testing.assert_array_equal(np.asarray(x).view(np.uint8), np.asarray(y).view(np.uint8))

# Results do not depend on the parts in which they are returned. With bf16 results, y and dx are rounded once.
TIMES = 320 // HIDDEN + 1  # a part has at most 256 columns
wide = [(np.tile(x, TIMES), ids, weights, np.tile(dy, TIMES)) for x, ids, weights, dy in given]
wide1, wide2 = np.tile(w1, TIMES), np.tile(w2, (1, TIMES, 1))
outcomes = []
for parts, results in (1, "f32"), (2, "f32"), (2, "bf16"):
    layers = on_ranks(lambda rank: mx.RoutedMoELayer(
        EXPERTS, TIMES * HIDDEN, INNER, K, groups[rank], tokens=TOKENS, parts=parts, results=results,
        **FORMATS))
    outcomes.append(on_ranks(lambda rank: step(layers[rank], wide[rank], wide1, wide2)[0]))
for own in zip(*outcomes):
    for x, y, rounded in zip(*own):
        np.testing.assert_array_equal(np.asarray(x).view(np.uint8), np.asarray(y).view(np.uint8))
        np.testing.assert_array_equal(np.asarray(x).astype(rounded.dtype).view(np.uint8), np.asarray(rounded).view(np.uint8))
    assert [x.dtype.itemsize for x in own[2]] == [2, 2, 4, 4, 4]


layers = make_layers(groups, slots=min(needed) - 1)


def overflow_slots(rank):
    for _ in range(2):
        step(layers[rank], given[rank], w1, w2)
        layers[rank].check()


_, errors = on_ranks(overflow_slots, raises=True)
first = next(error for error in errors if isinstance(error, mx.CapacityError))
assert (first.needed, first.available) == (needed[first.rank], min(needed) - 1), errors
assert f"tokens for the experts of one rank, the slots, found {first.needed}: results are wrong, give more slots" in str(first)
for group in groups:
    group.close()
assert mx.RoutedMoELayer(EXPERTS, HIDDEN, INNER, K, tokens=TOKENS, slots=1).slots is None  # a single rank sends nothing

# On a device, `check` inspects the overflow state and clears it after the report.
if DEVICE == "sim":
    mx.set_device("sim")
    x, ids, weights, _ = (mx.array(a) for a in draw((24,))[0])
    quantized = alone.quantize_weights(mx.array(w1), mx.array(w2))
    for capacity in 5, 96, 3:
        _, saved = alone.forward(x, ids, weights, quantized, capacity=capacity)
        assert saved.rows.shape == (capacity,)
    refuses(mx.CapacityError, "rank 0: expected at most 5 rows for its experts, the capacity, found ",
            lambda: alone.check())
    alone.check()
    alone.forward(x, ids, weights, quantized)  # the capacity is always sufficient, so `check` inspects no state
    alone.check()

# Errors.
refuses(TypeError, "group: expected an mx_compiler.Group or None, found 2",
        lambda: mx.RoutedMoELayer(EXPERTS, HIDDEN, INNER, K, 2, tokens=TOKENS))
refuses(ValueError, "experts: expected a multiple of 2, the number of ranks, found 5",
        lambda: mx.RoutedMoELayer(5, HIDDEN, INNER, K, groups[0], tokens=TOKENS))
refuses(ValueError, "choices: expected at most 4 for 4 experts, found 5",
        lambda: mx.RoutedMoELayer(4, HIDDEN, INNER, 5, tokens=TOKENS))
refuses(ValueError, f"hidden: expected a multiple of {BLOCK}, at least {BLOCK}, found 33",
        lambda: mx.RoutedMoELayer(4, 33, INNER, K, tokens=TOKENS, **FORMATS))
refuses(ValueError, "weights: expected mxfp8_fast, the format of the other operands, found mxfp8: use mxfp8_fast for",
        lambda: mx.RoutedMoELayer(4, 128, 128, K, tokens=TOKENS, activations="mxfp8_fast"))
refuses(ValueError, "slots: expected at least 1, found 0",
        lambda: mx.RoutedMoELayer(4, HIDDEN, INNER, K, tokens=TOKENS, slots=0))
refuses(ValueError, "parts: expected at least 1, found 0",
        lambda: mx.RoutedMoELayer(4, HIDDEN, INNER, K, tokens=TOKENS, parts=0))
refuses(ValueError, "capacity: expected at least 1, found 0",
        lambda: mx.RoutedMoELayer(4, HIDDEN, INNER, K, tokens=TOKENS, capacity=0))
quantized = alone.quantize_weights(w1, w2)
refuses(TypeError, "weights: expected the mx_compiler.MoEWeights of quantize_weights, found ndarray",
        lambda: alone.forward(*given[0][:3], w1))
refuses(TypeError, "saved: expected the mx_compiler.RoutedSaved of forward, found list",
        lambda: alone.backward(given[0][3], given[0][1], quantized, []))
x, ids, weights = given[0][:3]
refuses(ValueError, f"weights: expected shape {ids.shape}, the choices of each token, found",
        lambda: alone.forward(x, ids, weights[:-1], quantized))
refuses(ValueError, "ids: expected shape", lambda: alone.forward(x[:-1], ids, weights, quantized))
many = draw((2 * TOKENS + 1,))[0]
refuses(mx.Error, "96", lambda: alone.forward(*many[:3], quantized))
print("right")
