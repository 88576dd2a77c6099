# REQUIRES: torch
# RUN: %python_torch %s
"""After mx_compiler.torch.install, mx serves block-scaled calls and no others. uninstall restores PyTorch. The tests
use host tensors; gpu-torchao.py covers GPUs."""

import os

os.environ["MX_DEVICE"] = "cpu"

import numpy as np
import torch
from blocks import Matrix
from refuses import refuses
from torch._dynamo import trace_rules
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.functional import ScalingType, SwizzleType
from torch.nn.functional import scaled_grouped_mm, scaled_mm

import mx_compiler.torch as mxt
from mx_compiler.torch._install.install import serves

OPERATORS = ("_scaled_mm", "_scaled_mm.out", "_scaled_mm_v2", "_scaled_mm_v2.out",
             "_scaled_grouped_mm", "_scaled_grouped_mm_v2")
MX, BLOCKED = ScalingType.BlockWise1x32, SwizzleType.SWIZZLE_32_4_4


def state():
    """Returns PyTorch's state for the operators: kernels for all dispatch keys, fake-tensor rules, whether
    torch.compile traces the operators, and operators with a Python kernel."""
    rules = torch._library.simple_registry.singleton
    kernels = [(torch._C._dispatch_dump(f"aten::{name}"),
                len(rules.find(f"aten::{name}").fake_impl.kernels),
                id(getattr(torch, name.partition(".")[0]))
                in trace_rules._allowed_callable_ids)
               for name in OPERATORS]
    return kernels, {x for x in torch.library._impls if x.startswith("aten/_scaled_")}


def outcome(call):
    """Returns the bits of a call, or its error without PyTorch's list of all kernels."""
    try:
        y = call()
    except Exception as error:
        return type(error), str(error).partition("is only available for")[0]
    return y.dtype, y.shape, y.stride(), y.device, (
        None if y.is_meta else y.view(torch.uint8).tolist())


rng = np.random.default_rng(0)
a = Matrix(rng, 48, 64, "mxfp8", "cpu")
b = Matrix(rng, 32, 64, "mxfp8", "cpu")
offs = torch.tensor([16, 48], dtype=torch.int32)
weights = torch.stack([b.elements.view(torch.uint8)] * 2).view(b.elements.dtype)
scales_a, scales_b = torch.stack([a.blocked] * 2), torch.stack([b.blocked] * 2)
mat_b, one = b.elements.t(), torch.tensor(0.5)
rows, columns = torch.rand(48, 1), torch.rand(1, 32)


def ours(x=a, y=b):
    return scaled_mm(x.elements, y.elements.t(), x.blocked, MX, y.blocked, MX, BLOCKED,
                     BLOCKED)


def ours_in_groups():
    return scaled_grouped_mm(
        a.elements, weights.transpose(-2, -1), scales_a, MX, scales_b, MX, BLOCKED,
        BLOCKED, offs=offs)


def v2(recipe, scale_a, scale_b, **others):
    return lambda: scaled_mm(a.elements, mat_b, scale_a, recipe, scale_b, recipe,
                             **others)


