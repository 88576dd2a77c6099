# REQUIRES: torch, transformers
# RUN: env HF_HUB_OFFLINE=1 %python_torch %s
"""Tests small Mixtral, Qwen3-MoE and gpt-oss models from the installed Transformers, with random weights. Compares
converted models with the float models, and tests gradients, conversion back, and save_pretrained. The oracles are
Transformers experts in float64. hugging-face.py contains exact oracles and uses stand-ins."""

import copy
import pathlib
import tempfile

import huggingface_hub
import torch
import transformers
from transformers import (GptOssConfig, GptOssForCausalLM, LlamaConfig, LlamaForCausalLM,
                          MixtralConfig, MixtralForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM)

import mx_compiler.torch as mxt
import reference as ref
from quantized_matmuls import distance
from reference import DEVICE
from refuses import refuses

transformers.logging.set_verbosity_error()
EXPERTS, K, HIDDEN, INNER, SYMBOLS = 32, 2, 64, 96, 128
COMMON = {"vocab_size": SYMBOLS, "hidden_size": HIDDEN, "intermediate_size": INNER,
          "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2,
          "head_dim": 32, "max_position_embeddings": 64, "num_experts_per_tok": K}
MODELS = (
    (MixtralForCausalLM, MixtralConfig(num_local_experts=EXPERTS, **COMMON)),
    (Qwen3MoeForCausalLM, Qwen3MoeConfig(num_experts=EXPERTS, moe_intermediate_size=INNER,
                                         **COMMON)),
    # The default rope would stretch positions beyond the lengths of this test.
    (GptOssForCausalLM, GptOssConfig(num_local_experts=EXPERTS, rope_scaling=None, **COMMON)),
)


def make(cls, config):
    """Creates a Transformers model with large weights: with the default deviation, 0.02, all logits would be about
    0."""
    torch.manual_seed(0)
    model = cls(config).to(DEVICE, torch.float32).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, parameter.shape[-1]**-0.5)
    return model


def experts_of(model):
    """Returns experts keyed by name: fused experts, or the layers in lists."""
    return {name: module for name, module in model.named_modules()
            if type(module).__name__.endswith("Experts")}


def arguments():
    generator = torch.Generator().manual_seed(1)
    chosen = torch.stack([torch.randperm(EXPERTS, generator=generator)[:K] for _ in range(48)])
    weights = torch.rand(48, K, generator=generator).softmax(-1)
    return [x.to(DEVICE) for x in (ref.tensor((48, HIDDEN), 2, torch.float32, spread=1), chosen,
                                   weights)]


def of_module(module, given):
    """Converts weights to the form that the module of the installed release uses."""
    x, chosen, weights = given
    is_new = hasattr(module, "is_transposed")
    if not is_new and type(module).__name__ in ("GptOssExperts", "MXGptOssExperts",
                                                "MXWeightOnlyGptOssExperts"):
        weights = torch.zeros(x.shape[0], EXPERTS, device=DEVICE).scatter(1, chosen, weights)
        return x[None], chosen, weights
    return x, chosen, weights


def oracle(module):
    """Computes the loop over experts in float64, because PyTorch's grouped_mm does not support float64."""
    module = copy.deepcopy(module).double()
    if hasattr(module, "config"):
        module.config._experts_implementation = "eager"
    return module


def run(module, given, dtype=torch.float32):
    x, chosen, weights = of_module(module, given)
    x = x.to(dtype).requires_grad_()
    y = module(x, chosen, weights.to(dtype))
    y.backward(ref.tensor(tuple(y.shape), 3, dtype, spread=1))
    return [y.reshape(-1, HIDDEN), x.grad.reshape(-1, HIDDEN),
            *(p.grad for p in module.parameters())]


def experts():
    for cls, config in MODELS:
        plain = make(cls, config)
        found = experts_of(plain)
        # Releases before 5 use lists for all models but gpt-oss.
        assert len(found) == 2 or cls is not GptOssForCausalLM
        for name, module in list(found.items())[:1]:
            wanted = run(oracle(module), arguments(), torch.float64)
            model = mxt.convert_(copy.deepcopy(module), "mxfp8", strict=True)
            assert type(model).__module__.startswith("mx_compiler.torch")
            for a, b in zip(run(model, arguments()), wanted):
                assert distance(a, b) < 0.1, (cls, name, distance(a, b))
            # Weight-only recipes return the dequantized weights.
            model = mxt.convert_(copy.deepcopy(module), "mxfp4_weight_only", strict=True)
            y, dx, *_ = run(model, arguments())
            back = mxt.convert_(model, "bf16")
            assert type(back) is type(module)
            wanted = run(oracle(back), arguments(), torch.float64)
            for a, b in zip((y, dx), wanted):
                assert distance(a, b) < 0.01, (cls, name, distance(a, b))


