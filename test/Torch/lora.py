# REQUIRES: torch, peft
# RUN: env HF_HUB_OFFLINE=1 %python_torch %s %examples
# RUN: env HF_HUB_OFFLINE=1 MX_DEVICE=sim MX_CHIP=sm_90a MX_PTXAS=none %python_torch %s packed
"""LoRA with peft on quantized weights. The oracle is peft's own LoRA in float64 on the dequantized weights. It reads the
adapters stored by the quantized model. Covers the layouts of experts, unchanged bytes, checkpointing, torch.compile,
several adapters, merging, conversion back, a model of Transformers, refused options, and the example. With the argument
`packed`, only gradients are tested."""

import contextlib
import copy
import io
import re
import sys
import tempfile
import warnings

import peft
import torch
import transformers
from torch import nn
from torch.utils.checkpoint import checkpoint

import hugging_face as hf
import mx_compiler.peft as mx_peft
import mx_compiler.torch as mxt
from mx_compiler.torch._ops import weight_only_mm
from quantized_matmuls import distance
from reference import DEVICE
from refuses import refuses

HIDDEN, INNER, EXPERTS, K, TOKENS = 64, 128, 5, 2, 40
SIZES = HIDDEN, INNER, EXPERTS
RECIPES = "mxfp4_weight_only", "nvfp4_weight_only"
PACKED = sys.argv[1:] == ["packed"]


class SortedExperts(mxt.GroupedExperts):
    """Experts of torchtitan, also in float64, which grouped_mm does not support."""

    def forward(self, x, counts):
        return torch.cat([(nn.functional.silu(rows @ w1.T) * (rows @ w3.T)) @ w2.T for rows, w1, w2, w3 in zip(
            x.split(counts.tolist()), self.w1, self.w2, self.w3)])


KINDS = {"mixtral": hf.MixtralExperts, "qwen3": hf.Qwen3MoeExperts, "gpt-oss": hf.GptOssExperts,
         "gpt-oss 4": lambda *sizes: hf.GptOssExperts(*sizes, is_new=False), "sorted": mxt.GroupedExperts}


class Model(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, HIDDEN)
        self.first = nn.Linear(HIDDEN, HIDDEN)
        self.experts = KINDS[kind](*SIZES)
        self.last = nn.Linear(HIDDEN, 2 * HIDDEN, bias=False)
        generator = torch.Generator().manual_seed(3)
        chosen = torch.stack([torch.randperm(EXPERTS - 1, generator=generator)[:K] for _ in range(TOKENS)])
        weights = torch.rand(TOKENS, K, generator=generator)
        if kind == "gpt-oss 4":
            weights = torch.zeros(TOKENS, EXPERTS).scatter(1, chosen, weights)
        else:
            chosen[5] = EXPERTS         # no expert
        choice = [chosen, weights] if kind != "sorted" else [torch.tensor([3, 0, 11, 17, 9])]
        self.choice = [x.to(DEVICE) for x in choice]

    def forward(self, x):
        x = x + self.embedding.weight
        return self.last(x + self.experts(self.first(x), *self.choice))


def make(kind="gpt-oss", recipe="mxfp4_weight_only"):
    return mxt.convert_(hf.randomize(Model(kind)).bfloat16().to(DEVICE), recipe)


def config(kind="gpt-oss", **options):
    names = ("w1", "w2", "w3") if kind == "sorted" else ("gate_up_proj", "down_proj")
    return peft.LoraConfig(**{"r": 4, "lora_alpha": 8, "init_lora_weights": False,
                              "target_modules": "all-linear",
                              "target_parameters": [f"experts.{name}" for name in names], **options})


def adapt(kind="gpt-oss", recipe="mxfp4_weight_only", **options):
    torch.manual_seed(1)
    return peft.get_peft_model(make(kind, recipe), config(kind, **options))


def inputs(dtype=torch.bfloat16, seed=2):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(TOKENS, HIDDEN, generator=generator).bfloat16().to(DEVICE, dtype).requires_grad_()


def gradients(model, call=None):
    """Returns y and the gradients of the input and of trained parameters, keyed by name."""
    x = inputs(next(model.parameters()).dtype)
    y = (model if call is None else call)(x)
    dy = torch.randn(y.shape, generator=torch.Generator().manual_seed(4)).to(DEVICE, y.dtype)
    model.zero_grad()
    y.backward(dy)
    return {"y": y, "x": x.grad, **{name: p.grad.clone() for name, p in model.named_parameters() if p.requires_grad}}


def oracle(model, folder, kind):
    """Returns peft's model in float64 with the dequantized weights and the stored adapters."""
    plain = mxt.convert_(copy.deepcopy(model.unload()), "bf16")
    if kind == "sorted":
        plain.experts.__class__ = SortedExperts
    ours, peft.PEFT_TYPE_TO_TUNER_MAPPING[peft.PeftType.LORA] = mx_peft.MXLoraModel, peft.LoraModel
    try:
        return peft.PeftModel.from_pretrained(plain.double(), folder, is_trainable=True).double()
    finally:
        peft.PEFT_TYPE_TO_TUNER_MAPPING[peft.PeftType.LORA] = ours


