# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of the report. Each row of a table names a function that creates the case."""

from typing import Callable, NamedTuple

import mx_compiler as mx
import numpy as np

from ..._arrays.interop import find_library
from .. import reference as ref

# Number of rows of a large result that are compared. The rows are evenly spaced.
ROWS = 64
# Total size of the operands of a timed case, so large that no launch finds its operands in a cache.
BYTES = 256 << 20


class Made(NamedTuple):
    """Prepared case. Each of `launches` runs the same work on its own operands, and `check` compares
    the results of the first launch. `torch` is a description and a list of PyTorch launches. Their
    times are compared."""
    launches: list
    check: Callable
    torch: tuple = None


class Row(NamedTuple):
    """Row of the table. `make(place, name, **sizes)` creates a case for each of `names`. The sizes
    are `sizes` on a GPU, and `tiny` on other devices."""
    family: str
    make: Callable
    names: tuple
    sizes: dict
    tiny: dict


class Place:
    """Device of a case. Creates arrays and PyTorch tensors on it."""

    def __init__(self, device, torch=None):
        self.rng = np.random.default_rng(7)
        self.is_gpu = mx.device_info().kind == "cuda"
        self.stream = mx.Stream() if self.is_gpu else None
        self.torch = torch if self.is_gpu else None
        self.device = device
        self.made = {}

    def normal(self, *shape, scale=1.0, dtype=ref.BF16):
        """Returns normally distributed values. They are cached for all cases of a family, because
        drawing large arrays is slow."""
        key = shape, scale, dtype
        if key not in self.made:
            x = self.rng.standard_normal(shape, np.float32) * np.float32(scale)
            self.made[key] = x.astype(dtype)
        return self.made[key]

    def blocks(self, rows, columns):
        """Returns a matrix with blocks of 16 of different magnitudes. Two blocks are zeros."""
        sizes = np.exp2(self.rng.integers(-6, 6, (rows, columns // 16, 1)), dtype=np.float32)
        sizes[0, :2] = 0
        x = self.normal(rows, columns // 16, 16, dtype=np.float32) * sizes
        return x.reshape(rows, columns).astype(ref.BF16)

    def sets(self, *arrays, bytes):
        """Returns copies of the operands `arrays`. The copies differ in the order of their rows.
        `bytes` is the size of a copy, and all copies together exceed the caches."""
        count = max(2, min(12, BYTES // bytes)) if self.is_gpu else 1
        return [tuple(np.roll(x, k, axis=0) for x in arrays) for k in range(count)]

    def put(self, x):
        """Copies an array to the device. On a GPU, the copy is a PyTorch tensor if PyTorch is
        available. Calls then allocate with PyTorch, which does not wait for the GPU when memory is
        freed."""
        if not self.is_gpu:
            return x
        there = mx.array(x, self.stream)
        if not self.torch:
            return there
        self.stream.synchronize()
        return self.torch.from_dlpack(there)

    def get(self, x):
        """Copies an array, or the arrays of a Quantized, to the host."""
        if self.torch and isinstance(x, self.torch.Tensor):
            self.stream.synchronize()
            return find_library(type(x)).to_host(x.cpu())
        if isinstance(x, mx.Quantized):
            return x._replace(elements=self.get(x.elements), scales=self.get(x.scales),
                              global_scale=None if x.global_scale is None
                              else self.get(x.global_scale))
        return x.numpy(stream=self.stream) if hasattr(x, "numpy") else np.asarray(x)

    def bf16(self, x):
        """Copies a bf16 array to a PyTorch tensor on the device."""
        bits = self.torch.tensor(x.view(np.int16), device=self.device)
        return bits.view(self.torch.bfloat16)

    def beside(self, what, launches):
        """Returns (`what`, `launches()`) if PyTorch is available, else None."""
        return (what, launches()) if self.torch else None


def some(rows):
    return np.unique(np.linspace(0, rows - 1, min(rows, ROWS)).astype(int))


# --- Families -------------------------------------------------------------------------


def quantize(place, name, rows, columns):
    format = mx.FORMATS[name]
    inputs = [x for x, in place.sets(place.blocks(rows, columns), bytes=2 * rows * columns)]
    factor = np.float32(2.0 ** -3) if format.has_global_scale else None
    given = {} if factor is None else {"global_scale": place.put(np.array(factor))}
    there = [place.put(x) for x in inputs]

    def launch(x):
        return lambda: mx.quantize(x, name, stream=place.stream, **given)

    def check():
        q, at = place.get(launch(there[0])()), some(rows)
        elements, units = ref.quantized(inputs[0][at], format, factor)
        return ref.by_bits(elements=(ref.raw_codes(q)[at], elements),
                           scales=(ref.scales(q)[at], units))

    return Made([launch(x) for x in there], check,
                place.beside("clone of the input", lambda: [
                    place.bf16(x).clone for x in inputs]))


def dequantize(place, name, rows, columns):
    inputs = [x for x, in place.sets(place.blocks(rows, columns), bytes=2 * rows * columns)]
    there = [mx.quantize(place.put(x), name, stream=place.stream) for x in inputs]

    def launch(q):
        return lambda: mx.dequantize(q, stream=place.stream)

    def check():
        q, at = place.get(there[0]), some(rows)
        found = place.get(launch(there[0])())[at].astype(np.float32)
        return ref.by_bits(values=(found, ref.values(q)[at].astype(np.float32).astype(
            ref.BF16).astype(np.float32)))

    return Made([launch(q) for q in there], check,
                place.beside("clone of the result", lambda: [
                    place.bf16(x).clone for x in inputs]))


def matmul(place, name, m, n, k):
    """Matmul of two quantized matrices."""
    return _matmul(place, name, m, n, k, lambda x: mx.quantize(x, name,
                                                               stream=place.stream))


def weight_only(place, name, m, n, k):
    """Matmul of bf16 activations and a quantized matrix."""
    return _matmul(place, name, m, n, k, lambda x: x)


def _matmul(place, name, m, n, k, prepare):
    pairs = place.sets(place.normal(m, k), place.normal(n, k, scale=k ** -0.5),
                       bytes=(m + n) * k)
    there = [(prepare(place.put(x)), mx.quantize(place.put(w), name, stream=place.stream))
             for x, w in pairs]

    def launch(a, b):
        return lambda: mx.matmul(a, b, stream=place.stream)

    def check():
        a, b, at = place.get(there[0][0]), place.get(there[0][1]), some(m)
        left = (ref.values(a) if isinstance(a, mx.Quantized) else
                a.astype(np.float64))[at]
        right = ref.values(b).T
        expected = left @ right
        return ref.by_bound(place.get(launch(*there[0])())[at], expected,
                            ref.matmul_bound(np.abs(left) @ np.abs(right), k, expected))

    def torch():
        both = [(place.bf16(x), place.bf16(w).T) for x, w in pairs]
        return [lambda x=x, w=w: x @ w for x, w in both]

    return Made([launch(*pair) for pair in there], check,
                place.beside("matmul in bf16", torch))


def grouped(place, name, groups, rows, n, k):
    ends = np.sort(place.rng.integers(0, rows + 1, groups)).astype(np.int32)
    ends[-1] = rows
    ends_there = place.put(ends)
    pairs = place.sets(place.normal(rows, k), place.normal(groups, n, k, scale=k ** -0.5),
                       bytes=rows * k + groups * n * k)
    there = [(mx.quantize(place.put(x), name, offsets=ends_there, stream=place.stream),
              mx.quantize(place.put(w), name, stream=place.stream)) for x, w in pairs]

    def launch(a, b):
        return lambda: mx.grouped_matmul(a, b, ends_there, stream=place.stream)

    def check():
        a, b, at = place.get(there[0][0]), place.get(there[0][1]), some(rows)
        left, right = ref.values(a, ref.group_starts(ends, rows))[at], ref.values(b)
        group = np.searchsorted(ends, at, side="right")
        expected = np.einsum("tk,tnk->tn", left, right[group], optimize=True)
        terms = np.einsum("tk,tnk->tn", np.abs(left), np.abs(right[group]),
                          optimize=True)
        return ref.by_bound(place.get(launch(*there[0])())[at], expected,
                            ref.matmul_bound(terms, k, expected))

    def torch():
        begins = [0, *ends[:-1]]

        def run(x, w):
            return [x[begin:end] @ w[g].T for g, (begin, end)
                    in enumerate(zip(begins, ends))]
        both = [(place.bf16(x), place.bf16(w)) for x, w in pairs]
        return [lambda x=x, w=w: run(x, w) for x, w in both]

    return Made([launch(*pair) for pair in there], check,
                place.beside("a matmul in bf16 for each expert", torch))


def swiglu(place, name, rows, columns):
    inputs = [x for x, in place.sets(place.normal(rows, 2 * columns),
                                     bytes=4 * rows * columns)]
    there = [place.put(x) for x in inputs]

    def launch(x):
        return lambda: mx.swiglu_quantize(x, name, stream=place.stream)

    def check():
        q = place.get(launch(there[0])())
        expected, bound = ref.swiglu(inputs[0], q)
        return ref.by_bound(ref.values(q), expected, bound)

    def torch():
        def run(x):
            gate, up = x.chunk(2, dim=-1)
            return place.torch.nn.functional.silu(gate) * up
        return [lambda x=place.bf16(x): run(x) for x in inputs]

    return Made([launch(x) for x in there], check,
                place.beside("silu(gate) * up in bf16", torch))


# Smallest accepted signal-to-noise ratio in dB, keyed by weight format (docs/guide/MoE.md).
_LEAST_DB = {"mxfp8": 22.0, "mxfp4": 11.0}


def moe_layer(place, name, experts, hidden, intermediate, tokens):
    """Forward and backward pass of an MoE layer."""
    x, dy = place.normal(tokens, hidden), place.normal(tokens, hidden)
    w1 = place.normal(experts, 2 * intermediate, hidden, scale=hidden ** -0.5)
    w2 = place.normal(experts, hidden, intermediate, scale=intermediate ** -0.5)
    chosen = np.argsort(place.rng.random((tokens, experts)), axis=1)[:, :2]
    routing = mx.route(chosen, place.rng.random((tokens, 2)), experts)
    layer = mx.MoELayer(experts, hidden, intermediate, weights=name)
    there = [place.put(v) for v in (x, dy, w1, w2)]
    routed, stream = [place.put(v) for v in routing], place.stream
    weights = layer.quantize_weights(*there[2:], stream=stream)

    def step():
        y, saved = layer.forward(there[0], weights, *routed, stream=stream)
        return y, *layer.backward(there[1], weights, saved, *routed, stream=stream)

    def check():
        names = ("y", "dx", "dw1", "dw2", "dprobs")
        found = dict(zip(names, map(place.get, step())))
        return ref.by_ratio(found, dict(zip(names, ref.layer(x, dy, w1, w2, *routing))),
                            _LEAST_DB[name])

    def torch():
        t = place.torch
        ends = [0, *map(int, routing[2])]
        index = t.tensor(np.asarray(routing[0]), device=place.device).long()
        prob = t.tensor(np.asarray(routing[1]), device=place.device)
        a, up = place.bf16(x).requires_grad_(), place.bf16(w1).requires_grad_()
        down, grad = place.bf16(w2).requires_grad_(), place.bf16(dy)

        def run():
            y = t.zeros(tokens, hidden, dtype=t.bfloat16, device=place.device)
            for g in range(experts):
                rows = slice(ends[g], ends[g + 1])
                gate, other = (a[index[rows]] @ up[g].T).chunk(2, dim=-1)
                h = t.nn.functional.silu(gate) * other * prob[rows, None].to(t.bfloat16)
                y = y.index_add(0, index[rows], h @ down[g].T)
            a.grad = up.grad = down.grad = None
            y.backward(grad)
        return [run]

    return Made([step], check, place.beside("a loop over experts in bf16", torch))


_SIMPLE = {
    # The kernel must not fuse the operations, because a fused multiply-add returns different bits.
    "multiply_add": ("""func.func @f(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
      %0 = arith.mulf %x, %y : tensor<?x?xf32>
      %1 = arith.addf %0, %x : tensor<?x?xf32>
      return %1 : tensor<?x?xf32>
    }""", lambda x, y: x * y + x),
    "transpose": ("""func.func @f(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %m = tensor.dim %x, %c0 : tensor<?x?xf32>
      %n = tensor.dim %x, %c1 : tensor<?x?xf32>
      %0 = tensor.empty(%n, %m) : tensor<?x?xf32>
      %1 = linalg.transpose ins(%x : tensor<?x?xf32>) outs(%0 : tensor<?x?xf32>) permutation = [1, 0]
      return %1 : tensor<?x?xf32>
    }""", lambda x, y: x.T),
}
_SIMPLE_TORCH = {"multiply_add": lambda x, y: x * y + x,
                 "transpose": lambda x, y: x.T.contiguous()}


def simple(place, name, rows, columns):
    text, exact = _SIMPLE[name]
    entry = mx.compile(text)["f"]
    pairs = place.sets(*place.normal(2, rows, columns, dtype=np.float32),
                       bytes=8 * rows * columns)
    there = [[place.put(v) for v in pair] for pair in pairs]

    def launch(x, y):
        return lambda: entry(x, y, stream=place.stream)

    def check():
        found, = launch(*there[0])()
        return ref.by_bits(values=(place.get(found), exact(*pairs[0])))

    def torch():
        both = [[place.torch.tensor(v, device=place.device) for v in p] for p in pairs]
        return [lambda p=p: _SIMPLE_TORCH[name](*p) for p in both]

    return Made([launch(*pair) for pair in there], check,
                place.beside("the same in f32", torch))


_MATMULS = tuple(name for name, format in mx.FORMATS.items() if format.has_matmul)
_MATRIX = {"rows": 8192, "columns": 4096}
TABLE = (
    Row("quantize", quantize, tuple(mx.FORMATS), _MATRIX, {"rows": 40, "columns": 96}),
    Row("dequantize", dequantize, tuple(mx.FORMATS), _MATRIX, {"rows": 40, "columns": 96}),
    Row("matmul", matmul, _MATMULS, {"m": 4096, "n": 4096, "k": 4096},
        {"m": 40, "n": 64, "k": 128}),
    Row("weight_only", weight_only, _MATMULS, {"m": 16, "n": 4096, "k": 8192},
        {"m": 16, "n": 64, "k": 128}),
    Row("grouped_matmul", grouped, ("mxfp8", "mxfp4", "nvfp4"),
        {"groups": 8, "rows": 8192, "n": 2048, "k": 2048},
        {"groups": 3, "rows": 40, "n": 64, "k": 128}),
    Row("swiglu_quantize", swiglu, ("mxfp8",), {"rows": 4096, "columns": 2048},
        {"rows": 20, "columns": 64}),
    Row("moe_layer", moe_layer, tuple(_LEAST_DB),
        {"experts": 8, "hidden": 2048, "intermediate": 1024, "tokens": 4096},
        {"experts": 4, "hidden": 128, "intermediate": 128, "tokens": 24}),
    Row("simple_kernels", simple, tuple(_SIMPLE), {"rows": 8192, "columns": 2048},
        {"rows": 20, "columns": 30}),
)
FAMILIES = {row.family: row for row in TABLE}
