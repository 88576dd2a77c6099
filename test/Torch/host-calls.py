"""Tests prepared calls with tensors that pose as GPU tensors, with and without the extension. Driver calls, results and
error texts must be the same. With the argument "more": threads, memory, and a PyTorch that lacks features.

REQUIRES: torch, python-extension
DEFINE: %{posing} = MX_DEVICE= MX_CUDA_DRIVER=%mx_obj/unittests/libMXFakeCuda%shlibext MX_FAKE_CUDA_READS_PTX=1 MX_PTXAS=none
RUN: rm -rf %t && mkdir %t
RUN: env %{posing} %python_torch -W error %s > %t/with
RUN: env %{posing} MX_EXTENSION=none %python_torch -W error %s > %t/without
RUN: FileCheck %s < %t/with
RUN: env %{posing} %python_torch -W error %s more | FileCheck %s --check-prefix=MORE
RUN: diff %t/with %t/without
CHECK: called with x: float32(8,), n: 9, f: 1.0
CHECK: expected memory aligned to 16 bytes
CHECK: cuLaunchKernelEx
CHECK: all is well
MORE: all is well
"""

import ctypes
import functools
import gc
import re
import resource
import sys
from unittest import mock

import posing
import torch
from posing import log
from threads import in_threads

import mx_compiler as mx
import mx_compiler.torch as mxt
from mx_compiler._arrays import interop
from mx_compiler._programs import calls
from mx_compiler._runtime.extension import extension

program = mx.compile("""
func.func @copy(%x: tensor<?x4xf32>) -> tensor<?x4xf32> { return %x : tensor<?x4xf32> }
func.func @bits(%x: tensor<4xbf16>) -> tensor<4xbf16> { return %x : tensor<4xbf16> }
func.func @packed(%x: tensor<64xf4E2M1FN>) -> tensor<64xf4E2M1FN> { return %x : tensor<64xf4E2M1FN> }
func.func @scalar(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }
func.func @two(%x: tensor<?xf32>, %n: index, %f: f32) -> tensor<?xf32> {
  %y = tensor.extract_slice %x[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func @half(%x: tensor<4xf32>, %f: f16) -> tensor<4xf32> { return %x : tensor<4xf32> }
""", chip="sm_90a", ptxas="none")
copy, two = program["copy"], program["two"]
FAST = extension() is not None


def tried(what, call, is_copied=True):
    """Prints a transcript of a call: its driver calls and results. The fake driver only copies memory, so kernel
    outputs are not written."""
    log()
    try:
        found = [(x.dtype, tuple(x.shape), x.is_contiguous(), x.tolist() if is_copied and x.dtype in (
            torch.float32, torch.bfloat16) else "") for x in call()]
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    text = re.sub(r"0x[0-9a-f]+", "0x", str(found))
    print(f"{what}: {text}\n  " + "\n  ".join(line for line in log() if line.startswith(("cuLaunch", "cuMemcpy"))))


def runs(entry):
    """Tests whether calls of the entry use the extension."""
    return {prepared.run is not None for prepared in entry._prepared.values()}


# --- The transcript -----------------------------------------------------------------

x = torch.arange(32, dtype=torch.float32).view(8, 4)
bits = torch.ones(4, dtype=torch.bfloat16)
tilted = torch.arange(40, dtype=torch.float32).view(4, 10)[:, :4]
for _ in range(3):
    tried("copy", lambda: copy(x))
tried("a tuple of results", lambda: copy.call((x,), None, None))
tried("bits", lambda: program["bits"](bits))
tried("bits as integers", lambda: program["bits"](bits.view(torch.uint16)))
tried("packed", lambda: program["packed"](torch.zeros(32, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)))
tried("scalar", lambda: program["scalar"](torch.tensor(3.0)))
tried("empty", lambda: copy(x[:0]))
tried("a part", lambda: copy(x[2:5]))
tried("a parameter", lambda: copy(torch.nn.Parameter(x, requires_grad=False)))
for n, f in ((3, 1.0), (8, 1e39), (0, 1), (8, True), (2, float("inf"))):
    tried(f"numbers {n} {f}", lambda: two(x.view(-1), n, f))
tried("too many", lambda: two(x.view(-1)[:8], 9, 1.0))
tried("too many again", lambda: two(x.view(-1)[:8], 9, 1.0))
tried("a number that is not there", lambda: two(x.view(-1), 2**70, 1.0))
tried("a number of 16 bits", lambda: program["half"](x[0], 0.5))
tried("a stream", lambda: copy(x, stream=0x50))
for what, given in (("shape", x.view(4, 8)), ("rank", x[0]), ("dtype", x.double()), ("tilted", tilted),
                    ("address", torch.arange(9, dtype=torch.float32)[1:].view(2, 4)), ("no array", 3),
                    ("a gradient", x.clone().requires_grad_()), ("sparse", x.to_sparse()), ("complex", x.cfloat()),
                    ("meta", x.to("meta"))):
    for _ in range(2):
        tried(f"wrong {what}", lambda: copy(given))
