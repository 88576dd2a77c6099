# REQUIRES: torch, transformers
# RUN: rm -rf %t && mkdir %t
# RUN: %python_torch %s %t
# RUN: env MX_DEVICE=sim MX_CHIP=sm_90a MX_PTXAS=none %python_torch %s %t loads
"""Loads checkpoints in the layouts of other tools, which this test writes byte by byte. Modules multiply by the weights that
tables of the formats give, tensors are written back unchanged, and errors name the file and the key."""

import json
import pathlib
import sys

import numpy as np
import torch
from transformers import GptOssConfig, MixtralConfig
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssExperts
from transformers.models.mixtral.modeling_mixtral import MixtralExperts

import mx_compiler.torch as mxt
from checkpoint_writer import CONFIGS, Writer
from mx_compiler.torch import checkpoints
from reference import DEVICE, exact, tensor
from refuses import refuses

FOLDER = pathlib.Path(sys.argv[1])
def same(found, wanted):
    assert found.keys() == wanted.keys(), found.keys() ^ wanted.keys()
    for key, value in wanted.items():
        assert found[key].dtype == value.dtype and found[key].shape == value.shape, key
        assert torch.equal(*(x.cpu().reshape(-1).view(torch.uint8) for x in (found[key], value))), key


def near(found, wanted, bound):
    error = np.linalg.norm(exact(found) - wanted) / np.linalg.norm(wanted)
    assert error < bound, error


def loads():
    """Linear layers and experts in each layout."""
    sizes = dict(hidden_size=128, intermediate_size=128, num_local_experts=3)
    for name in CONFIGS:
        writer = Writer(name)
        is_stacked, bound = name == "mxfp4", 0.05 if name.startswith("fp8 ") and name != "fp8 fp4" else 0.006
        model = torch.nn.ModuleDict({"plain": torch.nn.Linear(4, 4, device="meta")})
        if is_stacked:
            config = GptOssConfig(**sizes)
            config._experts_implementation = "eager"
            model["experts"] = GptOssExperts(config)
            for parameter in model["experts"].parameters():
                torch.nn.init.zeros_(parameter)
            writer.add("experts.gate_up_proj", 3, 256, 128).add("experts.down_proj", 3, 128, 128)
        else:
            config = MixtralConfig(**sizes)
            config._experts_implementation = "eager"
            with torch.device("meta"):
                model["layer"] = torch.nn.Linear(256, 200, bias=False)
                if not name.startswith("torchao "):
                    model["experts"] = MixtralExperts(config)
            writer.add("layer", 200, 256)
            for expert in range(3) if "experts" in model else ():
                for matrix in "gate_proj", "up_proj", "down_proj":
                    writer.add(f"experts.{expert}.{matrix}", 128, 128)
        writer.tensors["plain.weight"] = torch.ones(4, 4)
        folder = writer.write(FOLDER / name.replace(" ", "-"))
        assert checkpoints.describe(folder) == dict.fromkeys(writer.values, name)
        assert checkpoints.load_(model, folder, device=DEVICE) == {"plain.weight"}
        wanted = {key: value for key, value in writer.tensors.items() if key != "plain.weight"}
        same(checkpoints.tensors(model), wanted)
        if not name.startswith("torchao "):
            same({**checkpoints.tensors(model, name)}, wanted)
        if "layer" in model:
            near(model["layer"].dequantized(dtype=torch.float32), writer.values["layer"], 1e-6)
            x = tensor((9, 256), 1)
            near(model["layer"](x), exact(x) @ writer.values["layer"].T, bound)
        if "experts" in model:
            experts = model["experts"].to(DEVICE)
            for weight in "gate_up_proj", "down_proj":
                parts = ["gate_proj", "up_proj"] if weight == "gate_up_proj" else ["down_proj"]
                values = writer.values[f"experts.{weight}"] if is_stacked else np.stack([np.concatenate([
                    writer.values[f"experts.{expert}.{part}"] for part in parts]) for expert in range(3)])
                near(experts.dequantized(weight, torch.float32), values, 1e-6)
            plain = mxt.convert_(experts, "bf16")
            assert type(plain).__name__ == ("GptOssExperts" if is_stacked else "MixtralExperts")