# PyTorch handles calls without block scales and calls unsupported by mx. Their result does not matter.
OTHERS = {
    "of tensors": lambda: torch._scaled_mm(a.elements, mat_b, one, one,
                                           out_dtype=torch.float32),
    "of tensors to fp8": lambda: torch._scaled_mm(a.elements, mat_b, one, one),
    "of rows": lambda: torch._scaled_mm(a.elements, mat_b, rows, columns,
                                        out_dtype=torch.bfloat16),
    "with out": lambda: torch._scaled_mm(a.elements, mat_b, one, one,
                                         out_dtype=torch.float32,
                                         out=torch.empty(48, 32)),
    "wrong types": lambda: torch._scaled_mm(a.elements, mat_b, one.double(), one),
    "to fp8": v2(MX, a.blocked, b.blocked, output_dtype=None),
    "by recipes, of tensors": v2(ScalingType.TensorWise, one, one),
    "by recipes, of rows": v2(ScalingType.RowWise, rows, columns),
    "a recipe without its scales": v2(MX, one, one),
    "two recipes": v2([MX, MX], [a.blocked, a.blocked], [b.blocked, b.blocked]),
    "no scales": v2([], [], []),
    "groups of rows": lambda: scaled_grouped_mm(
        a.elements, weights.transpose(-2, -1), rows.flatten(), ScalingType.RowWise,
        torch.rand(2, 32), ScalingType.RowWise, offs=offs),
    "groups by the older name": lambda: torch._scaled_grouped_mm(
        a.elements, weights.transpose(-2, -1), rows.flatten(), torch.rand(2, 32),
        offs=offs),
    "3-D and 3-D": lambda: scaled_grouped_mm(
        a.elements.view(2, 24, 64), weights.transpose(-2, -1), a.blocked, MX, b.blocked,
        MX, BLOCKED, BLOCKED),
    "on meta": lambda: torch._scaled_mm(a.elements.to("meta"), mat_b.to("meta"),
                                        one.to("meta"), one.to("meta"),
                                        out_dtype=torch.float32),
    "block-scaled on meta": lambda: torch._scaled_mm(
        a.elements.to("meta"), mat_b.to("meta"), a.blocked.to("meta"),
        b.blocked.to("meta"), out_dtype=torch.float32),
    "groups on meta": lambda: torch.ops.aten._scaled_grouped_mm_v2(
        *(x.to("meta") for x in (a.elements, mat_b)), [], [], [], [], [], []),
}


def fake(mode, x):
    """Returns a fake tensor with the same strides."""
    return mode.from_tensor(x)


def under_fake(call):
    """Returns the results of PyTorch's fake-tensor rules for other calls."""
    with FakeTensorMode() as mode:
        try:
            y = call(lambda x: fake(mode, x))
        except Exception as error:
            return type(error), str(error).partition("is only available for")[0]
    return y.dtype, y.shape, y.stride(), y.device


OTHERS_FAKE = {
    "of tensors": lambda fake: torch._scaled_mm(
        *map(fake, (a.elements, mat_b, one, one)), out_dtype=torch.float32),
    "wrong shapes": lambda fake: torch._scaled_mm(
        *map(fake, (a.elements, mat_b[0], one, one))),
    "without a recipe": lambda fake: scaled_mm(
        *map(fake, (a.elements, mat_b)), [], [], [], []),
    "groups of rows": lambda fake: scaled_grouped_mm(
        *map(fake, (a.elements, weights.transpose(-2, -1), rows)),
        ScalingType.RowWise, fake(columns), ScalingType.RowWise, offs=fake(offs)),
}


torch._dynamo.reset()
before = state()
answers = {name: outcome(call) for name, call in OTHERS.items()}
answers_fake = {name: under_fake(call) for name, call in OTHERS_FAKE.items()}
assert answers_fake["of tensors"][0] == torch.float32
assert answers["of tensors"][0] == torch.float32 and "on meta" in answers
not_there = outcome(ours), outcome(ours_in_groups)
assert issubclass(not_there[0][0], Exception), not_there[0]

# --- On a host without a GPU, install() without devices serves nothing.
mxt.install()
assert not serves(torch.device("cpu"))
assert (outcome(ours), outcome(ours_in_groups)) == not_there
mxt.uninstall()
assert state() == before

# --- Only calls without block scales reach PyTorch.
mxt.install(devices=("cpu", "cuda"))
for name, call in OTHERS.items():
    found = outcome(call)
    assert found == answers[name], (name, found, answers[name])
for name, call in OTHERS_FAKE.items():
    assert under_fake(call) == answers_fake[name], name
eager, grouped = ours(), ours_in_groups()
assert eager.dtype == torch.bfloat16 and torch.isfinite(eager).all()
with torch.inference_mode():
    assert torch.equal(ours(), eager)

