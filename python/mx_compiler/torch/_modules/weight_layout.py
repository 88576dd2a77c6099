# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Order of weight elements in modules."""

import os

import torch

from ..._ops import weight_tiles
from ..._runtime.chips import chip_of
from ..._ops.expanded import FOLD
from ..._runtime.device import device_name, is_host, is_simulator
from .._ops.pack_weights import pack_weights, unpack_weights
from .._ops.tensors import matrix_shape

PLAIN, PACKED = "plain", "packed"


def weight_layout(device, format, shape):
    """Returns the order of weights in a module on a PyTorch device. Weights are packed on "sm_90a" if
    they fill tiles. On this chip, bf16 matmuls with packed 4-bit weights take 0.77 to 1.04 times as
    long as with plain weights (29571104fae6:docs/OtherKernels.md,
    benchmarks/results/weight-only.csv). For 6 and 8 bits, the times are predictions of a model.

    shape     shape of the weights in elements, [..., N, K]"""
    if not format.has_matmul or not weight_tiles.fills_tiles(*shape[-2:]):
        return PLAIN
    return PACKED if _chip(device) == "sm_90a" else PLAIN


def multiplies_fp8(device, shape):
    """Returns True if matmuls on a PyTorch device may quantize activations to FP8."""
    return shape[-1] % FOLD == 0 and (_chip(device) == "sm_90a" or device.type == "cpu" and is_host())


def arrange(elements, format, is_packed, is_plain=False):
    """Returns the elements in the order selected by weight_layout for their device, or as written by
    quantizers if `is_plain`."""
    shape = matrix_shape(elements.shape, format, is_packed)
    wanted = not is_plain and weight_layout(elements.device, format, shape) == PACKED
    if wanted == is_packed:
        return elements
    return (pack_weights if wanted else unpack_weights)(elements, format.name)


def _chip(device):
    """Returns the chip of programs on tensors of a device. Returns None for host tensors unless
    MX_CHIP names the chip of the simulator, so creating a module on the host does not probe for
    a GPU by default."""
    named = os.environ.get("MX_CHIP")
    if device.type == "cuda" and torch.cuda.is_available():
        return named or chip_of(torch.cuda.get_device_capability(device))
    if device.type != "cpu" or not named or is_host():
        return None
    return named if is_simulator(device_name()) else None
