# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In which order modules keep elements of weights."""

import os

import torch

from ..._ops import weight_tiles
from ..._runtime.chips import chip_of
from ..._runtime.device import device_name, is_host, is_simulator
from .._ops.pack_weights import pack_weights, unpack_weights
from .._ops.tensors import matrix_shape

PLAIN, PACKED = "plain", "packed"


def weight_layout(device, format, shape):
    """The order in which a module on a device of PyTorch keeps such weights: packed on
    "sm_90a" if they fill tiles. There matmuls of bf16 by packed weights of 4 bits took 0.77
    to 1.04 times as long as by plain ones (29571104fae6:docs/OtherKernels.md,
    benchmarks/results/weight-only.csv); by those of 6 and 8 bits they were modelled.

    shape     of the weights in elements, [..., N, K]"""
    if not format.has_matmul or not weight_tiles.fills_tiles(*shape[-2:]):
        return PLAIN
    return PACKED if _chip(device) == "sm_90a" else PLAIN


def arrange(elements, format, is_packed):
    """The same elements, packed or not, as matmuls read them fastest where they are."""
    shape = matrix_shape(elements.shape, format, is_packed)
    wanted = weight_layout(elements.device, format, shape) == PACKED
    if wanted == is_packed:
        return elements
    return (pack_weights if wanted else unpack_weights)(elements, format.name)


def _chip(device):
    """That programs on tensors there are compiled for; of tensors of the host None, unless
    MX_CHIP names the simulator's. Without it the simulator has another chip, so that
    nothing looks for a GPU while a module is made on the host."""
    named = os.environ.get("MX_CHIP")
    if device.type == "cuda" and torch.cuda.is_available():
        return named or chip_of(torch.cuda.get_device_capability(device))
    if device.type != "cpu" or not named or is_host():
        return None
    return named if is_simulator(device_name()) else None
