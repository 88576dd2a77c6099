"""Quantizers of inputs that are quantized already and that no prologue changes:
simulator, CPU path and numpy agree in every byte that the layout defines.

RUN: %python %s mx-run %t sm_90a sm_100a
REQUIRES: compiler, numpy
TIER: slow

Rows are the input's elements and scales, byte for byte, and columns are
quantized from its numbers. Each code is the largest of a block, with scales that
are 0, small, large and NaN; with such scales and `ceil`, quantizing again gives
other bytes. All element types, scales in both layouts; rows in groups, some of
them empty, after the last expert group, gathered, some of them left out; amax, seeds,
dequantized results, and one of each axis alone. A prologue that yields its
argument quantizes rows again, also those of groups. Ends that cannot be give no
particular result, but nothing outside of the tensors is read or written: the
simulator would say so.
"""

import dataclasses
import os
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(here, "..", "CPU"), os.path.join(here, "Inputs")]
import mx_reference as ref
import quantize_inputs as inputs

mx_run, directory, *chips = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
COLUMNS, SEED = 160, 0x2718281828459045
SCALES = [0, 1, 2, 9, 100, 126, 127, 128, 150, 246, 253, 254, 255]
GROUPS = {"edges": [0, 1, 31, 33, 128, 129, 0, 64], "many": [0] * 33 + [5] + [0] * 34 + [130, 7], "none": [0, 0]}
BEHIND = 37  # rows of no expert group
TILED = "sf_128x4"


@dataclasses.dataclass
class Case:
    element: str
    axes: list
    layout: str = TILED        # of the results
    source: str = "linear"     # of the input's scales
    groups: str = ""
    gathered: bool = False
    out: str = ""              # the element type along axis 0
    amax: bool = False
    seeded: bool = False
    dequantized: str = ""      # the type of what is written along all axes
    schedule: str = ""
    again: bool = False        # with a prologue that changes nothing


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
]


