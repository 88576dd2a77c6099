"""Runs programs under torchrun for tests."""

import os
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parent
PROGRAM = FOLDER / "distributed_program.py"
ON_GPU = os.environ.get("MX_TORCH_DEVICE") == "cuda"


def environment(device):
    """Returns an environment that connects processes on this machine only, without name resolution."""
    found = {**os.environ, "MX_DEVICE": device, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    if not ON_GPU:
        found["CUDA_VISIBLE_DEVICES"] = ""
    return found


def start(processes, device, program, *arguments):
    """Runs a program with torchrun. With few GPUs, several processes share a GPU."""
    words = *[FOLDER / "share_gpus.py"] * ON_GPU, program, *arguments
    return subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1",
         f"--nproc-per-node={processes}", "--", *map(str, words)],
        env=environment(device), capture_output=True, text=True, timeout=600)


def torchrun(processes, device, program, *arguments):
    """Runs a program with torchrun and returns its output."""
    done = start(processes, device, program, *arguments)
    assert done.returncode == 0, (arguments, device, done.stdout, done.stderr)
    return done.stdout


def losses(processes, steps, device, folder, *tasks, recipe="mxfp8"):
    """Returns the losses of all steps, keyed by task."""
    printed = torchrun(processes, device, PROGRAM, recipe, steps, folder, *tasks)
    found = {task: [] for task in tasks}
    for line in printed.splitlines():
        if line.startswith("loss "):    # gloo also prints lines
            _, task, step, loss = line.split()
            found[task].append(float(loss))
    for task, values in found.items():
        assert len(values) == (steps - steps // 2 if "-load" in task else steps), printed
    return found


def near(found, wanted, what):
    """Compares losses with a tolerance, because the order of gradient sums may differ."""
    worst = max(abs(a - b) / a for a, b in zip(wanted[-len(found):], found))
    print(f"{what}: {found[-1]:.6f}, alone {wanted[-1]:.6f}, apart by at most {worst:.1e}")
    assert worst < 2e-3, (what, wanted, found)
