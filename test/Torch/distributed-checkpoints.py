# REQUIRES: torch
# RUN: rm -rf %t && mkdir %t
# RUN: %python_torch %s %t
"""Runs a converted model under torchrun. Activation checkpointing returns the same bits. The same, a larger and a
smaller number of processes read distributed checkpoints (DCP), also with another sharding of the model. Runs on GPUs with
MX_TORCH_DEVICE=cuda."""

import sys

from distributed_runs import ON_GPU, losses, near

DEVICE, STEPS, FOLDER = "auto" if ON_GPU else "cpu", 6, sys.argv[1]

two = losses(2, STEPS, DEVICE, FOLDER, "fsdp2", "fsdp2-recompute", "fsdp2-save",
             "fsdp2-load=fsdp2")
one = losses(1, STEPS, DEVICE, FOLDER, "none", "none-recompute", "none-save", "none-load=none",
             "none-load=fsdp2")
again = losses(2, STEPS, DEVICE, FOLDER, "fsdp2-load=none", "fsdp1-load=none")
for mode, found in ("fsdp2", two), ("none", one):
    # Recomputation and reloading do not change values.
    assert found[f"{mode}-recompute"] == found[mode] == found[f"{mode}-save"], found
    assert found[f"{mode}-load={mode}"] == found[mode][STEPS // 2:], found
    assert found[mode][-1] < found[mode][0], found
near(two["fsdp2"], one["none"], "fsdp2")
for task, found in {**again, "none-load=fsdp2": one["none-load=fsdp2"]}.items():
    near(found, one["none"], task)