def models():
    for cls, config in MODELS:
        plain = make(cls, config)
        symbols = torch.arange(40, device=DEVICE).view(2, 20) * 37 % SYMBOLS
        with torch.no_grad():
            wanted = plain(symbols).logits
        model = mxt.convert_(copy.deepcopy(plain), "mxfp8", strict=True)
        kinds = {type(m).__name__ for m in model.modules()}
        assert not any(kind.endswith("Experts") and not kind.startswith("MX") for kind in kinds)
        state = model.state_dict()
        assert state.keys() == plain.state_dict().keys()
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            again = cls.from_pretrained(folder).state_dict()
        assert again.keys() == state.keys() and all(torch.equal(t.to(DEVICE), state[n])
                                                    for n, t in again.items())
        found = model(symbols, labels=symbols)
        # If a token's scores of two experts are close, rounding may select the other expert.
        assert 0.01 < distance(found.logits, wanted) < 0.4, (cls, distance(found.logits, wanted))
        found.loss.backward()
        # Unselected experts of a list get no gradient.
        gradients = [p.grad for name, p in model.named_parameters() if ".experts." in name]
        assert all(g is None or torch.isfinite(g).all() for g in gradients)
        assert len([g for g in gradients if g is not None and g.norm() > 0]) >= 4
        model.zero_grad()
        mxt.convert_(model, "bf16", strict=True)
        assert [type(m) for m in model.modules()] == [type(m) for m in plain.modules()]
        with torch.no_grad():
            assert torch.equal(model(symbols).logits, wanted)
        quantized = mxt.convert_(model, "mxfp8_weight_only", strict=True)
        with torch.no_grad():
            found = quantized(symbols).logits
        assert 0.005 < distance(found, wanted) < 0.4, (cls, distance(found, wanted))


def refused(cls, model, folder):
    """save_pretrained refuses weights that exist only in quantized form. from_pretrained refuses a folder that a caller
    fills with their state dict anyway; otherwise it would draw random weights."""
    for save in (lambda: model.save_pretrained(folder),
                 lambda: model.save_pretrained(folder, max_shard_size="20KB")):
        refuses(ValueError, "expected floats, which from_pretrained reads, found mxfp4", save)
        assert not [*pathlib.Path(folder).glob("*.safetensors*")]
    try:
        model.save_pretrained(folder, state_dict=model.state_dict())
        cls.from_pretrained(folder)
    except Exception:       # the message is from Transformers
        pass
    else:
        raise AssertionError(f"{cls.__name__}: expected from_pretrained to refuse bytes")


def stored():
    tied = LlamaConfig(vocab_size=SYMBOLS, hidden_size=HIDDEN, intermediate_size=INNER,
                       num_hidden_layers=1, num_attention_heads=2, tie_word_embeddings=True)
    symbols = torch.arange(20, device=DEVICE)[None] * 37 % SYMBOLS
    for cls, config in (*MODELS, (LlamaForCausalLM, tied)):
        plain = make(cls, config)
        # A whole model, a part of it, a single module, and modules created without convert.
        for part in "", "model", "lm_head", "by hand":
            model = copy.deepcopy(plain)
            if part == "by hand":
                model.lm_head = mxt.MXWeightOnlyLinear.from_linear(model.lm_head)
            elif part == "lm_head":
                model.lm_head = mxt.convert_(model.lm_head, "mxfp4_weight_only")
            else:
                mxt.convert_(model.get_submodule(part), "mxfp4_weight_only", strict=True,
                            filter=lambda module, name: name != "lm_head")
            with tempfile.TemporaryDirectory() as folder:
                refused(cls, copy.deepcopy(model), folder)
            with torch.no_grad():
                wanted = model(symbols).logits
            mxt.convert_(model, "bf16")
            # The head then stores separate values.
            model.config.tie_word_embeddings = model.lm_head.weight is model.get_input_embeddings().weight
            with tempfile.TemporaryDirectory() as folder:
                model.save_pretrained(folder)
                again = cls.from_pretrained(folder).to(DEVICE).eval()
            with torch.no_grad():
                assert torch.equal(again(symbols).logits, model(symbols).logits), (cls, part)
                # Here, also, the router may select another expert.
                assert distance(again(symbols).logits, wanted) < 0.3, (cls, part)


def hub():
    """Classes of huggingface_hub load partial state dicts (strict=False)."""
    class Model(torch.nn.Module, huggingface_hub.PyTorchModelHubMixin):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(64, 64)
    with tempfile.TemporaryDirectory() as folder:
        mxt.convert_(Model().to(DEVICE), "mxfp4_weight_only").save_pretrained(folder)
        refuses(RuntimeError, "size mismatch for inner.weight", Model.from_pretrained, folder)


for part in (experts, models, stored, hub):
    part()
    print(part.__name__, "right, Transformers", transformers.__version__)
