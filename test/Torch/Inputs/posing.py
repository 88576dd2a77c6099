"""Host tensors that pose as GPU tensors, with a driver that only records calls (unittests/Runtime/FakeCuda.h). Covers
all host work of a call except for the driver and PyTorch's GPU memory allocator. Import before mx_compiler.torch, with
MX_CUDA_DRIVER, MX_FAKE_CUDA_READS_PTX=1 and MX_PTXAS=none in the environment."""

import ctypes
import functools
import os

import torch

import mx_compiler as mx
from mx_compiler._arrays import interop

PLACE = "cuda:0"


class Posing(interop.Torch):
    """Tensor library that reports host tensors as GPU tensors. For PyTorch the tensors stay on the host, so there is no
    current stream."""

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
        # Align workspaces like PyTorch's GPU memory.
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
    """Returns the driver calls since the last call of this function."""
    return driver.fakeCudaTakeLog().decode().splitlines()