def mixed():
    """A checkpoint with two formats, one linear layer in each, and other names."""
    first, second = (Writer(f"compressed-tensors {format}", seed) for seed, format in enumerate(
        ("mxfp8-quantized", "nvfp4-pack-quantized")))
    first.add("net.a", 64, 128)
    second.add("net.b", 96, 64)
    second.tensors |= first.tensors
    folder = second.write(FOLDER / "mixed")
    (folder / "config.json").write_text(json.dumps({"quantization_config": {
        "quant_method": "compressed-tensors", "format": "mixed-precision", "config_groups": {
            "group_0": {"format": "mxfp8-quantized", "targets": ["re:.*a"]},
            "group_1": {"format": "nvfp4-pack-quantized", "targets": ["Linear"]}}}}))
    model = torch.nn.ModuleDict({"a": torch.nn.Linear(128, 64), "b": torch.nn.Linear(64, 96)}).to(DEVICE)
    assert not checkpoints.load_(model, folder, rename=lambda name: name.removeprefix("net."))
    same(checkpoints.tensors(model), second.tensors)
    near(model["a"].dequantized(dtype=torch.float32), first.values["net.a"], 1e-6)
    near(model["b"].dequantized(dtype=torch.float32), second.values["net.b"], 1e-6)
    # A new weight gets a new global scale.
    model["b"].refit(torch.ones(96, 64, device=DEVICE))
    found = checkpoints.tensors(model)
    divisor = found["net.b.weight_global_scale"]
    assert not torch.equal(divisor, second.tensors["net.b.weight_global_scale"]) and divisor.shape == (1,)
    assert torch.equal(1 / divisor, model["b"].weight_global_scale.view(torch.float32).cpu())
    assert torch.equal(found["net.b.input_global_scale"], torch.tensor([1.25]))


def between():
    """Weights that were quantized here, in the layouts of two tools: a divisor and a multiplier."""
    layer = mxt.MXWeightOnlyLinear.from_linear(torch.nn.Linear(64, 32).to(DEVICE), "nvfp4_weight_only")
    model = torch.nn.Sequential(layer)
    a = checkpoints.tensors(model, "compressed-tensors nvfp4-pack-quantized")
    b = checkpoints.tensors(model, "modelopt NVFP4")
    assert a.keys() == {f"0.weight_{part}" for part in ("packed", "scale", "global_scale")}
    assert torch.equal(a["0.weight_packed"], b["0.weight"]) and torch.equal(a["0.weight_scale"].view(torch.uint8),
                                                                           b["0.weight_scale"].view(torch.uint8))
    assert torch.equal(1 / a["0.weight_global_scale"], b["0.weight_scale_2"].reshape(1))
    refuses(ValueError, "layout: expected a name of LAYOUTS for 0, which was not loaded", lambda: checkpoints.tensors(model))
    refuses(ValueError, "layout: expected one with weights of nvfp4 for 0, found mxfp8",
            lambda: checkpoints.tensors(model, "mxfp8"))
    refuses(ValueError, "layout: expected one of compressed-tensors", lambda: checkpoints.tensors(model, "gguf"))


