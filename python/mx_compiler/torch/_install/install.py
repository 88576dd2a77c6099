# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installs torch.nn.functional.scaled_mm and scaled_grouped_mm on GPUs for which PyTorch has no
block-scaled matmuls."""

import functools
import threading
from typing import Iterable

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from . import scaled_formats as scaling
from . import scaled_mm as scaled
from . import torchao as torchao_patches
from . import traced
from .fake_overrides import FakeOverride
from .overrides import Override

# Compute capabilities with block-scaled matmuls in mx, but not in PyTorch.
CAPABILITIES = ((9, 0),)

_KEYS = {"cuda": "CUDA", "cpu": "CPU"}
_lock = threading.Lock()
_overrides = []
_devices = frozenset()


def install(devices: str | Iterable[str] = ("cuda",), torchao: bool = False) -> None:
    """Implements PyTorch's functions for block-scaled matrices: scaled_mm and scaled_grouped_mm of
    torch.nn.functional, and their aten operators, which torchao and torch.compile call. Supported
    recipes are BlockWise1x32, and BlockWise1x16 with or without TensorWise. Scales are in
    SWIZZLE_32_4_4 or NO_SWIZZLE. All other calls still run PyTorch's kernels.

    devices   "cuda": GPUs of compute capability 9.0, which PyTorch does not support;
              "cpu": host tensors, computed on the device MX_DEVICE ("sim" or "cpu"),
              for machines without a GPU
    torchao   True: also run torchao's MXFP8 training (docs/guide/Torch.md)

    A second call replaces the first, and `uninstall` reverts all changes. Raises ValueError, which
    names the argument, or ImportError if torchao is missing or has an unsupported version. Nothing
    is installed if an exception is raised."""
    if isinstance(devices, str):
        devices = (devices,)
    try:
        wanted = frozenset(devices)
    except TypeError:           # `devices` is not iterable, or has unhashable elements
        wanted = frozenset()
    if not wanted or not wanted <= _KEYS.keys():
        raise ValueError(f"devices: expected some of {tuple(_KEYS)}, found {devices!r}")
    if torchao:
        torchao_patches.check_version()
    with _lock:
        _remove()
        _add(wanted)
        if torchao:
            torchao_patches.add(serves)


def uninstall() -> None:
    """Reverts `install` and restores PyTorch and torchao. Does nothing if nothing is installed."""
    with _lock:
        _remove()


def serves(device):
    """Returns True if mx currently computes block-scaled matmuls of tensors on this device."""
    if device.type not in _devices:
        return False
    return device.type == "cpu" or _capability(device.index) in CAPABILITIES


@functools.lru_cache(maxsize=None)
def _capability(index):
    if not torch.cuda.is_available():
        return None             # the tensors are fake, and there is no GPU
    return torch.cuda.get_device_capability(index)


def _add(devices):
    global _devices
    keys = [_KEYS[device] for device in sorted(devices)
            if device != "cuda" or torch.backends.cuda.is_built()]
    try:
        for operator, (find, finish) in _OPERATORS.items():
            find = functools.partial(_find, find)
            for key in keys:
                _overrides.append(Override(operator, key, find, finish(scaled.run)))
            if finish is _result:
                _overrides.append(FakeOverride(getattr(torch.ops.aten, operator).default,
                                               find, finish(scaled.run_fake)))
    except BaseException:
        _remove()
        raise
    traced.add()
    _devices = devices
    FakeTensorMode.cache_clear()


def _remove():
    global _devices
    _devices = frozenset()
    while _overrides:
        _overrides.pop().remove()
    torchao_patches.remove()
    traced.remove()
    FakeTensorMode.cache_clear()


def _find(find, *args, **kwargs):
    """Returns the request and the argument `out` of a supported call, else None."""
    out = kwargs.pop("out", None)
    request = find(*args, **kwargs)
    if request is None or not serves(request.a.matrix.device):
        return None
    if out is not None and out.dtype != request.dtype:
        return None
    return request, out


def _result(run):
    return lambda found: run(found[0])


def _into_out(run):
    def kernel(found):
        request, out = found
        result = run(request)
        if out.shape != result.shape:
            out.resize_(result.shape)
        return out.copy_(result)
    return kernel


# The signatures and defaults of these functions match aten.

def _mm(self, mat2, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None,
        use_fast_accum=False):
    return scaling.request_without_recipes(self, mat2, scale_a, scale_b, bias=bias,
                                           dtype=out_dtype)


def _mm_v2(self, mat2, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, bias,
           out_dtype, contraction_dim=(), use_fast_accum=False):
    return scaling.request(self, mat2, scale_a, recipe_a, swizzle_a, scale_b, recipe_b,
                           swizzle_b, bias=bias, dtype=out_dtype,
                           contraction=contraction_dim)


def _grouped(self, mat2, scale_a, scale_b, offs=None, bias=None, scale_result=None,
             out_dtype=None, use_fast_accum=False):
    if scale_result is not None:
        return None             # PyTorch rejects this argument
    return scaling.request_without_recipes(
        self, mat2, scale_a, scale_b, offs=offs, bias=bias,
        dtype=out_dtype or torch.bfloat16, grouped=True)


def _grouped_v2(self, mat2, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b,
                offs=None, bias=None, out_dtype=None, contraction_dim=(),
                use_fast_accum=False):
    return scaling.request(self, mat2, scale_a, recipe_a, swizzle_a, scale_b, recipe_b,
                           swizzle_b, offs=offs, bias=bias,
                           dtype=out_dtype or torch.bfloat16,
                           contraction=contraction_dim, grouped=True)


_OPERATORS = {
    "_scaled_mm": (_mm, _result),
    "_scaled_mm.out": (_mm, _into_out),
    "_scaled_mm_v2": (_mm_v2, _result),
    "_scaled_mm_v2.out": (_mm_v2, _into_out),
    "_scaled_grouped_mm": (_grouped, _result),
    "_scaled_grouped_mm_v2": (_grouped_v2, _result),
}
