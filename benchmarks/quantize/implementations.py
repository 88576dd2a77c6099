# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is timed on a case: mx, the ceiling kernels, copies, torch.compile and
torchao. Each is a function of a set of buffers that enqueues one run."""

import ctypes

import cases
import formula
import numpy as np
import torch
from mx_program import byte_shape


class BufferSet:
    """Device memory of one run: arguments and results of the entry."""

    def __init__(self, case, entry, arrays, offsets):
        self.arrays = arrays
        self.offsets = offsets  # on the host
        device = [(a.data_ptr(), tuple(a.shape)) for a in arrays]
        if case.nvfp4:
            device.append(np.array(cases.ENCODE))
        if case.groups:
            self.ends = torch.from_numpy(offsets).cuda()
            device.append((self.ends.data_ptr(), tuple(self.ends.shape)))
        self.device = device
        self.results = [torch.empty(byte_shape(*result), dtype=torch.uint8,
                                    device="cuda")
                        for result in entry.result_shapes(device)]
        self.addresses = [r.data_ptr() for r in self.results]
        self.workspace_bytes = entry.workspace_bytes(device)
        self.workspace = torch.empty(max(256, self.workspace_bytes),
                                     dtype=torch.uint8, device="cuda")


def stream():
    return torch.cuda.current_stream().cuda_stream


def mx(entry):

    def launch(buffers):
        entry.launch(buffers.device, buffers.addresses,
                     buffers.workspace.data_ptr(), buffers.workspace_bytes,
                     stream())

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
    """Name and launcher of each way to move the bytes."""
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
    """The driver's copy and kernels that move `copied` bytes, half of them read.
    Source and destination are the memory of the set."""
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
    """torch.compile of the formula, in its natural form: linear scales, and
    PyTorch's own conversion to E4M3. None where PyTorch has no such type."""
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


def torchao(case):
    """torchao's Triton kernels. Its recipe `rceil` needs an instruction of
    sm_100; `floor` differs in the scale's last bit alone."""
    if (case.element != "f8E4M3FN" or case.groups or case.swiglu or
            case.amax or case.dtype != "bf16"):
        return None
    import torchao.utils
    torchao.utils.is_sm_at_least_100 = lambda: True
    from torchao.prototype.mx_formats import kernels
    along = {1: kernels.triton_to_mxfp8_dim0, 0: kernels.triton_to_mxfp8_dim1}

    def launch(buffers):
        x = buffers.arrays[0].view(torch.bfloat16)
        return [along[axis](x, 32, "floor") for axis in case.axes]

    return launch
