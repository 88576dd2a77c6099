"""Quantization noise of a mixture-of-experts layer with Gaussian tokens and weights (formulas of docs/guide/MoE.md).

Noise is relative to the power of the signal. Powers of independent noises add up.
"""

import moe
import numpy as np


def quantization_noise(mantissa):
    """Returns the noise of rounding to a float with `mantissa` mantissa bits, with power-of-two scales and without
    overflow or underflow. A number in [2^e, 2^(e+1)) has a uniform error in an interval of width 2^(e - mantissa), and
    4^e / x^2 is 3 / (8 ln 2) on average."""
    return 4.0**-mantissa / 12 * 3 / (8 * np.log(2))


ELEMENT = quantization_noise(3)  # E4M3
STORED = quantization_noise(7)  # bf16


def expect(f, sigma):
    """Returns E[f(g)] for g of N(0, sigma^2)."""
    g = np.linspace(-12, 12, 20001)
    weight = np.exp(-g * g / 2)
    return (f(sigma * g) * weight).sum() / weight.sum()


def sigmoid(g):
    return 1 / (1 + np.exp(-g))


def silu(g):
    return g * sigmoid(g)


def silu1(g):
    s = sigmoid(g)
    return s * (1 + g * (1 - s))


def silu2(g):
    s = sigmoid(g)
    return s * (1 - s) * (2 + g * (1 - 2 * s))


def predict(sigma):
    """Predicts the noise of each result in decibels. Gate and up have the standard deviation `sigma`."""
    power = {f: expect(lambda g: f(g)**2, sigma) for f in (silu, silu1, silu2)}
    gain = sigma**2 * power[silu1] / power[silu]
    gain1 = sigma**2 * power[silu2] / power[silu1]
    gu = 2 * ELEMENT + STORED
    act = gu * (1 + gain)  # silu(gate) * up
    h = act + STORED
    dh = 2 * ELEMENT + STORED
    dgate = dh + gu * (1 + gain1) + STORED
    dup = dh + gu * gain + STORED
    # Powers of dgate and dup divided by their common factor.
    p, q = sigma**2 * power[silu1], power[silu]
    dgu = (p * dgate + q * dup) / (p + q)
    noise = {"y": h + 2 * ELEMENT, "dX": dgu + 2 * ELEMENT,
             "dW1": dgu + 2 * ELEMENT, "dW2": h + 2 * ELEMENT,
             "dprob": dh + act}
    return {name: -10 * np.log10(value) for name, value in noise.items()}


# Names of results in a layer's arrays (moe_stages.py).
NAMES = {"y": "y", "dX": "dx", "dW1": "dw1", "dW2": "dw2", "dprob": "dprob"}


def add_power(power, v):
    """Adds the signals and noises of a layer to the totals."""
    last, exact = int(v["ends"][-1]), moe.exact_layer(v)
    for result, name in NAMES.items():
        part = slice(0, last) if result == "dprob" else slice(None)
        found = v[name][part].astype(np.float64)
        want = exact[result][part]
        signal, noise, rows = power.get(result, (0.0, 0.0, 0))
        power[result] = (signal + (want**2).sum(),
                         noise + ((found - want)**2).sum(), rows + last)


def expect_ratios(power, sigma=1.0, slack=0.2):
    """Checks that the ratios of summed powers match the prediction within `slack` dB plus four standard deviations for
    the number of rows. Prints the ratios."""
    for result, expected in predict(sigma).items():
        signal, noise, rows = power[result]
        found = 10 * np.log10(signal / noise)
        # The relative deviation of a sum of n squares of Gaussian numbers is sqrt(2 / n). Not all numbers of a matrix
        # row are independent.
        count = rows * (1 if result == "dprob" else 32)
        margin = slack + 4 * 10 / np.log(10) * 2 / np.sqrt(count)
        print(f"{result}: {found:.2f} dB, predicted {expected:.2f} +- {margin:.2f}")
        assert abs(found - expected) <= margin, result
