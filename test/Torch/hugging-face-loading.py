# REQUIRES: torch, transformers
# RUN: rm -rf %t && mkdir %t
# RUN: %python_torch %s %t
"""Loads and saves models with from_pretrained, save_pretrained and mx_compiler.transformers, and compares their logits with
Transformers' own modules."""

import copy
import json
import pathlib
import pickle
import subprocess
import sys
import warnings

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import (AfmoeConfig, AutoModel, AutoModelForCausalLM, DeepseekV3Config, GptOssConfig, LlamaConfig,
                          MiniMaxM3VLTextConfig, MixtralConfig, Qwen3MoeConfig, logging)
from transformers.conversion_mapping import register_checkpoint_conversion_mapping
from transformers.core_model_loading import Chunk, WeightConverter

import mx_compiler.torch as mxt
from checkpoint_writer import CONFIGS, Writer
from mx_compiler.torch import checkpoints
from mx_compiler.transformers import MXConfig
from reference import DEVICE
from refuses import refuses

FOLDER = pathlib.Path(sys.argv[1])
BF16 = torch.bfloat16
SIZES = dict(vocab_size=128, hidden_size=128, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, head_dim=32, max_position_embeddings=64)
CHOICES = dict(num_experts_per_tok=2)
MODELS = {
    "llama": LlamaConfig(**SIZES), "mixtral": MixtralConfig(**SIZES, **CHOICES, num_local_experts=3),
    "qwen": Qwen3MoeConfig(**SIZES, **CHOICES, num_experts=3, moe_intermediate_size=128),
    "gpt-oss": GptOssConfig(**SIZES, **CHOICES, num_local_experts=3),
    "deepseek": DeepseekV3Config(**{**SIZES, "num_key_value_heads": 4}, **CHOICES, n_routed_experts=4, n_group=1,
                                 topk_group=1, moe_intermediate_size=128, first_k_dense_replace=1, q_lora_rank=128,
                                 kv_lora_rank=128, qk_rope_head_dim=32, qk_nope_head_dim=32, v_head_dim=32),
    "afmoe": AfmoeConfig(**SIZES, **CHOICES, num_experts=3, moe_intermediate_size=128, num_dense_layers=1),
    "minimax": MiniMaxM3VLTextConfig(**SIZES, **CHOICES, num_local_experts=3),
    "odd": LlamaConfig(**{**SIZES, "intermediate_size": 48})}
torch.set_default_device(DEVICE)
IDS = (torch.arange(32) * 7 % 128)[None]
logging.set_verbosity_error()
logging.disable_progress_bar()


def logits(model):
    with torch.no_grad():
        return model(IDS).logits.double()


def apart(a, b):
    return float((a - b).norm() / b.norm())


def make(name):
    """Returns the path and the model of random weights."""
    torch.manual_seed(1)
    config = copy.deepcopy(MODELS[name])
    model = AutoModelForCausalLM.from_config(config, dtype=BF16).eval()
    model.save_pretrained(FOLDER / name)
    return FOLDER / name, model


def recipes():
    """A model that is quantized while it is loaded gives the bits of a converted one, also when stored."""
    for name in "llama", "mixtral", "gpt-oss":
        path, plain = make(name)
        for recipe in mxt.RECIPES if name == "mixtral" else ("mxfp8", "mxfp4_weight_only", "nvfp4_weight_only"):
            # Invariant matmuls of w4a8 use FP8 for any number of rows.
            invariant = recipe == "w4a8"
            wanted = mxt.convert_(copy.deepcopy(plain), recipe, filter=lambda _, name: name != "lm_head", batch_invariant=invariant)
            model = AutoModelForCausalLM.from_pretrained(path, quantization_config=MXConfig(recipe, batch_invariant=invariant),
                                                         dtype=BF16)
            assert torch.equal(logits(model), logits(wanted)), (name, recipe)
            model.save_pretrained(FOLDER / "again")
            stored = json.loads((FOLDER / "again" / "config.json").read_text())["quantization_config"]
            assert stored == {"quant_method": "mx", "recipe": recipe, "modules_to_not_convert": None, "batch_invariant": invariant}
            again = AutoModelForCausalLM.from_pretrained(FOLDER / "again", dtype=BF16)
            assert torch.equal(logits(again), logits(model))
            base = AutoModel.from_pretrained(FOLDER / "again", dtype=BF16)
            assert torch.equal(base(IDS).last_hidden_state, model.base_model(IDS).last_hidden_state), (name, recipe)
            base.save_pretrained(FOLDER / "base")
            headed = AutoModelForCausalLM.from_pretrained(FOLDER / "base", dtype=BF16).base_model
            assert torch.equal(base(IDS).last_hidden_state, headed(IDS).last_hidden_state), (name, recipe)
            a, b = model.state_dict(), again.state_dict()
            assert a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a), (name, recipe)
    model = AutoModelForCausalLM.from_pretrained(path, quantization_config=MXConfig(
        "nvfp4_weight_only", modules_to_not_convert=["self_attn"]), dtype=BF16)
    kinds = {name.rpartition(".")[2]: type(module) for name, module in model.named_modules()}
    assert kinds["q_proj"] is torch.nn.Linear and kinds["experts"] is mxt.MXWeightOnlyGptOssExperts
    assert not any(name.startswith("MX") for name in (type(module).__name__ for module in model.dequantize().modules()))


