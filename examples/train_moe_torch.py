#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a small language model with mixtures of experts in bf16 or, by
mx.torch.convert, in MXFP8, on text of a made-up language.

    python3 examples/train_moe_torch.py --recipe=mxfp8 --log=mxfp8.jsonl
    python3 examples/train_moe_torch.py --all --out=runs --time-limit=580
    python3 examples/plot_moe_training.py runs/*.jsonl -o moe.svg --table=moe.md

Converted are the linear layers of attention and the experts; embedding, norms, router
and head stay as they are. Recipes begin with the same weights and see the same text,
by the seed. docs/TorchTraining.md says what came of it.

--all does a run for each of --seeds and --recipes, one after the other, and writes
OUT/RECIPE-seedSEED.jsonl and .checkpoint. Called again it goes on where it stopped.
The exit status is 75 if there was no time for all steps."""

import argparse
import gc
import math
import pathlib
import sys
import time

import torch

from moe_torch.model import SIZES
from moe_torch.run import Options, Run

MARGIN = 20  # seconds to save and to validate in
UNFINISHED = 75  # EX_TEMPFAIL of sysexits.h


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--recipe", default="mxfp8", help="bf16, or a name of mx.torch.RECIPES")
    add("--seed", type=int, default=0)
    add("--steps", type=int, default=3000)
    add("--batch-tokens", type=int, default=16384)
    add("--validation-tokens", type=int, default=1 << 20)
    add("--size", choices=SIZES, default="base")
    add("--rate", type=float, default=1e-3, help="the highest learning rate")
    add("--device", default="cuda")
    add("--compile", action="store_true", help="torch.compile of each layer")
    add("--graph", action="store_true", help="a CUDA graph of the step")
    add("--checkpoint", help="a file to go on from, and to save to at the end")
    add("--log", help="a file for a line of JSON for each step")
    add("--time-limit", type=float, default=math.inf, metavar="SECONDS",
        help="stop before, and save the checkpoint")
    add("--stop-at", type=int, metavar="STEP", help="stop there, and save")
    add("--all", action="store_true", help="all --seeds and --recipes")
    add("--seeds", default="0,1,2")
    add("--recipes", default="bf16,mxfp8")
    add("--out", help="the folder of --all")
    args = parser.parse_args()
    if args.all and not args.out:
        parser.error("--all: expected --out, the folder for logs and checkpoints")
    return args


def options_of(args, recipe, seed):
    return Options(recipe, seed, args.steps, args.batch_tokens, args.validation_tokens,
                   args.size, args.rate, args.device, args.compile, args.graph)


def runs_of(args):
    """Recipe, seed, checkpoint and log of each run."""
    if not args.all:
        yield args.recipe, args.seed, args.checkpoint, args.log
        return
    for seed in args.seeds.split(","):
        for recipe in args.recipes.split(","):
            place = pathlib.Path(args.out) / f"{recipe}-seed{seed}"
            yield (recipe, int(seed), place.with_suffix(".checkpoint"),
                   place.with_suffix(".jsonl"))


def is_finished(log):
    return log and pathlib.Path(log).exists() and (
        '{"result"' in pathlib.Path(log).read_text())


def main():
    begin = time.monotonic()
    args = parse()
    torch.set_float32_matmul_precision("high")  # the router's product is f32
    deadline = begin + args.time_limit - MARGIN
    for recipe, seed, checkpoint, log in runs_of(args):
        if args.all and is_finished(log):
            continue
        if time.monotonic() > deadline:
            return UNFINISHED
        run = Run(options_of(args, recipe, seed), checkpoint, log)
        finished = run.train(deadline, args.stop_at)
        del run
        gc.collect()
        if args.device.startswith("cuda"):
            torch.cuda.empty_cache()
        if not finished:
            return UNFINISHED
    return 0


if __name__ == "__main__":
    sys.exit(main())
