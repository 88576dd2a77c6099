"""Tests PyTorch tensors on a GPU: types, streams, CUDA graphs, and CuPy and JAX arrays if these packages are installed.

REQUIRES: cuda-gpu
RUN: env MX_DEVICE= MX_CHIP= %python_torchao %s | FileCheck %s
CHECK: {{torch is not installed|all is well}}
"""

import os
from importlib.util import find_spec

import ml_dtypes
import mx_compiler as mx
import numpy as np
from refuses import refuses
from threads import in_threads

# By default, JAX allocates most of the memory.
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
if not find_spec("torch"):
    print("torch is not installed")
    raise SystemExit
import torch

mx.set_device("cuda")
N, K = 128, 256
TEXT = """
!x = tensor<?x${k}xbf16>
!w = tensor<${n}x${k}xf8E4M3FN>
!s = tensor<${n}x${blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @matmul(%x: !x, %w: !w, %s: !s) -> tensor<?x${n}xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : !x
  %init = tensor.empty(%m) : tensor<?x${n}xf32>
  %y = mx.matmul ins(%x, %w, %s : !x, !w, !s) outs(%init : tensor<?x${n}xf32>) -> tensor<?x${n}xf32>
  return %y : tensor<?x${n}xf32>
}
func.func @twice(%x: !x, %w: !w, %s: !s) -> (tensor<?x${n}xf32>, tensor<?x${k}xf8E4M3FN>, tensor<?x${blocks}xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : !x
  %y = func.call @matmul(%x, %w, %s) : (!x, !w, !s) -> tensor<?x${n}xf32>
  %e = tensor.empty(%m) : tensor<?x${k}xf8E4M3FN>
  %b = tensor.empty(%m) : tensor<?x${blocks}xf8E8M0FNU>
  %q:2 = mx.quantize ins(%x : !x) outs(%e, %b : tensor<?x${k}xf8E4M3FN>, tensor<?x${blocks}xf8E8M0FNU>)
      -> tensor<?x${k}xf8E4M3FN>, tensor<?x${blocks}xf8E8M0FNU>
  return %y, %q#0, %q#1 : tensor<?x${n}xf32>, tensor<?x${k}xf8E4M3FN>, tensor<?x${blocks}xf8E8M0FNU>
}
"""
TYPES = {"i8": "int8", "i32": "int32", "f16": "float16", "f32": "float32", "bf16": "bfloat16",
         "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "f8E8M0FNU": "float8_e8m0fnu",
         "f4E2M1FN": "float4_e2m1fn_x2"}
TEXT += "".join(f"func.func @copy_{t}(%x: tensor<?x32x{t}>) -> tensor<?x32x{t}> {{ return %x : tensor<?x32x{t}> }}\n"
                for t in TYPES)
