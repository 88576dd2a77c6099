# REQUIRES: torch
# RUN: %python_torch %s
"""Tests operator calls that bypass the dispatcher. All other calls use the dispatcher, its modes and its transforms.
Results and gradients must be the same."""

import contextlib
import functools
import importlib.util
import threading
import warnings
from unittest import mock

import torch
from torch._C._dynamo import eval_frame
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

import mx_compiler.torch as mxt
from mx_compiler.torch._ops import eager, quantize
from reference import ends, tensor
from refuses import refuses

x, w, experts, offs = tensor((64, 128)), tensor((96, 128)), tensor((4, 64, 128)), ends(10, 20, 30, 64)
q, s = mxt.quantize_mxfp4(w)
eq, es = mxt.quantize_mxfp4(experts)
CALLS = {
    "linear": (lambda x, w: mxt.mxfp8_mm(x, w), (x, w)),
    "grouped_linear": (lambda x, w: mxt.mxfp8_grouped_mm(x, w.transpose(-2, -1), offs), (x, experts)),
    "weight_only_mm": (lambda x: mxt.weight_only_mm(x, q, s, "mxfp4"), (x,)),
    "weight_only_grouped_mm": (lambda x: mxt.weight_only_grouped_mm(x, eq, es, offs, "mxfp4"), (x,)),
}
FORWARD_ONLY = {
    "quantize": (lambda x: mxt.quantize(x, "mxfp8"), (x,)),
    "quantize_nvfp4": (mxt.quantize_nvfp4, (x,)),
}
ALL = {**CALLS, **FORWARD_ONLY}
WITH_GRADIENTS = {
    **CALLS,
    "linear_saving": (lambda x, w: mxt.mxfp8_mm(x, w, save_quantized=True), (x, w)),
    "grouped_linear_saving": (lambda x, w: mxt.mxfp8_grouped_mm(x, w.transpose(-2, -1), offs, save_quantized=True),
                              (x, experts)),
}

# --- Interception of operators --------------------------------------------------------

# Names of all operators called by the dispatcher.
dispatched = []
for name in {**ALL, **WITH_GRADIENTS}:
    overload = getattr(torch.ops.mx, name).default
    kernel = overload._op

    def note(*arguments, _kernel=kernel, _name=name, **named):
        dispatched.append(_name)
        return _kernel(*arguments, **named)

    overload._op = note


def seen(call, *given):
    """Returns the operators called by the dispatcher."""
    dispatched.clear()
    call(*given)
    return list(dict.fromkeys(dispatched))


for name, (call, given) in ALL.items():
    assert seen(call, *given) == [], name
    with torch.no_grad():
        assert seen(call, *given) == [], name
    with torch.inference_mode():
        assert seen(call, *given) == [], name
        assert seen(call, *(torch.empty_like(x).copy_(x) for x in given)) == [], name
    with torch.autocast("cpu", torch.bfloat16):
        assert seen(call, *given) == [], name
    thread = threading.Thread(target=lambda: found.extend(seen(call, *given)))
    found = []
    thread.start()
    thread.join()
    assert found == [], name


class Function(TorchFunctionMode):
    def __torch_function__(self, function, types, arguments=(), named=None):
        return function(*arguments, **(named or {}))


class Dispatch(TorchDispatchMode):
    names = ()

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        self.names = (*self.names, function._opname)
        return function(*arguments, **(named or {}))


class Subclass(torch.Tensor):
    pass


def as_subclass(call):
    return lambda *given: call(*(x.as_subclass(Subclass) for x in given))


def traced(call):
    return lambda *given: torch.jit.trace(call, given, check_trace=False)


def functional(call):
    return lambda *given: torch.func.functionalize(call)(*given)


@contextlib.contextmanager
def python_dispatcher():
    guard = torch._C._EnablePythonDispatcher()
    try:
        yield
    finally:
        del guard


@contextlib.contextmanager
def watched_frames():
    """Imitates an uncompiled part of a compiled function."""
    before = eval_frame.set_eval_frame(False)
    try:
        yield
    finally:
        eval_frame.set_eval_frame(before)


@contextlib.contextmanager
def below_autograd():
    with torch._C._AutoDispatchBelowAutograd():
        yield


for name, (call, given) in ALL.items():
    for context in (Function, Dispatch, functools.partial(FlopCounterMode, display=False), torch.profiler.profile,
                    functools.partial(torch.autograd.profiler.profile, use_kineto=False), python_dispatcher,
                    watched_frames):
        with context():
            assert seen(call, *given) == [name], (name, context)
    assert seen(as_subclass(call), *given) == [name], name
    if name in CALLS:
        assert seen(traced(call), *given)[:1] == [name], name
        assert seen(functional(call), *given)[:1] == [name], name
    if name in ("linear", "quantize", "quantize_nvfp4"):  # other operators need real, not fake, weights
        with FakeTensorMode() as mode:
            assert seen(call, *map(mode.from_tensor, given)) == [name], name
    # With a lazy negation, the stored bits differ from the values.
    imaginary = torch.complex(x.float(), x.float()).conj().imag
    assert imaginary.is_neg()
    assert seen(call, imaginary.to(torch.float32) if name in FORWARD_ONLY else x, *given[1:]) == (
        [name] if name in FORWARD_ONLY else []), name
assert torch.equal(mxt.quantize(imaginary, "mxfp8")[0].view(torch.uint8),
                   mxt.quantize((-x.float()), "mxfp8")[0].view(torch.uint8))
