#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generates tokens with a model like gpt-oss, with MXFP4 expert weights and bf16 activations.
Compares the logits, the time of a step and the memory of the weights with those of the same model
after its experts are dequantized to bf16.

    python3 examples/generate_mxfp4.py --size=20b --layers=4 --device=cuda
    python3 examples/generate_mxfp4.py --checkpoint=gpt-oss-20b --device=cuda
    MX_DEVICE=cpu python3 examples/generate_mxfp4.py --size=tiny --device=cpu

Without --checkpoint, random weights of the given size are written to a temporary folder and
loaded from there. docs/guide/Torch.md describes this program.
"""

import argparse
import dataclasses
import json
import pathlib
import statistics
import sys
import tempfile

import torch
from mx_compiler.torch import MXWeightOnlyGptOssExperts, gpt_oss

from gpt_oss_like.config import SIZES, Config
from gpt_oss_like.decoder import Decoder, read_dense
from gpt_oss_like.generation import Generator, capture, measure
from gpt_oss_like.random_checkpoint import write_random
from option_types import device, new_folder, output_file, whole, writing

# All shapes of a step are static, and no part needs Python.
COMPILE = dict(dynamic=False, fullgraph=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--checkpoint", type=pathlib.Path,
                        help="a folder with config.json and safetensors in Transformers' layout")
    source.add_argument("--size", choices=SIZES, default="tiny",
                        help="size of the model with random weights")
    parser.add_argument("--layers", type=whole(1), help="use only the first LAYERS layers")
    parser.add_argument("--experts", choices=["both", "mxfp4", "bf16"], default="both")
    parser.add_argument("--device", type=device, default="cuda",
                        help="cuda, cuda:N or cpu")
    parser.add_argument("--batch", type=whole(1), default=1,
                        help="number of sequences generated together")
    parser.add_argument("--prompt",
                        help="token numbers, such as 1,2,3 (default: random tokens)")
    parser.add_argument("--prompt-length", type=whole(1), default=16)
    parser.add_argument("--tokens", type=whole(2), default=32,
                        help="number of tokens to generate")
    parser.add_argument("--compile", action="store_true",
                        help="compile each step with torch.compile; mx still runs the matmuls")
    parser.add_argument("--no-graph", action="store_true", help="do not capture a CUDA graph")
    parser.add_argument("--seed", type=whole(0, 2**63 - 1), default=0)
    parser.add_argument("--save", type=new_folder,
                        help="a new folder in which to keep the random weights")
    parser.add_argument("--json", type=output_file, help="a file for all results")
    args = parser.parse_args()
    if args.save and args.checkpoint:
        parser.error("--save: expected no --checkpoint, because only random weights are "
                     f"saved, found --checkpoint={args.checkpoint}")
    return parser, args


def with_layers(config, args):
    """Returns the config, limited to the first --layers layers."""
    count = args.layers or config.num_hidden_layers
    if count > config.num_hidden_layers:
        raise ValueError(f"--layers: expected at most {config.num_hidden_layers}, which "
                         f"the model has, found {count}")
    types = config.layer_types and config.layer_types[:count]
    return dataclasses.replace(config, num_hidden_layers=count, layer_types=types)


def make_checkpoint(args, temporary):
    config = with_layers(SIZES[args.size], args)
    path = args.save or pathlib.Path(temporary)
    with writing("--save", path):
        path.mkdir(parents=True, exist_ok=args.save is None)
    write_random(path, config, args.seed)
    return path


def make_prompt(parser, args, config):
    if args.prompt is None:
        generator = torch.Generator().manual_seed(args.seed)
        return torch.randint(config.vocab_size, (args.batch, args.prompt_length),
                             generator=generator)
    try:
        numbers = [int(word) for word in args.prompt.split(",")]
    except ValueError:
        parser.error(f"--prompt: expected numbers as 1,2,3, found {args.prompt}")
    if not all(0 <= number < config.vocab_size for number in numbers):
        parser.error(f"--prompt: expected tokens of 0 to {config.vocab_size - 1}, "
                     f"found {args.prompt}")
    return torch.tensor([numbers] * args.batch)


def load(checkpoint, config, device):
    """Returns the dense weights, and a list with the MXFP4 experts of each layer."""
    dense = read_dense(checkpoint, config, device)
    experts = [MXWeightOnlyGptOssExperts.from_checkpoint(checkpoint, layer, device=device,
                                                         limit=config.swiglu_limit)
               for layer in range(config.num_hidden_layers)]
    return dense, experts


def weight_bytes(module):
    return sum(x.nbytes for x in (*module.parameters(), *module.buffers()))


def time_steps(decoder, prompt, count, graph):
    """Returns the tokens and the median time of a step in milliseconds. The first step is not
    timed, because it compiles and loads programs."""
    generator = Generator(decoder, prompt)
    measured = count - 1
    if graph:
        generator.capture()
    else:
        generator.run()
        measured -= 1
    times = measure(generator.run, measured, prompt.device)
    return generator.generated(count), statistics.median(times) if times else None


def time_experts(experts, config, batch, device, graph):
    """Returns the time of a layer's experts in a step, in milliseconds. All layers run
    in turn, so no layer finds its weights in the cache."""
    generator = torch.Generator().manual_seed(0)
    k = config.num_experts_per_tok
    x = torch.randn(batch, config.hidden_size, generator=generator).bfloat16().to(device)
    chosen = [torch.stack([torch.randperm(config.num_local_experts, generator=generator)[:k]
                           for _ in range(batch)]).to(device) for _ in experts]
    shares = torch.full((batch, k), 1 / k, device=device)

    def run():
        for layer, indices in zip(experts, chosen):
            layer(x, indices, shares)

    run()
    times = measure(capture(run).replay if graph else run, 20, device)
    return statistics.median(times) / len(experts)


def all_logits(decoder, tokens):
    """Returns the logits of all positions, computed at once."""
    return decoder.forward(tokens, torch.arange(tokens.shape[1], device=tokens.device)).float()


@torch.inference_mode()
def run(parser, args, checkpoint, config):
    device = args.device
    prompt = make_prompt(parser, args, config).to(device)
    dense, quantized = load(checkpoint, config, device)
    length = prompt.shape[1] + args.tokens + 2

    kinds = {"mxfp4": lambda: quantized, "bf16": lambda: [e.to_plain() for e in quantized]}
    figures, tokens, logits = {}, {}, {}
    for kind, make in kinds.items():
        if args.experts not in ("both", kind):
            continue
        experts = make()
        decoder = Decoder(config, dense, experts, args.batch, length)
        if args.compile:
            decoder.step = torch.compile(decoder.forward, **COMPILE)
        found = {"experts_bytes": sum(map(weight_bytes, experts))}
        graph = device.type == "cuda" and not args.no_graph
        timed = [torch.compile(e, **COMPILE) for e in experts] if args.compile else experts
        found["experts_ms"] = time_experts(timed, config, args.batch, device, graph)
        tokens[kind], found["step_ms"] = time_steps(decoder, prompt, args.tokens, graph=False)
        if graph:
            replayed, found["graph_step_ms"] = time_steps(decoder, prompt, args.tokens, graph=True)
            found["graph_same_tokens"] = bool((replayed == tokens[kind]).all())
        # Both decoders process the tokens of the first decoder, so differences do not
        # accumulate.
        seen = torch.cat([prompt, next(iter(tokens.values())).to(device)], 1)
        logits[kind] = all_logits(decoder, seen)
        figures[kind] = found
        del decoder, experts
    if len(logits) == 2:
        figures["difference"] = compare(*logits.values(), *tokens.values())
    return figures, prompt.tolist(), {kind: found.tolist() for kind, found in tokens.items()}


def compare(ours, reference, our_tokens, reference_tokens):
    """Returns differences between the logits and between the generated tokens."""
    difference = ours - reference
    best = reference.topk(2).values
    return {
        "relative_rms": float(difference.norm() / reference.norm()),
        "largest": float(difference.abs().max()),
        "same_best": float((ours.argmax(-1) == reference.argmax(-1)).float().mean()),
        "least_margin": float((best[..., 0] - best[..., 1]).min()),
        "same_tokens": int((our_tokens == reference_tokens).sum()),
        "tokens": our_tokens.numel(),
    }


def show(figures):
    for kind in ("mxfp4", "bf16"):
        if kind not in figures:
            continue
        found = figures[kind]
        parts = [f"experts {found['experts_bytes'] / 2**20:.1f} MiB"]
        for name, text in (("experts_ms", "a layer's experts"), ("step_ms", "a step"),
                           ("graph_step_ms", "as a CUDA graph")):
            if found.get(name) is not None:
                parts.append(f"{text} {found[name]:.3f} ms")
        print(f"{kind + ':':6} {', '.join(parts)}")
        if not found.get("graph_same_tokens", True):
            print(f"{kind}: the graph generated other tokens", file=sys.stderr)
    if found := figures.get("difference"):
        print(f"logits differ by {found['relative_rms']:.2e} (root mean square, relative), at most "
              f"{found['largest']:.3f}; the same best token at {found['same_best']:.1%} of "
              f"positions; {found['same_tokens']} of {found['tokens']} generated tokens are the same")


def generate(parser, args):
    """Returns the config, prompt and tokens, and all figures."""
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = gpt_oss.Checkpoint(args.checkpoint or make_checkpoint(args, folder))
        config = with_layers(Config.of_checkpoint(checkpoint), args)
        figures, prompt, tokens = run(parser, args, checkpoint, config)
    return {"config": config.to_json(), "prompt": prompt, "tokens": tokens}, figures


def report(args, about, figures):
    print(f"generated: {' '.join(map(str, next(iter(about['tokens'].values()))[0]))}")
    show(figures)
    if args.json:
        with writing("--json", args.json):
            args.json.write_text(json.dumps({**about, **figures}, indent=1) + "\n")


def main():
    parser, args = parse_arguments()
    try:
        about, figures = generate(parser, args)
        report(args, about, figures)
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except ValueError as error:
        sys.exit(str(error))
    failed = any(not found.get("graph_same_tokens", True) for found in figures.values())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
