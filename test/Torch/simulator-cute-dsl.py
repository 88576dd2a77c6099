"""A kernel of CuTe DSL on the simulator, and PyTorch's operations on tensors in device memory.

RUN: mx-sim run --chip=h200 --warnings=error %python_torch -m mx_compiler.sim %s 2>&1 | FileCheck %s
RUN: mx-sim run --chip=b200 --warnings=error %python_torch -m mx_compiler.sim %s 2>&1 | FileCheck %s
REQUIRES: torch, cute-dsl
CHECK: 1 launch, clean
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def scale(x: cute.Tensor, y: cute.Tensor, factor: cutlass.Float32):
    thread, block = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    y[block, thread] = x[thread, block] * factor


@cute.jit
def launch(x: cute.Tensor, y: cute.Tensor, factor: cutlass.Float32):
    scale(x, y, factor).launch(grid=(x.shape[1], 1, 1), block=(x.shape[0], 1, 1))


x = torch.randn(64, 8, device="cuda", requires_grad=True)
y = torch.empty(8, 64, device="cuda")
launch(from_dlpack(x.detach()), from_dlpack(y), 3.0)
torch.testing.assert_close(y.cpu(), 3 * x.detach().cpu().t())
assert torch.equal(y, 3 * x.t()) and y[2:4].add_(1).is_cuda and torch.add(y, 1, out=torch.empty(0, device="cuda")).shape == y.shape
(x * y.t()).sum().backward()
assert torch.equal(x.grad, y.t()) and y[2, 5].item() == (3 * x[5, 2] + 1).item()
