# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmul implementations: programs of mx, and baselines. Each has a name, a number of operand
sets, launch(index), and the result `out`."""

import mx_compiler as mx
import torch



def grouped_mm(a, b, ends):
    """Calls PyTorch's grouped matmul by its name in this version."""
    if hasattr(torch.nn.functional, "grouped_mm"):
        return torch.nn.functional.grouped_mm(a, b, offs=ends)
    return torch._grouped_mm(a, b, offs=ends)


class MxProgram:
    """Runs the entry `main` of a program on sets of operands."""

    def __init__(self, name, case, directory, problem):
        self.name, self.case, self.kept = name, case.of(name), []
        self.program = mx.Program(str(directory / case.program(name)))
        self.entry = self.program["main"]
        self.sets = [self.wrap(arguments) for arguments in problem.arguments(self)]
        self.out = torch.empty(problem.out_shape, dtype=torch.bfloat16, device="cuda")
        self.results = self.arrays([self.out], self.entry.results)
        self.workspace = self.entry.make_workspace(*self.sets[0])
        self.count = len(self.sets) - 1  # results of the last set are compared

    def arrays(self, tensors, values):
        return [mx.DeviceArray.from_pointer(t.data_ptr(), self.shape(t, value), value.dtype)
                for t, value in zip(tensors, values)]

    @staticmethod
    def shape(tensor, value):
        """Returns the shape of an argument, with dynamic extents taken from the tensor."""
        return tuple(tensor.shape[i] if extent is None else extent
                     for i, extent in enumerate(value.shape))

    def pack(self, elements):
        """Packs weights in fragment order in advance."""
        pack = self.program["pack"]
        packed = torch.empty(elements.shape, dtype=torch.uint8, device="cuda")
        arguments = self.arrays([elements], pack.arguments)
        pack.launch(arguments, self.arrays([packed], pack.results),
                    pack.make_workspace(*arguments), torch.cuda.current_stream().cuda_stream)
        return packed

    def wrap(self, tensors):
        self.kept += tensors
        return self.arrays(tensors, self.entry.arguments)

    def launch(self, index):
        self.entry.launch(self.sets[index], self.results, self.workspace,
                          torch.cuda.current_stream().cuda_stream)


class Matmul:
    """cuBLAS through PyTorch."""

    def __init__(self, name, pairs, shape):
        self.name = name
        self.sets = [(a, b.t()) for a, b in pairs]
        self.count = len(self.sets)
        self.out = torch.empty(shape, dtype=torch.bfloat16, device="cuda")

    def launch(self, index):
        torch.mm(*self.sets[index], out=self.out)


class RowWise:
    """fp8 matmuls with an f32 scale for each row, a different format."""
    name = "fp8 row-wise, cuBLAS"

    def __init__(self, pairs, shape):
        self.sets = [(self.quantize(a), self.quantize(b)) for a, b in pairs]
        self.count, self.out = len(self.sets), None

    @staticmethod
    def quantize(x):
        factor = x.abs().amax(1, keepdim=True).float() / 448
        return (x.float() / factor).to(torch.float8_e4m3fn), factor

    def launch(self, index):
        (a, fa), (b, fb) = self.sets[index]
        self.out = torch._scaled_mm(a, b.t(), scale_a=fa, scale_b=fb.t(),
                                    out_dtype=torch.bfloat16, use_fast_accum=True)


class BlockWise:
    """fp8 matmuls with f32 scales for 1 x 128 and 128 x 128 elements, on the operands of mx."""
    name = "cuBLAS 1x128 by 128x128"

    def __init__(self, sets):
        self.sets, self.count = [self.arguments(*pair) for pair in sets], len(sets) - 1
        self.launch(0)

    @staticmethod
    def arguments(a, b):
        of_a, of_b = torch.nn.functional.ScalingType.BlockWise1x128, torch.nn.functional.ScalingType.BlockWise128x128
        x, w = a.elements.view(torch.float8_e4m3fn), b.elements.view(torch.float8_e4m3fn)
        scales = a.scales.view(len(a.scales), -1)[:, :len(x)].t()
        # The number of blocks along K is padded to a multiple of 4.
        squares = torch.nn.functional.pad(b.scales, (0, -b.scales.shape[1] % 4))
        return x, w.t(), scales, of_a, squares.t(), of_b

    def launch(self, index):
        self.out = torch.nn.functional.scaled_mm(*self.sets[index], output_dtype=torch.bfloat16)


class GroupedMatmul:
    """Grouped matmul of PyTorch."""

    def __init__(self, name, pairs, ends):
        self.name, self.pairs, self.ends = name, pairs, ends
        self.count, self.out = len(pairs), None

    def launch(self, index):
        self.out = grouped_mm(*self.pairs[index], self.ends)
