"""Threads read fragments from shared memory, relabel them and write them back. The results and the scales of the
elements equal numpy's.

RUN: %python %s mx-compile %t sm_90a
RUN: %python %s mx-compile %t sm_100a
REQUIRES: compiler, numpy

Bulk copies fill buffers with every swizzle, one or several panels, and 4-, 6-, 8-, 16- and 32-bit elements. Layouts are
wgmma operand layouts and random layouts. In a random layout, each bit of the row and column is a bit of the thread
number or the register index, in any order. Elements in memory differ as far as their size allows. --seed
draws other layouts.
"""

import random

import mx_compiler as mx
import numpy as np
from fragment_layout import Layout
from harness import Harness

SWIZZLES = {"": 16, "sw32": 32, "sw64": 64, "sw128": 128}
# Element types of fragments, of buffers and of numpy.
TYPES = {"i8": ("i8", "i1"), "f8E4M3FN": ("f8E4M3FN", "u1"), "bf16": ("bf16", "u2"),
         "f32": ("f32", "f4"), "f4E2M1FN": ("i8", "i1"), "f6E3M2FN": ("i8", "i1")}
BITS = {"i8": 8, "f8E4M3FN": 8, "bf16": 16, "f32": 32, "f4E2M1FN": 4, "f6E3M2FN": 8}

A_LOAD = Layout([(4, 0, 16), (8, 1, 0), (4, 32, 0), (2, 128, 0)],
                [(2, 0, 1), (2, 8, 0), (2, 0, 2), (4, 0, 4), (2, 16, 0)])
A_USE = Layout([(4, 0, 2), (8, 1, 0), (4, 16, 0), (2, 128, 0)],
               [(2, 0, 1), (2, 8, 0), (2, 0, 8), (4, 0, 16), (2, 64, 0)])
B_LOAD = Layout([(2, 1, 0), (4, 2, 0), (4, 8, 0), (4, 32, 0)],
                [(2, 0, 1), (2, 0, 2), (4, 0, 4), (4, 0, 16)])
B_USE = Layout([(2, 1, 0), (4, 8, 0), (4, 2, 0), (4, 32, 0)],
               [(2, 0, 1), (2, 0, 8), (4, 0, 16), (4, 0, 2)])
# The layout contains 96 rows, because the size of the last mode need not be a power of two.
ODD = Layout([(32, 0, 2), (2, 4, 0)], [(2, 0, 1), (4, 1, 0), (12, 8, 0)])


def scramble(rng, rows, columns, threads, paired):
    """Draws a random layout bit by bit. The numbers of rows, columns and threads are powers of two."""
    bits = [(2, 1 << i, 0) for i in range(rows.bit_length() - 1)]
    bits += [(2, 0, 1 << i) for i in range(columns.bit_length() - 1)]
    first = [bits.pop(bits.index((2, 0, 1)))] if paired else []
    rng.shuffle(bits)
    count = threads.bit_length() - 1
    return Layout(bits[:count], first + bits[count:])


