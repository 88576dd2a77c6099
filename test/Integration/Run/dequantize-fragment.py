"""mxgpu.dequantize_fragment returns element times scale, rounded once to bf16. Every bit is compared with numpy.

RUN: %python %s mx-compile %t
REQUIRES: compiler, numpy

In handwritten kernels, each thread reads its rows and scales and writes its rows of the result. The first cases of each
format cover every code with every scale. Separate threads get the NaN and infinity codes, and all scales of a thread
are equal, so each code path is executed with all of its pairs. Further cases do the same with `reference`, without
NaN and with all scales for which results are exact. The last cases mix all codes and scales, in layouts in which a
register contains elements from several rows and blocks, or the scales do not fill a word. Results are compared with
numpy in float64, and all NaNs are equal. --device selects another device than the simulator, --chip selects the
chip, and --programs reuses kernels compiled by another run.
"""

import dataclasses

import mx_compiler as mx
import mx_reference as ref
import numpy as np
from fragment_layout import Layout
from harness import BF16, Harness

THREADS = 128
LAYOUTS = {
    # A register operand of wgmma.
    "wgmma": Layout([(4, 0, 2), (8, 1, 0), (4, 16, 0)], [(2, 0, 1), (2, 8, 0), (8, 0, 8)]),
    # Adjacent elements of a register belong to different blocks ("blocks") or rows ("rows").
    "blocks": Layout([(128, 2, 0)], [(2, 0, 32), (2, 1, 0), (32, 0, 1)]),
    "rows": Layout([(128, 2, 0)], [(2, 1, 0), (64, 0, 1)]),
    # The scales do not fill a word.
    "odd": Layout([(128, 1, 0)], [(96, 0, 1)]),
}


