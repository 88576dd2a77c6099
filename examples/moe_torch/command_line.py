# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of train_moe_torch.py and their checks."""

import argparse
import math
import os

import mx_compiler.torch as mxt
from option_types import device, expected, whole

from .model import SIZES
from .run import VALIDATION

LEAST_TIME = 60  # shortest useful run, in seconds
RECIPES = ("bf16", *(name for name, recipe in mxt.RECIPES.items()
                     if not recipe.weight_only))
# Options of a single run and of all runs, with defaults.
ONE = {"recipe": "mxfp8", "seed": 0, "checkpoint": None, "log": None, "stop_at": None}
ALL = {"seeds": [0, 1, 2], "recipes": ["bf16", "mxfp8"], "out": None}


def parse(description):
    parser = argparse.ArgumentParser(
        description=description, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--recipe", type=recipe, help=f"one of {', '.join(RECIPES)}; default: mxfp8")
    add("--seed", type=seed, help="default: 0")
    add("--steps", type=whole(1), default=3000)
    add("--batch-tokens", type=whole(1), default=16384)
    add("--validation-tokens", type=whole(1), default=1 << 20)
    add("--size", choices=SIZES, default="base")
    add("--rate", type=rate, default=1e-3, help="the highest learning rate")
    add("--device", type=device, default="cuda")
    add("--compile", action="store_true", help="torch.compile of each layer")
    add("--graph", action="store_true", help="a CUDA graph of the step")
    add("--routed", action="store_true",
        help="experts are one layer with their routing, divided among the ranks of torchrun")
    add("--fsdp", action="store_true",
        help="the processes of torchrun shard all parameters (FSDP2)")
    add("--checkpoint", help="checkpoint to resume from, and to save at the end")
    add("--log", help="a file for a line of JSON for each step")
    add("--time-limit", type=seconds, default=math.inf, metavar="SECONDS",
        help="stop before this time and save the checkpoint")
    add("--stop-at", type=whole(1), metavar="STEP", help="stop there, and save")
    add("--all", action="store_true", help="all --seeds and --recipes")
    add("--seeds", type=several(seed), help="default: 0,1,2")
    add("--recipes", type=several(recipe), help="default: bf16,mxfp8")
    add("--out", help="the folder of --all")
    args = parser.parse_args()
    _check(parser, args)
    return args


def _check(parser, args):
    for name in ONE if args.all else ALL:
        if getattr(args, name) is not None:
            wanted = "no --all, because the option is for a single run" if args.all else "--all with it"
            parser.error(f"--{name.replace('_', '-')}: expected {wanted}")
    for name, value in (ALL if args.all else ONE).items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    if args.all and not args.out:
        parser.error("--all: expected --out, the folder for logs and checkpoints")
    if args.log and args.log == args.checkpoint:
        parser.error(f"--log: expected another file than --checkpoint, found {args.log}")
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks > 1:
        experts = SIZES[args.size].experts
        for name, is_right, wanted in (
                ("routed", args.routed != args.fsdp, "either it or --fsdp"),
                ("size", args.fsdp or experts % ranks == 0,
                 f"a multiple of {ranks} experts, found {experts}"),
                ("checkpoint", not (args.fsdp and args.checkpoint), "no checkpoint with --fsdp"),
                ("all", not args.all, "no --all, as it starts processes of its own"),
                ("graph", not args.graph, "no CUDA graph")):
            if not is_right:
                parser.error(f"--{name}: expected {wanted}, with {ranks} processes of torchrun")
    elif args.fsdp:
        parser.error("--fsdp: expected several processes of torchrun, found one")
    if args.routed and not args.all and args.recipe == "bf16":
        parser.error("--recipe: expected one of MXFP8 with --routed, found bf16")
    if args.graph and args.device.type != "cuda":
        parser.error(f"--graph: expected a GPU, found --device={args.device}")


# --- Values ---------------------------------------------------------------------------


def number(fits, wanted):
    def read(text):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not fits(value):
            raise expected(wanted, text)
        return value
    return read


seed = whole(0, VALIDATION - 1)
rate = number(lambda x: 0 < x < math.inf, "a number above 0")
seconds = number(lambda x: x >= LEAST_TIME, f"at least {LEAST_TIME} seconds")


def recipe(text):
    if text not in RECIPES:
        raise expected(f"one of {', '.join(RECIPES)}", text)
    return text


def several(read):
    return lambda text: [read(part.strip()) for part in text.split(",")]