# Layouts of each model's checkpoints. DeepSeek's FP8 multiplies activations in FP8.
FOREIGN = (("llama", "compressed-tensors nvfp4-pack-quantized", 0.02), ("llama", "torchao MXFP8", 0.02),
           ("mixtral", "compressed-tensors mxfp4-pack-quantized", 0.02), ("qwen", "modelopt NVFP4", 0.02),
           ("qwen", "modelopt MXFP8", 0.02), ("deepseek", "fp8 f32", 0.3), ("deepseek", "fp8 ue8m0", 0.3),
           ("gpt-oss", "mxfp4", 0.02))


def foreign():
    """Weights of other tools: logits equal a float model with the dequantized weights, and save_pretrained
    writes the same tensors and config."""
    for name, layout, bound in FOREIGN:
        path, _ = make(name)
        writer, kept = Writer(layout), {}
        floats = load_file(path / "model.safetensors")
        for key, value in list(floats.items()):
            base = key if layout == "mxfp4" else key.removesuffix(".weight")
            is_stacked = layout == "mxfp4" and value.dim() == 3 and "experts" in key
            if is_stacked or layout != "mxfp4" and value.dim() == 2 and base.endswith(("_proj", ".w1", ".w2", ".w3", "_mqa")):
                shape = tuple(value.mT.shape if is_stacked else value.shape)
                values = torch.from_numpy(writer.add(base, *shape).values[base])
                scale = value.double().std() / values.std()
                floats[key] = (values.mT if is_stacked else values).float()
                # Normal sizes of weights keep the model alive.
                factor = 2.0 ** torch.round(torch.log2(scale)).item()
                _scale(writer, base, layout, factor)
                floats[key] = (floats[key] * factor).contiguous()
            else:
                kept[key] = value
        writer.tensors |= kept
        config = json.loads((path / "config.json").read_text())
        folder = writer.write(FOLDER / "foreign", config)
        save_file(floats, FOLDER / name / "model.safetensors", metadata={"format": "pt"})
        oracle = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
        model = mxt.load(folder, dtype=BF16)
        error = apart(logits(model), logits(oracle))
        assert error < bound, (name, layout, error)
        model.save_pretrained(FOLDER / "foreign-again")
        found = load_file(FOLDER / "foreign-again" / "model.safetensors")
        assert found.keys() == writer.tensors.keys(), found.keys() ^ writer.tensors.keys()
        for key, value in writer.tensors.items():
            if key in kept:     # releases store some of these tensors in other dtypes
                value = value.to(found[key].dtype)
            assert found[key].dtype == value.dtype and torch.equal(
                *(x.cpu().reshape(-1).view(torch.uint8) for x in (found[key], value))), key
        again = pickle.loads(pickle.dumps(model)).dequantize()
        again.save_pretrained(FOLDER / "floats")
        assert torch.equal(logits(AutoModelForCausalLM.from_pretrained(FOLDER / "floats", dtype=BF16)), logits(again)), name
        stored = json.loads((FOLDER / "foreign-again" / "config.json").read_text())
        assert stored["quantization_config"] == CONFIGS[layout]
        assert torch.equal(logits(mxt.load(FOLDER / "foreign-again", dtype=BF16)), logits(model))


def _scale(writer, base, layout, factor):
    """Multiplies a matrix by a power of two."""
    of = checkpoints.LAYOUTS[layout]
    if of.factor and base + of.factor in writer.tensors:
        writer.tensors[base + of.factor] *= 1 / factor if of.is_divisor else factor
        return
    scales = writer.tensors[base + of.scales[0]]
    if scales.dtype == torch.float32:
        scales *= factor
    else:
        bits = scales.view(torch.uint8)
        bits[bits != 0] += int(np.log2(factor)) % 256  # not the padding


