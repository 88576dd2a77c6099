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
import json
import os
import pathlib

import torch

from .._compile.files import check_file, is_beside, read_bytes
from ._ops.token_groups import from_tiles

FORMAT, BLOCK = "mxfp4", 32
PROJECTIONS = ("gate_up_proj", "down_proj")
DTYPES = {"U8": torch.uint8, "BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32}
BITS = (torch.uint8,)
NUMBERS = (torch.bfloat16, torch.float32)
# Bits of an E8M0 NaN.
NAN_SCALE = 255


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


def names(dtypes):
    return " or ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)


class Checkpoint:
    """Tensors of a safetensors file, or of all safetensors files in a folder, keyed by tensor name.

    `config` is the content of config.json in the folder, or {} if there is none. Only headers are
    read until a tensor is requested.

    Raises FileNotFoundError if a file is missing, and ValueError if a file is damaged. Both errors
    name the file.
    """

    def __init__(self, path):
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"path: expected a file or folder, found {type(path).__name__}")
        self.path = pathlib.Path(path)
        folder = self.path if self.path.is_dir() else self.path.parent
        config = folder / "config.json"
        self.config = read_json(config) if config.is_file() else {}
        self.files = {}
        for file in self._find_files():
            with open_file(file) as opened:
                self.files.update(dict.fromkeys(opened.keys(), file))

    def _find_files(self):
        if not self.path.exists():
            raise FileNotFoundError(
                f"{self.path}: expected a safetensors file or a folder of them, found nothing")
        if not self.path.is_dir():
            return [self.path]
        index = self.path / "model.safetensors.index.json"
        if index.exists():
            weights = read_json(index).get("weight_map")
            if not isinstance(weights, dict):
                raise ValueError(f"{index}: expected an object weight_map of files by key, "
                                 f"found {type(weights).__name__}")
            for key, name in weights.items():
                if not isinstance(name, str) or not is_beside(name):
                    raise ValueError(f"{index}: expected the name of a file in the same folder for "
                                     f"{key} of weight_map, found {name!r}")
            files = [self.path / name for name in sorted(set(weights.values()))]
        else:
            files = sorted(self.path.glob("*.safetensors"))
        if not files:
            raise FileNotFoundError(f"{self.path}: expected files *.safetensors, found none")
        for file in files:
            if not file.is_file():
                raise FileNotFoundError(
                    f"{file}: {index.name} names this file, but it does not exist" if index.exists()
                    else f"{file}: expected a file, found a folder")
        return files

    def keys(self):
        """Returns the keys of all tensors."""
        return self.files.keys()

    def shape(self, key):
        """Returns the shape of a tensor without reading it."""
        with open_file(self._file(key)) as opened:
            return tuple(opened.get_slice(key).get_shape())

    def read(self, key, shape, dtypes=NUMBERS, device="cpu"):
        """Reads a tensor to a device.

        Raises ValueError if the key is missing, or if the tensor has another shape or dtype. The
        error names the file, the key, and the expected and found values.
        """
        file = self._file(key)
        with open_file(file, device) as opened:
            header = opened.get_slice(key)
            found, kind = tuple(header.get_shape()), header.get_dtype()
            if DTYPES.get(kind) not in dtypes:
                raise ValueError(f"{file}: {key}: expected the dtype {names(dtypes)}, found "
                                 f"{names([DTYPES[kind]]) if kind in DTYPES else kind}")
            if found != tuple(shape):
                raise ValueError(f"{file}: {key}: expected the shape {list(shape)}, "
                                 f"found {list(found)}")
            return opened.get_tensor(key)

    def sizes(self, layer):
        """Returns the Sizes of a layer's experts. They are read from config.json, or from the shape of
        gate_up_proj_blocks if config.json does not contain them."""
        wanted = ("num_local_experts", "hidden_size", "intermediate_size")
        if all(name in self.config for name in wanted):
            return Sizes(*(self.config[name] for name in wanted))
        key = experts_prefix(layer) + "gate_up_proj_blocks"
        shape = self.shape(key)
        if len(shape) != 4 or shape[1] % 2:
            raise ValueError(f"{self._file(key)}: {key}: expected the shape [experts, "
                             f"2 * intermediate, hidden / {BLOCK}, {BLOCK // 2}], "
                             f"found {list(shape)}")
        return Sizes(shape[0], shape[2] * BLOCK, shape[1] // 2)

    def _file(self, key):
        if key not in self.files:
            raise ValueError(f"{self.path}: expected a tensor {key}, found no tensor with this key"
                             + self._what_there_is(key))
        return self.files[key]

    def _what_there_is(self, key):
        """Returns a hint for a missing key: the keys with the same prefix, or a note that the checkpoint
        has another layout."""
        if any(other.startswith("block.") for other in self.files):
            return (" (keys here begin with block., as in gpt-oss's own layout: "
                    "convert the checkpoint to Transformers' layout)")
        beside = sorted(other for other in self.files if other.startswith(key.rpartition(".")[0] + "."))
        return f" (similar keys are {', '.join(beside)})" if beside else ""


def import_safetensors():
    """Imports safetensors, which only this module needs."""
    try:
        import safetensors
    except ModuleNotFoundError as error:
        if error.name != "safetensors":
            raise
        raise ImportError("expected the package safetensors to read a checkpoint, found no such "
                          "package: pip install safetensors") from error
    return safetensors


def open_file(file, device="cpu"):
    safetensors = import_safetensors()
    check_file(file)
    try:
        return safetensors.safe_open(str(file), framework="pt", device=str(device))
    except safetensors.SafetensorError as error:
        raise ValueError(f"{file}: expected a complete safetensors file, found one that cannot "
                         f"be read ({error}): copy it again") from error


def read_json(file):
    try:
        found = json.loads(read_bytes(file))
    except ValueError as error:
        raise ValueError(f"{file}: expected JSON: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{file}: expected a JSON object, found {type(found).__name__}")
    return found


def read_experts(checkpoint, layer, device="cpu"):
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
    for projection in PROJECTIONS:
        name = f"{projection}_scales"
        bad = int((tensors[name] == NAN_SCALE).sum())
        if bad:
            raise ValueError(f"{checkpoint.files[prefix + name]}: {prefix}{name}: expected scales "
                             f"of at most {NAN_SCALE - 1}, found {NAN_SCALE}, which is a NaN, "
                             f"in {bad} places")
    return tensors


def checkpoint_tensors(module):
    """Returns the tensors of a layer's experts in the layout of a checkpoint, keyed by name. For a
    module of `from_checkpoint`, these are the tensors of the checkpoint, byte for byte.

    module: an mx_compiler.torch.MXWeightOnlyGptOssExperts with weights in MXFP4.
    """
    from ._modules.experts import MXWeightOnlyGptOssExperts

    if not isinstance(module, MXWeightOnlyGptOssExperts) or module.recipe.weights != FORMAT:
        raise TypeError("module: expected an mx_compiler.torch.MXWeightOnlyGptOssExperts with "
                        f"weights in {FORMAT}, found {module}")
    state, tensors = module.state_dict(), {}
    for name in PROJECTIONS:
        blocks = state[f"{name}_elements"].unflatten(2, (-1, BLOCK // 2))
        tensors[f"{name}_blocks"] = blocks
        tensors[f"{name}_scales"] = from_tiles(state[f"{name}_scales"], *blocks.shape[1:3]).contiguous()
        tensors[f"{name}_bias"] = state[f"{name}_bias"]
    return tensors
