"""Compares every stage of a layer with the exact result (moe.py), and computes a layer without a device.

`v` maps names to the layer's arrays in device form: bf16 as bits, quantized tensors as elements and scale tiles. The
arguments are x, dy, rows, prob, ends, the bf16 weights w1b and w2b, and the quantized weights w1, w1s, w2, w2s (along
the last axis) and w1t, w1ts, w2t, w2ts (along the axis before it, transposed). The forward pass adds xq0 to xq3, gu,
hq0 to hq3, z and y. The backward pass adds dq0 to dq3, dh, dw2, dprob, gq0 to gq3, dxp, dx and dw1.
"""

import moe
import numpy as np
from moe import BF16

BF16_MANTISSA, F32_MANTISSA = 7, 23


class Findings:
    """Counts differences. `largest` is the largest error of a stage as a fraction of its bound."""

    def __init__(self):
        self.wrong, self.largest = {}, {}

    def exact(self, name, found, expected):
        """Compares every defined byte of quantized arrays."""
        wrong = 0
        for array, (elements, part) in zip(found, expected):
            same = array.shape == elements.shape
            wrong += int((array[part] != elements[part]).sum()) if same else 1
        self.add(name, wrong)

    def bits(self, name, found, expected):
        """Compares every bit of f32 arrays."""
        same = found.shape == expected.shape
        self.add(name, int((found.view(np.uint32) != expected.view(np.uint32)).sum()) if same else 1)

    def bounded(self, name, found, result, mantissa):
        wrong, ratio = result.compare(found, mantissa)
        self.add(name, wrong)
        self.largest[name] = max(ratio, self.largest.get(name, 0.0))

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


def four(v, name):
    return [v[f"{name}{i}"] for i in range(4)]


def check_weights(v):
    found = Findings()
    for name in ("w1", "w2"):
        expected = moe.quantize_weights(v[name + "b"].astype(np.float32))
        arrays = [v[name + part] for part in ("", "s", "t", "ts")]
        found.exact("quantize weights", arrays,
                    [(array, slice(None)) for array in expected])
    return found


def check_forward(v):
    ends, rows, last = v["ends"], v["rows"], int(v["ends"][-1])
    found = Findings()
    x = moe.widen(moe.gather(v["x"], rows))
    found.exact("quantize x", four(v, "xq"), moe.quantize_rows(x, ends))
    xq = moe.read_rows(v["xq0"], v["xq1"], ends)
    gu = moe.matmul_rows(xq, moe.read(v["w1"], v["w1s"]))
    found.bounded("gate and up", moe.widen(v["gu"])[:last], gu, BF16_MANTISSA)
    found.exact("SwiGLU", four(v, "hq"),
                moe.quantize_rows(moe.swiglu(v["gu"], v["prob"]), ends))
    hq = moe.read_rows(v["hq0"], v["hq1"], ends)
    z = moe.matmul_rows(hq, moe.read(v["w2"], v["w2s"]))
    found.bounded("z", v["z"][:last], z, F32_MANTISSA)
    found.bits("y", v["y"], moe.combine(v["z"][:last], rows, len(v["x"])))
    return found


def check_backward(v):
    ends, rows, last = v["ends"], v["rows"], int(v["ends"][-1])
    found = Findings()
    dy = moe.widen(moe.gather(v["dy"], rows))
    found.exact("quantize dy", four(v, "dq"), moe.quantize_rows(dy, ends))
    dq = moe.read_rows(v["dq0"], v["dq1"], ends)
    dh = moe.matmul_rows(dq, moe.read(v["w2t"], v["w2ts"]))
    found.bounded("dh", moe.widen(v["dh"])[:last], dh, BF16_MANTISSA)
    dyt = moe.read_reduction(v["dq2"], v["dq3"], ends)
    ht = moe.read_reduction(v["hq2"], v["hq3"], ends)
    found.bounded("dW2", v["dw2"], moe.matmul_reduction(dyt, ht), F32_MANTISSA)
    found.bounded("dprob", v["dprob"][:last],
                  moe.prob_gradient(v["gu"], v["dh"], last), F32_MANTISSA)
    dgu = moe.swiglu_gradient(v["gu"], v["dh"], v["prob"])
    found.exact("gradient of SwiGLU", four(v, "gq"), moe.quantize_rows(dgu, ends))
    gq = moe.read_rows(v["gq0"], v["gq1"], ends)
    dx = moe.matmul_rows(gq, moe.read(v["w1t"], v["w1ts"]))
    found.bounded("dX of rows", v["dxp"][:last], dx, F32_MANTISSA)
    found.bits("dX", v["dx"], moe.combine(v["dxp"][:last], rows, len(v["x"])))
    gt = moe.read_reduction(v["gq2"], v["gq3"], ends)
    xt = moe.read_reduction(v["xq2"], v["xq3"], ends)
    found.bounded("dW1", v["dw1"], moe.matmul_reduction(gt, xt), F32_MANTISSA)
    return found


