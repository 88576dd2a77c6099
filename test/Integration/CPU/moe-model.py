# TIER: slow
# REQUIRES: numpy
# RUN: %python %s
"""Checks the premises of the mixture-of-experts tests without a device: quantization noise follows docs/guide/MoE.md,
and the comparison of stages detects a wrong element, scale or sum in each stage.
"""

import moe
import moe_noise
import moe_routing
import moe_stages
import mx_reference as ref
import numpy as np

HIDDEN, INNER, GROUPS = 256, 128, 4
rng = np.random.default_rng(3)


def measure_quantization(element, mantissa):
    """Returns the quantization noise of Gaussian blocks with deviations between two powers of two."""
    noise = []
    for phase in np.arange(16) / 16:
        x = (rng.standard_normal((4000, 32)) * 2.0**phase).astype(np.float32)
        error = ref.real(*ref.quantize(x, element), element) - x
        noise.append((error**2).sum() / (x.astype(np.float64)**2).sum())
    ratio = np.mean(noise) / moe_noise.quantization_noise(mantissa)
    spread = (max(noise) - min(noise)) / np.mean(noise)
    print(f"{element}: {ratio:.4f} of the predicted noise, phases within {spread:.3f}")
    assert abs(ratio - 1) < 0.02 and spread < 0.04


measure_quantization("f8E4M3FN", 3)
measure_quantization("f8E5M2", 2)


def compute(kind):
    r = moe_routing.draw(rng, kind, GROUPS)
    v = moe.draw_inputs(rng, r, HIDDEN, INNER)
    moe_stages.run_all(v, moe_stages.Model(v))
    return r, v


# The model passes the comparison in every stage, with the predicted noise.
power = {}
for kind in moe_routing.KINDS * 2:
    r, v = compute(kind)
    findings = moe_stages.check(v)
    assert not any(findings.wrong.values()), f"{r}: {findings}"
    moe_noise.add_power(power, v)
moe_noise.expect_ratios(power)

# A wrong number is reported in the stage that computes the number.
r, v = compute("odd sizes")
MUTANTS = {
    "quantize weights": ["w1", "w1s", "w1t", "w1ts", "w2", "w2s", "w2t", "w2ts"],
    "quantize x": ["xq0", "xq1", "xq2", "xq3"], "gate and up": ["gu"],
    "SwiGLU": ["hq0", "hq1", "hq2", "hq3"], "z": ["z"], "y": ["y"],
    "quantize dy": ["dq0", "dq1", "dq2", "dq3"], "dh": ["dh"], "dW2": ["dw2"],
    "dprob": ["dprob"], "gradient of SwiGLU": ["gq0", "gq1", "gq2", "gq3"],
    "dX of rows": ["dxp"], "dX": ["dx"], "dW1": ["dw1"],
}
for stage, names in MUTANTS.items():
    for name in names:
        wrong = dict(v)
        array = wrong[name] = v[name].copy()
        # Flip the lowest bit of a code or scale, increment the bits of the largest bf16 number, or add a relative error
        # of 2^-8.
        flat = array.ravel()
        if array.dtype == np.uint8:
            flat[0] ^= 1
        elif array.dtype == np.uint16:
            last = int(r.ends[-1]) * array.shape[1]
            flat[np.nanargmax(np.abs(moe.widen(flat[:last])))] += 2
        else:
            flat[np.nanargmax(np.abs(flat))] *= np.float32(1 + 2.0**-8)
        assert moe_stages.check(wrong).wrong[stage] > 0, f"{stage}: {name}"
print("all is well")
