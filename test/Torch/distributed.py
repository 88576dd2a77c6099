# REQUIRES: torch
# RUN: %python_torch %s
"""Runs a converted model under torchrun with one and two processes and with DDP, FSDP1 and FSDP2. Losses match those of
a single process, on the reference path and on the simulator. Runs on GPUs with MX_TORCH_DEVICE=cuda."""

from distributed_runs import ON_GPU, losses, near

for device, steps in [("auto", 8)] if ON_GPU else [("cpu", 8), ("sim", 2)]:
    alone = losses(1, steps, device, "-", "none")["none"]
    assert steps < 8 or alone[-1] < 0.95 * alone[0], alone
    for mode, found in losses(2, steps, device, "-", "ddp", "fsdp1", "fsdp2").items():
        near(found, alone, f"{device} {mode}")
device = "auto" if ON_GPU else "cpu"
for recipe in "mxfp8_fast", "fp8_block":
    alone = losses(1, 8, device, "-", "none", recipe=recipe)["none"]
    for mode, found in losses(2, 8, device, "-", "ddp", "fsdp2", "fsdp2-recompute", recipe=recipe).items():
        near(found, alone, f"{recipe} {mode}")
