"""Runs of distributed_program.py under torchrun, for tests."""

import os
import pathlib
import subprocess
import sys

import torch

PROGRAM = pathlib.Path(__file__).parent / "distributed_program.py"
ON_GPU = os.environ.get("MX_TORCH_DEVICE") == "cuda"


def needs_gpus(count):
    """Ends a GPU test with status 77, a skip, if there are fewer than `count` GPUs."""
    if ON_GPU and torch.cuda.device_count() < count:
        print(f"needs {count} GPUs")
        sys.exit(77)


def environment(device):
    """Returns an environment that keeps all processes on this machine, independent of its name resolution."""
    found = {**os.environ, "MX_DEVICE": device, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    if not ON_GPU:
        found["CUDA_VISIBLE_DEVICES"] = ""
    return found


def torchrun(processes, device, program, *arguments):
    """Runs a program by torchrun and returns its output."""
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone",
         "--local-addr=127.0.0.1", f"--nproc-per-node={processes}", str(program),
         *map(str, arguments)],
        env=environment(device), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, (arguments, device, done.stdout, done.stderr)
    return done.stdout


def losses(processes, steps, device, folder, *tasks):
    """Returns the losses of each step, by task."""
    printed = torchrun(processes, device, PROGRAM, steps, folder, *tasks)
    found = {task: [] for task in tasks}
    for line in printed.splitlines():
        if line.startswith("loss "):    # gloo prints, too
            _, task, step, loss = line.split()
            found[task].append(float(loss))
    for task, values in found.items():
        assert len(values) == (steps - steps // 2 if "-load" in task else steps), printed
    return found


def near(found, wanted, what):
    """Compares losses; sums of gradients may differ in their order."""
    worst = max(abs(a - b) / a for a, b in zip(wanted[-len(found):], found))
    print(f"{what}: {found[-1]:.6f}, alone {wanted[-1]:.6f}, apart by at most {worst:.1e}")
    assert worst < 2e-3, (what, wanted, found)
