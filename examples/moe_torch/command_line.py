# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options of train_moe_torch.py, and what is right for each."""

import argparse
import math

import torch

import mx.torch as mxt

from .model import SIZES
from .run import VALIDATION

LEAST_TIME = 60  # seconds, in which a run gets somewhere
RECIPES = ("bf16", *(name for name, recipe in mxt.RECIPES.items()
                     if not recipe.weight_only))
# Options of one run and of all runs, with what they are if nothing is said.
ONE = {"recipe": "mxfp8", "seed": 0, "checkpoint": None, "log": None, "stop_at": None}
ALL = {"seeds": [0, 1, 2], "recipes": ["bf16", "mxfp8"], "out": None}


def parse(description):
    parser = argparse.ArgumentParser(
        description=description, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--recipe", type=recipe, help=f"one of {', '.join(RECIPES)}; default: mxfp8")
    add("--seed", type=seed, help="default: 0")
    add("--steps", type=count, default=3000)
    add("--batch-tokens", type=count, default=16384)
    add("--validation-tokens", type=count, default=1 << 20)
    add("--size", choices=SIZES, default="base")
    add("--rate", type=rate, default=1e-3, help="the highest learning rate")
    add("--device", type=device, default="cuda")
    add("--compile", action="store_true", help="torch.compile of each layer")
    add("--graph", action="store_true", help="a CUDA graph of the step")
    add("--checkpoint", help="a file to go on from, and to save to at the end")
    add("--log", help="a file for a line of JSON for each step")
    add("--time-limit", type=seconds, default=math.inf, metavar="SECONDS",
        help="stop before, and save the checkpoint")
    add("--stop-at", type=count, metavar="STEP", help="stop there, and save")
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
            wanted = "no --all, as it is of one run" if args.all else "--all with it"
            parser.error(f"--{name.replace('_', '-')}: expected {wanted}")
    for name, value in (ALL if args.all else ONE).items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    if args.all and not args.out:
        parser.error("--all: expected --out, the folder for logs and checkpoints")
    if args.log and args.log == args.checkpoint:
        parser.error(f"--log: expected another file than --checkpoint, found {args.log}")
    if args.graph and not args.device.startswith("cuda"):
        parser.error(f"--graph: expected a GPU, found --device={args.device}")


# --- Values ---------------------------------------------------------------------------


def _wrong(wanted, text):
    return argparse.ArgumentTypeError(f"expected {wanted}, found {text!r}")


def _number(convert, fits, wanted):
    def read(text):
        try:
            number = convert(text)
        except ValueError:
            raise _wrong(wanted, text) from None
        if not fits(number):
            raise _wrong(wanted, text)
        return number
    return read


count = _number(int, lambda x: 1 <= x < 2**31, "a number from 1 to 2^31 - 1")
seed = _number(int, lambda x: 0 <= x < VALIDATION, f"a number from 0 to {VALIDATION - 1}")
rate = _number(float, lambda x: 0 < x < math.inf, "a number above 0")
seconds = _number(float, lambda x: x >= LEAST_TIME, f"at least {LEAST_TIME} seconds")


def recipe(text):
    if text not in RECIPES:
        raise _wrong(f"one of {', '.join(RECIPES)}", text)
    return text


def several(read):
    return lambda text: [read(part.strip()) for part in text.split(",")]


def device(text):
    try:
        found = torch.device(text)
    except RuntimeError:
        raise _wrong("cpu, cuda or cuda:N", text) from None
    if found.type not in ("cpu", "cuda"):
        raise _wrong("cpu, cuda or cuda:N", text)
    gpus = torch.cuda.device_count()
    if found.type == "cuda" and (found.index or 0) >= gpus:
        raise _wrong(f"cpu, or one of {gpus} GPUs that PyTorch finds", text)
    return text
