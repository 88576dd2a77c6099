"""Tensors of the host that pose as those of a GPU, over a driver that only takes notes
(unittests/Runtime/FakeCuda.h): all that a call does on the host but the driver's part and
PyTorch's allocator of GPU memory. To be imported before mx_compiler.torch, with
MX_CUDA_DRIVER, MX_FAKE_CUDA_READS_PTX=1 and MX_PTXAS=none in the environment."""

import ctypes
import functools
import os

import torch

import mx_compiler as mx
from mx_compiler._arrays import interop

PLACE = "cuda:0"


class Posing(interop.Torch):
    """The library of tensors, which says that they are on the GPU. In PyTorch's tables
    they stay on the host: its current stream there is none."""

    def operand(self, x):
        found = super().operand(x)
        return found._replace(device=PLACE) if found.device == "cpu" else found

    @staticmethod
    def place(x):
        return PLACE

    def current_stream(self, number):
        return 0

    def maker(self, shape, element, zeros=False):
        make = self._maker(shape, element, torch.device("cpu"), zeros)
        # Workspaces begin where PyTorch's memory of a GPU does.
        return functools.partial(_align, *shape) if element.mlir == "ui8" else make


def _align(count):
    memory = torch.empty(count + 256, dtype=torch.uint8)
    start = -memory.data_ptr() % 256
    return memory[start:start + count]


interop._OPTIONAL["torch"] = "Tensor", Posing
mx.set_device("cuda")
driver = ctypes.CDLL(os.environ["MX_CUDA_DRIVER"])
driver.fakeCudaTakeLog.restype = ctypes.c_char_p


def log():
    """What the driver was asked for since this was called last."""
    return driver.fakeCudaTakeLog().decode().splitlines()
