#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains LoRA adapters of a model like gpt-oss with random weights: experts in MXFP4, attention and the
head in MXFP8. Prints the loss and the time of each step, and the peak memory.

    python3 examples/lora_mxfp4.py --size=20b
    MX_DEVICE=cpu python3 examples/lora_mxfp4.py --device=cpu --tokens=64

Requires the packages peft and transformers, and downloads nothing. All experts and all matrices of
attention have adapters. Four measures limit the memory: weights are never all in bf16, the embedding
stays on the host, layers are recomputed in the backward pass, and logits exist for a part of the
vocabulary at a time. Each adapter is updated as soon as its gradient exists.
"""

import argparse
import dataclasses
import sys
import time

import mx_compiler.peft  # registers LoRA for quantized weights
import mx_compiler.torch as mxt
import peft
import torch
from torch.utils.checkpoint import checkpoint
from transformers import GptOssConfig, GptOssForCausalLM

from gpt_oss_like.config import SIZES
from option_types import device, whole

MODELS = {"small": SIZES["tiny"], "20b": SIZES["20b"]}
ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
EXPERTS = ["experts.gate_up_proj", "experts.down_proj"]
PARTS = 8


class Head(torch.nn.Module):
    """Output layer in parts of the vocabulary. The logits of one part exist at a time, as do its weights in
    bf16 in the backward pass."""

    def __init__(self, config):
        super().__init__()
        count = config.vocab_size
        rows = -(-count // (64 * PARTS)) * 64       # packed weights have multiples of 64 rows
        self.first_rows = range(0, count, rows)
        self.parts = torch.nn.ModuleList(
            mxt.MXWeightOnlyLinear(config.hidden_size, min(rows, count - first), bias=False,
                                   recipe="mxfp8_weight_only") for first in self.first_rows)

    def loss(self, x, labels):
        """Returns the mean cross entropy of rows x, [T, hidden], and labels, [T]."""
        sums, chosen = zip(*(checkpoint(_part_loss, part, x, labels - first, use_reentrant=False)
                             for part, first in zip(self.parts, self.first_rows)))
        return (torch.stack(sums).logsumexp(0) - sum(chosen)).mean()


def _part_loss(part, x, labels):
    """Returns the logarithm of the sum of exp(logits), and the logits of the labels in this part."""
    logits = part(x).float()
    inside = labels.clamp(0, part.out_features - 1)
    return logits.logsumexp(1), logits.gather(1, inside[:, None])[:, 0].where(labels == inside, 0)


def make_config(size):
    fields = dataclasses.asdict(MODELS[size])
    rope = fields["rope_scaling"]
    length = int(rope["factor"] * rope["original_max_position_embeddings"])
    return GptOssConfig(**fields, max_position_embeddings=length, attn_implementation="eager")


def build(config, rank, to):
    """Returns a model with adapters. Only its embedding is on the host. Weights are uninitialized."""
    with torch.device("meta"):
        model = GptOssForCausalLM(config).bfloat16()
        mxt.convert_(model, "mxfp4_weight_only", filter=lambda module, name: name.endswith(".experts"))
        mxt.convert_(model, "mxfp8_weight_only", filter=lambda module, name: ".self_attn." in name)
        model.lm_head = Head(config)
    model.model.embed_tokens.to_empty(device="cpu")
    for module in (model.model.layers, model.model.norm, model.lm_head):
        module.to_empty(device=to)
    model.model.rotary_emb = type(model.model.rotary_emb)(config).to(to)
    enable = getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)
    enable({"use_reentrant": False})
    return peft.get_peft_model(model, peft.LoraConfig(
        r=rank, lora_alpha=2 * rank, target_modules=ATTENTION, target_parameters=EXPERTS))


@torch.no_grad()
def randomize(model, config):
    """Writes random weights that preserve the magnitude of their input."""
    def random(*shape):
        x = torch.randn(shape, dtype=torch.bfloat16, device=model.model.norm.weight.device)
        return x.mul_(config.hidden_size**-0.5)

    for name, x in model.named_parameters():
        if "lora_" not in name:
            x.fill_("norm" in name) if x.dim() == 1 or "bias" in name else x.normal_()
            if "router" in name:
                x.mul_(config.hidden_size**-0.5)
    for module in model.modules():
        if isinstance(module, mxt.MXWeightOnlyLinear):
            module.refit(random(module.out_features, module.in_features))
        elif isinstance(module, mxt.MXWeightOnlyGptOssExperts):
            experts, hidden, inner = config.num_local_experts, config.hidden_size, config.intermediate_size
            module.refit(gate_up_proj=random(experts, hidden, 2 * inner))
            module.refit(down_proj=random(experts, inner, hidden))


def memory(model):
    """Returns the bytes of the model's tensors, keyed by part of the model."""
    found = dict.fromkeys(("lora_", "embed_tokens", "lm_head", "self_attn", "experts", ""), 0)
    for name, x in (*model.named_parameters(), *model.named_buffers()):
        found[next(key for key in found if key in name)] += x.nbytes
    names = "adapters", "embedding on the host", "head", "attention", "experts", "other weights"
    return {"states of AdamW": 2 * found["lora_"], **dict(zip(names, found.values()))}


def update_in_backward(parameters):
    """Updates each parameter once its gradient exists, and frees the gradient."""
    for parameter in parameters:
        optimizer = torch.optim.AdamW([parameter], lr=1e-3, weight_decay=0.0, fused=True)

        def step(_, optimizer=optimizer):
            optimizer.step()
            optimizer.zero_grad()

        parameter.register_post_accumulate_grad_hook(step)


def train(args):
    config = make_config(args.size)
    torch.manual_seed(args.seed)
    adapted = build(config, args.rank, args.device)
    model = adapted.get_base_model().train()
    print(", ".join(f"{name} {size / 1e6:,.1f} MB" for name, size in memory(adapted).items()))
    randomize(model, config)
    update_in_backward((x for x in model.parameters() if x.requires_grad))
    tokens = torch.randint(config.vocab_size, (args.tokens + 1,))
    labels = tokens[1:].to(args.device)
    for number in range(args.steps):
        start = time.perf_counter()
        embedded = model.model.embed_tokens(tokens[None, :-1]).to(args.device)
        x = model.model(inputs_embeds=embedded, use_cache=False).last_hidden_state
        loss = model.lm_head.loss(x[0], labels)
        loss.backward()
        loss = loss.item()      # waits for the device
        print(f"step {number}: loss {loss:.4f}, {(time.perf_counter() - start) * 1e3:.1f} ms", flush=True)
    if args.device.type == "cuda":
        print(f"peak memory {torch.cuda.max_memory_allocated(args.device) / 1e9:.2f} GB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=MODELS, default="small")
    parser.add_argument("--device", type=device, default="cuda", help="cuda, cuda:N or cpu")
    parser.add_argument("--rank", type=whole(1), default=16, help="rank of the adapters")
    parser.add_argument("--tokens", type=whole(1), default=1024, help="tokens of the batch of all steps")
    parser.add_argument("--steps", type=whole(1), default=8)
    parser.add_argument("--seed", type=whole(0, 2**63 - 1), default=0)
    train(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
