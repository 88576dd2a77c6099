# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls the kernels of operators directly, without PyTorch's dispatcher, if the tensors are plain and
no mode, trace or transform is active. The dispatcher would select the kernel in this case, but would
enter Python three times. This costs more host time than the kernel. All other calls use the
operator: calls of torch.compile, and calls with fake tensors, modes, subclasses, transforms or
profilers."""

import torch
from torch import Tensor
from torch.autograd import Function
from torch.compiler import is_compiling

_C = torch._C
_PLAIN = (Tensor, torch.nn.Parameter)
_DEVICES = ("cpu", "cuda")


def operator(definition, backward=None, setup_context=None):
    """Returns a function that computes `definition`, an operator of torch.library.custom_op. The
    function takes all arguments by position. With `backward` and `setup_context`, as for
    register_autograd, the function and the operator are differentiable."""
    overload, kernel = definition._opoverload, definition._init_fn
    tensors = [i for i, argument in enumerate(overload._schema.arguments)
               if argument.type.isSubtypeOf(_C.OptionalType(_C.TensorType.get()))]
    differentiable = None
    if backward:
        definition.register_autograd(backward, setup_context=setup_context)

        def forward(ctx, *inputs):
            output = kernel(*inputs)
            setup_context(ctx, inputs, output)
            return output
        differentiable = function(definition, forward, backward)
    return direct(overload._opname, kernel, differentiable, overload, tensors, tensors)


def direct(name, kernel, differentiable, otherwise, tensors, read):
    """Returns a function that calls `kernel`, or `differentiable` if gradients are recorded. It calls
    `otherwise` if the dispatcher must select the kernel.

    tensors  indices of arguments that are tensors or None
    read     indices of tensors that the kernel reads and that no kernel of mx returned"""
    if not _IS_KNOWN:
        return otherwise
    tensors = [(index, index in read) for index in tensors]

    def call(*arguments):
        if is_compiling() or not _is_direct():
            return otherwise(*arguments)
        needs_gradient = False
        for index, is_read in tensors:
            x = arguments[index]
            if x is not None:
                if type(x) not in _PLAIN or is_read and not _is_plain(x):
                    know_dtensors(type(x))
                    return otherwise(*arguments)
                needs_gradient = needs_gradient or x.requires_grad
        if not needs_gradient or not is_grad_enabled():
            return kernel(*arguments)
        # An operator without a gradient reports the error.
        if differentiable is None or not _is_above_autograd():
            return otherwise(*arguments)
        return differentiable(*arguments)

    call.__name__ = call.__qualname__ = name
    return call


def know_dtensors(kind):
    """Imports the sharding rules if `kind` is DTensor. They are not imported earlier, because the
    import is slow."""
    if kind.__module__.startswith("torch.distributed.tensor"):
        from . import sharding  # noqa: F401


def function(definition, forward, backward):
    """Returns a differentiable function. Its graph node is named like that of `definition`."""
    overload = definition._opoverload
    name = (f"GeneratedBackwardFor_{overload._namespace}_{overload._opname}_"
            f"{overload._overloadname}")
    kind = type(name, (Function,), {"forward": staticmethod(forward),
                                    "backward": staticmethod(backward)})
    # Function.apply first checks for torch.func transforms, which are excluded here.
    return super(Function, kind).apply


# --- Conditions of direct calls ----------------------------------------------------------
#
# Modes, traces and transforms add keys to the thread's dispatcher state, so this state is compared
# with the state of a thread without them. The functions below are private to PyTorch. If one of them
# is missing, all calls use the dispatcher.

is_grad_enabled = torch.is_grad_enabled


def _bits(*names):
    """Returns the set of the dispatch keys with these names as a number."""
    found = 0
    for name in names:
        found |= _C.DispatchKeySet(getattr(_C.DispatchKey, name)).raw_repr()
    return found


try:
    from torch._C._dynamo.eval_frame import get_eval_frame_callback

    _included, _is_excluded = (_C._dispatch_tls_local_include_set,
                               _C._dispatch_tls_is_dispatch_key_excluded)
    _function_modes, _profiled = (_C._len_torch_function_stack,
                                  torch.autograd._profiler_enabled)
    _keys = _C._dispatch_keys
    _INCLUDED = {_bits("BackendSelect", "ADInplaceOrView"), _bits("BackendSelect")}
    _AUTOGRAD = _C.DispatchKey.AutogradOther  # PyTorch excludes this key with all other autograd keys
    _IS_KNOWN = True
except (AttributeError, ImportError):
    _IS_KNOWN = False


def _is_direct():
    """Returns True if no mode, trace, transform or profiler is active in this thread, and
    torch.compile does not inspect Python frames. Either of two key sets may be included; the second
    is that of inference_mode."""
    return (_included().raw_repr() in _INCLUDED and not _function_modes()
            and not _profiled() and get_eval_frame_callback() is None)


def _is_above_autograd():
    """Returns True if gradients are recorded. They are not recorded inside the kernel of an operator.
    Autocast excludes other keys. Those keys do not matter here."""
    return not _is_excluded(_AUTOGRAD)


_STRIDED = torch.strided
_plain_keys = set()


def _is_plain(x):
    """Returns True if the dispatcher would select a kernel by the tensor's device alone. This is not
    the case for C++ wrappers, fake tensors, and tensors with a lazy conjugation or negation. The first
    test is faster than a key set; wrappers and tensors of zeros without memory fail it."""
    if (x.is_cuda or x.is_cpu) and x.layout is _STRIDED and x.data_ptr() and not (x.is_neg() or x.is_conj()):
        return True
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