def weight_bytes(model):
    return {name: x.clone() for name, x in model.named_buffers()}


def training():
    for kind, recipe in ((k, r) for k in KINDS for r in RECIPES if k == "gpt-oss" or not PACKED):
        model = adapt(kind, recipe, **{"r": 16, "use_rslora": True} if kind == "mixtral" or PACKED else {})
        before = weight_bytes(model)
        assert "packed=" in repr(model) or not PACKED
        found = gradients(model)
        wrong = [name for name in found if "." in name and "lora_" not in name]
        assert not wrong and sum("lora_" in name for name in found) == (8 if kind != "sorted" else 10), found.keys()
        after = weight_bytes(model)
        assert all(torch.equal(x, after[name]) for name, x in before.items()) and before.keys() == after.keys()
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            without = model(inputs())
            assert distance(without, found["y"]) < 0.005
            # Parameters suffice; a state dict contains copies of all weights.
            model.save_pretrained(folder, state_dict=dict(model.named_parameters()))
            again = peft.PeftModel.from_pretrained(make(kind, recipe), folder)
            assert torch.equal(again(inputs()), without)
            with model.disable_adapter():
                assert torch.equal(model(inputs()), make(kind, recipe)(inputs()))
                assert distance(model(inputs()), without) > 0.1
            reference = oracle(model, folder, kind)
        wanted = gradients(reference)
        assert found.keys() == wanted.keys()
        for name, x in found.items():
            # Activations are bf16 between matmuls.
            assert distance(x, wanted[name]) < 0.012, (kind, recipe, name, distance(x, wanted[name]))


def parts():
    """The gradient of x is the same if weights are dequantized in parts."""
    ends = torch.tensor([7, 7, 27, 30, 39], dtype=torch.int32, device=DEVICE)
    for rows, columns in (256, 256), (260, 192):
        weight = mxt.quantize_mxfp4(torch.randn(5, rows, columns).bfloat16().to(DEVICE))
        x = torch.randn(42, columns).bfloat16().to(DEVICE).requires_grad_()
        y = mxt.weight_only_grouped_mm(x, *weight, ends, "mxfp4")
        dy, least = torch.randn_like(y), weight_only_mm.LEAST_PART
        wanted, = torch.autograd.grad(y, x, dy, retain_graph=True)
        weight_only_mm.LEAST_PART = 1
        found, = torch.autograd.grad(y, x, dy)
        weight_only_mm.LEAST_PART = least
        assert torch.equal(found[:39], wanted[:39])


def checkpoints():
    model = adapt("mixtral")
    wanted = gradients(model)
    found = gradients(model, lambda x: checkpoint(model, x, use_reentrant=False))
    assert all(torch.equal(x, wanted[name]) for name, x in found.items())


def compiled():
    for kind in "gpt-oss", "sorted":
        model = adapt(kind)
        wanted = gradients(model)
        found = gradients(model, torch.compile(model, backend="aot_eager", fullgraph=True))
        assert all(torch.equal(x, wanted[name]) for name, x in found.items())


def several():
    """Adapters are added, selected, and deleted."""
    model = adapt()
    alone = model(inputs())
    model.add_adapter("second", config(r=3))
    assert torch.equal(model(inputs()), alone)
    model.base_model.set_adapter(["default", "second"])
    both = model(inputs())
    assert distance(both, alone) > 0.05
    model.delete_adapter("default")
    model.set_adapter("second")
    assert distance(model(inputs()), both) > 0.05


def merging():
    for kind, recipe in (("gpt-oss", RECIPES[0]), ("mixtral", RECIPES[1]), ("sorted", "mxfp8_weight_only"),
                         ("mixtral", "w4a8")):
        model = adapt(kind, recipe)
        before, alone = weight_bytes(model), model(inputs())
        floats = mxt.convert_(copy.deepcopy(model), "bf16").double()
        assert kind == "sorted" or distance(floats(inputs(torch.float64)), alone) < 0.01
        model.merge_adapter(safe_merge=kind == "gpt-oss")
        merged = model(inputs())
        assert not torch.equal(merged, alone)
        model.unmerge_adapter()
        assert all(torch.equal(x, before[name]) for name, x in weight_bytes(model).items())
        model = model.merge_and_unload()
        assert torch.equal(model(inputs()), merged) and not any("lora" in name for name in model.state_dict())
        again = mxt.convert_(floats.merge_and_unload().bfloat16(), recipe)
        if recipe == RECIPES[1]:    # these dequantized weights are not exact in bf16
            assert distance(again(inputs()), merged) < 0.06
        else:
            wanted = weight_bytes(again)
            assert all(torch.equal(x, wanted[name]) for name, x in weight_bytes(model).items())


