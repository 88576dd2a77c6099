# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads safetensors files and the JSON files beside them."""

import json
import os
import pathlib
from typing import Iterable, KeysView, Sequence

import torch
from torch import Tensor

from ..._compile.files import check_file, is_beside, read_bytes

DTYPES = {"U8": torch.uint8, "I8": torch.int8, "BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32,
          "F8_E4M3": torch.float8_e4m3fn, "F8_E8M0": torch.float8_e8m0fnu}
NUMBERS = (torch.bfloat16, torch.float32)


def names(dtypes):
    return " or ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)


class Checkpoint:
    """Tensors of a safetensors file, or of all safetensors files in a folder, keyed by tensor name.

    `config` is the content of config.json in the folder, or {} if there is none. Only headers are
    read until a tensor is requested.

    Raises FileNotFoundError if a file is missing, and ValueError if a file is damaged. Both errors
    name the file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"path: expected a file or folder, found {type(path).__name__}")
        self.path = pathlib.Path(path)
        folder = self.path if self.path.is_dir() else self.path.parent
        config = folder / "config.json"
        self.config = read_json(config) if config.is_file() else {}
        self.files, self._opened = {}, {}
        for file in self._find_files():
            for key in self._open(file).keys():
                if (other := self.files.setdefault(key, file)) is not file:
                    raise ValueError(f"{file}: {key}: expected a key of one file, found it in {other} too")

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
                    else f"{file}: expected a file, found {'a folder' if file.is_dir() else 'none'}")
        return files

    def keys(self) -> KeysView[str]:
        """Returns the keys of all tensors."""
        return self.files.keys()

    def shape(self, key: str) -> tuple[int, ...]:
        """Returns the shape of a tensor without reading it."""
        return self.header(key)[0]

    def header(self, key: str) -> tuple[tuple[int, ...], str]:
        """Returns the shape of a tensor, and its dtype as safetensors names it, without reading it."""
        found = self._open(self.file(key)).get_slice(key)
        return tuple(found.get_shape()), found.get_dtype()

    def metadata(self, key: str) -> dict[str, str]:
        """Returns the metadata in the file of a tensor."""
        return self._open(self.file(key)).metadata() or {}

    def read(self, key: str, shape: Iterable[int], dtypes: Sequence[torch.dtype] = NUMBERS,
             device: str | torch.device = "cpu") -> Tensor:
        """Reads a tensor to a device.

        Raises ValueError if the key is missing, or if the tensor has another shape or dtype. The
        error names the file, the key, and the expected and found values.
        """
        (found, kind), file = self.header(key), self.file(key)
        if DTYPES.get(kind) not in dtypes:
            raise ValueError(f"{file}: {key}: expected the dtype {names(dtypes)}, found "
                             f"{names([DTYPES[kind]]) if kind in DTYPES else kind}")
        if found != tuple(shape):
            raise ValueError(f"{file}: {key}: expected the shape {list(shape)}, "
                             f"found {list(found)}")
        return self._open(file, device).get_tensor(key)

    def file(self, key: str) -> pathlib.Path:
        """Returns the file of a tensor. Raises ValueError."""
        if key not in self.files:
            raise ValueError(f"{self.path}: expected a tensor {key}, found no tensor with this key"
                             + self._what_there_is(key))
        return self.files[key]

    def _open(self, file, device="cpu"):
        """Opens a file once for each device."""
        at = file, str(device)
        if at not in self._opened:
            self._opened[at] = open_file(file, device)
        return self._opened[at]

    def _what_there_is(self, key):
        """Returns a hint for a missing key: the keys with the same prefix."""
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
        if str(device) != "cpu":        # the header was read before
            raise ValueError(f"device: expected a device with memory, found {device} ({error})") from error
        raise ValueError(f"{file}: expected a complete safetensors file, found one that cannot "
                         f"be read ({error}): copy it again") from error


def read_json(file):
    try:
        found = json.loads(read_bytes(file))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: expected JSON: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{file}: expected a JSON object, found {type(found).__name__}")
    return found
