# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rotary positions with YaRN scaling (arXiv 2309.00071), as in gpt-oss."""

import math

import torch


def angles(config, length, device):
    """Returns cosines and sines, [length, head_dim / 2] each, in f32."""
    scaling, size = config.rope_scaling, config.head_dim
    steps = torch.arange(0, size, 2, dtype=torch.float64)
    frequencies = config.rope_theta ** (-steps / size)
    factor = scaling.get("factor", 1.0) if scaling.get("rope_type") == "yarn" else 1.0
    magnitude = 1.0
    if factor > 1:
        # Returns the (fractional) index of the frequency that makes this number of turns over the
        # training length. High frequencies are kept, and low frequencies are divided by `factor`.
        def index(turns):
            wavelength = scaling["original_max_position_embeddings"] / (turns * 2 * math.pi)
            return size * math.log(wavelength) / (2 * math.log(config.rope_theta))

        low, high = index(scaling["beta_fast"]), index(scaling["beta_slow"])
        if scaling.get("truncate", True):
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, size - 1)
        stretched = ((steps / 2 - low) / max(high - low, 1e-3)).clamp(0, 1)
        frequencies = frequencies * (1 - stretched) + frequencies / factor * stretched
        magnitude = 0.1 * math.log(factor) + 1
    turned = torch.arange(length, dtype=torch.float64)[:, None] * frequencies
    return [(x * magnitude).float().to(device) for x in (turned.cos(), turned.sin())]


def rotate(x, cos, sin):
    """Rotates pairs of elements of `x`, [..., T, heads, head_dim], which lie head_dim / 2 apart.
    `cos` and `sin` are [T, head_dim / 2]."""
    first, second = x.float().chunk(2, -1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).to(x.dtype)
