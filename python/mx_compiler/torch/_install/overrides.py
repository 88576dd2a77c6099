# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels for aten operators: each handles the calls it supports and forwards all others to the
previous kernel.

PyTorch after 2.11 provides a registry, torch._native. Before, and for a dispatch key without a
PyTorch kernel, which the registry rejects, a kernel is registered over the result of
torch.library.get_kernel."""

import warnings

import torch

try:
    from torch._native import registry as _native
except ImportError:
    _native = None

_NAME = "mx"        # name in torch._native
_in_native = set()  # registered nodes, which can only be disabled


class Override:
    """Kernel at (operator, dispatch key), active until `remove`.

    operator  as "_scaled_mm.out"
    key       "CUDA" or "CPU"
    find      takes the call's arguments; returns the input of `run`, or None if the
              call is not supported
    run       takes the result of `find`"""

    def __init__(self, operator, key, find, run):
        self.operator, self.key, self.find, self.run = operator, key, find, run
        self._library = None
        if uses_native(operator, key):
            _register_native(self)
        else:
            self._register(_fallback(operator, key))

    def _register(self, fallback):
        def kernel(keys, *args, **kwargs):
            found = self.find(*args, **kwargs)
            if found is None:
                return fallback(keys, *args, **kwargs)
            return self.run(found)

        self._library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "(?s).*verriding a previously registered")
            self._library.impl(self.operator, kernel, self.key, with_keyset=True)

    def remove(self):
        """Restores the operator."""
        if self._library is None:
            _disable_native()
            return
        self._library._destroy()
        self._library = None


def uses_native(operator, key):
    """Returns True if torch._native supports the operator and key."""
    return _native is not None and _kernel(operator, key) is not None


def _register_native(override):
    def wants(*args, **kwargs):
        return override.find(*args, **kwargs) is not None

    def run(*args, **kwargs):
        return override.run(override.find(*args, **kwargs))

    place = override.operator, override.key
    if place not in _in_native:
        _in_native.add(place)
        _native.register_op_override(_NAME, "aten", *place, cond=wants, impl=run)
    _native.reenable_op_overrides(enable_dsl_names=_NAME)


def _disable_native():
    _native.deregister_op_overrides(disable_dsl_names=_NAME)


def _fallback(operator, key):
    """Returns the function for other calls; its first argument is the dispatch key set."""
    kernel = _kernel(operator, key)
    return _error_of(operator, key) if kernel is None else kernel.call_boxed


def _kernel(operator, key):
    """Returns the kernel for a key, its own or that of an alias such as
    CompositeExplicitAutograd, or None."""
    try:
        return torch.library.get_kernel(f"aten::{operator}", key)
    except RuntimeError:
        return None


def _error_of(operator, key):
    """Returns a function that raises PyTorch's error for a missing kernel. A call provokes the
    error now, before the override is registered."""
    name, _, overload = operator.partition(".")
    function = getattr(getattr(torch.ops.aten, name), overload or "default")
    device = key.lower()
    try:
        function(*_least(function, device, False), **dict(_least(function, device, True)))
    except NotImplementedError as error:
        found = str(error)
    else:
        raise RuntimeError(f"aten::{operator}: expected no kernel for {key}, and found one")

    def fail(keys, *args, **kwargs):
        raise NotImplementedError(found)
    return fail


def _least(function, device, by_name):
    """Returns the minimal arguments of a call on a device."""
    tensor = torch.empty(0, device=device)
    values = {"Tensor": tensor, "List[Tensor]": [tensor], "List[int]": [0], "bool": False}
    wanted = [a for a in function._schema.arguments
              if a.kwarg_only == by_name and not a.has_default_value()]
    found = [values.get(str(a.type)) for a in wanted]
    return zip((a.name for a in wanted), found) if by_name else found
