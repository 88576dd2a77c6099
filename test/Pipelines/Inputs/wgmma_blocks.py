"""Matmuls C = A B^T with wgmma.mma_async, for several blocks and warpgroups, with A
in shared memory or registers, and with stages filled by the copy engine or by threads.
Prints a program with an entry for each of CASES. The test that runs the program
imports CASES."""

import dataclasses
import textwrap


@dataclasses.dataclass
class Case:
    name: str
    m: int  # tile rows
    n: int
    warpgroups: int = 1
    held: bool = True  # A in registers
    filled: bool = False  # threads fill the stages
    a: str = "bf16"
    b: str = "bf16"

    def __post_init__(self):
        self.k = 16 if self.a.endswith("16") else 32
        self.step = 4 * self.k
        self.blocks = self.m // 64 // self.warpgroups
        self.threads = 128 * self.warpgroups
        self.element_bytes = 32 // self.k
        # A load warp in addition to two warpgroups fits only with register redistribution.
        divides = self.warpgroups > 1 and not self.filled
        self.registers = " registers(232)" * divides
        self.few_registers = " registers(40)" * divides


CASES = [
    Case("held", 64, 64),
    Case("held_blocks", 128, 128),
    Case("held_groups", 128, 256, 2),
    Case("held_both", 256, 128, 2),
    Case("held_four", 256, 32),
    Case("held_f16", 64, 128, a="f16", b="f16"),
    Case("held_f8", 128, 64, 2, a="f8E4M3FN", b="f8E5M2"),
    Case("shared_blocks", 128, 64, held=False),
    Case("shared_both", 256, 128, 2, held=False),
    Case("filled", 128, 64, 2, held=False, filled=True),
    Case("filled_held", 64, 256, filled=True),
]


