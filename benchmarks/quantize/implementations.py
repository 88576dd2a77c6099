# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measured implementations of a case: mx, the ceiling kernels, copies and torch.compile. Each
is a function of a set of buffers that enqueues one run."""

import ctypes

import cases
import formula
import mx_compiler as mx
import numpy as np
import torch


class BufferSet:
    """Device memory of one run: arguments and results of the entry."""

    def __init__(self, case, entry, arrays, offsets):
        self.arrays = arrays
        self.offsets = offsets  # on the host
        given = [*arrays, *([np.array(cases.ENCODE)] if case.nvfp4 else []),
                 *([torch.from_numpy(offsets).cuda()] if case.groups else [])]
        self.arguments = [x if isinstance(x, np.ndarray) else wrap(x, x.shape, value)
                          for x, value in zip(given, entry.arguments)]
        shapes = entry.result_shapes(*self.arguments)
        self.results = [torch.empty(byte_shape(shape, value.dtype.itemsize), dtype=torch.uint8,
                                    device="cuda") for shape, value in zip(shapes, entry.results)]
        self.outputs = list(map(wrap, self.results, shapes, entry.results))
        self.workspace = entry.make_workspace(*self.arguments)


def wrap(tensor, shape, value):
    return mx.DeviceArray.from_pointer(tensor.data_ptr(), tuple(shape), value.dtype, tensor)


def byte_shape(shape, size):
    """Returns the shape of a result in bytes; a scalar is a row of bytes."""
    return (*shape[:-1], shape[-1] * size) if shape else (1, size)


def stream():
    return torch.cuda.current_stream().cuda_stream


def quantizer(entry):

    def launch(buffers):
        entry.launch(buffers.arguments, buffers.outputs, buffers.workspace, stream())

    return launch


class Streams(ctypes.Structure):
    _fields_ = [("input", ctypes.c_void_p * 2), ("elements", ctypes.c_void_p * 2),
                ("scales", ctypes.c_void_p * 2)]


def ceiling_name(case):
    if case.nvfp4:
        return "nvfp4"
    if cases.BITS[case.element] == 4:
        return "one4"
    if case.swiglu:
        return "glu8"
    return "one8" if len(case.axes) == 1 else "both8"


def ceilings(case, module):
    """Yields name and launcher of each ceiling kernel."""
    count = case.rows * case.columns * cases.BYTES[case.dtype]
    for read, threads in [(16384, 256), (32768, 512), (32768, 1024)]:
        name = f"{ceiling_name(case)}_{read}_{threads}"

        def launch(buffers, name=name, read=read, threads=threads):
            pair = lambda values: (ctypes.c_void_p * 2)(
                *[v.data_ptr() for v in values])
            outs = buffers.results[:2 * len(case.axes)]
            streams = Streams(pair(buffers.arrays), pair(outs[0::2]),
                              pair(outs[1::2]))
            module.launch(name, count // read, threads, [streams], stream())

        yield f"ceiling {read}/{threads}", launch


def copies(case, module, copied, sets):
    """Yields the driver's copy and copy kernels that move `copied` bytes, half of them reads.
    Source and destination are in the buffer set."""
    half = copied // 2 // 16 * 16
    pairs = {}
    for buffers in sets:
        pairs[id(buffers)] = [torch.empty(half, dtype=torch.uint8, device="cuda")
                              for _ in range(2)]
        pairs[id(buffers)][0].random_()

    def driver(buffers):
        source, target = pairs[id(buffers)]
        target.copy_(source)

    yield "copy by the driver", driver
    for unroll, threads in [(1, 1024), (2, 1024), (4, 512), (4, 1024)]:

        def launch(buffers, unroll=unroll, threads=threads):
            source, target = pairs[id(buffers)]
            pieces = half // 16
            grid = -(-pieces // (unroll * threads))
            module.launch(f"copy_{unroll}_{threads}", grid, threads, [
                ctypes.c_void_p(source.data_ptr()),
                ctypes.c_void_p(target.data_ptr()), ctypes.c_long(pieces)
            ], stream())

        yield f"copy {unroll}/{threads}", launch


def compiled(case):
    """Returns torch.compile of the formula in its natural form: linear scales, and PyTorch's
    own conversion to E4M3. None if PyTorch lacks the type."""
    if case.element != "f8E4M3FN" or case.nvfp4 or case.groups or case.amax:
        return None

    def one(x):
        blocks = x.view(x.shape[0], -1, 32)
        bits = blocks.view(torch.int16).to(torch.int32) & 0x7FFF
        largest = bits.amax(-1) << 16
        scales = formula.scale_bytes(torch, largest, case.element)
        factor = formula.power(torch, scales)
        y = (blocks.float() * factor[..., None]).clamp(-448.0, 448.0)
        return (y.to(torch.float8_e4m3fn).view(x.shape), scales.to(torch.uint8))

    def program(*arrays):
        arrays = [a.view(torch.bfloat16) for a in arrays]
        if case.swiglu:
            gate, up = [a.float() for a in arrays]
            x = (gate / (1 + torch.exp(-gate)) * up).to(torch.bfloat16)
        else:
            x = arrays[0]
        out = []
        for axis in case.axes:
            out += one(x if axis == 1 else x.t().contiguous())
        return out

    torch._dynamo.reset()
    function = torch.compile(program, dynamic=False)
    return lambda buffers: function(*buffers.arrays)
