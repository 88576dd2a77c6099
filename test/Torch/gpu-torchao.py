"""Tests PyTorch's own functions, and torchao, on a GPU of compute capability 9.0: runs the checks of
test/Torch/{scaled,install,torchao_training}.py, and GPU-only features. Runs with or without torchao 0.18.0.

REQUIRES: torch, torchao, cuda-gpu
RUN: env MX_DEVICE= MX_CHIP= %python_torchao %s | FileCheck %s
CHECK: {{all passed|nothing is served}}

    PYTHONPATH=python:test/python:test/Torch/Inputs python3 test/Torch/gpu-torchao.py
"""

import os
import statistics
import sys

os.environ["MX_TORCH_DEVICE"] = "cuda"

import numpy as np
import torch
from blocks import Matrix, check, matmul, of_row_groups, to_blocked
from refuses import refuses
from threads import in_threads
from torch.nn.functional import ScalingType, SwizzleType
from torch.nn.functional import scaled_grouped_mm, scaled_mm

import mx_compiler.torch as mxt
import scaled_cases

DEVICE = "cuda"
MX, BLOCKED = ScalingType.BlockWise1x32, SwizzleType.SWIZZLE_32_4_4


def operands(m=256, n=128, k=256):
    rng = np.random.default_rng(0)
    return [Matrix(rng, rows, k, "mxfp8", DEVICE) for rows in (m, n)]


def block_scaled(a, b):
    return scaled_mm(a.elements, b.elements.t(), a.blocked, MX, b.blocked, MX, BLOCKED,
                     BLOCKED)


def others(a, b):
    """Runs matmuls supported by PyTorch on this GPU, and an unsupported call."""
    one = torch.tensor(0.5, device=DEVICE)
    torch.manual_seed(0)  # so every run uses the same numbers
    rows = torch.rand(a.rows, 1, device=DEVICE)
    columns = torch.rand(1, b.rows, device=DEVICE)
    mats = a.elements, b.elements.t()
    results = [
        torch._scaled_mm(*mats, one, one, out_dtype=torch.bfloat16),
        torch._scaled_mm(*mats, rows, columns, out_dtype=torch.bfloat16),
        scaled_mm(*mats, one, ScalingType.TensorWise, one, ScalingType.TensorWise),
        scaled_mm(*mats, rows, ScalingType.RowWise, columns, ScalingType.RowWise),
        torch._scaled_mm(*mats, one, one, out_dtype=torch.bfloat16,
                         out=torch.empty(a.rows, b.rows, dtype=torch.bfloat16,
                                         device=DEVICE))]
    try:
        scaled_mm(*mats, one, MX, one, MX)
        error = None
    except Exception as found:
        error = type(found), str(found).splitlines()[0]
    return results, error


def falls_through():
    a, b = operands()
    refuses(Exception, (), lambda: block_scaled(a, b))       # no kernel before install()
    results, error = others(a, b)
    mxt.install()
    again, same_error = others(a, b)
    assert all(map(torch.equal, results, again))
    assert error == same_error, (error, same_error)
    check("scaled_mm", block_scaled(a, b), *matmul(a.values, b.values))
    mxt.install()
    mxt.uninstall()
    mxt.uninstall()
    refuses(Exception, (), lambda: block_scaled(a, b))
    again, same_error = others(a, b)
    assert all(map(torch.equal, results, again)) and error == same_error


def compiled():
    """Compiles with inductor, which calls the operators. It passes an `out` tensor to the older operator."""
    a, b = operands()
    eager = block_scaled(a, b)

    def both(x, scales):
        older = torch._scaled_mm(x, b.elements.t(), scales, b.blocked,
                                 out_dtype=torch.bfloat16)
        newer = scaled_mm(x, b.elements.t(), scales, MX, b.blocked, MX, BLOCKED, BLOCKED)
        return older * 2, newer * 2
    for found in torch.compile(both, fullgraph=True)(a.elements, a.blocked):
        assert torch.equal(found, eager * 2)


def groups(rng, ends, rows, n, k):
    a = Matrix(rng, rows, k, "mxfp8", DEVICE)
    b = [Matrix(rng, n, k, "mxfp8", DEVICE) for _ in ends]
    weights = torch.stack([m.elements.view(torch.uint8) for m in b]).view(
        torch.float8_e4m3fn).transpose(-2, -1)
    scales = b[0].scale_tensor(np.stack([to_blocked(m.scale_bits) for m in b]))
    arranged = a.scale_tensor(of_row_groups(a.scale_bits, ends))
    offs = torch.tensor(ends, dtype=torch.int32, device=DEVICE)

    def run():
        return scaled_grouped_mm(a.elements, weights, arranged, MX, scales, MX, BLOCKED,
                                 BLOCKED, offs=offs)
    return run