with torch.no_grad():
    tried("a gradient that is not noted", lambda: copy(x.clone().requires_grad_()))
with torch.inference_mode():
    tried("inference", lambda: copy(x + 1))
tried("after it", lambda: copy(torch.zeros(1, 4)))
torch.use_deterministic_algorithms(True)
tried("deterministic", lambda: program["packed"](torch.zeros(32, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)))
torch.use_deterministic_algorithms(False)
tried("count", lambda: copy(x, x))

a, w = (torch.randn(n, 256, generator=torch.Generator().manual_seed(n)).bfloat16() for n in (128, 256))
q, s = mxt.quantize_mxfp8(w)
ends = torch.tensor([40, 128], dtype=torch.int32)
ran = functools.partial(tried, is_copied=False)
for _ in range(2):
    ran("mxfp8_mm", lambda: [mxt.mxfp8_mm(a, w)])
    ran("batch", lambda: [mxt.mxfp8_mm(a.view(2, 64, 256), w)])
    ran("quantize", lambda: mxt.quantize(a, "mxfp8"))
    ran("quantize, padded", lambda: mxt.quantize_mxfp8(a[:50]))
    ran("nvfp4", lambda: mxt.quantize_nvfp4(a))
    ran("groups", lambda: mxt.quantize_mxfp8(a, (-1, -2), offsets=ends)[1])
    ran("weights alone", lambda: [mxt.weight_only_mm(a[:8], q, s, "mxfp8")])
    ran("grouped", lambda: [mxt.mxfp8_grouped_mm(a, torch.stack([w, w]).transpose(-2, -1), ends)])
leaves = a.clone().requires_grad_(), w.clone().requires_grad_()
for _ in range(2):
    ran("gradients", lambda: torch.autograd.grad(mxt.mxfp8_mm(*leaves), leaves, torch.ones(128, 256).bfloat16()))
assert runs(copy) == runs(two) == {FAST}
assert runs(program["half"]) == {False}

if sys.argv[1:] != ["more"]:
    print("all is well")
    sys.exit()

# --- Signatures of tensors -------------------------------------------------------------

assert FAST
signs = {}
for name in sorted(vars(torch)):
    dtype = getattr(torch, name)
    if isinstance(dtype, torch.dtype) and dtype not in signs.values():
        try:
            tensor = torch.empty(4, dtype=dtype)
        except (RuntimeError, TypeError, UserWarning):  # UserWarning: the feature is new
            continue
        found = calls.sign([tensor])
        assert found not in signs, f"{dtype} looks as {signs[found]}"
        signs[found] = dtype
assert sum(type(found) is bytes for found in signs) >= 15
for odd in (x.to_sparse(), x.to("meta"), torch.quantize_per_tensor(x, 1, 0, torch.qint8) if hasattr(
        torch, "quantize_per_tensor") else x.to_sparse()):
    assert type(calls.sign([odd])) is tuple

# --- Memory ------------------------------------------------------------------------------


def peak(count):
    for _ in range(count):
        copy(x)
        mxt.mxfp8_mm(a, w)
        mxt.quantize(a, "mxfp8")
    log()
    for bad in (x[:, :2], 3):
        try:
            copy(bad)
        except (TypeError, ValueError):
            pass
    gc.collect()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


for _ in range(5):
    before = peak(2000)
grown = 0
for _ in range(12):
    grown = peak(2000) - before
assert grown < 4096, f"grew by {grown} KiB"
held = sys.getrefcount(x)
for _ in range(1000):
    copy(x)
assert sys.getrefcount(x) == held

# --- Threads that share a prepared call --------------------------------------------------

# The fake driver supports a single thread, so abs(0), which returns 0 (success), replaces the launch.
Torch = interop._library("torch")
nothing = ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p).value
shared = extension().Call(Torch.arrays, nothing, 0, "aa", (a, w), (functools.partial(torch.zeros_like, ends),) * 2,
                          functools.partial(torch.empty, 64), 64).run


def many(_):
    kept = [shared([torch.empty_like(a), w]) for _ in range(2000)]
    made = [x for results in kept for x in results]
    return len({x.data_ptr() for x in made}) == 4000 and all(x.shape == ends.shape for x in made)


assert all(in_threads(many, 4))

# --- Missing features of PyTorch ---------------------------------------------------------

with mock.patch.object(torch.Tensor, "__dlpack_c_exchange_api__", None):
    assert Torch._exchange() is None
with mock.patch.object(extension(), "Arrays", mock.Mock(side_effect=ValueError("DLPack 2"))):
    assert Torch._exchange() is None
with mock.patch.object(interop, "extension", lambda: None):
    assert Torch._exchange() is None
print("all is well")
