# REQUIRES: torch, torchao, transformers, compressed-tensors
# RUN: rm -rf %t && mkdir %t
# RUN: %python_torch %s %t
"""Exchanges checkpoints with compressed-tensors, torchao and Transformers in both directions: all dequantize to the same
weights."""

import json
import pathlib
import sys

import torch
from compressed_tensors.compressors.base import BaseCompressor
from compressed_tensors.entrypoints.convert.converters import ModelOptNvfp4Converter
from compressed_tensors.quantization.quant_scheme import QuantizationScheme, preset_name_to_scheme
from safetensors.torch import load_file, save_file
from torchao.prototype.mx_formats.mx_tensor import MXTensor
from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor
from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict, unflatten_tensor_state_dict
from transformers import AutoModelForCausalLM, FineGrainedFP8Config, GptOssConfig, LlamaConfig, Mxfp4Config, logging

import mx_compiler.torch as mxt
from checkpoint_writer import CONFIGS, Writer
from mx_compiler.torch import checkpoints
from mx_compiler.transformers import load

FOLDER = pathlib.Path(sys.argv[1])
SHAPE = 96, 128
logging.set_verbosity_error()
logging.disable_progress_bar()


def store(tensors, config, metadata=None):
    save_file(tensors, FOLDER / "model.safetensors", metadata=metadata)
    (FOLDER / "config.json").write_text(json.dumps({"quantization_config": config}))
    model = torch.nn.ModuleDict({"layer": torch.nn.Linear(SHAPE[1], SHAPE[0], bias=False)})
    checkpoints.load_(model, FOLDER)
    return model


def compressed_tensors():
    """Compressed by the package, and decompressed by it after mx wrote the tensors. It rounds values of NVFP4 to bf16 twice."""
    torch.manual_seed(0)
    for preset, layout in (("NVFP4", "nvfp4-pack-quantized"), ("MXFP4", "mxfp4-pack-quantized"), ("MXFP8", "mxfp8-quantized")):
        scheme = preset_name_to_scheme(preset, ["Linear"])
        compressor = BaseCompressor.load_from_registry(layout)
        weight, block = torch.randn(SHAPE), scheme.weights.group_size
        blocks = weight.view(SHAPE[0], -1, block).abs().amax(-1)
        state = {"weight": weight}
        if preset == "NVFP4":
            state["weight_global_scale"] = (2688 / weight.abs().max()).reshape(1)
            state["weight_scale"] = (blocks / 6 * state["weight_global_scale"]).to(torch.float8_e4m3fn).float()
            state["input_global_scale"] = torch.tensor([3.0])
        else:
            state["weight_scale"] = 2.0 ** torch.ceil(torch.log2(blocks / (6 if preset == "MXFP4" else 448)))
        tensors = compressor.compress(state, scheme)
        wanted = compressor.decompress(tensors, scheme)["weight"].float()
        tensors = {f"layer.{name}": value.detach().clone() for name, value in tensors.items()}
        model = store(tensors, {"quant_method": "compressed-tensors", "format": layout, "config_groups": {}})
        found = model["layer"].dequantized(dtype=torch.float32)
        assert torch.allclose(found, wanted, rtol=0.01 if preset == "NVFP4" else 0, atol=0), preset
        written = checkpoints.tensors(model)
        assert written.keys() == tensors.keys()
        for key, value in tensors.items():
            assert torch.equal(written[key].view(torch.uint8), value.view(torch.uint8)), key
        # A weight that mx quantized.
        own = mxt.MXWeightOnlyLinear.from_linear(torch.nn.Linear(*SHAPE[::-1]), f"{preset.lower()}_weight_only")
        written = checkpoints.tensors(torch.nn.ModuleDict({"layer": own}), f"compressed-tensors {layout}")
        state = {key.removeprefix("layer."): value for key, value in written.items()}
        theirs = compressor.decompress(state, scheme)["weight"].float()
        assert torch.allclose(own.dequantized(dtype=torch.float32), theirs, rtol=0.01 if preset == "NVFP4" else 0, atol=0)


