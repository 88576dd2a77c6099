# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs torchao's MXFP8 training on GPUs that torchao's kernels do not support, because they need
compute capability 10.x. `mx_compiler.torch.install(torchao=True)` replaces functions of torchao by
name, for two releases of torchao, and `uninstall` restores them.

The replacements cover `_to_mxfp8_then_scaled_grouped_mm`, `_to_mxfp8_then_scaled_mm`, and
`quantize_` with `MXFP8TrainingOpConfig`, with KernelPreference.AUTO, on the devices of
`install`. Everything else runs torchao's code."""

import functools
import importlib

import torch

from .._ops import mxfp8_mm as linear

_ROUNDINGS = {"RCEIL": "ceil", "FLOOR": "floor", "EVEN": "even"}
_originals = []     # module, name, original


def check_version():
    """Returns the version of torchao. Raises ImportError if torchao is missing or unsupported."""
    wanted = (f"torchao: expected version {' or '.join(VERSIONS)}, which mx_compiler.torch supports, "
              "found ")
    try:
        found = importlib.import_module("torchao").__version__
    except ModuleNotFoundError as error:
        raise ImportError(f"{wanted}none: pip install torchao=={VERSIONS[0]}") from error
    if (release := found.partition("+")[0]) not in VERSIONS:
        raise ImportError(f"{wanted}{found}: pip install torchao=={VERSIONS[0]}, or omit "
                          "torchao=True")
    return release


def add(serves):
    """Replaces functions of torchao. `serves` returns True for supported devices."""
    release, found = check_version(), []
    layer = _LINEAR[release], "_to_mxfp8_then_scaled_mm", _linear
    for module, name, replacement in (*_REPLACEMENTS, layer):
        module = importlib.import_module(f"torchao.prototype.{module}")
        found.append((module, name, getattr(module, name), replacement))
    for module, name, original, replacement in found:
        _originals.append((module, name, original))
        setattr(module, name, replacement(original, serves))


def remove():
    """Restores torchao's functions."""
    while _originals:
        module, name, original = _originals.pop()
        setattr(module, name, original)


class _GroupedMM:
    """Replacement for torchao's autograd function _MXFP8GroupedMM. torchao calls only `apply`."""

    def __init__(self, original, serves):
        self._original, self._serves = original, serves

    def __getattr__(self, name):
        return getattr(self._original, name)

    def apply(self, input_act, weight_t, offs, *options):
        # Release 0.17 passes a block size first, and accepts only 32.
        out_dtype, kernel_preference, wgrad_with_hp, scale_calculation_mode, _ = options[-5:]
        if not _is_ours(self._serves, input_act, kernel_preference) or options[:-5] not in ((), (32,)):
            return self._original.apply(input_act, weight_t, offs, *options)
        if offs is None:
            raise ValueError("offs: expected the ends of expert groups, i32, found None")
        if out_dtype not in (torch.bfloat16, torch.float32):
            raise ValueError(f"out_dtype: expected bfloat16 or float32, found {out_dtype}")
        rounding = _rounding(scale_calculation_mode)
        # Expert groups may have any number of rows, so no padding is needed. The blocks of 32 rows
        # are the same as with torchao's padding.
        x = _high_precision(input_act, rounding, wgrad_with_hp)
        if out_dtype == torch.float32:
            x = x.to(out_dtype)
        return linear.mxfp8_grouped_mm(
            x, weight_t, offs, scale_rounding=rounding,
            wgrad_high_precision=wgrad_with_hp).to(out_dtype)


def _linear(original, serves):
    @functools.wraps(original)
    def _to_mxfp8_then_scaled_mm(input_hp, weight_hp, kernel_preference,
                                 scale_calculation_mode, wgrad_with_hp=False):
        if not _is_ours(serves, input_hp, kernel_preference):
            return original(input_hp, weight_hp, kernel_preference,
                            scale_calculation_mode, wgrad_with_hp)
        return linear.mxfp8_mm(input_hp, weight_hp,
                               scale_rounding=_rounding(scale_calculation_mode),
                               wgrad_high_precision=wgrad_with_hp)
    return _to_mxfp8_then_scaled_mm


def _tensor_class(original, serves):
    """Skips torchao's check that PyTorch can shard MXFP8 tensors. No release of PyTorch can, but a
    single GPU does not need it."""
    @functools.wraps(original)
    def _get_tensor_cls_for_config(config):
        from torchao.prototype.moe_training.config import MXFP8TrainingOpConfig
        from torchao.prototype.moe_training.tensor import MXFP8TrainingWeightWrapperTensor
        if isinstance(config, MXFP8TrainingOpConfig):
            return MXFP8TrainingWeightWrapperTensor
        return original(config)
    return _get_tensor_cls_for_config


_REPLACEMENTS = (
    ("moe_training.mxfp8_grouped_mm", "_MXFP8GroupedMM", _GroupedMM),
    ("moe_training.tensor", "_to_mxfp8_then_scaled_mm", _linear),
    ("moe_training.conversion_utils", "_get_tensor_cls_for_config", _tensor_class),
)
# Module of the linear layer in each supported release. Earlier releases have no MXFP8TrainingOpConfig.
_LINEAR = {"0.18.0": "moe_training.mxfp8_linear", "0.17.0": "mx_formats.mx_linear"}
VERSIONS = tuple(_LINEAR)


def _is_ours(serves, x, kernel_preference):
    return kernel_preference.name == "AUTO" and serves(x.device)


def _rounding(mode):
    if mode.name not in _ROUNDINGS:
        raise ValueError(f"scale_calculation_mode: expected one of {tuple(_ROUNDINGS)}, "
                         f"found {mode.name}")
    return _ROUNDINGS[mode.name]


def _high_precision(x, rounding, wgrad_with_hp):
    """Returns the dequantized values of an MXTensor. If its scales are rounded with RCEIL, the
    values quantize to the same elements and scales again, because no element saturates."""
    from torchao.prototype.mx_formats.mx_tensor import MXTensor
    if not isinstance(x, MXTensor):
        return x
    if rounding != "ceil" or not wgrad_with_hp:
        raise ValueError("A: expected bfloat16, or a MXTensor with the rounding RCEIL and "
                         f"wgrad_with_hp=True, found a MXTensor with {rounding} and "
                         f"wgrad_with_hp={wgrad_with_hp}")
    return _Values.apply(x)


class _Values(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.dequantize(x.orig_dtype)

    @staticmethod
    def backward(ctx, gradient):
        return gradient
