# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizations of quantized tensors: programs, arrays, and expected results, computed with numpy.

Covers every source element type with both scale layouts, every type of dequantized values, blocks along rows,
columns and both, and several result formats. Further cases multiply by another input, add inputs with 32- and
16-element blocks, use an NVFP4 tensor's global factor, compute the largest magnitude, and gather rows. Scales include
NaN, overflow and subnormals. The padding of layouts contains garbage.
"""

import dataclasses

import mx_reference as ref
import numpy as np
from harness import BF16, FLOATS

SOURCES = [*ref.ELEMENTS, "nvfp4"]
LAYOUTS = ["linear", "sf_128x4"]
ENCODE, DECODE = np.float32(3.5), np.float32(1 / 3.7)


def split(name):
    """Returns the element type, scale type and block size of a format."""
    return ("f4E2M1FN", "f8E4M3FN", 16) if name == "nvfp4" else (name, "f8E8M0FNU", 32)


def tensors(rows, columns, name, layout):
    element, scale, block = split(name)
    encoding = ", #mx.scale_layout<sf_128x4>" if layout == "sf_128x4" else ""
    return [f"tensor<{rows}x{columns}x{element}>", f"tensor<{rows}x{columns // block}x{scale}{encoding}>"]


@dataclasses.dataclass
class Source:
    """Elements and scales, as passed to the program and as numbers."""
    name: str
    layout: str
    codes: np.ndarray
    scales: np.ndarray

    @staticmethod
    def make(rng, name, layout, rows, columns, special=0.1):
        element, _, block = split(name)
        codes = rng.integers(0, 16 if element == "f4E2M1FN" else 256, (rows, columns)).astype(np.uint8)
        shape = (rows, columns // block)
        scales = rng.integers(0x18, 0x68, shape) if name == "nvfp4" else rng.integers(112, 142, shape)
        anything = rng.random(shape) < special
        return Source(name, layout, codes, np.where(anything, rng.integers(0, 256, shape), scales).astype(np.uint8))

    def arrays(self):
        if self.layout == "linear":
            return [ref.pack(self.codes, split(self.name)[0]), self.scales]
        return [ref.pack(self.codes, split(self.name)[0]), ref.tile(self.scales, slack=0xA5)]

    def numbers(self, dtype):
        """Returns the result of mx.dequantize, as float32."""
        exact = ref.real(self.codes, self.scales, split(self.name)[0], self.name == "nvfp4")
        return ref.round_to(exact, dtype).view(FLOATS[dtype]).astype(np.float32)


@dataclasses.dataclass
class Case:
    """Case of the program. An input is a pair of a source and the type of its numbers, or "y"."""
    inputs: list
    axes: list
    out: str
    layout: str
    body: str
    value: np.ndarray
    yields: str
    operands: str = ""
    rounding: str = "ceil"
    amax: bool = False

    def types(self):
        rows, columns = self.value.shape
        return sum((tensors(*((rows, columns) if axis else (columns, rows)), self.out, self.layout)
                    for axis in self.axes), []) + ["tensor<f32>"] * self.amax

    def expected(self):
        element = split(self.out)[0]
        for axis in self.axes:
            x = self.value if axis else np.ascontiguousarray(self.value.T)
            codes, scales = ref.quantize(x, element, self.rounding, ENCODE if self.out == "nvfp4" else None)
            yield ref.pack(codes, element)
            yield ref.tile(scales) if self.layout == "sf_128x4" else scales
        if self.amax:
            yield ref.largest(self.value)


class Program:
    """Function with all cases, and its arguments and results."""

    def __init__(self, seed, rows, columns, gathered):
        self.rng, self.rows, self.columns = np.random.default_rng(seed), rows, columns
        y = self.rng.standard_normal((rows, columns)) * np.exp2(self.rng.integers(-6, 4, (rows, 1)))
        self.y = y.astype(BF16)
        self.index = self.rng.integers(-1, rows, gathered).astype(np.int32)
        self.sources, self.cases = [], []

    def source(self, name, layout, **options):
        self.sources.append(Source.make(self.rng, name, layout, self.rows, self.columns, **options))
        return len(self.sources) - 1

    def add(self, inputs, axes, out, layout, body, value, yields, **options):
        self.cases.append(Case(inputs, axes, out, layout, body, value, yields, **options))

    def add_all(self):
        wide = self.y.astype(np.float32)
        outs = ["f8E4M3FN", "f8E5M2", "f4E2M1FN", "nvfp4", "f6E2M3FN", "i8", "f6E3M2FN"]
        axes = [[1], [0], [1, 0]]
        for i, name in enumerate(SOURCES):
            for j, along in enumerate(axes):
                dtype, layout = list(FLOATS)[(i + j) % 3], LAYOUTS[(i + j) % 2]
                s, out = self.source(name, layout), outs[(3 * i + j) % len(outs)]
                rounding = "ceil" if out == "nvfp4" else ["ceil", "floor", "even"][i % 3]
                self.add([(s, dtype)], along, out, LAYOUTS[i % 2], "mx.yield %a0", self.sources[s].numbers(dtype),
                         dtype, rounding=rounding, operands="global_scale(%encode)" if out == "nvfp4" else "")
        with np.errstate(all="ignore"):
            for along in axes:
                s = self.source("f8E4M3FN", "linear")
                self.add([(s, "bf16"), "y"], along, "f8E4M3FN", "sf_128x4", """%x = arith.extf %a0 : bf16 to f32
                    %w = arith.extf %a1 : bf16 to f32
                    %p = arith.mulf %x, %w : f32
                    mx.yield %p""", self.sources[s].numbers("bf16") * wide, "f32")
                a, b = self.source("nvfp4", "sf_128x4"), self.source("f8E5M2", "linear")
                self.add(["y", (a, "f32"), (b, "f32")], along, "f4E2M1FN", "linear", """%w = arith.extf %a0 : bf16 to f32
                    %p = arith.mulf %w, %a1 : f32
                    %t = arith.addf %p, %a2 : f32
                    mx.yield %t""", wide * self.sources[a].numbers("f32") + self.sources[b].numbers("f32"), "f32")
                s = self.source("nvfp4", "linear", special=0)
                self.add([(s, "f32")], along, "f8E4M3FN", "linear", """%p = arith.mulf %a0, %decode : f32
                    mx.yield %p""", self.sources[s].numbers("f32") * DECODE, "f32", amax=True)
                for name in ["f8E4M3FN", "f4E2M1FN"]:
                    s = self.source(name, "sf_128x4")
                    self.add([(s, "bf16")], along, "f8E4M3FN", "sf_128x4", "mx.yield %a0",
                             ref.gather(self.sources[s].numbers("bf16"), self.index), "bf16",
                             operands=f"gather(%index : tensor<{len(self.index)}xi32>)")
        return self

    def arguments(self):
        return sum((s.arrays() for s in self.sources), [self.y, self.index, ENCODE, DECODE])

    def text(self):
        t = f"tensor<{self.rows}x{self.columns}xbf16>"
        names = [("%y", t), ("%index", f"tensor<{len(self.index)}xi32>"), ("%encode", "f32"), ("%decode", "f32")]
        for i, s in enumerate(self.sources):
            names += zip([f"%e{i}", f"%s{i}"], tensors(self.rows, self.columns, s.name, s.layout))
        types = dict(names)
        lines, returned, results = [], [], []
        for i, case in enumerate(self.cases):
            outs = case.types()
            empties = [f"%q{i}_{j}" for j in range(len(outs))]
            lines += [f"{e} = tensor.empty() : {o}" for e, o in zip(empties, outs)]
            inputs = ["%y" if x == "y" else f"%e{x[0]}" for x in case.inputs]
            scales = [f"%s{x[0]}" for x in case.inputs if x != "y"]
            numbers = ["bf16" if x == "y" else x[1] for x in case.inputs]
            listed = lambda some: f"({', '.join(some)} : {', '.join(types[v] for v in some)})"
            arguments = ", ".join(f"%a{k}: {n}" for k, n in enumerate(numbers))
            lines.append(f"""%r{i}:{len(outs)} = mx.fused_quantize ins{listed(inputs)} input_scales{listed(scales)} {case.operands}
                outs({", ".join(empties)} : {", ".join(outs)}) axes = {case.axes}
                {"block_size = 16" if case.out == "nvfp4" else ""} {"amax" if case.amax else ""}
                {"" if case.out == "nvfp4" else f"scale_rounding = {case.rounding}"} -> {", ".join(outs)} prologue {{
                ^bb0({arguments}, %row: index, %col: index):
                {case.body} : {case.yields}
                }}""")
            returned += [f"%r{i}#{j}" for j in range(len(outs))]
            results += outs
        return (f"func.func @main({', '.join(f'{n}: {t}' for n, t in names)}) -> ({', '.join(results)}) {{\n"
                + "\n".join(lines) + f"\nreturn {', '.join(returned)} : {', '.join(results)}\n}}\n")

    def expected(self):
        """Returns the names and the arrays of the expected results."""
        for case in self.cases:
            sources = [x if x == "y" else f"{self.sources[x[0]].name} as {x[1]}" for x in case.inputs]
            for i, array in enumerate(case.expected()):
                yield f"{sources} to {case.out} {case.layout} {case.operands} axes {case.axes} result {i}", array
