#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a small language model with mixtures of experts in bf16 or, by
mx_compiler.torch.convert, in MXFP8, on text of a made-up language.

    python3 examples/train_moe_torch.py --recipe=mxfp8 --log=mxfp8.jsonl
    python3 examples/train_moe_torch.py --all --out=runs --time-limit=580
    torchrun --nproc-per-node=2 -- examples/train_moe_torch.py --routed --log=two.jsonl
    python3 examples/plot_moe_training.py runs/*.jsonl -o moe.svg --table=moe.md

Converted are the linear layers of attention and the experts; embedding, norms, router
and head stay as they are. Recipes begin with the same weights and see the same text,
by the seed. docs/guide/TorchTraining.md says what came of it.

With --routed experts and their routing are one layer, which torchrun divides among its
processes, a GPU each, as it divides each batch: losses are those of one process with
--routed but for the order of sums, and a checkpoint is read by any number of processes.

--all does a run for each of --seeds and --recipes, one after the other, each in a
process of its own, so that its memory is its own. It writes OUT/RECIPE-seedSEED.jsonl
and .checkpoint. Called again it goes on where it stopped. The exit status is 75 if
there was no time for all steps, but with torchrun, which takes it for a failure."""

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

MARGIN = 20  # seconds to save and to validate in
UNFINISHED = 75  # EX_TEMPFAIL of sysexits.h


def options_of(args, recipe, seed):
    return Options(recipe, seed, args.steps, args.batch_tokens, args.validation_tokens,
                   args.size, args.rate, str(args.device), args.compile, args.graph,
                   args.routed)


def run_one(args, deadline):
    torch.set_float32_matmul_precision("high")  # the router's matmul is f32
    run = Run(options_of(args, args.recipe, args.seed), args.checkpoint, args.log)
    status = 0 if run.train(deadline - MARGIN, args.stop_at) else UNFINISHED
    leave()  # of torchrun
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
