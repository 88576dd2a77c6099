#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models with random weights: converted to a recipe of mx_compiler.torch, and in bf16.

    end_to_end.py moe [--recipe=R]        # two layers of 8 SwiGLU experts, forward and backward
    end_to_end.py block [--recipe=R]      # a block of Llama 3 8B, forward and backward
    end_to_end.py gpt-oss [--recipe=R]    # gpt-oss-20b of Transformers: prefill and decode
    end_to_end.py show FILE...            # a table of the results

First, `moe` and `block` compare the result and all gradients with bf16 by the signal-to-noise
ratio, and `gpt-oss` compares logits with Transformers on the dequantized weights. Then the models
of `moe` and `block`, compiled by torch.compile, are captured as CUDA graphs and replayed in turn
(../matmul/timing.py). The models of `gpt-oss` do not fit together, so each is timed alone. All times
are sustained. Peak memory includes the weights of the timed model.

--results=FILE keeps the rows of earlier runs. --tiny compares small sizes on the host and times
nothing."""

import argparse
import functools
import json
import math
import os
import pathlib
import sys

BENCHMARKS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS / "matmul"), str(BENCHMARKS.parent / "examples")]

import published

# If scales or rows of a layer are wrong, less is left. Models of gpt-oss have equal weights.
LEAST_DECIBELS = {"moe": 15, "block": 15, "gpt-oss": 20}


def signal_to_noise(found, wanted):
    """Returns the ratio of the norms of `wanted` and of the error, in decibels."""
    signal, noise = wanted.float().norm().item(), (found.float() - wanted.float()).norm().item()
    return -math.inf if math.isnan(noise) else 20 * math.log10(signal / noise) if noise else math.inf


def check(options, found, wanted):
    """Returns the smallest signal-to-noise ratio of the tensors. Exits if it is too small."""
    ratios = {name: signal_to_noise(found[name], wanted[name]) for name in wanted}
    worst, least = min(ratios, key=ratios.get), LEAST_DECIBELS[options.command]
    if ratios[worst] < least:
        sys.exit(f"{options.command}: expected a signal-to-noise ratio of at least {least} dB for {worst}, "
                 f"found {ratios[worst]:.1f}")
    print(f"{options.command}, {options.recipe}: at least {ratios[worst]:.1f} dB ({worst})", flush=True)
    return round(ratios[worst], 1)


def measure(options):
    """Runs a command, and prints and stores each row."""
    if options.command == "gpt-oss":
        import end_to_end_generation as models
    else:
        import end_to_end_training as models
    for row in models.measure(options, functools.partial(check, options)):
        row = dict(command=options.command, seed=options.seed) | row
        print(json.dumps(row), flush=True)
        if options.results:
            import speed
            path = options.results
            old = json.loads(path.read_text())["rows"] if path.exists() else []
            rows = [other for other in old if name_of(other) != name_of(row)] + [row]
            path.write_text(json.dumps(dict(about=speed.describe_machine(), rows=rows), indent=1) + "\n")


def name_of(row):
    return row["command"], row["case"], row["implementation"]


def table(rows):
    """Returns Markdown. The ratio divides the time of the fastest bf16 model by the time of the row."""
    text = published.header("model", "pass", "weights", "ms", "tokens/s", "to bf16", "peak memory, MiB", "dB")
    for row in rows:
        bf16 = [other["ms"] for other in rows if other["implementation"].startswith("bf16")
                and name_of(other)[:2] == name_of(row)[:2]]
        text += published.row(
            *name_of(row), f"{row['ms']:.3f}", f"{row['tokens'] / row['ms'] * 1e3:,.0f}",
            f"{min(bf16) / row['ms']:.2f}" if bf16 else "–", f"{row['peak_mib']:,}", row["decibels"] or "–")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in LEAST_DECIBELS:
        add = commands.add_parser(name).add_argument
        add("--recipe", default="mxfp4_weight_only" if name == "gpt-oss" else "mxfp8_fast",
            help="name of a recipe (default: %(default)s)")
        add("--seed", type=int, default=1)
        add("--seconds", type=float, default=2, help="duration of a sustained round (default: 2)")
        add("--results", type=pathlib.Path, metavar="FILE", help="file for raw results")
        add("--tiny", action="store_true", help="compare small sizes on the host")
        if name == "gpt-oss":
            add("--layers", type=int, default=24, help="number of layers (default: 24)")
    commands.add_parser("show").add_argument("files", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    if options.command == "show":
        print(table([row for path in options.files for row in json.loads(path.read_text())["rows"]]), end="")
        return
    options.device = "cpu" if options.tiny else "cuda"
    if options.tiny:
        os.environ["MX_DEVICE"] = "cpu"
    measure(options)


if __name__ == "__main__":
    main()