def experts():
    """experts_implementation="mx" computes the experts of any model."""
    for name in "mixtral", "qwen", "deepseek", "gpt-oss":
        path, plain = make(name)
        oracle = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
        wanted = logits(oracle)
        for implementation, recipe in (("mx", "mxfp8_weight_only"), ("mx_mxfp8_fast", "mxfp8_fast"),
                                       ("mx_mxfp8_weight_only", "mxfp8_weight_only")):
            model = AutoModelForCausalLM.from_pretrained(path, dtype=BF16, experts_implementation=implementation)
            converted = mxt.convert_(copy.deepcopy(plain), recipe, filter=lambda module, name: name.endswith("experts"))
            assert torch.equal(logits(model), logits(converted)), (name, implementation)
            assert apart(logits(model), wanted) < 0.3, (name, implementation, apart(logits(model), wanted))
            assert torch.equal(logits(copy.deepcopy(model)), logits(model))
            if implementation == "mx":      # mxfp8 with gradients of the weights
                mxt.convert_(trained := copy.deepcopy(plain), "mxfp8", filter=lambda module, name: name.endswith("experts"))
                for one in model, trained:
                    one.train()(IDS, labels=IDS).loss.backward()
                for (key, a), b in zip(model.named_parameters(), trained.parameters()):
                    # PyTorch sums gradients of biases in any order on a GPU.
                    is_any = DEVICE != "cpu" and "bias" in key
                    assert apart(a.grad, b.grad) < 0.01 if is_any else torch.equal(a.grad, b.grad), (name, key)
                model.eval()
            if implementation == "mx_mxfp8_weight_only":
                refuses(ValueError, "experts_implementation: expected a training recipe for weights that require gradients, "
                        "found mxfp8_weight_only: call eval()", lambda: model.train()(IDS))
                model.eval()
            parameters = [parameter for key, parameter in model.named_parameters() if "experts" in key and parameter.dim() == 3]
            with torch.no_grad():       # new weights are quantized again
                before = logits(model)
                for parameter in parameters:
                    parameter.mul_(2)
                doubled = logits(model)
                for parameter in parameters:
                    parameter.data = parameter / 2
            assert torch.equal(logits(model), before) and not torch.equal(doubled, before)
        # A new model, so that its experts are replaced while they are compiled
        for implementation in ("mx", "mx_nvfp4_weight_only") if name in ("qwen", "gpt-oss") else ():
            model = AutoModelForCausalLM.from_pretrained(path, dtype=BF16, experts_implementation=implementation)
            found = logits(torch.compile(copy.deepcopy(model), fullgraph=True, backend="aot_eager"))
            assert torch.equal(found, logits(model)), (name, implementation)


def classes():
    """A parent that initializes the weights of its router, experts with a gate of their own and without act_fn, a size
    that no recipe supports, and a tensor of two weights."""
    for name, router in ("afmoe", "model.layers.1.mlp.router.gate"), ("minimax", None):
        path, plain = make(name)
        model = AutoModelForCausalLM.from_pretrained(path, quantization_config=MXConfig("mxfp8_weight_only"), dtype=BF16)
        left = {key for key, module in model.named_modules() if type(module) is torch.nn.Linear}
        assert left == {"lm_head", router} - {None}, (name, left)
        assert any(type(module).__name__ == "MXWeightOnlyRoutedExperts" for module in model.modules())
        assert apart(logits(model), logits(plain)) < 0.15, name
        model.save_pretrained(FOLDER / "again")
        assert torch.equal(logits(AutoModelForCausalLM.from_pretrained(FOLDER / "again", dtype=BF16)), logits(model))
    path, _ = make("odd")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        AutoModelForCausalLM.from_pretrained(path, quantization_config=MXConfig(), dtype=BF16)
    assert any("left as they are: model.layers.0.mlp.down_proj, model.layers.1.mlp.down_proj (Linear: " in str(entry.message)
               for entry in found), [str(entry.message) for entry in found]
    path, plain = make("llama")
    tensors = load_file(path / "model.safetensors")
    for key in [key for key in tensors if key.endswith("k_proj.weight")]:
        tensors[key.replace("k_proj", "kv_proj")] = torch.cat([tensors.pop(key), tensors.pop(key.replace("k_proj", "v_proj"))])
    save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})
    register_checkpoint_conversion_mapping("llama", [WeightConverter("kv_proj", ["k_proj", "v_proj"], [Chunk(0)])])
    model = AutoModelForCausalLM.from_pretrained(path, quantization_config=MXConfig(), dtype=BF16)
    wanted = mxt.convert_(plain, "mxfp4_weight_only", filter=lambda _, name: name != "lm_head")
    assert torch.equal(logits(model), logits(wanted))
    name = "model.layers.0.self_attn.kv_proj"
    folder = Writer("mxfp8").add(name, 128, 128).write(FOLDER / "parts", MODELS["llama"].to_dict())
    refuses(ValueError, f"{name}: expected a weight of a linear layer or of supported experts, found one that Transformers "
            "converts to model.layers.0.self_attn.k_proj.weight", lambda: mxt.load(folder))


