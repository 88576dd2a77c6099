#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the host time of calls in eager PyTorch: torch's linear, and mx_compiler.torch.

usage: torch_host.py [--rounds=200] [--calls=50] [--profile] [--fake-driver=LIBRARY]

On a GPU the tensors are so small that the GPU always waits for the host. Without a GPU the
tensors are on the host and MX_DEVICE=cpu computes the matmuls, so the times of mx are not
meaningful. With --fake-driver, unittests/libMXFakeCuda.so of the build, host tensors pose as
GPU tensors and the driver launches nothing. This measures everything except the driver and
PyTorch's allocator of GPU memory; torch's own matmuls still compute.

Prints the median of many rounds, in microseconds for each call, and the time without
mxEntryLaunch. --profile prints the parts of that time. Exits with 1 on a GPU if the forward
pass takes more than 3 times as long as torch's, or the backward pass more than twice."""

import argparse
import cProfile
import ctypes
import functools
import os
import pathlib
import pstats
import statistics
import sys
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
M, N, K = 128, 256, 256
TINY = (8, 32, 32)  # shape of torch's own matmuls if the host computes
MOST_FORWARD, MOST_BACKWARD = 3.0, 2.0


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--calls", type=int, default=50, help="in a round")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--fake-driver", metavar="LIBRARY")
    args = parser.parse_args()
    if args.rounds < 1 or args.calls < 1:
        parser.error("expected --rounds and --calls of at least 1, found "
                     f"{args.rounds} and {args.calls}")
    return args


def choose_device(args):
    """Returns the device of the tensors and its description. Must run before mx is imported."""
    if args.fake_driver:
        os.environ.update(MX_CUDA_DRIVER=args.fake_driver, MX_FAKE_CUDA_READS_PTX="1",
                          MX_PTXAS="none", MX_DEVICE="")
        sys.path.insert(0, str(ROOT / "test/Torch/Inputs"))
        import posing  # noqa: F401
        return "cpu", "host tensors that pose as GPU tensors, with a driver that launches nothing"
    if torch.cuda.is_available():
        return "cuda", torch.cuda.get_device_name()
    os.environ["MX_DEVICE"] = "cpu"
    return "cpu", "no GPU: MX_DEVICE=cpu, which computes during the call"


class Clock:
    def __init__(self, args, device):
        self.rounds, self.calls = args.rounds, args.calls
        self.wait = torch.cuda.synchronize if device == "cuda" else lambda: None

    def __call__(self, call):
        """Returns the median of the rounds in microseconds for each call."""
        for _ in range(self.calls):
            call()
        rows = []
        for _ in range(self.rounds):
            self.wait()
            begin = time.perf_counter()
            for _ in range(self.calls):
                call()
            rows.append((time.perf_counter() - begin) / self.calls * 1e6)
        self.wait()
        return statistics.median(rows)


def forward_backward(matmul, *shapes, device):
    """Returns functions that run the forward pass, and both passes. Gradients are not
    accumulated."""
    (m, n, k), leaves = shapes, []
    for shape in ((m, k), (n, k)):
        leaves.append(torch.ones(shape, dtype=torch.bfloat16, device=device, requires_grad=True))
    dy = torch.ones((m, n), dtype=torch.bfloat16, device=device)

    def both():
        for x in leaves:
            x.grad = None
        matmul(*leaves).backward(dy)

    return lambda: matmul(*leaves), both


def operations(mxt, device):
    """Returns the measured functions by name."""
    tiny = (M, N, K) if device == "cuda" else TINY
    x, w = (torch.ones(shape, dtype=torch.bfloat16, device=device) for shape in ((M, K), (N, K)))
    a, b = (torch.ones(shape, dtype=torch.bfloat16, device=device) for shape in
            ((tiny[0], tiny[2]), (tiny[2], tiny[1])))
    weights = mxt.quantize(w, "mxfp8")
    linear, linear_both = forward_backward(torch.nn.functional.linear, *tiny, device=device)
    mm, mm_both = forward_backward(mxt.mxfp8_mm, M, N, K, device=device)
    return {
        "torch.mm": lambda: torch.mm(a, b),
        "F.linear, forward": linear,
        "F.linear, forward and backward": linear_both,
        "mxfp8_mm without gradients": lambda: mxt.mxfp8_mm(x, w),
        "mxfp8_mm, forward": mm,
        "mxfp8_mm, forward and backward": mm_both,
        "quantize": lambda: mxt.quantize(x, "mxfp8"),
        "weight_only_mm": lambda: mxt.weight_only_mm(x, *weights, "mxfp8"),
    }


# --- Parts of the time -----------------------------------------------------------------


def prepared_calls(call):
    """Returns the prepared calls made by the extension during a call, with their arguments."""
    from mx_compiler._programs.calls import PreparedCall
    found, original = [], PreparedCall.call

    def note(prepared, arguments, stream):
        if prepared.run is not None:
            found.append((prepared, tuple(arguments)))
        return original(prepared, arguments, stream)

    PreparedCall.call = note
    try:
        call()
    finally:
        PreparedCall.call = original
    return found


def parts(clock, call):
    """Returns the microseconds of the extension's calls, launches and memory operations."""
    run = launch = memory = 0.0
    nothing = ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p).value  # abs(0) is 0
    for prepared, arguments in (found := prepared_calls(call)):
        module = sys.modules["mx_compiler._runtime.extension"].extension()
        makers = [*prepared.makers, *([prepared.make_workspace] if prepared.workspace_bytes else [])]
        kinds = "".join("a" if isinstance(x, torch.Tensor) else "f" for x in arguments)
        empty = module.Call(prepared.library.arrays, nothing, 0, kinds, arguments,
                            tuple(prepared.makers), makers[len(prepared.makers)] if
                            prepared.workspace_bytes else None, prepared.workspace_bytes).run
        whole, rest = (clock(functools.partial(f, arguments)) for f in (prepared.run, empty))
        run, launch = run + whole, launch + max(whole - rest, 0)
        memory += sum(map(clock, makers))
    return len(found), run, launch, memory


def explain(clock, call):
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(1000):
        call()
    profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(15)


def main():
    args = parse()
    device, what = choose_device(args)
    torch.set_num_threads(1)
    import mx_compiler.torch as mxt
    clock = Clock(args, device)
    print(f"{what}, {torch.__version__}, {args.rounds} rounds of {args.calls} calls")
    print(f"{'':34}{'host':>9}{'entries':>9}{'in them':>9}{'launch':>9}{'memory':>9}{'less launch':>13}")
    times = {}
    for name, call in operations(mxt, device).items():
        times[name] = clock(call)
        count, run, launch, memory = parts(clock, call)
        more = (f"{count:9}{run:9.2f}{launch:9.2f}{memory:9.2f}{times[name] - launch:13.2f}"
                if count else "")
        print(f"{name:34}{times[name]:9.2f}{more}")
        if args.profile:
            explain(clock, call)
    own, ours = ((times[f"{name}, forward"], times[f"{name}, forward and backward"])
                 for name in ("F.linear", "mxfp8_mm"))
    forward = ours[0] / own[0]
    backward = (ours[1] - ours[0]) / (own[1] - own[0])
    print(f"mxfp8_mm to F.linear: forward {forward:.2f}, backward {backward:.2f}, "
          f"both {ours[1] / own[1]:.2f}")
    return int(device == "cuda" and (forward > MOST_FORWARD or backward > MOST_BACKWARD))


if __name__ == "__main__":
    sys.exit(main())
