# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads and checks checkpoints of gpt-oss: safetensors files in the layout of Transformers.
The weights of experts are in MXFP4, and all other tensors in bf16.

Each layer N stores, under `model.layers.N.mlp.experts.`, for E experts, hidden size H and
intermediate size I:

| tensor | shape | dtype | contents |
|---|---|---|---|
| `gate_up_proj_blocks` | [E, 2 I, H / 32, 16] | uint8 | elements, two in a byte, the first in the low four bits |
| `gate_up_proj_scales` | [E, 2 I, H / 32] | uint8 | scales of 32 elements along H: 2 to the power of (value - 127) |
| `gate_up_proj_bias` | [E, 2 I] | bf16 | |
| `down_proj_blocks` | [E, H, I / 32, 16] | uint8 | |
| `down_proj_scales` | [E, H, I / 32] | uint8 | |
| `down_proj_bias` | [E, H] | bf16 | |

Rows 0, 2, 4, ... of gate_up_proj are the gate, and rows 1, 3, 5, ... are up.

The bytes of elements are the same as in mx. The scales are plain, while the matmuls of mx read them
in tiles (`mx_compiler.torch.rearrange_scales`). `MXWeightOnlyGptOssExperts.from_checkpoint` reads
these tensors, and `checkpoint_tensors` returns them.
"""

import dataclasses
import os
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ._checkpoints import files
from ._checkpoints.files import NUMBERS
from ._checkpoints.weights import check_scales

if TYPE_CHECKING:
    from ._modules.experts import MXWeightOnlyGptOssExperts

FORMAT, BLOCK = "mxfp4", 32
PROJECTIONS = ("gate_up_proj", "down_proj")
BITS = (torch.uint8,)


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Sizes of an expert layer. `hidden` and `intermediate` are multiples of 32."""

    experts: int
    hidden: int
    intermediate: int

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{field.name}: expected a number of at least 1, found {value!r}")
        for name in ("hidden", "intermediate"):
            value = getattr(self, name)
            if value % BLOCK:
                raise ValueError(f"{name}: expected a multiple of {BLOCK}, the number of elements "
                                 f"that share a scale, found {value}")

    def matrix(self, projection):
        """Returns the numbers of rows and columns in the matrix of a projection for one expert."""
        return {"gate_up_proj": (2 * self.intermediate, self.hidden),
                "down_proj": (self.hidden, self.intermediate)}[projection]


def expert_tensors(sizes):
    """Returns the shape and the possible dtypes of each tensor in a layer of experts, keyed by name."""
    tensors = {}
    for projection in PROJECTIONS:
        rows, columns = sizes.matrix(projection)
        blocks = columns // BLOCK
        tensors[f"{projection}_blocks"] = (sizes.experts, rows, blocks, BLOCK // 2), BITS
        tensors[f"{projection}_scales"] = (sizes.experts, rows, blocks), BITS
        tensors[f"{projection}_bias"] = (sizes.experts, rows), NUMBERS
    return tensors


def experts_prefix(layer):
    return f"model.layers.{layer}.mlp.experts."


class Checkpoint(files.Checkpoint):
    """Tensors of a safetensors file, or of all safetensors files in a folder, keyed by tensor name.

    `config` is the content of config.json in the folder, or {} if there is none. Only headers are
    read until a tensor is requested.

    Raises FileNotFoundError if a file is missing, and ValueError if a file is damaged. Both errors
    name the file.
    """

    def sizes(self, layer: int) -> Sizes:
        """Returns the Sizes of a layer's experts. They are read from config.json, or from the shape of
        gate_up_proj_blocks if config.json does not contain them."""
        wanted = ("num_local_experts", "hidden_size", "intermediate_size")
        if all(name in self.config for name in wanted):
            return Sizes(*(self.config[name] for name in wanted))
        key = experts_prefix(layer) + "gate_up_proj_blocks"
        shape = self.shape(key)
        if len(shape) != 4 or shape[1] % 2:
            raise ValueError(f"{self.file(key)}: {key}: expected the shape [experts, "
                             f"2 * intermediate, hidden / {BLOCK}, {BLOCK // 2}], "
                             f"found {list(shape)}")
        return Sizes(shape[0], shape[2] * BLOCK, shape[1] // 2)

    def _what_there_is(self, key):
        if any(other.startswith("block.") for other in self.files):
            return (" (keys here begin with block., as in gpt-oss's own layout: "
                    "convert the checkpoint to Transformers' layout)")
        return super()._what_there_is(key)


def read_experts(checkpoint: Checkpoint | str | os.PathLike[str], layer: int,
                 device: str | torch.device = "cpu") -> dict[str, Tensor]:
    """Reads the tensors of a layer's experts. Returns a dictionary of the unchanged tensors, keyed by name.

    checkpoint: a Checkpoint, or its path.

    Raises ValueError if a tensor is missing, has another shape or dtype, or contains a NaN scale.
    The error names the file and the key.
    """
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(checkpoint)
    prefix = experts_prefix(layer)
    tensors = {name: checkpoint.read(prefix + name, shape, dtypes, device)
               for name, (shape, dtypes) in expert_tensors(checkpoint.sizes(layer)).items()}
    for name in (f"{projection}_scales" for projection in PROJECTIONS):
        check_scales(checkpoint, prefix + name, tensors[name])
    return tensors


def checkpoint_tensors(module: "MXWeightOnlyGptOssExperts") -> dict[str, Tensor]:
    """Returns the tensors of a layer's experts in the layout of a checkpoint, keyed by name. For a
    module of `from_checkpoint`, these are the tensors of the checkpoint, byte for byte.

    module: an mx_compiler.torch.MXWeightOnlyGptOssExperts with weights in MXFP4.
    """
    from ._checkpoints.models import tensors
    from ._modules.experts import MXWeightOnlyGptOssExperts

    if not isinstance(module, MXWeightOnlyGptOssExperts) or module.recipe.weights != FORMAT:
        raise TypeError("module: expected an mx_compiler.torch.MXWeightOnlyGptOssExperts with "
                        f"weights in {FORMAT}, found {module}")
    biases = {f"{name}_bias": getattr(module, f"{name}_bias").detach() for name in PROJECTIONS}
    return tensors(module, FORMAT) | biases