program = mx.compile(TEXT, n=N, k=K, blocks=K // 32)
matmul, twice = program["matmul"], program["twice"]
generator = torch.Generator("cuda").manual_seed(1)
device = mx.device_name()


def make(m):
    x = torch.randn(m, K, generator=generator, device=device).to(torch.bfloat16)
    w = torch.randn(N, K, generator=generator, device=device).to(torch.float8_e4m3fn)
    s = torch.full((N // 128, K // 128, 32, 4, 4), 128, dtype=torch.uint8, device=device)
    return x, w, s.view(torch.float8_e8m0fnu)  # byte 128 is the scale 2


def check(y, x, w):
    exact = x.double() @ w.double().T * 2
    assert (y.double() - exact).abs().max() <= 1e-3 * exact.abs().max(), (y - exact).abs().max()


# --- Types, and the allocator -------------------------------------------------------

for mlir, name in TYPES.items():
    width = 16 if mlir == "f4E2M1FN" else 32
    size = getattr(torch, name).itemsize
    raw = torch.randint(0, 256, (5, width * size), dtype=torch.uint8, device=device, generator=generator)
    x = raw.view(getattr(torch, name))
    y, = program[f"copy_{mlir}"](x)
    assert y.dtype == x.dtype and y.device == x.device and torch.equal(y.view(torch.uint8), raw), mlir
    on_device = mx.from_dlpack(x)
    back = torch.from_dlpack(on_device)
    assert back.data_ptr() == x.data_ptr() == on_device.pointer and back.dtype == x.dtype
x, w, s = make(70)
y, = matmul(x, w, s)
check(y, x, w)
before = torch.cuda.memory_stats()["num_device_alloc"] if "num_device_alloc" in torch.cuda.memory_stats() else None
for _ in range(20):
    y, q, b = twice(x, w, s)
check(y, x, w)
assert (q.dtype, b.dtype) == (torch.float8_e4m3fn, torch.float8_e8m0fnu)
if before is not None:
    assert torch.cuda.memory_stats()["num_device_alloc"] == before

# --- Streams ----------------------------------------------------------------------

side = torch.cuda.Stream()
for explicit in (False, True):
    for _ in range(20):
        x = torch.zeros(512, K, dtype=torch.bfloat16, device=device)
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(2_000_000)  # delays later work on this stream
            x.fill_(1)
            if not explicit:
                y, = matmul(x, w, s)  # on the current stream
        if explicit:
            y, = matmul(x, w, s, stream=side)
        side.synchronize()
        check(y, x, w)

# --- Graphs -----------------------------------------------------------------------

x, w, s = make(64)
twice(x, w, s)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y, q, b = twice(x, w, s)
    z, = matmul(q.to(torch.bfloat16), w, s)
for seed in range(3):
    fresh = make(64)[0]
    x.copy_(fresh)
    graph.replay()
    torch.cuda.synchronize()
    check(y, fresh, w)
    check(z, q.to(torch.bfloat16), w)

# --- Threads ----------------------------------------------------------------------


def work(seed):
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(10):
            x = torch.full((33 + seed, K), seed + 1, dtype=torch.bfloat16, device=device)
            y, = matmul(x, w, s)
            torch.cuda.current_stream().synchronize()
            check(y, x, w)


in_threads(work, 4)

# --- Errors -------------------------------------------------------------------

refuses(ValueError, f"'x': expected memory of {device}, the device of the call, found cpu",
        lambda: matmul(x.cpu(), w, s))
refuses(ValueError, "'x': expected a contiguous tensor", lambda: matmul(torch.cat([x, x], 1)[:, ::2], w, s))
refuses(ValueError, "'x': expected memory aligned to 16 bytes", lambda: matmul(
    torch.zeros(4 * K + 1, dtype=torch.bfloat16, device=device)[1:].view(4, K), w, s))
refuses(TypeError, "'x': expected dtype bfloat16", lambda: matmul(x.half(), w, s))

# --- Other libraries ----------------------------------------------------------------

numpy_results = matmul(*(t.view(torch.uint8).cpu().numpy().view(d) for t, d in zip(
    (x, w, s), (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu))))
assert isinstance(numpy_results[0], np.ndarray)
assert np.array_equal(numpy_results[0], matmul(x, w, s)[0].cpu().numpy())
if find_spec("cupy"):
    import cupy

    with cupy.cuda.Stream(non_blocking=True) as stream:
        a = cupy.arange(96, dtype=cupy.float32).reshape(3, 32)
        b, = program["copy_f32"](a)
        assert isinstance(b, cupy.ndarray) and bool((b == a).all())
        c, = program["copy_bf16"](a.view(cupy.uint16)[:, :32].copy())
        assert c.dtype == cupy.uint16
    print("cupy agrees")
if find_spec("jax"):
    import jax
    import jax.numpy as jnp

    if jax.default_backend() == "gpu":
        a = jnp.arange(96, dtype=jnp.bfloat16).reshape(3, 32)
        b, = program["copy_bf16"](a)
        assert isinstance(b, mx.DeviceArray) and np.array_equal(b.numpy(), np.asarray(a))
        print("jax agrees")
print("all is well")