def check(v):
    """Checks all stages, forward and backward."""
    found = check_weights(v)
    for part in (check_forward(v), check_backward(v)):
        found.merge(part)
    return found


# --- The layer without a device ---------------------------------------------------


def store(v, name, arrays):
    for i, (array, _) in enumerate(arrays):
        v[f"{name}{i}"] = array


def to_bits(values, total):
    """Rounds to bf16. Rows outside of all groups are NaN."""
    out = np.full((total, values.shape[1]), np.nan, BF16)
    out[:len(values)] = values.astype(np.float32).astype(BF16)
    return out.view(np.uint16)


def to_f32(values, total):
    """Rounds to f32. Rows outside of all groups are NaN."""
    out = np.full((total, values.shape[1]), np.nan, np.float32)
    out[:len(values)] = values
    return out


def compute_weights(v):
    for name in ("w1", "w2"):
        v[name], v[name + "s"], v[name + "t"], v[name + "ts"] = (
            moe.quantize_weights(v[name + "b"].astype(np.float32)))


def compute_forward(v):
    ends, rows, total = v["ends"], v["rows"], len(v["rows"])
    store(v, "xq", moe.quantize_rows(moe.widen(moe.gather(v["x"], rows)), ends))
    gu = moe.matmul_rows(moe.read_rows(v["xq0"], v["xq1"], ends),
                         moe.read(v["w1"], v["w1s"]))
    v["gu"] = to_bits(gu.exact, total)
    store(v, "hq", moe.quantize_rows(moe.swiglu(v["gu"], v["prob"]), ends))
    z = moe.matmul_rows(moe.read_rows(v["hq0"], v["hq1"], ends),
                        moe.read(v["w2"], v["w2s"]))
    v["z"] = to_f32(z.exact, total)
    v["y"] = moe.combine(v["z"][:len(z.exact)], rows, len(v["x"]))


def compute_backward(v):
    ends, rows, total = v["ends"], v["rows"], len(v["rows"])
    last = int(ends[-1])
    store(v, "dq", moe.quantize_rows(moe.widen(moe.gather(v["dy"], rows)), ends))
    dh = moe.matmul_rows(moe.read_rows(v["dq0"], v["dq1"], ends),
                         moe.read(v["w2t"], v["w2ts"]))
    v["dh"] = to_bits(dh.exact, total)
    v["dw2"] = moe.matmul_reduction(
        moe.read_reduction(v["dq2"], v["dq3"], ends),
        moe.read_reduction(v["hq2"], v["hq3"], ends)).exact.astype(np.float32)
    v["dprob"] = np.full(total, np.nan, np.float32)
    v["dprob"][:last] = moe.prob_gradient(v["gu"], v["dh"], last).exact
    dgu = moe.swiglu_gradient(v["gu"], v["dh"], v["prob"])
    store(v, "gq", moe.quantize_rows(dgu, ends))
    dx = moe.matmul_rows(moe.read_rows(v["gq0"], v["gq1"], ends),
                         moe.read(v["w1t"], v["w1ts"]))
    v["dxp"] = to_f32(dx.exact, total)
    v["dx"] = moe.combine(v["dxp"][:last], rows, len(v["x"]))
    v["dw1"] = moe.matmul_reduction(
        moe.read_reduction(v["gq2"], v["gq3"], ends),
        moe.read_reduction(v["xq2"], v["xq3"], ends)).exact.astype(np.float32)
