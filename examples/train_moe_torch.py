#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a small language model with mixtures of experts on text of an artificial language. The
model is trained in bf16 or, after mx_compiler.torch.convert_, in a block-scaled format.

    python3 examples/train_moe_torch.py --recipe=mxfp8 --log=mxfp8.jsonl
    python3 examples/train_moe_torch.py --all --out=runs --time-limit=580
    torchrun --nproc-per-node=2 -- examples/train_moe_torch.py --routed --log=two.jsonl
    torchrun --nproc-per-node=2 -- examples/train_moe_torch.py --fsdp --size=wide --recipe=bf16
    python3 examples/plot_moe_training.py runs/*.jsonl -o moe.svg --table=moe.md

The linear layers of attention and the experts are converted; embedding, norms, router and head
stay in bf16. With equal seeds, all recipes start with the same weights and train on the same text.
docs/guide/TorchTraining.md describes the results.

With --routed, the experts and their routing form one layer. The processes of torchrun, each with
its own GPU, divide the experts and each batch among themselves. The losses equal those of a single
process with --routed, up to the order of sums. Any number of processes can read a checkpoint.
With --fsdp, the processes shard all parameters, and compute and reduce in bf16.

--all runs all combinations of --seeds and --recipes in sequence, each in a separate process so that
its memory is released. The program writes OUT/RECIPE-seedSEED.jsonl and .checkpoint, and resumes
when called again. The exit status is 75 if the time limit ended the run; with torchrun it is 0,
because torchrun would treat 75 as a failure."""

import itertools
import pathlib
import subprocess
import sys
import time

import torch

from moe_torch.command_line import LEAST_TIME, parse
from moe_torch.files import Log
from moe_torch.ranks import leave
from moe_torch.run import Options, Run

MARGIN = 20  # seconds reserved for saving and validation
UNFINISHED = 75  # EX_TEMPFAIL of sysexits.h


def options_of(args, recipe, seed):
    return Options(recipe, seed, args.steps, args.batch_tokens, args.validation_tokens,
                   args.size, args.rate, str(args.device), args.compile, args.graph,
                   args.routed, args.fsdp)


def run_one(args, deadline):
    torch.set_float32_matmul_precision("high")  # the router's matmul is f32
    run = Run(options_of(args, args.recipe, args.seed), args.checkpoint, args.log)
    status = 0 if run.train(deadline - MARGIN, args.stop_at) else UNFINISHED
    leave()  # ends a process of torchrun
    return status


def run_all(args, deadline):
    for seed, recipe in itertools.product(args.seeds, args.recipes):
        options = options_of(args, recipe, seed)
        place = pathlib.Path(args.out) / f"{recipe}-seed{seed}"
        log, checkpoint = (place.with_name(place.name + end)
                           for end in (".jsonl", ".checkpoint"))
        if log.exists() and Log(log, options.as_dict()).is_finished():
            continue
        left = deadline - time.monotonic()
        if left < LEAST_TIME:
            print(f"no time is left for {recipe}, seed {seed}", file=sys.stderr)
            return UNFINISHED
        status = subprocess.run([
            sys.executable, __file__, *options.as_arguments(), f"--log={log}",
            f"--checkpoint={checkpoint}", f"--time-limit={left}"]).returncode
        if status:
            return status
    return 0


def main():
    begin = time.monotonic()
    args = parse(__doc__)
    return (run_all if args.all else run_one)(args, begin + args.time_limit)


if __name__ == "__main__":
    sys.exit(main())