# --- Fake tensors with sizes and formats refused by PyTorch's own fake kernel.
with FakeTensorMode() as mode:
    for format in ("mxfp8", "mxfp4"):
        x = Matrix(rng, 70, 96, format, "cpu")
        y = scaled_mm(*(fake(mode, t) for t in (x.elements, x.elements.t())),
                      fake(mode, x.blocked), MX, fake(mode, x.blocked), MX, BLOCKED,
                      BLOCKED)
        assert (y.shape, y.dtype, y.device.type) == ((70, 70), torch.bfloat16, "cpu")
    y = scaled_grouped_mm(
        fake(mode, a.elements), fake(mode, weights).transpose(-2, -1),
        fake(mode, scales_a), MX, fake(mode, scales_b), MX, BLOCKED, BLOCKED,
        offs=fake(mode, offs))
    assert y.shape == (48, 32)
    refuses(ValueError, ("mat_b", "K = 64"), lambda: scaled_mm(
        fake(mode, a.elements), fake(mode, x.elements.view(torch.float8_e4m3fn).t()),
        fake(mode, a.blocked), MX, fake(mode, x.blocked), MX, BLOCKED, BLOCKED))

# --- torch.compile has no graph break and returns the bits of the eager call.
for backend in ("aot_eager", "inductor"):
    compiled = torch.compile(lambda: ours() + 1, backend=backend, fullgraph=True)
    assert torch.equal(compiled(), eager + 1), backend
compiled = torch.compile(ours_in_groups, backend="aot_eager", fullgraph=True)
assert torch.equal(compiled(), grouped)


def matmul(elements, scales):
    return scaled_mm(elements, mat_b, scales, MX, b.blocked, MX, BLOCKED, BLOCKED) * 2


compiled = torch.compile(matmul, backend="aot_eager", fullgraph=True, dynamic=True)
for count in (48, 70, 9):
    x = Matrix(rng, count, 64, "mxfp8", "cpu")
    assert torch.equal(compiled(x.elements, x.blocked), ours(x) * 2), count

# --- torch.compile traces the functions of mx_compiler.torch.


def traced():
    y = mxt.scaled_mm(a.elements, mat_b, a.blocked, MX, b.blocked, MX, BLOCKED, BLOCKED)
    z = mxt.scaled_grouped_mm(
        a.elements, weights.transpose(-2, -1), scales_a, MX, scales_b, MX, BLOCKED,
        BLOCKED, offs=offs)
    return y + 1, z + 1


for found, wanted in zip(torch.compile(traced, fullgraph=True)(), (eager, grouped)):
    assert torch.equal(found, wanted + 1)

# --- A second install changes nothing, and uninstall, even twice, restores the original state.
mxt.install("cpu")
assert torch.equal(ours(), eager)
mxt.uninstall()
mxt.uninstall()
assert state() == before
assert (outcome(ours), outcome(ours_in_groups)) == not_there
assert {name: outcome(call) for name, call in OTHERS.items()} == answers
assert {name: under_fake(call) for name, call in OTHERS_FAKE.items()} == answers_fake
torch._dynamo.reset()

# --- Wrong arguments have no effect.
for devices in ("xpu", (), ("cpu", "tpu"), None, 3, torch.device("cpu"), [["cpu"]]):
    refuses(ValueError, ("devices", "'cuda'", "'cpu'"), lambda: mxt.install(devices))
assert state() == before

# --- The functions of mx_compiler.torch support any device and accept only block-scaled calls.
assert torch.equal(mxt.scaled_mm(a.elements, mat_b, a.blocked, MX, b.blocked, MX,
                                 BLOCKED, BLOCKED), eager)
refuses(ValueError, ("scale_recipe_a", "BlockWise1x32", "TensorWise"),
        lambda: mxt.scaled_mm(a.elements, mat_b, one, ScalingType.TensorWise, one,
                              ScalingType.TensorWise))
refuses(ValueError, ("float8_e8m0fnu", "float16", "int8"),
        lambda: mxt.scaled_mm(a.elements, mat_b, a.blocked, MX, b.blocked, MX, BLOCKED,
                              BLOCKED, output_dtype=torch.int8))
