"""The stages of a layer, as moe.py computes them, in one pass over the arrays of `v`. Findings compares each array with
the exact result; Model stores the exact results, which computes a layer without a device.

`v` maps names to the layer's arrays in device form: bf16 as bits, quantized tensors as elements and scale tiles. The
arguments are x, dy, rows, prob, ends, the bf16 weights w1b and w2b, and the quantized weights w1, w1s, w2, w2s (along
the last axis) and w1t, w1ts, w2t, w2ts (along the axis before it, transposed). The forward pass adds xq0 to xq3, gu,
hq0 to hq3, z and y. The backward pass adds dq0 to dq3, dh, dw2, dprob, gq0 to gq3, dxp, dx and dw1.
"""

import moe
import mx_reference as ref
import numpy as np
from moe import BF16

MANTISSA = {BF16: 7, np.float32: 23}


class Findings:
    """Counts differences. `largest` is the largest error of a stage as a fraction of its bound."""

    def __init__(self, v=None):
        self.v, self.wrong, self.largest = v, {}, {}

    def exact(self, stage, names, expected):
        """Compares every defined byte of quantized arrays."""
        wrong = 0
        for name, (elements, part) in zip(names, expected):
            array = self.v[name]
            same = array.shape == elements.shape
            wrong += int((array[part] != elements[part]).sum()) if same else 1
        self.add(stage, wrong)

    def bits(self, stage, name, expected):
        """Compares every bit of f32 arrays."""
        found = self.v[name]
        same = found.shape == expected.shape
        self.add(stage, int((found.view(np.uint32) != expected.view(np.uint32)).sum()) if same else 1)

    def bounded(self, stage, name, result, kind=np.float32):
        found = self.v[name].view(kind)[:len(result.exact)]
        wrong, ratio = result.compare(found, MANTISSA[kind])
        self.add(stage, wrong)
        self.largest[stage] = max(ratio, self.largest.get(stage, 0.0))

    def add(self, name, wrong):
        self.wrong[name] = self.wrong.get(name, 0) + wrong

    def merge(self, other):
        for name, wrong in other.wrong.items():
            self.add(name, wrong)
        for name, ratio in other.largest.items():
            self.largest[name] = max(ratio, self.largest.get(name, 0.0))

    def __str__(self):
        return "; ".join(
            f"{name}: {wrong} wrong" +
            (f", {self.largest[name]:.3f} of the bound"
             if name in self.largest else "")
            for name, wrong in self.wrong.items())


class Model:
    """Stores exact results in `v`, rounded to the arrays' types. Rows outside of all groups are NaN."""

    def __init__(self, v):
        self.v = v

    def exact(self, _, names, expected):
        self.v.update((name, array) for name, (array, _) in zip(names, expected))

    def bits(self, _, name, expected):
        self.v[name] = expected

    def bounded(self, _, name, result, kind=np.float32):
        exact = result.exact.astype(np.float32).astype(kind)
        rest = len(self.v["rows"]) - len(exact) if exact.ndim < 3 else 0
        padded = np.concatenate([exact, np.full((rest, *exact.shape[1:]), np.nan, kind)])
        self.v[name] = padded.view(np.uint16) if kind == BF16 else padded


def four(name):
    return [f"{name}{i}" for i in range(4)]


def run_weights(v, out):
    for name in ("w1", "w2"):
        expected = moe.quantize_weights(v[name + "b"].astype(np.float32))
        out.exact("quantize weights", [name + part for part in ("", "s", "t", "ts")],
                  [(array, slice(None)) for array in expected])


def run_forward(v, out):
    ends, rows, last = v["ends"], v["rows"], int(v["ends"][-1])
    x = moe.widen(ref.gather(v["x"], rows))
    out.exact("quantize x", four("xq"), moe.quantize_rows(x, ends))
    xq = moe.read_rows(v["xq0"], v["xq1"], ends)
    out.bounded("gate and up", "gu", moe.matmul_rows(xq, moe.read(v["w1"], v["w1s"])), BF16)
    out.exact("SwiGLU", four("hq"), moe.quantize_rows(moe.swiglu(v["gu"], v["prob"]), ends))
    hq = moe.read_rows(v["hq0"], v["hq1"], ends)
    out.bounded("z", "z", moe.matmul_rows(hq, moe.read(v["w2"], v["w2s"])))
    out.bits("y", "y", moe.combine(v["z"][:last], rows, len(v["x"])))


def run_backward(v, out):
    ends, rows, last = v["ends"], v["rows"], int(v["ends"][-1])
    dy = moe.widen(ref.gather(v["dy"], rows))
    out.exact("quantize dy", four("dq"), moe.quantize_rows(dy, ends))
    dq = moe.read_rows(v["dq0"], v["dq1"], ends)
    out.bounded("dh", "dh", moe.matmul_rows(dq, moe.read(v["w2t"], v["w2ts"])), BF16)
    dyt = moe.read_reduction(v["dq2"], v["dq3"], ends)
    ht = moe.read_reduction(v["hq2"], v["hq3"], ends)
    out.bounded("dW2", "dw2", moe.matmul_reduction(dyt, ht))
    out.bounded("dprob", "dprob", moe.prob_gradient(v["gu"], v["dh"], last))
    dgu = moe.swiglu_gradient(v["gu"], v["dh"], v["prob"])
    out.exact("gradient of SwiGLU", four("gq"), moe.quantize_rows(dgu, ends))
    gq = moe.read_rows(v["gq0"], v["gq1"], ends)
    out.bounded("dX of rows", "dxp", moe.matmul_rows(gq, moe.read(v["w1t"], v["w1ts"])))
    out.bits("dX", "dx", moe.combine(v["dxp"][:last], rows, len(v["x"])))
    gt = moe.read_reduction(v["gq2"], v["gq3"], ends)
    xt = moe.read_reduction(v["xq2"], v["xq3"], ends)
    out.bounded("dW1", "dw1", moe.matmul_reduction(gt, xt))


def run_all(v, out):
    """Passes the exact result of each stage, forward and backward, to `out`. Returns `out`."""
    for stages in (run_weights, run_forward, run_backward):
        stages(v, out)
    return out


def check(v):
    """Checks all stages, forward and backward."""
    return run_all(v, Findings(v))
