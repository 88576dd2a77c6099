# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that are called without PyTorch's dispatcher where it would only find their
own kernel: on plain tensors, outside of every mode, trace and transform. The dispatcher,
written for operators of C++, goes through Python three times for one of Python's, which
costs the host more than the kernel's own work. The operator stays what it is for
everything else: torch.compile, fake tensors, modes, subclasses, transforms, profilers."""

import torch
from torch import Tensor
from torch.autograd import Function
from torch.compiler import is_compiling

_C = torch._C
_PLAIN = (Tensor, torch.nn.Parameter)
_DEVICES = ("cpu", "cuda")


def operator(definition, backward=None, setup_context=None):
    """A function that computes what `definition`, an operator of
    torch.library.custom_op, does. It takes all arguments of the operator, by position.
    With `backward` and `setup_context`, as for its register_autograd, it is also
    differentiable, and so is the operator."""
    overload, kernel = definition._opoverload, definition._init_fn
    tensors = [i for i, argument in enumerate(overload._schema.arguments)
               if argument.type.isSubtypeOf(_C.OptionalType(_C.TensorType.get()))]
    differentiable = None
    if backward:
        definition.register_autograd(backward, setup_context=setup_context)
        differentiable = _function(overload, kernel, backward, setup_context)
    if not _IS_KNOWN:
        return overload

    def call(*arguments):
        if is_compiling() or not _is_direct():
            return overload(*arguments)
        needs_gradient = False
        for index in tensors:
            x = arguments[index]
            if x is not None:
                if type(x) not in _PLAIN or not _is_plain(x):
                    know_dtensors(type(x))
                    return overload(*arguments)
                needs_gradient = needs_gradient or x.requires_grad
        if not needs_gradient or not is_grad_enabled():
            return kernel(*arguments)
        # An operator without a gradient says so itself.
        if differentiable is None or not _is_above_autograd():
            return overload(*arguments)
        return differentiable(*arguments)

    call.__name__ = call.__qualname__ = overload._opname
    return call


def know_dtensors(kind):
    """Rules for DTensors are there with the first one: to import them takes time."""
    if kind.__module__.startswith("torch.distributed.tensor"):
        from . import sharding  # noqa: F401


def _function(overload, kernel, backward, setup_context):
    """The differentiable one. Its node of the graph is called as the operator's."""
    def forward(ctx, *inputs):
        output = kernel(*inputs)
        setup_context(ctx, inputs=inputs, output=output)
        return output

    name = (f"GeneratedBackwardFor_{overload._namespace}_{overload._opname}_"
            f"{overload._overloadname}")
    kind = type(name, (Function,), {"forward": staticmethod(forward),
                                    "backward": staticmethod(backward)})
    # Function.apply first looks for transforms of torch.func, which there are not here.
    return super(Function, kind).apply


# --- Where nothing else wants to see a call ----------------------------------------------
#
# Modes, traces and transforms include keys in the dispatcher's state of a thread. So it is
# compared with that of a thread where there is none. These are PyTorch's own names: where
# one is missing all calls are the dispatcher's.

is_grad_enabled = torch.is_grad_enabled


def _bits(*names):
    """The keys of these names, as the numbers of key sets have them."""
    found = 0
    for name in names:
        found |= _C.DispatchKeySet(getattr(_C.DispatchKey, name)).raw_repr()
    return found


try:
    from torch._C._dynamo.eval_frame import get_eval_frame_callback

    _included, _excluded = (_C._dispatch_tls_local_include_set,
                            _C._dispatch_tls_local_exclude_set)
    _function_modes, _profiled = (_C._len_torch_function_stack,
                                  torch.autograd._profiler_enabled)
    _keys = _C._dispatch_keys
    _INCLUDED = {_bits("BackendSelect", "ADInplaceOrView"), _bits("BackendSelect")}
    _AUTOGRAD = _bits("AutogradOther")  # which is excluded with all of autograd
    _IS_KNOWN = True
except (AttributeError, ImportError):
    _IS_KNOWN = False


def _is_direct():
    """That no mode, trace, transform or profiler is active in this thread, with either of
    two sets, of which the second is inference_mode's; and that torch.compile does not look
    at frames of Python, as it would at those of the kernel."""
    return (_included().raw_repr() in _INCLUDED and not _function_modes()
            and not _profiled() and get_eval_frame_callback() is None)


def _is_above_autograd():
    """That gradients are noted, as they are not while an operator's kernel runs. Autocast
    alone excludes other keys, and these operators compute the same with it."""
    return not _excluded().raw_repr() & _AUTOGRAD


_plain_keys = set()


def _is_plain(x):
    """That the dispatcher knows nothing of the tensor but its device: it is no wrapper of
    C++'s, has no lazy conjugation or negation, and its contents are there."""
    found = _keys(x).raw_repr()
    if found in _plain_keys:
        return True
    if x.device.type not in _DEVICES:
        return False
    with torch.inference_mode():
        plain = {_keys(torch.empty(0, device=x.device)).raw_repr()}
    with torch.inference_mode(False):
        plain.add(_keys(torch.empty(0, device=x.device)).raw_repr())
    _plain_keys.update(plain)
    return found in plain