with Dispatch() as mode:
    mxt.mxfp8_mm(x, w)
assert "linear" in mode.names
with torch.profiler.profile() as profile:
    mxt.mxfp8_mm(x, w)
assert "mx::linear" in {event.key for event in profile.key_averages()}
assert seen(lambda: mxt.mxfp8_mm(x.to("meta"), w.to("meta"))) == ["linear"]
assert mxt.mxfp8_mm(x.to("meta"), w.to("meta")).device.type == "meta"


def note_graph(module, inputs):
    targets.extend(str(node.target) for node in module.graph.nodes if node.op == "call_function")
    return module


for name, (call, given) in {**CALLS, "quantize": FORWARD_ONLY["quantize"]}.items():
    targets = []
    torch.compile(call, backend=note_graph, fullgraph=True)(*given)
    assert f"mx.{name}.default" in targets, (name, targets)

# --- Gradients ------------------------------------------------------------------------


def gradients(call, given, around=contextlib.nullcontext):
    """Returns the result, the gradients, and the name of the result's node."""
    leaves = [x.detach().clone().requires_grad_() for x in given]
    with around():
        y = call(*leaves)
    y.backward(torch.ones_like(y) / 8)
    return [y.detach(), *(x.grad for x in leaves)], y.grad_fn.name()


for name, (call, given) in WITH_GRADIENTS.items():
    dispatched.clear()
    direct, node = gradients(call, given)
    assert dispatched == [], name
    by_operator, same_node = gradients(call, given, Function)
    assert set(dispatched) == {name}, name
    assert node == same_node and all(map(torch.equal, direct, by_operator)), name
    # Gradients of only some inputs.
    for part in range(len(given)):
        leaves = [x.detach().clone().requires_grad_(i == part) for i, x in enumerate(given)]
        found = torch.autograd.grad(call(*leaves), leaves[part], torch.ones_like(direct[0]) / 8)[0]
        assert torch.equal(found, direct[1 + part]), (name, part)
    # Inputs are parameters or leaves that accumulate gradients.
    leaves = [torch.nn.Parameter(x.detach().clone()) for x in given]
    for _ in range(2):
        call(*leaves).backward(torch.ones_like(direct[0]) / 8)
    assert all(torch.equal(p.grad, 2 * g) for p, g in zip(leaves, direct[1:])), name
    # Both checkpoint implementations, and packed saved tensors.
    for reentrant in (False, True):
        kept = functools.partial(checkpoint, call, use_reentrant=reentrant)
        assert all(map(torch.equal, gradients(kept, given)[0], direct)), name
    packed = []
    hooks = functools.partial(torch.autograd.graph.saved_tensors_hooks, lambda x: packed.append(x) or x, lambda x: x)
    assert all(map(torch.equal, gradients(call, given, hooks)[0], direct)) and packed, name
    with torch.autograd.set_detect_anomaly(True):
        assert all(map(torch.equal, gradients(call, given)[0], direct)), name
    # While the kernel of another operator runs, gradients are not recorded.
    leaves = [x.detach().clone().requires_grad_() for x in given]
    with below_autograd():
        assert seen(call, *leaves) == [name], name
        assert not call(*leaves).requires_grad, name

y = mxt.mxfp8_mm(x.requires_grad_(), w.requires_grad_())
dx, = torch.autograd.grad(y.square().sum(), x, create_graph=True)
refuses(RuntimeError, "gradients: expected first-order gradients", lambda: dx.sum().backward())
x.requires_grad_(False), w.requires_grad_(False)
# An operator without a gradient raises its own error.
factor = torch.tensor(0.5, device=x.device, requires_grad=True)
assert seen(lambda: mxt.quantize_nvfp4(x, global_scale=factor)) == ["quantize"]
# The result is modified in place.
for call in (CALLS["linear"][0], lambda x, w: mxt.weight_only_mm(x[:40], q, s, "mxfp4")):
    answers = []
    for around in (contextlib.nullcontext, Function):
        leaf = x.clone().requires_grad_()
        with around():
            y = call(leaf, w)
        try:
            y.mul_(2)
            answers.append(torch.autograd.grad(y.sum(), leaf)[0])
        except RuntimeError as error:
            answers.append(str(error))
    assert type(answers[0]) is type(answers[1]), answers
    assert torch.equal(*answers) if torch.is_tensor(answers[0]) else answers[0] == answers[1], answers
# Transforms of torch.func.
batch = x.view(2, 32, 128)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # about slow vmap
    assert seen(torch.vmap(lambda x: mxt.mxfp8_mm(x, w)), batch) == ["linear"]
    assert torch.equal(torch.vmap(lambda x: mxt.mxfp8_mm(x, w))(batch), mxt.mxfp8_mm(batch, w))
# Operators of torch.library.custom_op do not support these transforms, and raise an error.
refuses(RuntimeError, "with functorch transforms", lambda: torch.func.grad(lambda x: mxt.mxfp8_mm(x, w).sum())(x))

# --- PyTorch lacks a name used by the module -------------------------------

names = torch._C.__dict__
for missing in ("_dispatch_keys", "_len_torch_function_stack"):
    with mock.patch.dict(names):
        del names[missing]
        spec = importlib.util.spec_from_file_location("mx_compiler.torch._ops.other_eager", eager.__file__)
        other = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(other)
    assert other.operator(quantize._quantize) is torch.ops.mx.quantize.default, missing
print("all is well")