def errors():
    refuses(ValueError, "recipe: expected an mx_compiler.torch.Recipe or one of mxfp8", lambda: MXConfig("mxfp9"))
    refuses(TypeError, "recipe: expected a name in mx_compiler.torch.RECIPES, found Recipe", lambda: MXConfig(mxt.Recipe()))
    refuses(TypeError, "modules_to_not_convert: expected a list of names or None, found 'x'",
            lambda: MXConfig(modules_to_not_convert="x"))
    config = MixtralConfig(**{**SIZES, "intermediate_size": 96}, **CHOICES, num_local_experts=3)
    model = AutoModelForCausalLM.from_config(config, dtype=BF16)
    model.set_experts_implementation("mx_mxfp8_fast")
    refuses(ValueError, "experts_implementation: recipe mxfp8_fast: intermediate size: expected a multiple of 128, at least 128, "
            "found 96: choose another of mx_RECIPE", lambda: model(IDS))
    path, _ = make("llama")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model = AutoModelForCausalLM.from_pretrained(path, quantization_config=MXConfig(modules_to_not_convert=["o_porj"]))
    assert any("found no module o_porj" in str(one.message) for one in found)
    # Without the import, Transformers refuses the shapes instead of creating random weights.
    model.save_pretrained(FOLDER / "alone")
    code = f"import transformers; transformers.LlamaForCausalLM.from_pretrained({str(FOLDER / 'alone')!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode and "mismatch" in done.stderr, done
    model = mxt.load(FOLDER / "foreign", dtype=BF16)
    refuses(ValueError, "found none: call model.dequantize() instead of mx_compiler.torch.convert_",
            lambda: mxt.convert_(model, "bf16").save_pretrained(FOLDER / "no"))
    writer = Writer("mxfp8").add("lm_head", 128, 128)
    folder = writer.write(FOLDER / "tied", LlamaConfig(**SIZES, tie_word_embeddings=True).to_dict())
    refuses(ValueError, f"{folder / 'model.safetensors'}: lm_head: expected floats for a weight that the model shares",
            lambda: mxt.load(folder))
    path, plain = make("llama")
    refuses(ValueError, "found mxfp4: load the model with mx_compiler.transformers.MXConfig", lambda: mxt.convert_(
        plain, "mxfp4_weight_only").save_pretrained(FOLDER / "no"))
    model = AutoModelForCausalLM.from_pretrained(path, quantization_config=MXConfig(), dtype=BF16)
    model.save_pretrained(FOLDER / "damaged")
    file = FOLDER / "damaged" / "model.safetensors"
    tensors = load_file(file)
    key = "model.layers.0.mlp.up_proj.weight_scales"
    for change, wanted in (
            (lambda: tensors.pop(key), f"expected a tensor {key}, found no tensor with this key"),
            (lambda: tensors.update({key: torch.zeros(3, dtype=torch.uint8)}),
             f"{file}: {key}: expected the shape [128, 4], found [3]"),
            (lambda: tensors.update({key: torch.zeros(128, 4)}), f"{file}: {key}: expected the dtype uint8, found float32")):
        change()
        save_file(tensors, file, metadata={"format": "pt"})
        refuses(ValueError, wanted, lambda: AutoModelForCausalLM.from_pretrained(FOLDER / "damaged"))
    model.save_pretrained(FOLDER / "damaged")
    config = json.loads((FOLDER / "damaged" / "config.json").read_text())
    config["quantization_config"]["recipe"] = "mxfp8_weight_only"
    (FOLDER / "damaged" / "config.json").write_text(json.dumps(config))
    refuses(ValueError, "weight_elements: expected mxfp8, the format of the recipe in config.json, found mxfp4",
            lambda: AutoModelForCausalLM.from_pretrained(FOLDER / "damaged"))
    tensors["model.layers.0.mlp.up_proj.weight"] = torch.zeros(128, 128).to(torch.float8_e4m3fn)
    save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})
    for read in mxt.load, lambda path: AutoModelForCausalLM.from_pretrained(path, quantization_config=MXConfig()):
        refuses(ValueError, f"{path / 'model.safetensors'}: model.layers.0.mlp.up_proj.weight: expected floats, because "
                "config.json has no quantization_config, found F8_E4M3", lambda: read(path))
    config["quantization_config"] = {"quant_method": "compressed-tensors", "format": "marlin-24"}
    (FOLDER / "damaged" / "config.json").write_text(json.dumps(config))
    refuses(ValueError, "config.json: expected a quantization of compressed-tensors mxfp8-quantized",
            lambda: mxt.load(FOLDER / "damaged"))
    config["quantization_config"] = CONFIGS["mxfp8"]
    (FOLDER / "damaged" / "config.json").write_text(json.dumps(config))
    refuses(ValueError, "recipe: expected a weight-only recipe for quantized weights, found mxfp8",
            lambda: mxt.load(FOLDER / "damaged", recipe="mxfp8"))


for part in recipes, foreign, experts, errors, classes:
    part()
    print(part.__name__, "right", flush=True)