def layout(case, digits):
    """Returns a fragment layout; `digits` are the value digits."""
    run = 32 // 8 // case.element_bytes if digits == "a" else 2
    threads = [(4, run, "column"), (8, 1, "row"), (4, 16, "row"),
               (case.warpgroups, case.m // case.warpgroups, "row")]
    if digits == "a":
        values = [(run, 1, "column"), (2, 8, "row"), (2, 4 * run, "column"),
                  (4, case.k, "column"), (case.blocks, 64, "row")]
    else:
        values = [(2, 1, "column"), (2, 8, "row"), (case.blocks, 64, "row"),
                  (case.n // 8, 8, "column")]

    def spell(parts):
        return ", ".join(f"{size}: {step} {unit}{'s' * (step > 1)}"
                         for size, step, unit in parts if size > 1)

    return f"#mxgpu.fragment_layout<threads = [{spell(threads)}], values = [{spell(values)}]>"


def types(case):
    c = case
    fields = [("a", c.m, c.a)] * (not c.held) + [("b", c.n, c.b)]
    buffers = ", ".join(f"{f}: smem<{rows}x{c.step}x{t}, sw128>" for f, rows, t in fields)
    producer = "threads(128)" if c.filled else "bulk_copy"
    lines = [f"!{c.name}_in = !mxgpu.ring<2 x ({buffers}), producer = {producer}, "
             f"consumer = async_threads({c.threads})>",
             f"!{c.name}_input = !mxgpu.stage<!{c.name}_in>",
             f"!{c.name}_sums = !mxgpu.fragment<{c.m}x{c.n}xf32, {layout(c, 'sums')}>",
             f"#{c.name} = #mxgpu.wgmma<m = {c.m}, n = {c.n}, k = {c.k}, "
             f"warpgroups = {c.warpgroups}>"]
    for field, rows, element in (("a", c.m, c.a), ("b", c.n, c.b)):
        tile = f"{rows}x{c.step}x{element}, sw128"
        lines += [f"!{c.name}_{field} = !mxgpu.buffer<smem<{tile}>>",
                  f"!{c.name}_{field}_map = !mxgpu.tensor_map<{tile}>"]
    if c.held:
        lines.append(f"!{c.name}_held = !mxgpu.fragment<{c.m}x{c.step}x{c.a}, {layout(c, 'a')}>")
    return lines


def read(name, matrix, element, size, row, column):
    """Loads a vector of a matrix. Elements beyond the reduction are zero, rows beyond the matrix are unspecified."""
    vector = f"vector<{size}x{element}>"
    return f"""\
        %{name}_row = arith.minui {row}, %{matrix}_last : index
        %{name}_in = arith.cmpi ult, {column}, %reduction : index
        %{name}_column = arith.select %{name}_in, {column}, %c0 : index
        %{name}_any = vector.load %{matrix}[%{name}_row, %{name}_column] : memref<?x?x{element}>, {vector}
        %{name} = arith.select %{name}_in, %{name}_any, %{matrix}_none : {vector}"""


def hold(case):
    """Loads each thread's elements of A."""
    run = 4 // case.element_bytes
    lines, rows = [], []
    for r in range(2 * case.blocks):
        held = 8 * run
        parts = []
        for j in range(8):
            name = f"a{r}_{j}"
            lines.append(f"        %{name}_at = arith.addi %k, %a_column{j} : index")
            lines.append(read(name, "a", case.a, run, f"%row{r}", f"%{name}_at"))
            parts.append(f"%{name}")
        # Joins the eight runs pairwise in three levels.
        size, level = run, 0
        while len(parts) > 1:
            joined = []
            for i in range(0, len(parts), 2):
                name = f"%join{r}_{level}_{i}"
                numbers = ", ".join(map(str, range(2 * size)))
                lines.append(f"        {name} = vector.shuffle {parts[i]}, {parts[i + 1]} [{numbers}] : "
                             f"vector<{size}x{case.a}>, vector<{size}x{case.a}>")
                joined.append(name)
            parts, size, level = joined, 2 * size, level + 1
        rows.append((parts[0], f"vector<{held}x{case.a}>"))
    names, kinds = (", ".join(part) for part in zip(*rows))
    lines.append(f"        %held = mxgpu.from_rows {names} : {kinds} -> !{case.name}_held")
    return "\n".join(lines)


def multiply(case):
    c, name = case, case.name
    of_a = "%held" if c.held else "%a_tile"
    type_a = f"!{name}_{'held' if c.held else 'a'}"
    tiles = "%b_tile" if c.held else "%a_tile, %b_tile"
    rows = 2 * c.blocks
    kind = f"vector<{c.n // 4}xf32>"
    stores = []
    for r in range(rows):
        stores.append(f"      %has{r} = arith.cmpi ult, %row{r}, %m : index")
        for i in range(c.n // 8):
            stores += [
                f"      %x{r}_{i} = vector.extract_strided_slice %v#{r} {{offsets = [{2 * i}], sizes = [2], "
                f"strides = [1]}} : {kind} to vector<2xf32>",
                f"      %c{r}_{i} = arith.constant {8 * i} : index",
                f"      %at{r}_{i} = arith.addi %at, %c{r}_{i} : index",
                f"      mxgpu.store_fragment %x{r}_{i}, %c[%row{r}, %at{r}_{i}] when(%has{r}) : "
                "vector<2xf32>, memref<?x?xf32>"]
    places = [f"    %in_row{r} = mxgpu.fragment_row {r} of !{name}_sums" for r in range(rows)]
    run = 4 // c.element_bytes
    if c.held:
        places += [f"    %a_column{j} = mxgpu.fragment_column {j} of !{name}_held" for j in range(8)]
        places.append(f"    %a_none = arith.constant dense<0.0> : vector<{run}x{c.a}>")
    begin = [f"      %row{r} = arith.addi %row, %in_row{r} : index" for r in range(rows)]
    read_a = hold(c) if c.held else ""
    number = " thread(%thread)" * (c.warpgroups > 1 and not c.held)
    return "\n".join([f"  mxgpu.role @multiply warps({4 * c.warpgroups}) {{", *places, f"""\
    %in_column = mxgpu.fragment_column 0 of !{name}_sums
    %zero = mxgpu.zero_fragment : !{name}_sums
    mxgpu.for_each_work_tile (%group, %row, %column, %start, %end) in %scheduler {{""", *begin, f"""\
      %accumulator = mxgpu.for_each_k (%k, %extent, %first) from %start to %end step {c.step} iter_args(%old = %zero : !{name}_sums) {{
{read_a}
        %stage, {tiles} = mxgpu.consumer_wait %in : !{name}_in
        %thread = mxgpu.thread_id
        %started = mxgpu.mma #{name} {of_a}, %b_tile into %old{number} : {type_a}, !{name}_b, !{name}_sums -> !{name}_sums
        %new = mxgpu.mma_wait %started pending(0) : !{name}_sums
        mxgpu.consumer_release %stage : !{name}_input
        mxgpu.yield %new : !{name}_sums
      }}
      %v:{rows} = mxgpu.to_rows %accumulator : !{name}_sums -> {", ".join([kind] * rows)}
      %at = arith.addi %column, %in_column : index""", *stores, "    }", "  }"])


def fill(case):
    """Emits a role whose threads copy tiles, 16 bytes at a time."""
    c, name = case, case.name
    size = 16 // c.element_bytes
    lines = []
    fields = [("a", "%row", c.m, c.a)] * (not c.held) + [("b", "%column", c.n, c.b)]
    for field, first, rows, element in fields:
        for i in range(rows // 16):
            x = f"{field}{i}"
            lines += [f"        %{x}_c = arith.constant {16 * i} : index",
                      f"        %{x}_to = arith.addi %tile_row, %{x}_c : index",
                      f"        %{x}_from = arith.addi {first}, %{x}_to : index",
                      read(x, field, element, size, f"%{x}_from", "%from_column"),
                      f"        mxgpu.store_shared %{x}, %{field}_tile at [%{x}_to, %tile_column] : "
                      f"vector<{size}x{element}>, !{name}_{field}"]
    tiles = ", ".join(f"%{field}_tile" for field, *_ in fields)
    nones = "\n".join(f"    %{field}_none = arith.constant dense<0.0> : vector<{size}x{element}>"
                      for field, _, _, element in fields)
    body = "\n".join(lines)
    return f"""\
  mxgpu.role @fill warps(4) {{
    %c8 = arith.constant 8 : index
    %size = arith.constant {size} : index
    %thread = mxgpu.thread_id
    %tile_row = arith.divui %thread, %c8 : index
    %chunk = arith.remui %thread, %c8 : index
    %tile_column = arith.muli %chunk, %size : index
{nones}
    mxgpu.for_each_work_tile (%group, %row, %column, %start, %end) in %scheduler {{
      mxgpu.for_each_k (%k, %extent, %first) from %start to %end step {c.step} {{
        %from_column = arith.addi %k, %tile_column : index
        %stage, {tiles} = mxgpu.producer_acquire %in : !{name}_in
{body}
        mxgpu.producer_commit %stage : !{name}_input
      }}
    }}
  }}"""


def load(case):
    name = case.name
    fields = [("a", "%row")] * (not case.held) + [("b", "%column")]
    tiles = ", ".join(f"%{field}_tile" for field, _ in fields)
    loads = "\n".join(
        f"        mxgpu.tma_load %{field}_map[{first}, %k] into %{field}_tile for %stage : "
        f"!{name}_{field}_map, !{name}_{field}, !{name}_input" for field, first in fields)
    return f"""\
  mxgpu.role @load warps(1) elected {{
    mxgpu.for_each_work_tile (%group, %row, %column, %start, %end) in %scheduler {{
      mxgpu.for_each_k (%k, %extent, %first) from %start to %end step {case.step} {{
        %stage, {tiles} = mxgpu.producer_acquire %in : !{name}_in
{loads}
        mxgpu.producer_commit %stage : !{name}_input
      }}
    }}
  }}"""


def parameters(case):
    """Returns the name and the type of each parameter of a kernel."""
    c, matrix = case, "memref<?x?x{}>"
    of_a = ("a", matrix.format(c.a)) if c.held or c.filled else ("a_map", f"!{c.name}_a_map")
    of_b = ("b", matrix.format(c.b)) if c.filled else ("b_map", f"!{c.name}_b_map")
    return [of_a, of_b, ("c", matrix.format("f32")), ("reduction", "index")]


def kernel(case):
    c = case
    arguments = ", ".join(f"%{name}: {kind}" for name, kind in parameters(c))
    lasts = [f"  %{name}_rows = memref.dim %{name}, %c0 : {kind}\n"
             f"  %{name}_last = arith.subi %{name}_rows, %c1 : index"
             for name, kind in parameters(c) if name in "ab"]
    # The fill role gets the first warps, so the multiplying warpgroups are not the first.
    if c.filled:
        roles = [fill(c), multiply(c), "  mxgpu.assign_warps @fill from 0", "  mxgpu.assign_warps @multiply from 4"]
    else:
        roles = [multiply(c), load(c), f"  mxgpu.assign_warps @multiply from 0{c.registers}",
                 f"  mxgpu.assign_warps @load from {4 * c.warpgroups}{c.few_registers}"]
    return "\n".join([f"mxgpu.kernel @{c.name}({arguments}) {{", f"""\
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %c, %c0 : memref<?x?xf32>
  %n = memref.dim %c, %c1 : memref<?x?xf32>""", *lasts, f"""\
  %scheduler = mxgpu.tile_scheduler static raster = linear tile [{c.m}, {c.n}] of(%m, %n, %reduction)
  %in = mxgpu.ring "in" : !{c.name}_in""", *roles, "}"])


def host(case):
    c = case
    buffers = [("a", c.a, " read_only"), ("b", c.b, " read_only"), ("c", "f32", "")]
    arguments = ", ".join(f"%{x}t: tensor<?x?x{element}>" for x, element, _ in buffers)
    lines = [f"func.func @{c.name}({arguments}) -> tensor<?x?xf32> {{"]
    lines += [f"  %{x} = bufferization.to_buffer %{x}t{how} : tensor<?x?x{element}> to memref<?x?x{element}>"
              for x, element, how in buffers]
    lines += [f"""\
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant {c.m} : index
  %columns = arith.constant {c.n} : index
  %m = memref.dim %c, %c0 : memref<?x?xf32>
  %n = memref.dim %c, %c1 : memref<?x?xf32>
  %reduction = memref.dim %a, %c1 : memref<?x?x{c.a}>
  %down = arith.ceildivui %m, %rows : index
  %across = arith.ceildivui %n, %columns : index
  %tiles = arith.muli %down, %across : index
  %sms = mxgpu.sm_count
  %grid = arith.minui %tiles, %sms : index"""]
    for x, element, _ in buffers[:2]:
        if (f"{x}_map", f"!{c.name}_{x}_map") in parameters(c):
            lines.append(f"  %{x}_map = mxgpu.encode_tensor_map %{x} : memref<?x?x{element}> -> !{c.name}_{x}_map")
    names, kinds = zip(*parameters(c))
    lines += [f"  mxgpu.launch @kernels::@{c.name} grid(%grid) args({', '.join('%' + x for x in names)} : "
              f"{', '.join(kinds)})",
              "  %y = bufferization.to_tensor %c restrict : memref<?x?xf32> to tensor<?x?xf32>",
              "  return %y : tensor<?x?xf32>", "}"]
    return "\n".join(lines)


def program(cases):
    parts = [line for case in cases for line in types(case)]
    parts.append("module attributes {gpu.container_module} {")
    parts += [host(case) for case in cases]
    parts.append('gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx88">] {')
    parts += [textwrap.indent(kernel(case), "  ") for case in cases]
    return "\n".join(parts + ["}", "}"])


if __name__ == "__main__":
    print(program(CASES))
