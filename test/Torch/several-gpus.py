"""Uses all GPUs in one process, with one thread per GPU and no device arguments to mx. Runs the self-test, training
steps, and CUDA graphs of these steps. A call with tensors on two GPUs is refused, and the message names both.

REQUIRES: torch, cuda-gpus
RUN: env MX_DEVICE= MX_CHIP= %python_torch %s | FileCheck %s
CHECK: follows_tensors right
CHECK: steps_at_once right
CHECK: graphs right
CHECK: selftest right
CHECK: mixtures right
"""

import mx_compiler as mx
import torch
from threads import in_threads

import mx_compiler.torch as mxt
from mx_compiler.selftest import runner

COUNT = torch.cuda.device_count()
ROWS, WIDTH, GROUPS = 512, 256, 4


def make(device, seed=0):
    """Returns the same values on every GPU."""
    generator = torch.Generator().manual_seed(seed)

    def tensor(*shape):
        values = torch.randn(shape, generator=generator) / 8
        return values.to(torch.bfloat16).to(device).requires_grad_()

    return [tensor(ROWS, WIDTH), tensor(WIDTH, WIDTH), tensor(GROUPS, WIDTH, WIDTH)]


def step(leaves):
    """Returns results and gradients without synchronization with the GPU."""
    x, w, experts = leaves
    for leaf in leaves:
        leaf.grad = None
    ends = torch.arange(1, GROUPS + 1, dtype=torch.int32,
                        device=x.device) * (ROWS // GROUPS)
    y = mxt.mxfp8_mm(x, w)
    z = mxt.mxfp8_grouped_mm(y, experts.transpose(-2, -1), ends)
    z.float().square().mean().backward()
    return [y.detach(), z.detach(), *(leaf.grad for leaf in leaves)]


def on_host(tensors):
    return [tensor.to("cpu", copy=True) for tensor in tensors]


def expect_equal(found, wanted, what):
    assert all(map(torch.equal, found, wanted)), f"{what}: the bits differ from a single GPU's"


def on_gpus(work):
    """Calls work(device) on all GPUs at once."""
    def run(index):
        torch.cuda.set_device(index)
        work(torch.device("cuda", index))

    in_threads(run, COUNT)


def follows_tensors():
    """Uses tensors of each GPU in turn, regardless of PyTorch's current GPU."""
    for current in range(COUNT):
        with torch.cuda.device(current):
            for index in range(COUNT):
                found = step(make(f"cuda:{index}"))
                assert all(tensor.device.index == index for tensor in found)
                expect_equal(on_host(found), WANTED, f"cuda:{index} with cuda:{current} current")


def graphs():
    """Captures a step on each GPU. All graphs then replay concurrently with other values."""
    fresh = [on_host(step(make("cuda:0", seed))) for seed in range(1, 6)]

    def work(device):
        leaves = make(device)
        side = torch.cuda.Stream(device)
        with torch.cuda.stream(side):
            step(leaves)
        side.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
            captured = step(leaves)
        for seed, wanted in enumerate(fresh, 1):
            with torch.no_grad():
                for leaf, value in zip(leaves, make(device, seed)):
                    leaf.copy_(value)
            torch.cuda.synchronize(device)
            graph.replay()
            torch.cuda.synchronize(device)
            expect_equal(on_host(captured), wanted, f"graph on {device}")

    on_gpus(work)


def steps_at_once():
    def work(device):
        leaves = make(device)
        for _ in range(20):
            found = step(leaves)
        expect_equal(on_host(found), WANTED, f"{device}")

    on_gpus(work)


def selftest():
    passed = []

    def work(device):
        mx.set_device(str(device))
        passed.append(runner.run())

    on_gpus(work)
    assert passed == [True] * COUNT, passed


def mixtures():
    x, w, _ = make("cuda:0")
    _, other, _ = make("cuda:1")
    for call in (lambda: mxt.mxfp8_mm(x, other), lambda: mxt.mxfp8_mm(other, w)):
        try:
            call()
        except (ValueError, RuntimeError) as error:
            assert "cuda:0" in str(error) and "cuda:1" in str(error), error
            print("refused:", str(error).splitlines()[0])
        else:
            raise AssertionError("expected an error for tensors of two GPUs")


if __name__ == "__main__":
    assert COUNT > 1, "expected several GPUs"
    WANTED = on_host(step(make("cuda:0")))
    for part in (follows_tensors, steps_at_once, graphs, selftest, mixtures):
        part()
        print(part.__name__, "right", flush=True)
    print(f"{COUNT} GPUs, mx {mx.__version__}")