class Case:
    """A matrix of `copies` boxes, in rows and columns of boxes. Threads copy each box through registers."""

    def __init__(self, element, swizzle, load, use, boxes=(1, 1), panels=1, out=None, dynamic=True,
                 spread=False):
        self.element, self.swizzle, self.load, self.use = element, swizzle, load, use
        self.boxes, self.panels, self.out, self.dynamic = boxes, panels, out, dynamic
        self.spread = spread
        self.bits = BITS[element]
        self.held, self.dtype = TYPES[element]
        r, c = load.coordinates()
        self.box = (r.max() + 1, c.max() + 1)
        self.per = {4: 2}.get(self.bits, 1)
        self.shape = (self.box[0] * boxes[0], self.box[1] // self.per * boxes[1])

    def __str__(self):
        return (f"{self.element} {self.swizzle or 'none'} to {self.out or 'none'}, boxes {self.boxes} of {self.box}, "
                f"panels {self.panels}\n  {self.load}\n  {self.use}")

    def pieces(self, shape, swizzle):
        """Returns the type of a buffer, the type of its boxes, and the number of boxes."""
        bytes_ = shape[1] * BITS[self.held] // 8
        panels = bytes_ // SWIZZLES[swizzle] if swizzle else 1
        if not swizzle and shape == self.shape:
            panels = self.panels
        part = shape[1] // panels
        tail = f"x{self.held}" + (f", {swizzle}" if swizzle else "")
        box = f"{shape[0]}x{part}{tail}"
        return (f"{panels}x{box}" if panels > 1 else box), box, panels, part

    def text(self, name):
        threads = self.load.count()
        rows, columns = self.shape
        box = (self.box[0], self.box[1] // self.per)
        in_, in_box, in_parts, in_step = self.pieces(self.shape, self.swizzle)
        out, out_box, out_parts, out_step = self.pieces(box, self.out or "")
        fragment = "!mxgpu.fragment<{}x{}x{}, {{}}>".format(*self.box, self.element)
        load, use = fragment.format(self.load), fragment.format(self.use)
        ring_in = f"!mxgpu.ring<1 x (x: smem<{in_}>), producer = bulk_copy, consumer = threads({threads})>"
        ring_out = f"!mxgpu.ring<1 x (y: smem<{out}>), producer = threads({threads}), consumer = bulk_store>"
        matrix = f"{rows}x{columns}x{self.held}"
        map_in, map_out = f"!mxgpu.tensor_map<{in_box}>", f"!mxgpu.tensor_map<{out_box}>"
        x, y = f"!mxgpu.buffer<smem<{in_}>>", f"!mxgpu.buffer<smem<{out}>>"
        body = []
        thread = " thread(%u)" if self.spread else ""
        for i in range(self.boxes[0]):
            for j in range(self.boxes[1]):
                n = f"{i}_{j}"
                body += [f"%i{n} = arith.constant {i} : index", f"%j{n} = arith.constant {j} : index"]
                if self.dynamic:
                    body += [f"%r{n} = arith.muli %rows, %i{n} : index", f"%c{n} = arith.muli %columns, %j{n} : index"]
                else:
                    body += [f"%r{n} = arith.constant {i * self.box[0]} : index",
                             f"%c{n} = arith.constant {j * self.box[1]} : index"]
                body += [f"%p{n} = arith.constant {i * box[0]} : index",
                         f"%q{n} = mxgpu.load_fragment %x at [%r{n}, %c{n}]{thread} : {x} -> {load}",
                         f"%z{n} = mxgpu.relabel_fragment %q{n} : {load} -> {use}",
                         f"%t{n}, %y{n} = mxgpu.producer_acquire %out{n} : {ring_out}",
                         f"mxgpu.store_shared %z{n}, %y{n}{thread} : {use}, {y}"]
                for part in range(out_parts):
                    of = f" box({part})" if out_parts > 1 else ""
                    body += [f"%o{n}_{part} = arith.constant {j * box[1] + part * out_step} : index",
                             f"mxgpu.tma_store %y{n}{of} to %y_map[%p{n}, %o{n}_{part}] : {y}, {map_out}"]
                body.append(f"mxgpu.producer_commit %t{n} : !mxgpu.stage<{ring_out}>")
        loads = []
        for part in range(in_parts):
            of = f" box(%b{part})" if in_parts > 1 else ""
            loads += [f"%b{part} = arith.constant {part} : index", f"%k{part} = arith.constant {part * in_step} : index",
                      f"mxgpu.tma_load %x_map[%c0, %k{part}] into %x{of} for %s : {map_in}, {x}, !mxgpu.stage<{ring_in}>"]
        spread = [f"%{t} = arith.constant {v} : index" for t, v in (("six", 6), ("two", 2))]
        spread += ["%t = mxgpu.thread_id", "%t6 = arith.andi %t, %six : index", "%t4 = arith.shli %t6, %two : index",
                   "%u = arith.xori %t, %t4 : index"]
        lines = "\n        ".join
        host = f"""
  func.func @{name}(%xt: tensor<{matrix}>, %yt: tensor<{matrix}>) -> tensor<{matrix}> {{
    %x = bufferization.to_buffer %xt read_only : tensor<{matrix}> to memref<{matrix}>
    %y = bufferization.to_buffer %yt : tensor<{matrix}> to memref<{matrix}>
    %c1 = arith.constant 1 : index
    %rows = arith.constant {self.box[0]} : index
    %columns = arith.constant {self.box[1]} : index
    %x_map = mxgpu.encode_tensor_map %x : memref<{matrix}> -> {map_in}
    %y_map = mxgpu.encode_tensor_map %y : memref<{matrix}> -> {map_out}
    mxgpu.launch @kernels::@{name} grid(%c1) args(%x_map, %y_map, %rows, %columns : {map_in}, {map_out}, index, index)
    %r = bufferization.to_tensor %y restrict : memref<{matrix}> to tensor<{matrix}>
    return %r : tensor<{matrix}>
  }}"""
        kernel = f"""
    mxgpu.kernel @{name}(%x_map: {map_in}, %y_map: {map_out}, %rows: index, %columns: index) {{
      %c0 = arith.constant 0 : index
      %in = mxgpu.ring "in" : {ring_in}
      {"".join(f'%out{i}_{j} = mxgpu.ring "out{i}_{j}" : {ring_out} ' for i in range(self.boxes[0]) for j in range(self.boxes[1]))}
      mxgpu.role @hold warps({threads // 32}) {{
        {lines(spread if self.spread else [])}
        %s, %x = mxgpu.consumer_wait %in : {ring_in}
        {lines(body)}
        mxgpu.consumer_release %s : !mxgpu.stage<{ring_in}>
      }}
      mxgpu.role @load warps(1) elected {{
        %s, %x = mxgpu.producer_acquire %in : {ring_in}
        {lines(loads)}
        mxgpu.producer_commit %s : !mxgpu.stage<{ring_in}>
      }}
    }}"""
        return host, kernel

    def run(self, entry, rng):
        rows, columns = self.shape
        x = rng.integers(0, 256, (rows, columns * BITS[self.held] // 8), dtype="u1")
        y, = entry(x.view(self.dtype), np.zeros((rows, columns), self.dtype))
        y = np.ascontiguousarray(y).view("u1")
        if self.per == 2:
            x, y = (np.stack([a & 15, a >> 4], -1).reshape(rows, -1) for a in (x, y))
        columns *= self.per
        x, y = x.reshape(rows, columns, -1), y.reshape(rows, columns, -1)
        expected = np.zeros_like(x)
        (r0, c0), (r1, c1) = self.load.coordinates(), self.use.coordinates()
        for i in range(0, rows, self.box[0]):
            for j in range(0, columns, self.box[1]):
                expected[i + r1, j + c1] = x[i + r0, j + c0]
        return y, expected


class ScaleCase:
    """Copies the scales of each thread's elements in each box to a row of the result. If the block size is 1, the
    fragment contains the scales themselves."""

    def __init__(self, element, tiles, layout, block, extent=None):
        self.element, self.tiles, self.layout, self.block, self.extent = element, tiles, layout, block, extent
        r, c = layout.coordinates()
        self.box = (r.max() + 1, max(1, (c.max() + 1) // block))
        self.columns = c.max() + 1
        self.rows = sorted(set(r[0]))
        self.blocks = sorted(set(c[0] // block))
        self.boxes = [(i, j) for i in range(0, 128 * tiles[0], self.box[0])
                      for j in range(0, 4 * tiles[1], self.box[1])]

    def __str__(self):
        return f"scales {self.element} {self.tiles} by {self.block}, extent {self.extent}\n  {self.layout}"

    def text(self, name):
        threads, (m, n) = self.layout.count(), self.tiles
        scales, held = f"{m}x{n}x2x256x{self.element}", len(self.rows) * len(self.blocks)
        result = f"{threads}x{held * len(self.boxes)}xi8"
        of = self.element if self.block == 1 else "f8E4M3FN"
        fragment = f"!mxgpu.fragment<{self.box[0]}x{self.columns}x{of}, {self.layout}>"
        ring = f"!mxgpu.ring<1 x (sf: smem<{scales}>), producer = bulk_copy, consumer = threads({threads})>"
        vector = f"vector<{len(self.rows)}x{len(self.blocks)}x"
        body = []
        extent = " extent(%extent)" if self.extent is not None else ""
        for k, (i, j) in enumerate(self.boxes):
            body += [f"%i{k} = arith.constant {i // self.box[0]} : index", f"%j{k} = arith.constant {j} : index",
                     f"%r{k} = arith.muli %rows, %i{k} : index",
                     f"%f{k} = mxgpu.load_fragment_scales %sf at [%r{k}, %j{k}]{extent} block({self.block}) "
                     f"for {fragment} : !mxgpu.buffer<smem<{scales}>> -> "
                     + (fragment if self.block == 1 else f"{vector}{self.element}>")]
            row = f"vector<{len(self.blocks)}x"
            if self.block == 1:
                body.append(f"%w{k}:{len(self.rows)} = mxgpu.to_rows %f{k} : {fragment} -> "
                            + ", ".join([f"{row}{self.element}>"] * len(self.rows)))
            else:
                body.append(f"%v{k} = arith.bitcast %f{k} : {vector}{self.element}> to {vector}i8>")
            for a in range(len(self.rows)):
                if self.block == 1:
                    body.append(f"%v{k}_{a} = arith.bitcast %w{k}#{a} : {row}{self.element}> to {row}i8>")
                for b in range(len(self.blocks)):
                    at = f"{k}_{a}_{b}"
                    number = held * k + a * len(self.blocks) + b
                    body += [f"%e{at} = vector.extract %v{k}_{a}[{b}] : i8 from {row}i8>" if self.block == 1 else
                             f"%e{at} = vector.extract %v{k}[{a}, {b}] : i8 from {vector}i8>",
                             f"%n{at} = arith.constant {number} : index",
                             f"memref.store %e{at}, %y[%t, %n{at}] : memref<{result}>"]
        lines = "\n        ".join
        map_ = f"!mxgpu.tensor_map<{scales}>"
        host = f"""
  func.func @{name}(%xt: tensor<{scales}>, %extent: index, %yt: tensor<{result}>) -> tensor<{result}> {{
    %x = bufferization.to_buffer %xt read_only : tensor<{scales}> to memref<{scales}>
    %y = bufferization.to_buffer %yt : tensor<{result}> to memref<{result}>
    %c1 = arith.constant 1 : index
    %rows = arith.constant {self.box[0]} : index
    %map = mxgpu.encode_tensor_map %x : memref<{scales}> -> {map_}
    mxgpu.launch @kernels::@{name} grid(%c1) args(%map, %y, %rows, %extent : {map_}, memref<{result}>, index, index)
    %r = bufferization.to_tensor %y restrict : memref<{result}> to tensor<{result}>
    return %r : tensor<{result}>
  }}"""
        kernel = f"""
    mxgpu.kernel @{name}(%map: {map_}, %y: memref<{result}>, %rows: index, %extent: index) {{
      %c0 = arith.constant 0 : index
      %in = mxgpu.ring "in" : {ring}
      mxgpu.role @hold warps({threads // 32}) {{
        %t = mxgpu.thread_id
        %s, %sf = mxgpu.consumer_wait %in : {ring}
        {lines(body)}
        mxgpu.consumer_release %s : !mxgpu.stage<{ring}>
      }}
      mxgpu.role @load warps(1) elected {{
        %s, %sf = mxgpu.producer_acquire %in : {ring}
        mxgpu.tma_load %map[%c0, %c0, %c0, %c0] into %sf for %s : {map_}, !mxgpu.buffer<smem<{scales}>>, !mxgpu.stage<{ring}>
        mxgpu.producer_commit %s : !mxgpu.stage<{ring}>
      }}
    }}"""
        return host, kernel

    def run(self, entry, rng):
        (m, n), threads = self.tiles, self.layout.count()
        x = rng.integers(1, 256, (m, n, 512), dtype="u1")
        r, b = np.arange(128 * m)[:, None], np.arange(4 * n)
        matrix = x[r // 128, b // 4, r % 32 * 16 + r // 32 % 4 * 4 + b % 4]
        held = len(self.rows) * len(self.blocks)
        y, = entry(x.reshape(m, n, 2, 256), self.extent or 0,
                   np.full((threads, held * len(self.boxes)), 255, "u1").view("i1"))
        y = y.view("u1")
        row, column = (c[:, 0] for c in self.layout.coordinates())
        expected = []
        for i, j in self.boxes:
            at = (column // self.block)[:, None] + np.array(self.blocks)
            rows = i + row[:, None] + np.array(self.rows)
            values = matrix[rows[:, :, None], j + at[:, None, :]]
            if self.extent is not None:
                values = np.where((at < self.extent)[:, None, :], values, 0)
            expected.append(values.reshape(threads, held))
        return y, np.concatenate(expected, 1)


def make_cases(rng):
    cases = []
    for swizzle in SWIZZLES:
        # Operand layouts of wgmma, for buffers with long enough rows.
        if swizzle in ("", "sw64"):
            cases.append(Case("f8E4M3FN", swizzle, A_LOAD, A_USE, panels=1, out="sw64"))
            cases.append(Case("i8", swizzle, B_LOAD, B_USE, out="sw64", spread=True))
        if swizzle == "sw128":
            cases.append(Case("bf16", swizzle, B_LOAD, B_USE, out="sw128", dynamic=False))
            cases.append(Case("i8", swizzle, A_LOAD, A_LOAD, boxes=(1, 2), out="sw32"))
            cases.append(Case("f6E3M2FN", swizzle, B_LOAD, B_USE, boxes=(2, 4)))
        cases.append(Case("f32", swizzle, ODD, ODD, out="sw128"))
        for element, bits in BITS.items():
            for _ in range(2):
                width = SWIZZLES[swizzle] if swizzle else 16 << rng.randrange(3)
                # A box is a part of a panel, or consists of several panels.
                columns = max(int(width * 8 // bits * 2.0 ** rng.randrange(-1, 3)), 128 // bits)
                threads = 32 << rng.randrange(3)
                rows = max(4 << rng.randrange(6), 32 * threads // (bits * columns) or 1)
                if swizzle and columns * bits // 8 > width:
                    rows = max(rows, 8)  # the swizzle repeats after 8 rows
                while rows * columns * bits < 32 * threads:
                    rows *= 2
                while rows * columns > 256 * threads:
                    threads *= 2
                down = 2 if rows < 128 else 1
                across = max(1, width * 8 // bits // columns)
                load, use = (scramble(rng, rows, columns, threads, bits == 4) for _ in range(2))
                if bits != 4 and rng.random() < 0.3:
                    use = load
                row = columns * bits // 8
                out = rng.choice([s for s in SWIZZLES if row % SWIZZLES[s] == 0 and
                                  (rows >= 8 or row == SWIZZLES[s] if s else columns <= 256)])
                panels = max(row // width, 1)
                cases.append(Case(element, swizzle, load, use, (down, across), panels, out, rng.random() < 0.7))
    for layout, block in ((A_LOAD, 32), (A_USE, 16), (B_LOAD, 32), (B_LOAD, 16), (B_USE, 64)):
        for tiles in ((2, 1), (2, 2)):
            extent = rng.choice([None, 0, 1, 2, 5])
            cases.append(ScaleCase(rng.choice(["f8E8M0FNU", "f8E4M3FN"]), tiles, layout, block, extent))
    for _ in range(8):
        rows, columns, block = 4 << rng.randrange(6), 16 << rng.randrange(4), 16 << rng.randrange(3)
        threads = min(32 << rng.randrange(3), rows * columns)
        while rows * columns > 128 * threads:
            threads *= 2
        cases.append(ScaleCase("f8E8M0FNU", (1, 2), scramble(rng, rows, columns, threads, False), block,
                               rng.choice([None, 1, 3])))
    # Operand layouts of mma.sync with block scales (PTX ISA, m16n8k32), and random layouts.
    for tiles, layout in (((1, 1), Layout([(4, 0, 1), (8, 1, 0)], [(2, 8, 0)])),
                          ((2, 2), Layout([(4, 0, 1), (8, 1, 0)], [(2, 0, 4), (8, 8, 0)]))):
        cases.append(ScaleCase("f8E8M0FNU", tiles, layout, 1, rng.choice([None, 3])))
    for _ in range(6):
        rows, columns = 8 << rng.randrange(5), 4 << rng.randrange(2)
        threads = min(32 << rng.randrange(2), rows * columns)
        cases.append(ScaleCase(rng.choice(["f8E8M0FNU", "f8E4M3FN"]), (1, 2),
                               scramble(rng, rows, columns, threads, False), 1, rng.choice([None, 1, 3])))
    return cases


test = Harness("mx_compile", "folder", "chip", seed=1)
cases = make_cases(random.Random(test.seed))
hosts, kernels = zip(*(case.text(f"case{i}") for i, case in enumerate(cases)))
mx.set_device(test.device)
with mx.Program(test.compile("module attributes {gpu.container_module} {" + "".join(hosts) + f"""
  gpu.module @kernels [#nvvm.target<O = 3, chip = "{test.chip}", features = "+ptx88">] {{{"".join(kernels)}
  }}
}}
""", chip=test.chip)) as program:
    for i, case in enumerate(cases):
        test.expect(f"case{i}, {case}", *case.run(program[f"case{i}"], test.rng))
test.finish(least=830464)