class Trial:
    """A case with its arrays and what numpy says of it."""

    def __init__(self, case, rng):
        self.case = case
        codes, self.scales = blocks(rng, case.element)
        self.codes = codes
        self.ends = np.cumsum(GROUPS[case.groups]).astype(np.int32) if case.groups else None
        rows = len(codes)
        if case.groups:
            rows = int(self.ends[-1]) + BEHIND
            if not case.gathered:
                self.codes, self.scales = np.resize(codes, (rows, COLUMNS)), np.resize(self.scales, (rows, 5))
        elif case.gathered:
            rows = 288
        self.index = rng.integers(-1, len(codes), rows).astype(np.int32) if case.gathered else np.arange(rows)
        self.missing = self.index < 0
        take = lambda a: np.where(self.missing[:, None], 0, a[self.index]).astype(a.dtype)
        self.taken, self.taken_scales = take(self.codes), take(self.scales)
        bits = ref.round_to(ref.real(self.taken, self.taken_scales, case.element), "bf16")
        self.numbers = (bits.astype(np.uint32) << 16).view(np.float32)
        self.rows = rows

    def format(self, axis):
        return self.case.element if axis else self.case.out or self.case.element

    def types(self):
        case = self.case
        for axis in case.axes:
            count = len(self.ends) if case.groups else 0
            rows, columns = (self.rows, COLUMNS) if axis else (COLUMNS, ref.capacity(self.rows, count) if case.groups
                                                               else self.rows)
            if case.dequantized:
                yield f"tensor<{rows}x{columns}x{case.dequantized}>"
                continue
            mark, kind = "", ""
            if case.groups:
                kind = f", ragged = {'rows' if axis else 'reduction'}, groups = {count}"
                mark = "" if axis else f", #mx.ragged<groups = {count}, align = 128>"
            yield f"tensor<{rows}x{columns}x{self.format(axis)}{mark}>"
            yield f"tensor<{rows}x{columns // 32}xf8E8M0FNU, #mx.scale_layout<{case.layout}{kind}>>"
        if case.amax:
            yield "tensor<f32>"

    def text(self):
        case, outs = self.case, list(self.types())
        x = f"tensor<{len(self.codes)}x{COLUMNS}x{case.element}>"
        s = f"tensor<{len(self.codes)}x{COLUMNS // 32}xf8E8M0FNU, #mx.scale_layout<{case.source}>>"
        n, o = f"tensor<{self.rows}xi32>", f"tensor<{len(self.ends) if case.groups else 1}xi32>"
        empties = [f"%e{i}" for i in range(len(outs))]
        entries = ", ".join(self.format(axis) for axis in case.axes)
        lines = "\n".join(f"{e} = tensor.empty() : {t}" for e, t in zip(empties, outs))
        results = ", ".join(outs)
        return f"""func.func @main(%x: {x}, %s: {s}, %n: {n}, %o: {o}, %seed: i64) -> ({results}) {{
          {lines}
          %q:{len(outs)} = mx.quantize {"ragged = rows" if case.groups else ""} ins(%x : {x}) input_scales(%s : {s})
            {"seed(%seed)" if case.seeded else ""} {f"gather(%n : {n})" if case.gathered else ""}
            {f"offsets(%o : {o})" if case.groups else ""} outs({", ".join(empties)} : {results})
            axes = {case.axes} {"amax" if case.amax else ""} {f"dequantized = [{entries}]" if case.dequantized else ""}
            {case.schedule} -> {results} {AGAIN if case.again else ""}
          return {", ".join(f"%q#{i}" for i in range(len(outs)))} : {results}
        }}"""

    def arguments(self):
        yield ref.pack(self.codes, self.case.element)
        if self.case.source == "linear":
            yield self.scales
        else: # slack is never read
            rows, count = self.scales.shape
            slack = np.full((-(-rows // 128) * 128, -(-count // 4) * 4), 0xA5, np.uint8)
            slack[:rows, :count] = self.scales
            yield ref.tile(slack)
        yield self.index.astype(np.int32)
        yield self.ends if self.case.groups else np.zeros(1, np.int32)
        yield np.int64(SEED)

    def lines(self):
        if self.case.again:
            return ref.quantize(self.numbers, self.case.element)
        return self.taken, self.taken_scales

    def columns(self):
        """Transposed elements and scales, and how many columns are defined."""
        element, x = self.format(0), self.numbers
        if not self.case.groups:
            return *ref.quantize(np.ascontiguousarray(x.T), element), self.rows
        width = ref.capacity(self.rows, len(self.ends))
        elements, scales = np.zeros((COLUMNS, width), np.uint8), np.zeros((COLUMNS, width // 32), np.uint8)
        begin, starts = 0, ref.group_starts(self.ends)
        for start, end in zip(starts, self.ends):
            q, s = ref.quantize(np.ascontiguousarray(x[begin:end].T), element)
            elements[:, start:start + q.shape[1]], scales[:, start // 32:start // 32 + s.shape[1]] = q, s
            begin = end
        return elements, scales, starts[-1]

    def expected(self):
        """Each array, and which part of it is defined."""
        case = self.case
        last = int(self.ends[-1]) if case.groups else self.rows
        for axis in case.axes:
            element = self.format(axis)
            codes, scales, width = (*self.lines(), COLUMNS) if axis else self.columns()
            rows = slice(0, last) if axis else slice(None)
            if case.dequantized:
                yield ref.round_to(ref.real(codes, scales, element), case.dequantized), (rows, slice(None))
                continue
            yield ref.pack(codes, element), (rows, slice(0, width // (2 if element == "f4E2M1FN" else 1)))
            if case.layout == "linear":
                yield scales, (rows, slice(0, -(-width // 32)))
            elif axis and case.groups:
                yield ref.tile_rows(scales, self.ends), tiles_of(self.ends)
            else:
                yield ref.tile(scales), (slice(None), slice(0, -(-width // 128)))
        if case.amax:
            bits = np.append((self.numbers[:last].view(np.uint32) & 0x7FFFFFFF).ravel(), np.uint32(0)).max()
            yield np.array(bits if bits <= 0x7F800000 else 0x7FFFFFFF, np.uint32), ()


def blocks(rng, element):
    """Rows of blocks: each magnitude as the largest one, with each scale."""
    bits = {"f8": 8, "f6": 6, "f4": 4, "i8": 8}[element[:2]]
    largest = np.arange(2 ** (bits - 1))
    largest, scales = (a.ravel() for a in np.meshgrid(largest, SCALES))
    count = -(-len(largest) // 5) * 5
    largest, scales = np.resize(largest, count), np.resize(scales, count)
    codes = (rng.random((count, 32)) * (largest[:, None] + 1)).astype(np.uint8)
    codes[np.arange(count), rng.integers(0, 32, count)] = largest
    negative = rng.integers(0, 2, codes.shape).astype(bool)
    if element == "i8":
        codes = np.where(negative, -codes.astype(np.int16), codes).astype(np.int8).view(np.uint8)
    else:
        codes |= (negative << (bits - 1)).astype(np.uint8)
    order = rng.permutation(count)
    pad = -count // 5 % 32 # whole blocks of columns
    codes = np.pad(codes[order].reshape(-1, COLUMNS), ((0, pad), (0, 0)))
    return codes, np.pad(scales[order].astype(np.uint8).reshape(-1, 5), ((0, pad), (0, 0)))


def tiles_of(ends):
    """The tiles of rows that groups have."""
    begins = np.concatenate([[0], ends[:-1]])
    return np.concatenate([np.arange(b // 128 + g, b // 128 + g + -(-(e - b) // 128), dtype=int)
                           for g, (b, e) in enumerate(zip(begins, ends))])


def run(name, trial, device, chip):
    path = lambda what: os.path.join(directory, f"{chip}-{name}-{what}")
    with open(path("program.mlir"), "w") as file:
        file.write(trial.text())
    command = [mx_run, path("program.mlir"), f"--device={device}", f"--chip={chip}"]
    for i, array in enumerate(trial.arguments()):
        np.save(path(f"in{i}.npy"), array)
        command.append("--arg=" + path(f"in{i}.npy"))
    outs = [path(f"out{i}-{device}.npy") for i in range(len(list(trial.types())))]
    done = subprocess.run(command + [f"--result={o}" for o in outs], capture_output=True, text=True,
                          env={**os.environ, "MX_SIM_SM_COUNT": "1"})
    if done.returncode or done.stderr:
        sys.exit(f"{' '.join(command)}\nexit status {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return [np.load(o) for o in outs]


def compare(name, trial, chip):
    """Counts compared bytes and arrays that differ. Elements that are rounded
    stochastically are those of the CPU path."""
    compared = failures = 0
    found = {device: run(name, trial, device, chip) for device in ("cpu", "sim")}
    for i, (array, part) in enumerate(trial.expected()):
        if trial.case.seeded and i == 2:
            array = found["cpu"][i]
        for device, arrays in found.items():
            compared += array[part].nbytes
            if text := inputs.difference(arrays[i].view(array.dtype)[part], array[part]):
                failures += 1
                print(f"{chip} {name} {trial.case}, result {i} on {device}: {text}")
    return np.array([compared, failures])


def requantized(trial):
    """How many scales quantizing the rows again would give otherwise."""
    return int(np.count_nonzero(ref.quantize(trial.numbers, trial.case.element)[1] != trial.taken_scales))


def run_with_bad_ends(chip, rng):
    os.environ["MX_SIM_CHECKS"] = "none" # groups that overlap race, of course
    for case in (Case("f8E4M3FN", [1, 0], groups="edges", gathered=True), Case("f8E4M3FN", [1], groups="edges")):
        trial = Trial(case, rng)
        for ends in ([200, 100, 150, 300], [-5, 40, 7, 130], [5000, 10, 290, 2**31 - 1]):
            trial.ends = np.resize(ends, len(trial.ends)).astype(np.int32)
            run("bad", trial, "sim", chip)
    del os.environ["MX_SIM_CHECKS"]


results, others = np.zeros(2, int), 0
for chip in chips:
    rng = np.random.default_rng(53)
    for number, case in enumerate(CASES):
        trial = Trial(case, rng)
        results += compare(number, trial, chip)
        others += requantized(trial)
    run_with_bad_ends(chip, rng)
compared, failures = map(int, results)
print(f"{compared} bytes compared, {failures} arrays differ; {others} scales would be others")
sys.exit(failures != 0 or compared < 3000000 * len(chips) or others < 10000 * len(chips))
