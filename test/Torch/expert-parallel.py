# REQUIRES: torch
# RUN: rm -rf %t && mkdir %t
# RUN: %python_torch %s %t
"""Compares experts divided between two processes with a single process that computes all tokens, on the reference path.
A single process also reads the checkpoint of the two. Runs on GPUs with MX_TORCH_DEVICE=cuda."""

import pathlib
import sys

import torch
import torch.distributed.checkpoint as dcp
from distributed_runs import ON_GPU, torchrun

import mx_compiler.torch as mxt

folder = pathlib.Path(sys.argv[1], "saved")
program = pathlib.Path(__file__).parent / "Inputs" / "expert_ranks.py"
printed = torchrun(2, "auto" if ON_GPU else "cpu", program, folder)
assert all(f"rank {rank}: right" in printed for rank in range(2)), printed

whole = torch.load(f"{folder}.whole", map_location="cpu")
experts = mxt.MXGroupedExperts(64, 32, 4)
state = experts.state_dict()
dcp.load(state, checkpoint_id=folder, no_dist=True)
assert state.keys() == whole.keys() and all(torch.equal(state[name], whole[name]) for name in whole)
