# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prefill and decode of Transformers' GptOssForCausalLM, for end_to_end.py.

Cache and attention are replaced, for all implementations of the experts. The static cache of
Transformers copies from the host in each step, and a CUDA graph refuses such copies. The attention of
Transformers repeats keys and values for each head, and would take longer than the experts."""

import collections
import contextlib
import gc
import inspect
import types

import mx_compiler.torch as mxt
import mx_compiler.transformers  # noqa: F401  registers implementations of experts
import timing
import torch
import transformers
from torch.nn import functional as F
from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS

SIZE = dict(vocab_size=201088, hidden_size=2880, intermediate_size=2880, num_local_experts=32, num_experts_per_tok=4,
            num_attention_heads=64, num_key_value_heads=8, head_dim=64, sliding_window=128)
TINY = dict(vocab_size=256, hidden_size=64, intermediate_size=96, num_local_experts=4, num_experts_per_tok=2,
            num_attention_heads=4, num_key_value_heads=2, head_dim=32, sliding_window=8)
PASSES = "prefill", "decode", "decode from Python"
# Passes of Transformers' implementations: "batched_mm" copies the weights for each token, and
# "eager" waits for the device.
EXPERTS = {"grouped_mm": PASSES, "batched_mm": PASSES[1:], "eager": PASSES[2:]}
ROOM = 64  # number of generated tokens in a cache
CACHE = "cache" if "cache" in inspect.signature(
    transformers.GptOssForCausalLM.forward).parameters else "past_key_values"


def attend(module, query, key, value, attention_mask, scaling, s_aux, **options):
    """Computes attention with sinks: the first key is zero, and the bias of the score is the sink. Heads
    with the same keys become rows of the same matmul."""
    batch, heads, rows, width = query.shape
    sinks = s_aux.view(1, heads, 1, 1).expand(1, heads, rows, 1)
    bias = torch.cat((sinks, attention_mask.expand(1, heads, rows, -1)), -1)
    shape = key.shape[1], heads // key.shape[1] * rows
    y = F.scaled_dot_product_attention(query.reshape(batch, *shape, width), key, value,
                                       attn_mask=bias.reshape(1, *shape, -1), scale=scaling)
    return y.view(batch, heads, rows, width).transpose(1, 2).contiguous(), None


transformers.AttentionInterface.register("sinks", attend)


class Cache:
    """Static keys and values of a model. Layers with a sliding window store the last keys. Slot 0
    contains the zero key of `attend`."""

    def __init__(self, config, batch, length, device):
        self.sizes = {"full_attention": length, "sliding_attention": min(config.sliding_window, length)}
        self.layers = [torch.zeros(2, batch, config.num_key_value_heads, 1 + self.sizes[kind], config.head_dim,
                                   dtype=torch.bfloat16, device=device) for kind in config.layer_types]
        self.positions = None

    def update(self, keys, values, layer, *args, **kwargs):
        stored, new = self.layers[layer], torch.stack((keys, values))
        size, rows = stored.shape[3] - 1, new.shape[3]
        kept = min(size, rows)
        stored.index_copy_(3, 1 + self.positions[-kept:] % size, new[..., -kept:, :])
        # The first call passes the whole prompt, later calls one token.
        return (stored if rows == 1 else F.pad(new, (0, 0, 1, 0))).unbind(0)

    def masks(self):
        """Returns the bias of the scores for each kind of layer."""
        rows, found = self.positions[:, None], {}
        for kind, size in self.sizes.items():
            if len(rows) == 1:
                reached = torch.arange(size, device=rows.device) <= rows  # filled slots
            else:
                distance = rows - self.positions
                reached = (distance >= 0) & (distance < size)
            bias = torch.zeros(reached.shape, dtype=torch.bfloat16, device=rows.device)
            found[kind] = bias.masked_fill(~reached, -torch.inf)[None, None]
        return found


class Session:
    """Prefill of random prompts, and decode steps."""

    def __init__(self, model, batch, length, room):
        self.model, self.length, self.room = model, length, room
        self.cache = Cache(model.config, batch, length + room, model.device)
        self.prompt = torch.randint(model.config.vocab_size, (batch, length), device=model.device)
        self.position = torch.tensor([length], device=model.device)
        self.token = self.prompt[:, -1:].clone()

    def forward(self, tokens, positions, keep):
        self.cache.positions = positions
        return self.model(tokens, attention_mask=self.cache.masks(), position_ids=positions[None],
                          logits_to_keep=keep, **{CACHE: self.cache}).logits

    def prefill(self, keep=1):
        logits = self.forward(self.prompt, torch.arange(self.length, device=self.prompt.device), keep)
        self.token.copy_(logits[:, -1:].argmax(-1))
        return logits

    def step(self):
        """Generates a token. The position returns to the end of the prompt if the cache is full."""
        logits = self.forward(self.token, self.position, 1)
        self.token.copy_(logits.argmax(-1))
        self.position.copy_(self.length + (self.position - self.length + 1) % self.room)
        return logits


@contextlib.contextmanager
def hook_routers(model, function):
    handles = [module.register_forward_hook(function) for name, module in model.named_modules()
               if name.endswith("router")]
    yield
    for handle in handles:
        handle.remove()


def convert(model, recipe):
    mxt.convert_(model, recipe, strict=True, filter=lambda module, name: name.endswith("experts"))


def compare(model, options, check):
    """Compares logits of a prompt and a step, and logits of experts by a flag, with logits of Transformers'
    own attention and experts, without a cache, from the dequantized weights. Routers repeat their results,
    because rounding may select another expert. Leaves the dequantized weights in the model."""
    results = collections.defaultdict(list)
    convert(model, options.recipe)
    session = Session(model, 1, options.length, 1)
    with hook_routers(model, lambda module, given, found: results[module].append(found)):
        found = session.prefill(keep=0)
        tokens = torch.cat((session.prompt, session.token), 1)
        found = torch.cat((found, session.step()), 1)
    convert(model, "bf16")
    model.set_attn_implementation("eager")
    with hook_routers(model, lambda module, given, found: tuple(map(torch.cat, zip(*results[module])))):
        model.set_experts_implementation(f"mx_{options.recipe}")
        by_flag = model(tokens, use_cache=False).logits
        for module in model.modules():
            module.__dict__.pop("_mx_twin", None)       # frees quantized weights
        model.set_experts_implementation("eager")
        wanted = model(tokens, use_cache=False).logits
    decibels = check({"logits": found, "logits by flag": by_flag}, {"logits": wanted, "logits by flag": wanted})
    model.set_attn_implementation("sinks")
    return decibels


def wrap(function):
    """Returns an implementation for timing.py."""
    return types.SimpleNamespace(count=1, launch=lambda index: function())


def time_call(function, seconds, captured):
    """Returns milliseconds, the SM clock and the peak memory of the device."""
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    for _ in range(3):
        function()
    if captured:
        function = timing.capture(wrap(function), 1).replay
    call = wrap(function)
    begin, end = timing.events()
    begin.record()
    call.launch(0)
    end.record()
    torch.cuda.synchronize()
    taken, mhz = timing.sustained(call, seconds, timing.seconds_between(begin, end))
    return dict(ms=round(taken * 1e3, 4), sm_mhz=mhz,
                peak_mib=round(torch.cuda.max_memory_allocated() / 2**20))


def fill(session, model, passes):
    """Fills the cache. Implementations without a prefill would need a copy of all chosen weights."""
    if PASSES[0] in passes:
        session.prefill()
        return
    own = model.config._experts_implementation
    model.set_experts_implementation("grouped_mm")
    session.prefill()
    model.set_experts_implementation(own)


def time_passes(model, name, options, passes, decibels=None):
    """Yields a row for each pass and batch."""
    for batch, kind in ((batch, kind) for batch in (1, 32) for kind in passes):
        if kind == PASSES[2] and batch > 1:
            continue
        session = Session(model, batch, options.length, ROOM)
        fill(session, model, passes)
        function = session.prefill if kind == "prefill" else session.step
        times = time_call(function, options.seconds, captured=kind != PASSES[2])
        yield dict(case=f"{kind}, batch {batch}", implementation=name, layers=options.layers, decibels=decibels,
                   tokens=batch * (options.length if kind == "prefill" else 1)) | times


def measure(options, check):
    """Yields rows of bf16, then of the recipe. The same model is converted in place, and contains the
    dequantized weights in bf16."""
    torch.set_grad_enabled(False)
    torch.manual_seed(options.seed)
    options.length = 20 if options.tiny else 1024
    config = transformers.GptOssConfig(num_hidden_layers=2 if options.tiny else options.layers,
                                       **(TINY if options.tiny else SIZE))
    with torch.device(options.device):
        model = transformers.GptOssForCausalLM._from_config(
            config, dtype=torch.bfloat16, attn_implementation="sinks").eval()
    decibels = compare(model, options, check)
    if options.tiny:
        return
    for name, passes in EXPERTS.items():
        if name == "eager" or name in ALL_EXPERTS_FUNCTIONS:
            model.set_experts_implementation(name)
            yield from time_passes(model, f"bf16 {name}", options, passes)
    # The same by a flag, beside the weights in bf16.
    model.set_experts_implementation(f"mx_{options.recipe}")
    yield from time_passes(model, f"flag mx_{options.recipe}", options, PASSES, decibels)
    convert(model, options.recipe)
    yield from time_passes(model, options.recipe, options, PASSES, decibels)
