"""Tests quantizers of quantized inputs without a prologue or with an identity prologue. The simulator, the CPU path and
numpy agree in every byte that the layout defines.

RUN: %python %s mx-run %t sm_90a sm_100a
REQUIRES: compiler, numpy
TIER: slow

Results along rows are the elements and scales of the input, byte for byte; results along columns are quantized from the
decoded input. Each code is the largest of some block, with scales 0, small, large and NaN. With such scales and `ceil`,
quantizing the rows again would change bytes. Cases cover all element types; both scale layouts; rows in expert
groups (some of them empty), after the last group, gathered, or left out; amax, seeds, dequantized results, and results
along a single axis. An identity prologue quantizes the rows again, also in groups. If the ends are invalid, results are
unspecified, but the simulator must report no access outside of the tensors.
"""

import dataclasses
import os

import mx_reference as ref
import numpy as np
from harness import Blocks, Function, Harness

test = Harness("mx_run", "folder", "*chips")
BLOCKS, SEED = 5, 0x2718281828459045
SCALES = [0, 1, 2, 9, 100, 126, 127, 128, 150, 246, 253, 254, 255]
GROUPS = {"edges": [0, 1, 31, 33, 128, 129, 0, 64], "many": [0] * 33 + [5] + [0] * 34 + [130, 7], "none": [0, 0]}
BEHIND = 37  # rows after the last expert group
TILED = "sf_128x4"


@dataclasses.dataclass
class Case:
    element: str
    axes: list
    layout: str = TILED        # layout of the results' scales
    source: str = "linear"     # layout of the input's scales
    groups: str = ""
    gathered: bool = False
    out: str = ""              # element type along axis 0, if different
    amax: bool = False
    seeded: bool = False
    dequantized: str = ""      # type of the results along all axes
    schedule: str = ""
    again: bool = False        # uses an identity prologue
    size: int = 32             # elements per block; a row has 5 blocks


AGAIN = "prologue {\n^bb0(%a: bf16, %row: index, %col: index):\nmx.yield %a : bf16\n}"
PARTS = ("{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 128], threads = 128, vector = 32, "
         "stage_rows = 64, stages = 2, ctas = 1, raster = group_m(2), atomic_counter = true>}")
CASES = [
    *(Case(e, [1, 0], groups="edges", gathered=True, source=TILED if i % 2 else "linear",
           layout="linear" if i % 3 == 2 else TILED) for i, e in enumerate(ref.ELEMENTS)),
    *(Case(e, [1], source="linear" if i % 2 else TILED, layout=TILED if i % 3 else "linear", gathered=i % 2 == 0)
      for i, e in enumerate(ref.ELEMENTS)),
    Case("f8E4M3FN", [1, 0], groups="many", gathered=True),
    Case("f8E4M3FN", [0, 1], groups="none", gathered=True),
    Case("f8E4M3FN", [1, 0], groups="edges"),
    Case("f8E5M2", [1], groups="edges", gathered=True, source=TILED),
    Case("f8E4M3FN", [1, 0], gathered=True),
    Case("f6E2M3FN", [0, 1], layout="linear"),
    Case("f8E4M3FN", [1, 0], gathered=True, schedule=PARTS),
    Case("f8E4M3FN", [0], groups="edges", gathered=True, out="f4E2M1FN"),
    Case("f4E2M1FN", [0], source=TILED, out="f8E4M3FN"),
    Case("f8E4M3FN", [1], gathered=True, amax=True),
    Case("f8E4M3FN", [1, 0], groups="edges", gathered=True, amax=True),
    Case("f8E5M2", [1, 0], groups="edges", gathered=True, seeded=True),
    Case("f8E4M3FN", [1], gathered=True, dequantized="bf16"),
    Case("f8E4M3FN", [1, 0], gathered=True, dequantized="f32"),
    Case("f8E4M3FN", [1, 0], groups="edges", gathered=True, again=True),
    Case("f4E2M1FN", [1], groups="many", source=TILED, again=True),
    Case("f8E4M3FN", [1, 0], groups="edges", gathered=True, size=128),
    Case("f8E5M2", [1, 0], layout="linear", size=128),
    Case("f8E4M3FN", [1], gathered=True, size=128),
]