def graphs():
    """A capture allocates nothing and does not wait for the device."""
    a, b = operands()
    run = groups(np.random.default_rng(1), [3, 130, 130, 256], 256, 128, 256)
    wanted = block_scaled(a, b), run()
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    run()
    torch.cuda.set_sync_debug_mode("default")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = block_scaled(a, b), run()
    for x in found:
        x.zero_()
    graph.replay()
    assert all(map(torch.equal, found, wanted))


def threads_and_streams():
    a, b = operands()
    wanted = block_scaled(a, b)
    torch.cuda.synchronize()

    def work(_):
        with torch.cuda.stream(torch.cuda.Stream()):
            return all(torch.equal(block_scaled(a, b), wanted) for _ in range(50))

    assert all(in_threads(work, 2))


def memory():
    """Memory does not grow over 1000 calls."""
    run = groups(np.random.default_rng(2), [64, 256], 256, 128, 256)
    run()
    before = torch.cuda.memory_allocated()
    for _ in range(1000):
        run()
    assert torch.cuda.memory_allocated() == before


def milliseconds(call, times=20):
    for _ in range(3):
        call()
    spans = []
    for _ in range(times):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        spans.append(start.elapsed_time(end))
    return statistics.median(spans)


def show(name, served, bf16):
    print(f"{name}: {milliseconds(served):.3f} ms, bf16 {milliseconds(bf16):.3f} ms")


def random(*shape):
    return torch.randn(shape, device=DEVICE, dtype=torch.bfloat16)


def blocks_of_groups(scales, count):
    """Converts plain scales to blocked scales for groups along K. Each group consists of whole tiles."""
    parts = [mxt.rearrange_scales(part).flatten()
             for part in scales.view(torch.uint8).chunk(count, 1)]
    return torch.cat(parts).view(torch.float8_e8m0fnu).view(scales.shape[0], -1)


def times(size=4096, rows=16384, n=1024, k=2048, experts=8):
    """Times the served operators and PyTorch's bf16 matmuls."""
    def mm(q, qw, s, sw, **others):
        function = scaled_grouped_mm if others else scaled_mm
        return lambda: function(q, qw, s, MX, sw, MX, BLOCKED, BLOCKED, **others)
    x, w = random(size, size), random(size, size)
    (q, s), (qw, sw) = mxt.quantize_mxfp8(x), mxt.quantize_mxfp8(w)
    show(f"scaled_mm {size}^3", mm(q, qw.t(), s, sw), lambda: x @ w.t())

    x, w, dy = random(rows, k), random(experts, n, k), random(rows, n)
    offs = torch.arange(1, experts + 1, device=DEVICE, dtype=torch.int32)
    offs *= rows // experts
    (q, s), (qw, sw) = mxt.quantize_mxfp8(x), mxt.quantize_mxfp8(w)
    shape = f"{rows} x {k} x {n}, {experts} experts"
    show(f"scaled_grouped_mm {shape}", mm(q, qw.transpose(-2, -1), s, sw, offs=offs),
         lambda: torch._grouped_mm(x, w.transpose(-2, -1), offs=offs))
    (q, s), (qx, sx) = (mxt.quantize_mxfp8(z, -2, blocked=False) for z in (dy, x))
    s, sx = (blocks_of_groups(z, experts) for z in (s, sx))
    show(f"scaled_grouped_mm along K, {shape}", mm(q, qx.t(), s, sx, offs=offs),
         lambda: torch._grouped_mm(dy.t(), x, offs=offs))
    a, b = x.detach().requires_grad_(), w.detach().requires_grad_()

    def train(matmul):
        def step():
            matmul(a, b.transpose(-2, -1), offs=offs).backward(dy)
        return step
    show(f"mxfp8_grouped_mm forward and backward, {shape}", train(mxt.mxfp8_grouped_mm),
         train(torch._grouped_mm))


def torchao():
    try:
        import torchao
    except ModuleNotFoundError:
        print("torchao is not installed: its cases are skipped")
        return
    import torchao_cases
    before, refusal = torchao_cases.replaced(), torchao_cases.refused(DEVICE)
    emulated = torchao_cases.emulated(DEVICE)
    mxt.install(torchao=True)
    torchao_cases.run(DEVICE)
    assert torch.equal(torchao_cases.emulated(DEVICE), emulated)
    mxt.uninstall()
    assert torchao_cases.replaced() == before
    assert torchao_cases.refused(DEVICE) == refusal


if torch.cuda.get_device_capability() != (9, 0):
    print("another compute capability than 9.0: nothing is served")
    sys.exit(0)
falls_through()
print("ok falls_through")
mxt.install()
scaled_cases.run(DEVICE)
for case in (compiled, graphs, threads_and_streams, memory, times):
    case()
    print("ok", case.__name__, flush=True)
mxt.uninstall()
torchao()
print("all passed")
