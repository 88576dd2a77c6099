# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels for aten operators. Each kernel handles the calls that it supports, and forwards all
others to the previous kernel.

PyTorch after 2.11 provides a registry for this, torch._native. The registry rejects a dispatch key
without a PyTorch kernel. In this case, and in older versions, a kernel is registered that forwards
to the result of torch.library.get_kernel."""

import warnings

import torch

try:
    from torch._native import registry as _native
except ImportError:
    _native = None

_NAME = "mx"        # name in torch._native
_in_native = set()  # (operator, key) pairs in the registry, which can be disabled, but not removed


class Override:
    """Kernel for an operator and a dispatch key. It is active until `remove` is called.

    operator  name such as "_scaled_mm.out"
    key       "CUDA" or "CPU"
    find      function of the call's arguments that returns the argument of `run`, or
              None if the call is not supported
    run       function that computes the result of the call"""

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
    """Returns the function for unsupported calls. Its first argument is the dispatch key
    set."""
    kernel = _kernel(operator, key)
    return _error_of(operator, key) if kernel is None else kernel.call_boxed


def _kernel(operator, key):
    """Returns the kernel for a key or for an alias of the key, such as CompositeExplicitAutograd, or
    None."""
    try:
        return torch.library.get_kernel(f"aten::{operator}", key)
    except RuntimeError:
        return None


def _error_of(operator, key):
    """Returns a function that raises PyTorch's error about a missing kernel. To find the text of the
    error, the operator is called before the override is registered."""
    name, _, overload = operator.partition(".")
    function = getattr(getattr(torch.ops.aten, name), overload or "default")
    device = key.lower()
    try:
        function(*_least(function, device, False), **dict(_least(function, device, True)))
    except NotImplementedError as error:
        found = str(error)
    else:
        raise RuntimeError(f"aten::{operator}: expected no kernel for {key}, found a kernel")

    def fail(keys, *args, **kwargs):
        raise NotImplementedError(found)
    return fail


def _least(function, device, by_name):
    """Returns the required arguments of a call on a device, with minimal values: the keyword-only
    arguments if `by_name`, else the positional arguments."""
    tensor = torch.empty(0, device=device)
    values = {"Tensor": tensor, "List[Tensor]": [tensor], "List[int]": [0], "bool": False}
    wanted = [a for a in function._schema.arguments
              if a.kwarg_only == by_name and not a.has_default_value()]
    found = [values.get(str(a.type)) for a in wanted]
    return zip((a.name for a in wanted), found) if by_name else found
