# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Order of weight elements in modules."""

import os

import torch

from ..._ops import weight_tiles
from ..._runtime.chips import chip_of
from ..._runtime.device import device_name, is_host, is_simulator
from .._ops.pack_weights import pack_weights, unpack_weights
from .._ops.tensors import matrix_shape

PLAIN, PACKED = "plain", "packed"


def weight_layout(device, format, shape):
    """Returns the order of weights in a module on a PyTorch device: packed on "sm_90a" if they
    fill tiles. There bf16 matmuls with packed 4-bit weights take 0.77 to 1.04 times as long as
    with plain ones (29571104fae6:docs/OtherKernels.md, benchmarks/results/weight-only.csv); for
    6 and 8 bits the times were modelled.

    shape     of the weights in elements, [..., N, K]"""
    if not format.has_matmul or not weight_tiles.fills_tiles(*shape[-2:]):
        return PLAIN
    return PACKED if _chip(device) == "sm_90a" else PLAIN


def arrange(elements, format, is_packed):
    """Returns the elements in the order that is fastest on their device, packed or plain."""
    shape = matrix_shape(elements.shape, format, is_packed)
    wanted = weight_layout(elements.device, format, shape) == PACKED
    if wanted == is_packed:
        return elements
    return (pack_weights if wanted else unpack_weights)(elements, format.name)


def _chip(device):
    """Returns the chip of programs on tensors of a device. None for host tensors, unless
    MX_CHIP names the simulator's chip: by default no GPU is probed while a module is created on
    the host."""
    named = os.environ.get("MX_CHIP")
    if device.type == "cuda" and torch.cuda.is_available():
        return named or chip_of(torch.cuda.get_device_capability(device))
    if device.type != "cpu" or not named or is_host():
        return None
    return named if is_simulator(device_name()) else None
