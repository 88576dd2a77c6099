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

--all does a run for each of --seeds and --recipes, one after the other, each in a
process of its own, so that its memory is its own. It writes OUT/RECIPE-seedSEED.jsonl
and .checkpoint. Called again it goes on where it stopped. The exit status is 75 if
there was no time for all steps."""

import argparse
import itertools
import math
import pathlib
import subprocess
import sys
import time

import torch

from moe_torch.model import SIZES
from moe_torch.run import Options, Run

MARGIN = 20  # seconds to save and to validate in
UNFINISHED = 75  # EX_TEMPFAIL of sysexits.h


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)
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


def is_finished(log):
    return log.exists() and '{"result"' in log.read_text()


def run_all(args, deadline):
    shared = [word for word in sys.argv[1:] if word != "--all"]
    for seed, recipe in itertools.product(args.seeds.split(","), args.recipes.split(",")):
        place = pathlib.Path(args.out) / f"{recipe}-seed{seed}"
        log, checkpoint = place.with_suffix(".jsonl"), place.with_suffix(".checkpoint")
        if is_finished(log):
            continue
        left = deadline - time.monotonic()
        if left < MARGIN:
            return UNFINISHED
        status = subprocess.run(
            [sys.executable, __file__, *shared, f"--recipe={recipe}", f"--seed={seed}",
             f"--log={log}", f"--checkpoint={checkpoint}",
             f"--time-limit={left}"]).returncode
        if status:
            return status
    return 0


def run_one(args, deadline):
    torch.set_float32_matmul_precision("high")  # the router's product is f32
    options = Options(args.recipe, args.seed, args.steps, args.batch_tokens,
                      args.validation_tokens, args.size, args.rate, args.device,
                      args.compile, args.graph)
    run = Run(options, args.checkpoint, args.log)
    return 0 if run.train(deadline - MARGIN, args.stop_at) else UNFINISHED


def main():
    begin = time.monotonic()
    args = parse()
    return (run_all if args.all else run_one)(args, begin + args.time_limit)


if __name__ == "__main__":
    sys.exit(main())
