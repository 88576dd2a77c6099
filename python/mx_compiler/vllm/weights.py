# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls with weights in the parameters of vLLM's layers."""

import torch
from vllm import envs
from vllm.model_executor.utils import replace_parameter
from vllm.platforms import current_platform

from ..torch._modules.weight_layout import arrange, multiplies_fp8
from ..torch._ops import fp8_mm
from ..torch._ops.checks import as_rows, like_rows
from ..torch._ops.normalize_scales import normalize_scales
from ..torch._ops.token_groups import rearrange_scales
from ..torch._ops.weight_only_mm import weight_only_mm

# mx supports other GPUs on the simulator only.
CAPABILITY = 90


def unsupported(capability=None):
    """Returns a sentence if the current platform does not run matmuls of mx, otherwise None."""
    if not current_platform.is_cuda():
        return f"mx: expected a CUDA platform, found {current_platform._enum.name}"
    if capability is None:
        found = current_platform.get_device_capability()
        capability = found and found.to_int()
    if capability != CAPABILITY:
        return f"mx: expected compute capability {CAPABILITY / 10}, found {capability and capability / 10}"
    return None


def store(layer, names, elements, scales, format, fp8_activations=False):
    """Stores a weight, [N, K] with plain scales, in the order that matmuls read on its device.

    names  names of parameters of the layer: elements, scales, and with fp8_activations
           normalized scales and their factors"""
    scales = rearrange_scales(scales.contiguous())
    shape = elements.shape[0], elements.shape[1] * format.per_byte
    normalized = None
    if fp8_activations and multiplies_fp8(elements.device, shape):
        normalized = normalize_scales(elements.contiguous(), scales)
    elements = arrange(elements.contiguous(), format, False, normalized is not None)
    # Empty tensors, so that vLLM cannot keep former scales when it loads new weights.
    normalized = normalized or (scales.new_empty(0),) * 2
    for name, value in zip(names, (elements, scales, *normalized)):
        replace_parameter(layer, name, value)


def multiply(layer, names, x, format, factor=None, batch_invariant=False):
    """Computes x w^T in the dtype of x, for a weight that `store` stored. `factor` is the global scale
    of NVFP4."""
    elements, scales, *normalized = [getattr(layer, name) for name in names]
    is_fp8 = bool(normalized) and normalized[0].numel() > 0
    y = weight_only_mm(x.to(torch.bfloat16), elements, scales, format.name, global_scale=factor,
                       packed=elements.dim() > 2, fp8=tuple(normalized) if is_fp8 else None,
                       batch_invariant=batch_invariant or bool(envs.VLLM_BATCH_INVARIANT))
    return y.to(x.dtype)


def multiply_fp8(x, elements, scales):
    """Computes x w^T in the dtype of x with FP8 tensor cores. Scales of 128 x 128 weights are f32 or
    E8M0, and x is quantized with such scales for 128 elements."""
    kind = "f32" if scales.dtype == torch.float32 else "e8m0"
    y = fp8_mm.multiply_stored(as_rows(x), elements.view(torch.uint8), scales.view(torch.uint8), None, kind)
    return like_rows(y, x)
