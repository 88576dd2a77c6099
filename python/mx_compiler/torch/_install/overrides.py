# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of ours for operators of aten: each takes the calls that it wants and leaves
all others to the kernel that was there before.

Newer versions of PyTorch than 2.11 have a registry for this, torch._native. Before, and
for a key without a kernel of PyTorch's, which it does not take, a kernel is registered
over the one that torch.library.get_kernel gave."""

import warnings

import torch

try:
    from torch._native import registry as _native
except ImportError:
    _native = None

_NAME = "mx"        # of us, in torch._native
_in_native = set()  # nodes of that registry cannot be taken out, only be disabled


class Override:
    """A kernel of ours at (operator, dispatch key), until `remove`.

    operator  as "_scaled_mm.out"
    key       "CUDA" or "CPU"
    find      takes the call's arguments; what `run` needs, or None if the call is not
              ours
    run       takes what `find` found"""

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
        """The operator is as it was before."""
        if self._library is None:
            _disable_native()
            return
        self._library._destroy()
        self._library = None


def uses_native(operator, key):
    """Whether torch._native takes it."""
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
    """What takes the calls that are not ours, with the keys of the call first."""
    kernel = _kernel(operator, key)
    return _error_of(operator, key) if kernel is None else kernel.call_boxed


def _kernel(operator, key):
    """The kernel that serves the key, of its own or of an alias such as
    CompositeExplicitAutograd; None if there is none."""
    try:
        return torch.library.get_kernel(f"aten::{operator}", key)
    except RuntimeError:
        return None


def _error_of(operator, key):
    """Without a kernel it is PyTorch's error, which a call provokes now, as long as the
    kernel of ours is not there."""
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
    """The least arguments that a call needs, on a device."""
    tensor = torch.empty(0, device=device)
    values = {"Tensor": tensor, "List[Tensor]": [tensor], "List[int]": [0], "bool": False}
    wanted = [a for a in function._schema.arguments
              if a.kwarg_only == by_name and not a.has_default_value()]
    found = [values.get(str(a.type)) for a in wanted]
    return zip((a.name for a in wanted), found) if by_name else found