class Trial:
    """Case with its arrays and numpy's results."""

    def __init__(self, case, rng):
        self.case = case
        codes, self.scales = blocks(rng, case.element, case.size)
        self.columns = BLOCKS * case.size
        self.codes = codes
        self.ends = np.cumsum(GROUPS[case.groups]).astype(np.int32) if case.groups else None
        rows = len(codes)
        if case.groups:
            rows = int(self.ends[-1]) + BEHIND
            if not case.gathered:
                self.codes, self.scales = np.resize(codes, (rows, self.columns)), np.resize(self.scales, (rows, BLOCKS))
        elif case.gathered:
            rows = 288
        self.index = rng.integers(-1, len(codes), rows).astype(np.int32) if case.gathered else np.arange(rows)
        self.taken, self.taken_scales = ref.gather(self.codes, self.index), ref.gather(self.scales, self.index)
        bits = ref.round_to(ref.real(self.taken, self.taken_scales.repeat(case.size // 32, 1), case.element), "bf16")
        self.numbers = (bits.astype(np.uint32) << 16).view(np.float32)
        self.rows = rows

    def destinations(self):
        case = self.case
        return [Blocks(case.element if axis else case.out or case.element, axis, case.layout,
                       groups=len(self.ends) if case.groups else 0, size=case.size) for axis in case.axes]

    def program(self):
        case, outs, f = self.case, self.destinations(), Function()
        x, types = Blocks(case.element, 1, case.source, size=case.size).types(len(self.codes), self.columns), []
        n, o = f"tensor<{self.rows}xi32>", f"tensor<{len(self.ends) if case.groups else 1}xi32>"
        for out in outs:
            pair = out.types(self.rows, self.columns)
            wide = pair[0].split(",")[0].strip(">").replace(out.element, case.dequantized)
            types += [f"{wide}>"] if case.dequantized else pair
        # Padding of scale tiles is never read.
        scales = self.scales if case.source == "linear" else ref.tile(self.scales, slack=0xA5)
        for name, type_, array in [
                ("x", x[0], ref.pack(self.codes, case.element)), ("s", x[1], scales),
                ("n", n, self.index.astype(np.int32)), ("o", o, self.ends if case.groups else np.zeros(1, np.int32)),
                ("seed", "i64", np.int64(SEED))]:
            f.argument(type_, array, name)
        entries = ", ".join(out.element for out in outs)
        f.call(f"mx.fused_quantize {'ragged = rows' if case.groups else ''} ins(%x : {x[0]}) input_scales(%s : {x[1]}) "
               f"{'seed(%seed)' * case.seeded} {f'gather(%n : {n})' if case.gathered else ''} "
               f"{f'offsets(%o : {o})' if case.groups else ''} OUTS axes = {case.axes} block_size = {case.size} {'amax' * case.amax} "
               f"{f'dequantized = [{entries}]' if case.dequantized else ''} {case.schedule}",
               types + ["tensor<f32>"] * case.amax, AGAIN * case.again)
        return f

    def expected(self):
        """Yields each expected array with the index of its defined part."""
        case, ends = self.case, self.ends
        last = int(ends[-1]) if case.groups else self.rows
        for out in self.destinations():
            if out.axis and not case.again:  # rows are copied unchanged
                out.quantize = lambda x: (self.taken, self.taken_scales)
            if case.dequantized:
                codes, scales = out.quantize(self.numbers if out.axis else self.numbers.T)
                yield ref.round_to(ref.real(codes, scales, out.element), case.dequantized), ()
            else:
                yield from out.expected(self.numbers, ends)
        if case.amax:
            yield ref.largest(self.numbers[:last]), ()


def blocks(rng, element, size):
    """Creates rows of blocks of `size` elements that combine each largest magnitude with each scale."""
    bits = {"f8": 8, "f6": 6, "f4": 4, "i8": 8}[element[:2]]
    largest = np.arange(2 ** (bits - 1))
    largest, scales = (a.ravel() for a in np.meshgrid(largest, SCALES))
    count = -(-len(largest) // BLOCKS) * BLOCKS
    largest, scales = np.resize(largest, count), np.resize(scales, count)
    codes = (rng.random((count, size)) * (largest[:, None] + 1)).astype(np.uint8)
    codes[np.arange(count), rng.integers(0, size, count)] = largest
    negative = rng.integers(0, 2, codes.shape).astype(bool)
    if element == "i8":
        codes = np.where(negative, -codes.astype(np.int16), codes).astype(np.int8).view(np.uint8)
    else:
        codes |= (negative << (bits - 1)).astype(np.uint8)
    order = rng.permutation(count)
    pad = -count // BLOCKS % size # fills the blocks along columns
    codes = np.pad(codes[order].reshape(-1, BLOCKS * size), ((0, pad), (0, 0)))
    return codes, np.pad(scales[order].astype(np.uint8).reshape(-1, BLOCKS), ((0, pad), (0, 0)))


def run(trial, device, chip):
    return test.run(trial.program(), device=device, chip=chip, sms=1, quiet=True)


def compare(name, trial, chip):
    """Compares results; stochastically rounded elements are compared with the CPU path."""
    found = {device: run(trial, device, chip) for device in ("cpu", "sim")}
    for i, (array, part) in enumerate(trial.expected()):
        if trial.case.seeded and i == 2:
            array = found["cpu"][i]
        for device, arrays in found.items():
            test.expect(f"{chip} {name} {trial.case}, result {i} on {device}", arrays[i], array, part)


def requantized(trial):
    """Returns the number of scales changed by quantizing the rows again."""
    return int(np.count_nonzero(ref.quantize(trial.numbers, trial.case.element, size=trial.case.size)[1] != trial.taken_scales))


def run_with_bad_ends(chip, rng):
    os.environ["MX_SIM_CHECKS"] = "none" # overlapping groups cause races
    for case in (Case("f8E4M3FN", [1, 0], groups="edges", gathered=True), Case("f8E4M3FN", [1], groups="edges")):
        trial = Trial(case, rng)
        for ends in ([200, 100, 150, 300], [-5, 40, 7, 130], [5000, 10, 290, 2**31 - 1]):
            trial.ends = np.resize(ends, len(trial.ends)).astype(np.int32)
            run(trial, "sim", chip)
    del os.environ["MX_SIM_CHECKS"]


others = 0
for chip in test.chips:
    rng = np.random.default_rng(53)
    for number, case in enumerate(CASES):
        trial = Trial(case, rng)
        compare(number, trial, chip)
        others += requantized(trial)
    run_with_bad_ends(chip, rng)
print(f"quantizing again would change {others} scales")
if others < 10000 * len(test.chips):
    test.fail("expected quantizing again to change more scales")
test.finish(least=3000000 * len(test.chips))
