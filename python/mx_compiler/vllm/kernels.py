# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear kernels for checkpoints that vLLM reads itself. Weights with blocks of 32 or 16 are multiplied by
bf16 activations, also if the checkpoint suggests quantized activations."""

import functools
import sys

from vllm.model_executor.kernels import linear
from vllm.model_executor.utils import replace_parameter
from vllm.platforms import PlatformEnum

from .._ops.formats import find_format
from .._ops.fp8_text import BLOCK
from .weights import multiply, multiply_fp8, store, unsupported


class _Kernel:
    @classmethod
    def is_supported(cls, compute_capability=None):
        reason = unsupported(compute_capability)
        return reason is None, reason


class _WeightOnly(_Kernel):
    _names = "weight", "weight_scale"

    @classmethod
    def can_implement(cls, config):
        return True, None

    def process_weights_after_loading(self, layer):
        store(layer, self._names, layer.weight, layer.weight_scale, self._format)

    def apply_weights(self, layer, x, bias=None):
        factor = layer.weight_global_scale if self._format.has_global_scale else None
        y = multiply(layer, self._names, x, self._format, factor)
        return y if bias is None else y + bias


class MxMxfp8LinearKernel(_WeightOnly, linear.Mxfp8LinearKernel):
    _format = find_format("mxfp8")


class MxMxFp4LinearKernel(_WeightOnly, linear.MxFp4LinearKernel):
    _format = find_format("mxfp4")


class MxNvFp4LinearKernel(_WeightOnly, linear.NvFp4LinearKernel):
    _format = find_format("nvfp4")


class MxFp8BlockScaledMMLinearKernel(_Kernel, linear.Fp8BlockScaledMMLinearKernel):
    apply_input_quant = False

    @classmethod
    def can_implement(cls, config):
        keys = config.activation_quant_key, config.weight_quant_key
        found = [tuple(key.scale.group_shape) for key in keys]
        if keys[0].scale.static or found != [(1, BLOCK), (BLOCK, BLOCK)]:
            return False, (f"mx: expected scales of (1, {BLOCK}) activations, not static, and ({BLOCK}, {BLOCK}) "
                           f"weights, found {keys[0]} and {keys[1]}")
        if config.weight_shape[1] % BLOCK:
            return False, f"mx: expected a multiple of {BLOCK} as K, found {config.weight_shape[1]}"
        return True, None

    def process_weights_after_loading(self, layer):
        params = self._get_layer_params(layer)
        replace_parameter(layer, params.block_scale_attr, params.block_scale.data.contiguous())

    def apply_block_scaled_mm(self, A, B, As, Bs):
        return multiply_fp8(A, B, Bs)


_KERNELS = {
    "_POSSIBLE_MXFP8_KERNELS": MxMxfp8LinearKernel,
    "_POSSIBLE_MXFP4_KERNELS": MxMxFp4LinearKernel,
    "_POSSIBLE_NVFP4_KERNELS": MxNvFp4LinearKernel,
    "_POSSIBLE_FP8_BLOCK_KERNELS": MxFp8BlockScaledMMLinearKernel,
}


def add():
    """Adds the kernels as vLLM's first choice, because `register_linear_kernel` of vLLM appends them. Raises
    an error and adds nothing if the interface of vLLM differs."""
    tables = {kernel: getattr(linear, table)[PlatformEnum.CUDA] for table, kernel in _KERNELS.items()}
    for kernel in tables:
        if missing := kernel.__abstractmethods__:
            raise TypeError(f"{kernel.__name__} lacks {', '.join(sorted(missing))}")
    original = linear.init_nvfp4_linear_kernel
    replacement = _choosing_a16(original, linear.is_supported_and_can_implement_kernel, linear._get_linear_backend)
    linear._LINEAR_BACKEND_KERNEL_MAP["mx"] = {*tables}
    for kernel, table in tables.items():
        table.insert(0, kernel)
    for module in [*sys.modules.values()]:
        if getattr(module, "__dict__", {}).get(original.__name__) is original:
            setattr(module, original.__name__, replacement)


def _choosing_a16(original, is_possible, backend):
    """Returns a replacement for vLLM's choice of an NVFP4 kernel. For weights without quantized activations,
    vLLM considers only kernels in a fixed list."""
    @functools.wraps(original)
    def choose(use_a16=False):
        config = linear.NvFp4LinearLayerConfig()
        if (use_a16 and backend(quantization="nvfp4_w4a16") in ("auto", "mx")
                and is_possible(MxNvFp4LinearKernel, config, None)[0]):
            return MxNvFp4LinearKernel(config)
        return original(use_a16=use_a16)
    return choose
