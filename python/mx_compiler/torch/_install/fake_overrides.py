# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What fake tensors see of operators of aten that are served: PyTorch's own rules know
only the shapes that its kernels take, or there are none.

A rule is put before PyTorch's, for FakeTensorMode alone. A kernel for the key Meta would
not do: a kernel of PyTorch's in Python cannot be called, nor be put back, once another
one was registered in Python."""

import threading

import torch


class FakeOverride:
    """A rule of ours for an operator, until `remove`.

    function  the overload, of torch.ops.aten
    find, run as of overrides.Override; `run` gives a result without contents"""

    def __init__(self, function, find, run):
        self._function, self._find, self._run = function, find, run
        self._local = threading.local()
        self._rules = torch._library.simple_registry.singleton.find(
            function.name()).fake_impl.kernels
        self._rules.append(self)

    def remove(self):
        """Only PyTorch's rules are left."""
        self._rules.remove(self)

    def __bool__(self):
        """PyTorch asks whether there is a rule: there is none while it is asked for its
        own."""
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
