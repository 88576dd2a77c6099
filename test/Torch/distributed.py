# REQUIRES: torch
# RUN: %python_torch %s
"""DDP and FSDP2 of a converted model under torchrun, two processes: losses as of one. On the
reference path, and on the simulator; on GPUs where there are two (MX_TORCH_DEVICE=cuda)."""

import os
import pathlib
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).parent / "Inputs/distributed_program.py"
ON_GPU = os.environ.get("MX_TORCH_DEVICE") == "cuda"


def losses(mode, steps, device):
    count = 1 if mode == "none" else 2
    # All of it stays on this machine, whatever its name resolves to.
    environment = {**os.environ, "MX_DEVICE": device, "OMP_NUM_THREADS": "1",
                   "GLOO_SOCKET_IFNAME": "lo"}
    if not ON_GPU:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone",
         "--local-addr=127.0.0.1", f"--nproc-per-node={count}", str(PROGRAM), mode, str(steps)],
        env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, (mode, device, done.stdout, done.stderr)
    found = [float(line.split()[1]) for line in done.stdout.splitlines()]
    assert len(found) == steps, done.stdout
    return found


for device, steps in [("auto", 8)] if ON_GPU else [("cpu", 8), ("sim", 2)]:
    alone = losses("none", steps, device)
    assert steps < 8 or alone[-1] < 0.95 * alone[0], alone
    for mode in "ddp", "fsdp2":
        together = losses(mode, steps, device)
        worst = max(abs(a - b) / a for a, b in zip(alone, together))
        print(f"{device} {mode}: {together[-1]:.6f}, alone {alone[-1]:.6f}, apart by at most {worst:.1e}")
        # Sums of gradients differ in their order.
        assert worst < 1e-3, (mode, alone, together)