@dataclasses.dataclass
class Case:
    element: str
    layout: str
    scale: str = "f8E8M0FNU"
    block: int = 32
    reference: int = 0  # reference scale, which implies `finite`; 0: no reference

    @property
    def name(self):
        return f"{self.element}_{self.scale}_{self.layout}_{self.block}_{self.reference}"

    def place(self, axis):
        """Returns the rows or columns of a thread's values."""
        return Layout.places(LAYOUTS[self.layout].values)[axis]

    @property
    def rows(self):
        return len(np.unique(self.place(0)))

    @property
    def columns(self):
        return np.unique(self.place(1))

    @property
    def blocks(self):
        """Returns the block index of each of a thread's columns."""
        return np.unique(self.columns // self.block, return_inverse=True)[1]

    def kernel(self):
        n, rows, blocks = len(self.columns), self.rows, self.blocks.max() + 1
        stored = self.element if self.element.startswith("f8") else "i8"
        layout = LAYOUTS[self.layout]
        shape = "x".join(str(places.max() + 1) for places in layout.coordinates())
        fragment = f"!mxgpu.fragment<{shape}x{self.element}, {layout}>"
        result = f"!mxgpu.fragment<{shape}xbf16, {layout}>"
        padded = -(-rows * blocks // 4) * 4
        vector, wide = f"vector<{n}x{self.element}>", f"vector<{n}xbf16>"
        body = []
        for i in range(rows):
            body += [f"%i{i} = arith.constant {i} : index",
                     f"%row{i} = arith.addi %first, %i{i} : index",
                     f"%q{i} = mxgpu.load_block %q[%row{i}, %c0] : memref<?x?x{stored}> -> {vector}"]
        names = ", ".join(f"%q{i}" for i in range(rows))
        types = lambda one: ", ".join([one] * rows)
        body += [
            f"%all = mxgpu.load_block %s[%thread, %c0] : memref<?x?x{self.scale}> -> vector<{padded}x{self.scale}>",
            f"%some = vector.extract_strided_slice %all {{offsets = [0], sizes = [{rows * blocks}], strides = [1]}} :"
            f" vector<{padded}x{self.scale}> to vector<{rows * blocks}x{self.scale}>",
            f"%scales = vector.shape_cast %some : vector<{rows * blocks}x{self.scale}>"
            f" to vector<{rows}x{blocks}x{self.scale}>",
            f"%f = mxgpu.from_rows {names} : {types(vector)} -> {fragment}",
            f"%r = arith.constant {self.reference} : i32",
            f"%x = mxgpu.dequantize_fragment %f by %scales block({self.block})"
            f"{' reference(%r) finite' if self.reference else ''} : {fragment},"
            f" vector<{rows}x{blocks}x{self.scale}> -> {result}",
            f"%y:{rows} = mxgpu.to_rows %x : {result} -> {types(wide)}"]
        body += [f"mxgpu.store_block %y#{i}, %x_out[%row{i}, %c0] : {wide}, memref<?x?xbf16>" for i in range(rows)]
        lines = "\n          ".join(body)
        return f"""
    mxgpu.kernel @{self.name}(%q: memref<?x?x{stored}>, %s: memref<?x?x{self.scale}>, %x_out: memref<?x?xbf16>) {{
      %c0 = arith.constant 0 : index
      %n = arith.constant {THREADS} : index
      %per = arith.constant {rows} : index
      %m = memref.dim %s, %c0 : memref<?x?x{self.scale}>
      %scheduler = mxgpu.tile_scheduler static raster = linear tile [{THREADS}, {THREADS}] of(%m, %n, %n)
      mxgpu.role @work warps({THREADS // 32}) {{
        %lane = mxgpu.thread_id
        mxgpu.for_each_work_tile (%group, %row, %column, %start, %end) in %scheduler {{
          %thread = arith.addi %row, %lane : index
          %first = arith.muli %thread, %per : index
          {lines}
        }}
      }}
    }}"""

    def entry(self):
        stored = self.element if self.element.startswith("f8") else "i8"
        q, s, x = f"?x?x{stored}", f"?x?x{self.scale}", "?x?xbf16"
        return f"""
  func.func @{self.name}(%qt: tensor<{q}>, %st: tensor<{s}>, %xt: tensor<{x}>) -> tensor<{x}> {{
    %q = bufferization.to_buffer %qt read_only : tensor<{q}> to memref<{q}>
    %s = bufferization.to_buffer %st read_only : tensor<{s}> to memref<{s}>
    %x = bufferization.to_buffer %xt : tensor<{x}> to memref<{x}>
    %grid = mxgpu.sm_count
    mxgpu.launch @kernels::@{self.name} grid(%grid) args(%q, %s, %x : memref<{q}>, memref<{s}>, memref<{x}>)
    %y = bufferization.to_tensor %x restrict : memref<{x}> to tensor<{x}>
    return %y : tensor<{x}>
  }}"""

    def every_pair(self):
        """Returns codes indexed by (thread, row, column), and scales indexed by (thread, row, block)."""
        width = int(self.element[1])
        codes = np.arange(256, dtype=np.uint8)  # each 4-bit code occurs 16 times
        finite = np.isfinite(ref.decode(codes & (2**width - 1), self.element))
        size = self.rows * len(self.columns)

        def whole(some):
            return np.resize(some, (-(-len(some) // size), size))

        groups = [whole(codes[finite])]
        if not finite.all():
            groups.append(whole(codes[~finite]))
        groups = np.concatenate(groups)
        each = codes
        if self.reference:
            each, groups = codes[self.reference - 124:self.reference + 8], groups[:-1]
        scales = np.repeat(each, len(groups))[:, None]
        return np.tile(groups, (len(each), 1)), np.repeat(scales, self.rows * (self.blocks.max() + 1), 1)

    def mixed(self, threads):
        """Draws arbitrary codes and scales. Half of the threads get only finite codes and no large scales."""
        codes = test.rng.integers(0, 256, (threads, self.rows * len(self.columns)), np.uint8)
        scales = test.rng.integers(0, 256, (threads, self.rows * (self.blocks.max() + 1)), np.uint8)
        if self.reference:
            return codes & 0xBB, scales % 132 + (self.reference - 124)
        half = threads // 2
        codes[:half] &= 0xBB  # neither NaN nor infinity
        scales[:half] &= 0x7F
        return codes, scales

    def check(self, program, codes, scales):
        n, threads = len(self.columns), len(codes)
        elements = codes.reshape(threads * self.rows, n)
        width = int(self.element[1])
        inner = elements & (2**width - 1)
        stored = ref.pack(inner, self.element) if width == 4 else elements
        stored = stored.view(np.uint8 if width == 8 else np.int8)
        padded = np.zeros((threads, -(-scales.shape[1] // 4) * 4), np.uint8)
        padded[:, :scales.shape[1]] = scales
        result, = program[self.name](stored, padded, np.full(elements.shape, 0x1234, np.uint16))
        each = scales.reshape(threads * self.rows, -1)[:, self.blocks]
        factor = ref.decode_scale(each, self.scale == "f8E4M3FN")
        with np.errstate(invalid="ignore"):
            exact = ref.decode(inner, self.element) * factor
        if self.reference:
            exact = exact * 2.0 ** (127 - self.reference)
        expected = ref.round_to(exact, "bf16").view(BF16)
        test.expect(self.name, result.view(BF16), expected, nan=True)


FORMATS = [("f8E4M3FN", "f8E8M0FNU", 32), ("f8E5M2", "f8E8M0FNU", 32), ("f6E2M3FN", "f8E8M0FNU", 32),
           ("f6E3M2FN", "f8E8M0FNU", 32), ("f4E2M1FN", "f8E8M0FNU", 32), ("f4E2M1FN", "f8E4M3FN", 16)]
CASES = [Case(element, layout, scale, block) for layout in LAYOUTS for element, scale, block in FORMATS]
CASES += [Case("f8E4M3FN", layout, reference=reference) for layout in LAYOUTS for reference in (127, 140, 162)]
CASES += [Case("f8E4M3FN", "odd", block=16), Case("f8E5M2", "wgmma", block=64)]


test = Harness("mx_compile", "folder", seed=11, chip="", programs=False)
mx.set_device(test.device)
for chip in [test.chip] if test.chip else ["sm_90a", "sm_100a"]:
    if not test.programs:
        test.compile(f"""module attributes {{gpu.container_module}} {{{"".join(case.entry() for case in CASES)}
  gpu.module @kernels [#nvvm.target<O = 3, chip = "{chip}", features = "+ptx88">] {{{"".join(case.kernel() for case in CASES)}
  }}
}}
""", chip=chip, name=chip)
    with mx.Program(test.path(chip)) as program:
        for case in CASES:
            case.check(program, *case.mixed(512))
            if case.layout == "wgmma":
                case.check(program, *case.every_pair())
test.finish(least=2400000)