def modelopt():
    """The converter of compressed-tensors agrees about multipliers and divisors."""
    own = torch.nn.ModuleDict({"layer": mxt.MXWeightOnlyLinear.from_linear(torch.nn.Linear(*SHAPE[::-1]), "nvfp4_weight_only")})
    theirs = ModelOptNvfp4Converter(targets=["re:.*"]).process(checkpoints.tensors(own, "modelopt NVFP4"))
    wanted = checkpoints.tensors(own, "compressed-tensors nvfp4-pack-quantized")
    assert theirs.keys() == wanted.keys()
    assert torch.equal(theirs["layer.weight_global_scale"].reshape(1), wanted["layer.weight_global_scale"])


def torchao():
    torch.manual_seed(0)
    weight = torch.randn(SHAPE, dtype=torch.bfloat16)
    for given in (*(MXTensor.to_mx(weight, element, 32, is_swizzled_scales=tiled)
                    for element in (torch.float8_e4m3fn, torch.float4_e2m1fn_x2) for tiled in (False, True)),
                  *(NVFP4Tensor.to_nvfp4(weight, per_tensor_scale=scale, is_swizzled_scales=True)
                    for scale in (None, torch.tensor(0.01)))):
        tensors, metadata = flatten_tensor_state_dict({"layer.weight": given})
        model = store(tensors, {"quant_method": "torchao"}, metadata)
        assert torch.equal(model["layer"].dequantized(dtype=torch.bfloat16), given.dequantize(torch.bfloat16))
        written = checkpoints.tensors(model)
        assert written.keys() == tensors.keys()
        for key, value in tensors.items():
            assert torch.equal(*(x.reshape(-1).view(torch.uint8) for x in (written[key], value))), key
        again = unflatten_tensor_state_dict(written, metadata)[0]["layer.weight"]
        assert torch.equal(again.dequantize(torch.bfloat16), given.dequantize(torch.bfloat16))


def transformers():
    """Transformers dequantizes the FP8 blocks of DeepSeek and the MXFP4 of gpt-oss."""
    sizes = dict(vocab_size=64, hidden_size=128, intermediate_size=128, num_hidden_layers=1, num_attention_heads=4,
                 num_key_value_heads=4, head_dim=32, max_position_embeddings=32)
    for config, layout, dequantize in (
            (LlamaConfig(**sizes), "fp8 f32", FineGrainedFP8Config(dequantize=True)),
            (GptOssConfig(**sizes, num_local_experts=2, num_experts_per_tok=1), "mxfp4", Mxfp4Config(dequantize=True))):
        folder, writer = FOLDER / layout.replace(" ", "-"), Writer(layout)
        AutoModelForCausalLM.from_config(config).save_pretrained(folder)
        tensors = load_file(folder / "model.safetensors")
        for key in list(tensors):
            if layout == "fp8 f32" and key.endswith("_proj.weight"):
                writer.add(key.removesuffix(".weight"), *tensors.pop(key).shape)
            elif layout == "mxfp4" and key.endswith("_proj") and "experts" in key:
                writer.add(key, *tensors.pop(key).mT.shape)
        writer.tensors |= tensors
        writer.write(folder, json.loads((folder / "config.json").read_text()))
        theirs = AutoModelForCausalLM.from_pretrained(folder, quantization_config=dequantize, dtype=torch.bfloat16)
        ours = load(folder, dtype=torch.bfloat16)
        ours = ours.dequantize()
        a, b = theirs.state_dict(), ours.state_dict()
        assert a.keys() == b.keys()
        for key, value in a.items():
            assert torch.equal(value.bfloat16(), b[key].bfloat16()), key


assert CONFIGS.keys() == checkpoints.LAYOUTS.keys()
for part in compressed_tensors, modelopt, torchao, transformers:
    part()
    print(part.__name__, "right", flush=True)