def errors():
    name = "compressed-tensors nvfp4-pack-quantized"

    def check(wanted, change=lambda tensors: None, config=None, kind=ValueError, name=name, file=lambda path: None):
        writer = Writer(name).add("layer", 64, 128)
        change(writer.tensors)
        folder = writer.write(FOLDER / "errors")
        if config is not None:
            (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
        file(folder / "model.safetensors")
        model = torch.nn.ModuleDict({"layer": torch.nn.Linear(128, 64)})
        before = {key: value.clone() for key, value in model.state_dict().items()}
        refuses(kind, wanted, lambda: checkpoints.load_(model, folder))
        assert type(model["layer"]) is torch.nn.Linear
        assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())

    where = f"{FOLDER / 'errors' / 'model.safetensors'}: layer"

    def put(key, value):
        return lambda tensors: tensors.update({f"layer.{key}": value})
    check(f"{where}: expected weight_packed in U8, weight_scale in F8_E4M3 ({name}), as the config declares, found "
          "layer.weight_packed in U8, layer.weight_scale in U8", put("weight_scale", torch.zeros(64, 8, dtype=torch.uint8)))
    check(f"{where}.weight_packed: expected the shape [64, 64], found [64, 32]",
          put("weight_packed", torch.zeros(64, 32, dtype=torch.uint8)))
    check(f"{where}.weight_scale: expected the shape [64, 8], found [64, 4]",
          put("weight_scale", torch.zeros(64, 4).to(torch.float8_e4m3fn)))
    check(f"{where}.weight_scale: expected scales from 0 to 448, found nan in 512 places",
          put("weight_scale", torch.full((64, 8), torch.nan).to(torch.float8_e4m3fn)))
    check("layer.weight_global_scale: expected a finite number above 0, found 0.0", put("weight_global_scale", torch.zeros(1)))
    check("layer.weight_global_scale: expected the shape [1], found [2]", put("weight_global_scale", torch.ones(2)))
    check("layer.weight_global_scale: expected the dtype float32, found bfloat16",
          put("weight_global_scale", torch.ones(1).bfloat16()))
    check("expected a tensor layer.weight_global_scale, found no tensor with this key",
          lambda tensors: tensors.pop("layer.weight_global_scale"))
    check("found layer.weight_packed in U8, layer.weight_scale in no file", lambda tensors: tensors.pop("layer.weight_scale"))
    check("found layer.weight in F8_E4M3, layer.weight_scale in no file", lambda tensors: tensors.pop("layer.weight_scale"),
          name="modelopt MXFP8")
    check("expected quantized weights of modules of the model, found weights of other modules, such as other", lambda tensors: [
        tensors.update({key.replace("layer", "other"): tensors.pop(key)}) for key in list(tensors)])
    check(f"{where}.weight_scale: expected scales of at most 254, found 255, which is a NaN, in 256 places", lambda tensors:
          tensors["layer.weight_scale"].fill_(255), name="compressed-tensors mxfp4-pack-quantized")
    config = FOLDER / "errors" / "config.json"
    check(f"{config}: expected a quantization of compressed-tensors mxfp8-quantized, ", config={
        "quantization_config": {"quant_method": "gptq"}})
    check("found compressed-tensors pack-quantized", config={"quantization_config": {
        "quant_method": "compressed-tensors", "format": "pack-quantized"}})
    check(f"{config}: expected weight_block_size [128, 128], found [64, 64]", config={"quantization_config": {
        "quant_method": "fp8", "weight_block_size": [64, 64]}})
    for text in ({}, {"quantization_config": 3}):
        check(f"{config}: expected an object quantization_config, found ", config=text)
    for value in [], {"x": []}, 7, None:
        check(f"{config}: expected a quantization of", config={"quantization_config": {"quant_method": value}})
    check(f"{config}: expected JSON: ", config="[" * 100000)
    check("expected a complete safetensors file", file=lambda path: path.write_bytes(path.read_bytes()[:-100]))
    check("expected a complete safetensors file", file=lambda path: path.write_bytes(b"\xff" * 9))
    check("found it in", file=lambda path: path.with_name("more.safetensors").write_bytes(path.read_bytes()))
    (FOLDER / "errors" / "more.safetensors").unlink()

    class Doubled(torch.nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)
    folder, plain = Writer(name).add("layer", 64, 128).write(FOLDER / "modules"), torch.nn.Linear(128, 64)
    for module, wanted, options in (
            ({"layer": Doubled(128, 64)}, "layer: expected the class nn.Linear itself, found Doubled", {}),
            ({"layer": plain.to("meta")}, "device: expected a device with memory, found meta", {}),
            (None, "model: expected a module that contains Linear, found this module itself", {"rename": lambda _: ""}),
            ({}, "rename: expected a function that returns a name, found None for layer", {"rename": lambda _: None})):
        refuses(TypeError if "rename:" in wanted else ValueError, wanted, lambda: checkpoints.load_(
            plain if module is None else torch.nn.ModuleDict(module), folder, **options))

    # Experts: one is missing, or in another layout.
    config = MixtralConfig(hidden_size=64, intermediate_size=64, num_local_experts=2)
    for lost, wanted in ("experts.1.up_proj", "expected gate_up_proj of experts 0 to 1, found none of expert 1"), (
            "experts.0.down_proj", "expected down_proj of experts 0 to 1, found none of expert 0"):
        writer = Writer("modelopt MXFP8")
        for expert in range(2):
            for matrix in "gate_proj", "up_proj", "down_proj":
                writer.add(f"experts.{expert}.{matrix}", 64, 64)
        writer.tensors = {key: value for key, value in writer.tensors.items() if not key.startswith(lost)}
        folder = writer.write(FOLDER / "experts")
        with torch.device("meta"):
            model = torch.nn.ModuleDict({"experts": MixtralExperts(config)})
        refuses(ValueError, wanted, lambda: checkpoints.load_(model, folder, device="cpu"))


for part in [loads] if sys.argv[2:] == ["loads"] else (loads, mixed, between, errors):
    part()
    print(part.__name__, "right")
