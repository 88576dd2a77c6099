# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts with quantized weights, for the tokens of a router and without gradients, as an operator."""

from ..._ops import weight_only_experts as layers
from . import eager, tensors
from .checks import check_one_device
from .weight_only_mm import operand


def _compute(x, ids, weights, gate_up, gate_up_scales, down, down_scales, gate_up_bias, down_bias,
             gate_up_factors, down_factors, format, packed_gate_up, packed_down, alpha, limit, dtype):
    if not ids.numel():
        return x.new_zeros(x.shape, dtype=dtype)
    return layers.weight_only_experts(
        *map(tensors.plain, (x, ids, weights)),
        operand(gate_up, gate_up_scales, format, True, None, packed_gate_up),
        operand(down, down_scales, format, True, None, packed_down),
        () if gate_up_bias is None else (tensors.plain(gate_up_bias), tensors.plain(down_bias)),
        () if gate_up_factors is None else (gate_up_factors, down_factors),
        () if alpha is None else (alpha, limit), dtype)


_TENSORS = ("x", "ids", "weights", "gate_up", "gate_up_scales", "down", "down_scales", "gate_up_bias", "down_bias",
            "gate_up_factors", "down_factors")


def _fake(*arguments):
    check_one_device(**dict(zip(_TENSORS, arguments)))
    return arguments[0].new_empty(arguments[0].shape, dtype=arguments[-1])


# Weights are buffers of a module; biases, alpha and limit are None for silu, and factors unless the
# format is NVFP4.
weight_only_experts = eager.operator(tensors.define(
    "weight_only_experts", "(Tensor x, Tensor ids, Tensor weights, Tensor gate_up, Tensor gate_up_scales, "
    "Tensor down, Tensor down_scales, Tensor? gate_up_bias, Tensor? down_bias, "
    "Tensor? gate_up_factors, Tensor? down_factors, str format, "
    "bool packed_gate_up, bool packed_down, float? alpha, float? limit, ScalarType dtype) -> Tensor",
    _compute, _fake))
