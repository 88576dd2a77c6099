# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a checkpoint like gpt-oss with random weights: a file for each layer, an index, and
config.json."""

import json
import math

import torch
from mx_compiler.torch import gpt_oss
from safetensors.torch import save_file

from .tensors import layer_prefix, layer_tensors, model_tensors

# Root mean square of the sixteen E2M1 values.
E2M1_RMS = math.sqrt(2 * sum(x * x for x in (0, 0.5, 1, 1.5, 2, 3, 4, 6)) / 16)


def random_dense(name, shape, generator):
    """Returns random values for the tensor `name`: small biases, norms close to 1, and weights that
    preserve the magnitude of their input."""
    x = torch.randn(shape, generator=generator)
    if name.endswith("norm.weight"):
        x = 1 + 0.1 * x
    elif name.endswith(".bias"):
        x = 0.1 * x
    elif not name.endswith(("sinks", "embed_tokens.weight")):
        x = x / math.sqrt(shape[-1])
    return x.bfloat16()


def random_experts(sizes, generator):
    """Returns the tensors of a layer's experts. The bytes of the elements are uniformly distributed,
    and the scales are such that rows have a norm of about 1/2, 1 or 2."""
    tensors = {}
    for name, (shape, dtypes) in gpt_oss.expert_tensors(sizes).items():
        if name.endswith("_blocks"):
            tensors[name] = torch.randint(256, shape, generator=generator, dtype=torch.uint8)
        elif name.endswith("_scales"):
            columns = shape[-1] * gpt_oss.BLOCK
            middle = 127 - round(math.log2(E2M1_RMS * math.sqrt(columns)))
            tensors[name] = torch.randint(middle - 1, middle + 2, shape, generator=generator,
                                          dtype=torch.uint8)
        else:
            tensors[name] = 0.1 * torch.randn(shape, generator=generator)
            tensors[name] = tensors[name].to(dtypes[0])
    return tensors


def write_random(folder, config, seed):
    """Writes a complete checkpoint into a folder."""
    generator = torch.Generator().manual_seed(seed)
    sizes = gpt_oss.Sizes(config.num_local_experts, config.hidden_size, config.intermediate_size)
    files = config.num_hidden_layers + 1
    index = {}

    def save(number, tensors):
        name = f"model-{number:05}-of-{files:05}.safetensors"
        save_file(tensors, folder / name)
        index.update(dict.fromkeys(tensors, name))

    for layer in range(config.num_hidden_layers):
        prefix = layer_prefix(layer)
        dense = {prefix + key: random_dense(key, shape, generator)
                 for key, shape in layer_tensors(config).items()}
        experts = {gpt_oss.experts_prefix(layer) + key: value
                   for key, value in random_experts(sizes, generator).items()}
        save(layer + 1, dense | experts)
    save(files, {key: random_dense(key, shape, generator)
                 for key, shape in model_tensors(config).items()})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    (folder / "config.json").write_text(json.dumps(config.to_json()))