def released():
    """Trains a model of Transformers with checkpoints."""
    sizes = transformers.GptOssConfig(
        num_hidden_layers=2, hidden_size=64, intermediate_size=64, num_local_experts=4, num_experts_per_tok=2,
        num_attention_heads=2, num_key_value_heads=2, head_dim=32, vocab_size=96, rope_scaling=None)
    model = transformers.GptOssForCausalLM(sizes).bfloat16().to(DEVICE)
    mxt.convert_(model, "mxfp4_weight_only", filter=lambda module, name: name != "lm_head")
    model = peft.prepare_model_for_kbit_training(model)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    model = peft.get_peft_model(model, peft.LoraConfig(
        target_modules="all-linear", target_parameters=["1.mlp.experts.gate_up_proj", "1.mlp.experts.down_proj"]))
    trained = [name for name, p in model.named_parameters() if p.requires_grad]
    assert len(trained) == 2 * (2 * 4 + 2) and not any("lm_head" in name for name in trained), trained
    tokens = torch.randint(96, (1, 32), generator=torch.Generator().manual_seed(5)).to(DEVICE)
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2)
    losses = []
    for _ in range(8):
        losses.append(model(input_ids=tokens, labels=tokens, use_cache=False).loss)
        losses[-1].backward()
        optimizer.step()
        optimizer.zero_grad()
    assert losses[-1] < losses[0] - 0.1, losses
    # peft itself resolves "all-linear" for Mixtral.
    model = transformers.MixtralForCausalLM(transformers.MixtralConfig(
        num_hidden_layers=1, hidden_size=64, intermediate_size=64, num_local_experts=2, num_attention_heads=2,
        num_key_value_heads=2, vocab_size=96)).bfloat16().to(DEVICE)
    quantized = mxt.convert_(copy.deepcopy(model), "mxfp4_weight_only", filter=lambda module, name: name != "lm_head")
    names, wanted = ({name for name, _ in peft.get_peft_model(given, peft.LoraConfig(target_modules="all-linear"))
                      .named_parameters() if "lora_" in name} for given in (quantized, model))
    assert names == wanted, names ^ wanted


def errors():
    for option, found in (("use_dora", True), ("init_lora_weights", "pissa"), ("init_lora_weights", "olora")):
        refuses(ValueError, f"{option}: expected plain LoRA for quantized weights, found {found!r}: convert",
                adapt, **{option: found})
    refuses(ValueError, "target_modules: expected linear layers, found MXWeightOnlyGptOssExperts: name its weights "
            "in target_parameters, such as experts.gate_up_proj", adapt, target_modules=["experts"])
    refuses(ValueError, "modules_to_save: expected modules with float weights, found last with quantized", adapt,
            target_modules=["first"], modules_to_save=["last"])
    refuses(ValueError, "model: expected a parameter", peft.get_peft_model,
            mxt.convert_(nn.Sequential(nn.Linear(32, 32, bias=False)).to(DEVICE), RECIPES[0]),
            peft.LoraConfig(target_modules=["0"]))
    # A refused merge changes nothing: these scales span too many powers of two.
    model = adapt("mixtral", "w4a8", target_modules=["first"])
    down = next(m for m in model.modules() if isinstance(m, mx_peft.ParamWrapper))
    with torch.no_grad():
        down.lora_A["default"].weight[:, :32] *= 2.0**30
    before = weight_bytes(model)
    refuses(ValueError, "scales that span at most 14", down.merge)
    assert not down.merged and all(torch.equal(x, before[name]) for name, x in weight_bytes(model).items())


def example():
    sys.path.insert(0, sys.argv[1])
    import lora_mxfp4

    torch.manual_seed(0)
    head = lora_mxfp4.Head(lora_mxfp4.make_config("small")).to(DEVICE)
    for part in head.parts:
        part.refit(torch.randn(part.out_features, part.in_features) / 8)
    weight = torch.cat([part.dequantized() for part in head.parts]).double()
    x = torch.randn(40, weight.shape[1]).bfloat16().to(DEVICE).requires_grad_()
    labels = torch.randint(len(weight), (40,)).to(DEVICE)
    found, = torch.autograd.grad(head.loss(x, labels), x)
    wanted, = torch.autograd.grad(nn.functional.cross_entropy(x.double() @ weight.T, labels), x)
    assert len(head.parts) == 2 and distance(found, wanted) < 0.01
    # Of 16 GB, activations take the rest.
    large = lora_mxfp4.memory(lora_mxfp4.build(lora_mxfp4.make_config("20b"), 16, torch.device("meta")))
    assert sum(large.values()) - large["embedding on the host"] < 13.7e9, large
    sys.argv[1:] = [f"--device={DEVICE}", "--tokens=48", "--steps=4"]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        lora_mxfp4.main()
    losses = [float(loss) for loss in re.findall("step .: loss ([0-9.]+), [0-9.]+ ms", said.getvalue())]
    assert len(losses) == 4 and losses == sorted(losses, reverse=True) and losses[0] - losses[3] > 0.3, losses


warnings.simplefilter("ignore")
ALL = training, parts, checkpoints, compiled, several, merging, released, errors, example
for part in ALL[:1] if PACKED else ALL:
    part()
    print(part.__name__, "right")
