# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fake tensor rules for overridden aten operators. PyTorch's own rules accept only the shapes of
PyTorch's kernels, or do not exist.

A rule is placed before PyTorch's rule, for FakeTensorMode only. A Meta kernel would not work,
because PyTorch's own Python kernel can neither be called nor restored after another Python kernel
is registered."""

import threading

import torch


class FakeOverride:
    """Rule for an operator. It is active until `remove` is called.

    function   overload from torch.ops.aten
    find, run  as in overrides.Override; `run` returns a fake tensor"""

    def __init__(self, function, find, run):
        self._function, self._find, self._run = function, find, run
        self._local = threading.local()
        self._rules = torch._library.simple_registry.singleton.find(
            function.name()).fake_impl.kernels
        self._rules.append(self)

    def remove(self):
        """Removes this rule. PyTorch's rules remain."""
        self._rules.remove(self)

    def __bool__(self):
        """Returns False while `__call__` calls PyTorch's rule, so PyTorch skips this rule."""
        return not getattr(self._local, "asks_others", False)

    def __call__(self, *args, **kwargs):
        found = self._find(*args, **kwargs)
        if found is not None:
            return self._run(found)
        self._local.asks_others = True
        try:
            return self._function(*args, **kwargs)
        finally:
            self._local.asks_others = False
