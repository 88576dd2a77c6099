"""Compares matmuls of bf16 activations by quantized or bf16 weights with numpy. This file covers unpacked weights on
sm_90a, and weights-*.test cover packed weights and other chips.

RUN: %python %s mx-run %t --chip=sm_90a
REQUIRES: compiler, numpy
TIER: slow

Weights are random codes of every format. Activations are random bf16 values, including subnormals, and in some cases
infinities and NaN. Irrelevant memory is NaN: activation rows outside of all groups, the surroundings of a slice, and
the padding of scales. Single products are exact, and 16 of them are added like in the tensor core. On the CPU, which
also supports f16 activations, sums are exact. Each case depends only on its index. With --swap-ab, M is small and
schedules use wgmma_swap_ab. With --packed, the test also runs with packed weights, which must give the same bits; if mx
chooses both schedules, both results must be within the bound. With --numbers, weights are bf16 without scales.
"""

import os
import re

import ml_dtypes
import mx_reference as ref
import numpy as np
from harness import FLOATS, Harness, widen
from harness import stored as as_stored
from matmul_formats import FORMATS, compare, make_codes, make_scales
from packed_weights import pack_tiles

WEIGHTS = [(name, "f8E8M0FNU") for name in FORMATS] + [("f4E2M1FN", "f8E4M3FN")]
OUTS = {"f32": 23, "bf16": 7}
LAYOUT = "#mx.scale_layout<sf_128x4>"
# Kinds of matmuls: groupings of rows, and other options.
KINDS = ["dense", "rows", "masked", "slice", "epilogue", "parts", "scatter", "quantized"]
WGMMA_SCHEDULES = [
    "",
    "tile = [64, 64, 64]",
    "tile = [64, 256, 64]",
    "tile = [128, 64, 64], epilogue = tma_store",
    "tile = [128, 256, 64]",
    "tile = [256, 128, 64], epilogue = tma_store",
    "tile = [256, 64, 64]",
    "tile = [128, 128, 64], stages = 2, strategy = #mxgpu.wgmma_upcast_b<operand_stages = 1>",
]
MMA_SYNC_SCHEDULES = [
    "",
    "tile = [16, 32, 64], stages = 1",
    "tile = [16, 256, 64], strategy = #mxgpu.mma_sync_upcast_b<ctas_per_sm = 2>",
    "tile = [32, 128, 64], strategy = #mxgpu.mma_sync_upcast_b<ctas_per_sm = 2>, raster = hilbert",
    "tile = [64, 256, 64]",
    "tile = [128, 64, 64], stages = 2",
    "tile = [128, 128, 64], l2 = [evict_first, evict_last]",
]
# A schedule for two weight matrices only.
MMA_SYNC_LARGEST = "tile = [128, 256, 64]"
TCGEN05_SCHEDULES = [
    "",
    "tile = [128, 64, 64], strategy = #mxgpu.tcgen05_upcast_b<tile_loop = clc>",
    "tile = [128, 256, 64], stages = 2",
    "tile = [128, 64, 64], epilogue = tma_store",
    "tile = [256, 128, 64], strategy = #mxgpu.tcgen05_upcast_b<ctas = 2, tile_loop = clc>",
    "tile = [128, 64, 64], strategy = #mxgpu.tcgen05_upcast_b<operand_stages = 3, accumulators = 2>",
    "tile = [128, 256, 64], strategy = #mxgpu.tcgen05_upcast_b<accumulators = 2>",
    "tile = [256, 256, 64], strategy = #mxgpu.tcgen05_upcast_b<ctas = 2, accumulators = 2>",
    "tile = [128, 128, 64], strategy = #mxgpu.tcgen05_upcast_b<accumulators = 2>, epilogue = tma_store",
    "tile = [256, 256, 64], stages = 2, strategy = #mxgpu.tcgen05_upcast_b<ctas = 2>, epilogue = tma_store",
    "tile = [128, 128, 64], stages = 2, strategy = #mxgpu.tcgen05_upcast_b<operand_stages = 1>",
]
# WIDE: schedules that support two weight matrices. WHOLE: explicit schedules with whole scale tiles.
WIDE = WGMMA_SCHEDULES[4:5] + TCGEN05_SCHEDULES[6:8] + MMA_SYNC_SCHEDULES[2:5:2]
WHOLE = (WGMMA_SCHEDULES[4:6] + WGMMA_SCHEDULES[7:] + TCGEN05_SCHEDULES[6:]
         + MMA_SYNC_SCHEDULES[6:])
SWAPPED = [
    "tile = [16, 64, 64], strategy = #mxgpu.wgmma_swap_ab",
    "tile = [16, 256, 64], strategy = #mxgpu.wgmma_swap_ab",
    "tile = [32, 128, 128], strategy = #mxgpu.wgmma_swap_ab",
    "tile = [64, 64, 64], stages = 1, strategy = #mxgpu.wgmma_swap_ab",
    "tile = [64, 256, 64], strategy = #mxgpu.wgmma_swap_ab",
    "tile = [128, 128, 64], strategy = #mxgpu.wgmma_swap_ab, raster = columns",
    "tile = [16, 64, 128], strategy = #mxgpu.wgmma_swap_ab, pdl",
    "tile = [32, 256, 128], stages = 2, strategy = #mxgpu.wgmma_swap_ab",
    "tile = [16, 64, 128], strategy = #mxgpu.wgmma_swap_ab<ctas_per_sm = 3>",
    "tile = [64, 64, 64], strategy = #mxgpu.wgmma_swap_ab<ctas_per_sm = 3>",
    "tile = [32, 128, 128], strategy = #mxgpu.wgmma_swap_ab<ctas_per_sm = 2>",
    "tile = [48, 64, 64], strategy = #mxgpu.wgmma_swap_ab",
    "tile = [48, 256, 128], strategy = #mxgpu.wgmma_swap_ab",
    "tile = [80, 64, 64], strategy = #mxgpu.wgmma_swap_ab",
    "tile = [112, 192, 128], strategy = #mxgpu.wgmma_swap_ab",
    "tile = [160, 128, 64], strategy = #mxgpu.wgmma_swap_ab, pdl",
    "tile = [256, 128, 128], strategy = #mxgpu.wgmma_swap_ab",
    "tile = [96, 256, 64], stages = 2, strategy = #mxgpu.wgmma_swap_ab",
    "tile = [144, 192, 64], strategy = #mxgpu.wgmma_swap_ab",
    "tile = [208, 64, 128], strategy = #mxgpu.wgmma_swap_ab",
]
NUMBERS = [("bf16", None)]
NUMBERS_SCHEDULES = [
    "",
    "tile = [64, 64, 64]",
    "tile = [64, 256, 64], epilogue = tma_store",
    "tile = [128, 64, 64], strategy = #mxgpu.wgmma_bf16<ctas = 2>, epilogue = tma_store",
    "tile = [128, 256, 64]",
    "tile = [256, 128, 64], epilogue = tma_store",
    "tile = [128, 256, 64], epilogue = tma_store, raster = group_m(2)",
    "tile = [256, 256, 64], strategy = #mxgpu.wgmma_bf16<ctas = 2>, epilogue = tma_store",
    "tile = [256, 256, 64], stages = 1, strategy = #mxgpu.wgmma_bf16<ctas = 2>",
    "tile = [128, 128, 64], stages = 1",
    "tile = [128, 192, 64], epilogue = tma_store",
    "tile = [256, 160, 64], strategy = #mxgpu.wgmma_bf16<ctas = 2>, epilogue = tma_store",
    "tile = [64, 96, 64]",
    "tile = [256, 224, 64], strategy = #mxgpu.wgmma_bf16<ctas = 2>",
]
SPLITS = [("split_k = 2", "false"), ("split_k = 3", "true"), ("split_k = 4", "true")]
NAN = np.float32(np.nan)


def with_own(schedule, field):
    """Adds `field` to the wgmma_swap_ab strategy in a schedule."""
    return re.sub("wgmma_swap_ab(<(.*?)>)?",
                  lambda m: f"wgmma_swap_ab<{field}, {m[2]}>" if m[2] else f"wgmma_swap_ab<{field}>",
                  schedule)


class Case:
    def __init__(self, index, device, chip, is_swapped, is_numbers):
        self.index = index
        self.chip = chip
        self.is_wgmma = chip == "sm_90a"
        self.is_mma_sync = chip.startswith("sm_12")
        self.is_exact = device == "cpu"
        self.is_swapped = is_swapped
        self.is_numbers = is_numbers
        self.rng = rng = np.random.default_rng(7000 + index)
        formats = NUMBERS if is_numbers else WEIGHTS
        self.weights, self.scales = formats[index % len(formats)]
        kinds = [kind for kind in KINDS if kind != "quantized"] if is_swapped else KINDS
        kinds = KINDS + ["reduction"] if is_numbers else kinds
        self.kind = kinds[index // len(formats) % len(kinds)]
        self.block = 16 if self.scales == "f8E4M3FN" else 32
        self.m = int(rng.choice([1, 16, 64, 129, rng.integers(1, 300)]))
        if is_swapped:
            self.m = int(rng.choice([1, 3, 16, 17, 33, 64, 100, 250]))
        self.n = int(rng.choice([8, 64, 136, 256, rng.integers(1, 300)]))
        self.k = int(rng.choice([32, 64, 96, 256, 32 * rng.integers(1, 20)]))
        if is_numbers:  # K need not be a multiple of a block
            self.k += 8 * int(rng.integers(4))
        self.groups = int(rng.integers(1, 6)) if self.is_grouped() else 0
        # Some matmuls with quantized results use two weight matrices.
        self.parts = 2 if self.kind == "parts" or (self.kind == "quantized" and index % 2) else 1
        if self.kind in ("parts", "quantized"):
            self.n = 128 * int(rng.integers(1, 4))
        self.out = "f32" if self.kind == "scatter" else list(OUTS)[index % len(OUTS)]
        self.schedule = self.choose_schedule()
        # Bulk stores require rows of a multiple of 16 bytes.
        if "tma_store" in self.schedule and self.n % 8:
            self.n += 8 - self.n % 8
        self.is_dynamic, self.knows_k = index % 3 == 0, False
        self.has_specials = index % 5 == 2
        self.activations = "f16" if self.is_exact and index % 2 and not is_numbers else "bf16"
        self.accumulates = self.kind in ("dense", "rows", "reduction") and index % 4 in ((1, 2) if is_swapped else (1,))
        self.has_alpha = self.kind in ("dense", "masked") and index % 4 == 0

    def is_grouped(self):
        return self.kind in ("rows", "masked", "parts", "scatter", "quantized", "reduction")

    def choose_schedule(self):
        if self.is_swapped:
            return self.choose_swapped()
        schedules = (WGMMA_SCHEDULES if self.is_wgmma else MMA_SYNC_SCHEDULES if self.is_mma_sync
                     else TCGEN05_SCHEDULES)
        if self.is_numbers:
            schedules = NUMBERS_SCHEDULES
        schedule = schedules[int(self.rng.integers(len(schedules)))]
        if self.kind == "quantized":
            whole = WHOLE + NUMBERS_SCHEDULES[4:10]  # tiles of 128 and 256 columns
            schedules = [s for s in schedules if not s or s in whole]
        if self.parts > 1:  # each part needs whole scale tiles
            schedules = schedules + [MMA_SYNC_LARGEST] * self.is_mma_sync
            schedules = [s for s in schedules if not s or s in WIDE or "128, 256" in s or "256, 256" in s]
        if self.kind in ("parts", "quantized"):
            return self.rng.choice(schedules)
        if self.kind == "dense" and self.k >= 128 and self.index % 4 == 3:
            return f"tile = [{64 if self.is_wgmma else 128}, 128, 64], split_k = 2"
        if self.is_grouped():  # only the device knows the groups
            schedule = re.sub("(, )?tile_loop = clc", "", schedule)
        return schedule

    def choose_swapped(self):
        if self.kind == "parts":
            return self.rng.choice(SWAPPED[1:13:3])
        schedule = SWAPPED[int(self.rng.integers(len(SWAPPED)))]
        if self.kind == "dense" and self.k >= 256 and self.index % 4:
            split, in_cluster = SPLITS[self.index % 4 - 1]
            if self.k < 384:  # a step covers 128 elements of K
                split = split.replace("3", "2")
            schedule = with_own(schedule, f"cluster_split = {in_cluster}") + f", {split}"
        return schedule

    def __str__(self):
        groups = f" in {self.groups} groups" if self.groups else ""
        scaled = f" scaled by {self.scales}" if self.scales else ""
        what = f"{self.index}: {self.activations} x {self.weights}{scaled}, {self.kind}, "
        what += f"{self.m}{groups} x {self.n} x {self.k} to {self.out}"
        return what + (", dynamic" if self.is_dynamic else "") + (
            f", {self.schedule}" if self.schedule else "")


def make_activations(case, shape):
    x = case.rng.normal(size=shape).astype(np.float32)
    x *= np.exp2(case.rng.integers(-8, 8, shape)).astype(np.float32)
    tiny = case.rng.random(shape) < 0.02
    x[tiny] = np.float32(2.0**-130 if case.activations == "bf16" else 2.0**-24)
    if case.has_specials and x.size > 8:
        flat = x.reshape(-1)
        places = case.rng.choice(flat.size, 4, replace=False)
        flat[places] = [np.inf, -np.inf, NAN, 0]
    return x.astype(FLOATS[case.activations])


def make_weights(case):
    matrices = max(case.groups, 1)
    codes, values, tiles = [], [], []
    if case.is_numbers:
        shape = (*([matrices] if case.groups else []), case.n * case.parts, case.k)
        w = case.rng.normal(size=shape).astype(ml_dtypes.bfloat16)
        return as_stored(w), None, w.astype(np.float64).reshape(matrices, -1, case.k)
    for _ in range(matrices):
        c, v = make_codes(case.rng, case.n * case.parts, case.k, case.weights, False)
        s, t = make_scales(case.rng, case.n * case.parts, case.k // case.block, case.scales)
        codes.append(c)
        tiles.append(t)
        values.append(v * s.repeat(case.block, axis=1))
    if not case.groups:
        return codes[0], tiles[0], values
    return np.stack(codes), np.stack(tiles), values


def divide(case):
    """Returns the rows of each group, and the start of each group."""
    if case.kind == "masked":
        counts = case.rng.integers(0, case.m + 1, case.groups)
        return counts, np.arange(case.groups) * case.m
    used = case.rng.integers(0, case.m + 1)
    ends = np.sort(case.rng.integers(0, used + 1, case.groups))
    return ends, np.concatenate([[0], ends[:-1]])


def text(case, is_packed=False):
    size = (lambda n: "?") if case.is_dynamic else str
    of_k = str if case.knows_k else size
    m, n, k = size(case.m), size(case.n * case.parts), of_k(case.k)
    groups = case.groups
    batch = f"{groups}x" if groups else ""
    a_batch = batch if case.kind == "masked" else ""
    blocks = of_k(case.k // case.block)
    x = f"tensor<{a_batch}{m}x{k}x{case.activations}>"
    packed = ", #mxgpu.fragment_64x64" if is_packed else ""
    w = f"tensor<{batch}{n}x{k}x{case.weights}{packed}>"
    ws = f"tensor<{batch}{n}x{blocks}x{case.scales}, {LAYOUT}>"
    columns = size(case.n)
    y = f"tensor<{a_batch}{m}x{columns}x{case.out}>"
    scales, of_scales = ("", "") if case.is_numbers else (", %ws", ", !ws")
    arguments = f"%x: !x, %w: !w, {'' if case.is_numbers else '%ws: !ws, '}%init: !y"
    body, types, more, before, result = "", "", "", "", "!y"
    types = f"!x = {x}\n!w = {w}\n!y = {y}\n" + ("" if case.is_numbers else f"!ws = {ws}\n")
    if case.kind == "slice":
        types += f"!wide = tensor<{size(case.m + 5)}x{of_k(case.k + 40)}x{case.activations}>\n"
        arguments = arguments.replace("%x: !x", "%wide: !wide")
        sizes = f"[{case.m}, {case.k}]"
        static = f"tensor<{case.m}x{case.k}x{case.activations}>"
        body += f"%s = tensor.extract_slice %wide[3, 16] {sizes} [1, 1] : !wide to {static}\n"
        body += f"%x = tensor.cast %s : {static} to !x\n  " if case.is_dynamic else ""
        if not case.is_dynamic:
            body = body.replace("%s =", "%x =")
    if groups:
        arguments += f", %o: tensor<{groups}xi32>"
        before = "ragged = rows " + ("masked " if case.kind == "masked" else "")
        more += f"offsets(%o : tensor<{groups}xi32>) "
    if case.kind == "scatter":
        arguments += f", %to: tensor<{m}xi32>"
        more += f"scatter(%to : tensor<{m}xi32>) "
    if case.has_alpha:
        arguments += ", %alpha: f32"
        more += "alpha(%alpha) "
    outs = "outs(%init : !y)"
    after = "" if case.block == 32 else "block_size = 16 "
    after += "num_b = 2 " if case.parts > 1 else ""
    after += "accumulate " if case.accumulates else ""
    after += "{mxgpu.schedule = #mxgpu.schedule<" + case.schedule + ">} " if case.schedule else ""
    epilogue = ""
    is_f32 = case.out == "f32" or case.kind == "quantized"
    rounding = "" if is_f32 else f"%r = arith.truncf %v : f32 to {case.out}\n"
    last, element = ("%v", "f32") if is_f32 else ("%r", case.out)
    if case.kind == "epilogue":
        epilogue = f"""epilogue {{
    ^bb0(%acc: f32, %row: index, %col: index):
      %two = arith.constant 2.0 : f32
      %v = arith.mulf %acc, %two : f32
      {rounding}mx.yield {last} : {element}
    }}"""
    if case.parts > 1:
        epilogue = f"""epilogue {{
    ^bb0(%first: f32, %second: f32, %row: index, %col: index):
      %v = arith.subf %first, %second : f32
      {rounding}mx.yield {last} : {element}
    }}"""
    op = "mx.grouped_matmul" if groups else "mx.matmul"
    name = "%y"
    if case.kind == "quantized":
        layout = f"#mx.scale_layout<sf_128x4, ragged = rows, groups = {groups}>"
        types += f"!e = tensor<{m}x{columns}xf8E4M3FN>\n"
        types += f"!s = tensor<{m}x{size(case.n // 32)}xf8E8M0FNU, {layout}>\n"
        arguments = arguments.replace("%init: !y", "%e: !e, %s: !s")
        outs, result, name = "outs(%e, %s : !e, !s)", "!e, !s", "%y:2"
    values = "%y#0, %y#1" if case.kind == "quantized" else "%y"
    return f"""{types}
func.func @main({arguments}) -> ({result}) {{
  {body}{name} = {op} {before}ins(%x, %w{scales} : !x, !w{of_scales}) {more}{outs} {after}-> {result} {epilogue}
  return {values} : {result}
}}
"""


def run(args, case):
    masked = case.kind == "masked"
    shape = (case.groups, case.m, case.k) if masked else (case.m, case.k)
    x = make_activations(case, shape)
    codes, tiles, w = make_weights(case)
    rows = x.reshape(-1, case.k)
    used = np.full(len(rows), -1)
    arrays = [x, codes] + ([] if case.is_numbers else [tiles])
    out_type = FLOATS[case.out]
    init = np.zeros((*shape[:-1], case.n), np.float32)
    if case.accumulates:
        init = case.rng.normal(size=init.shape).astype(np.float32)
    init = init.astype(out_type)
    extra = []
    if case.groups:
        ends, starts = divide(case)
        for g, (start, end) in enumerate(zip(starts, ends)):
            used[start : start + end if masked else end] = g
        rows[used < 0] = NAN
        extra = [ends.astype(np.int32)]
    else:
        used[:] = 0
    if case.kind == "slice":
        wide = np.full((case.m + 5, case.k + 40), NAN, x.dtype)
        wide[3 : 3 + case.m, 16 : 16 + case.k] = x
        arrays[0] = wide
    to = None
    if case.kind == "scatter":
        to = case.rng.permutation(case.m).astype(np.int32)
        extra.append(to)
    outs = [as_stored(init)]
    if case.kind == "quantized":
        outs = [np.zeros(init.shape, np.uint8),
                np.zeros((case.m // 128 + case.groups, -(-case.n // 128), 32, 4, 4), np.uint8)]
    arrays[0] = as_stored(arrays[0])
    if case.has_alpha:
        extra.append(np.float32(0.5))
    results = execute(args, case, text(case), arrays + outs + extra, len(outs), (used >= 0).any())
    if not results:
        return False
    wrong, ratio = check(case, results, rows, used, w, init, to)
    print(f"{case}: {wrong} wrong, largest deviation {ratio:.3f} of the bound")
    if not args.packed or wrong:
        return wrong == 0
    arrays[1] = ref.pack(pack_tiles(ref.unpack(codes, case.weights)), case.weights)
    packed = execute(args, case, text(case, is_packed=True), arrays + outs + extra, len(outs),
                     (used >= 0).any())
    if packed and not case.schedule and not case.is_exact:
        # The schedules chosen by mx may add in different orders.
        wrong, ratio = check(case, packed, rows, used, w, init, to)
        print(f"{case}: {wrong} wrong with packed weights, largest deviation {ratio:.3f} of the bound")
        return wrong == 0
    # With parts, rows outside of all expert groups are unspecified on the CPU.
    known = used >= 0 if case.parts > 1 else np.full(len(used), True)
    differ = 0
    for plain, other in zip(results, packed):
        same = as_bits(plain) == as_bits(other)
        differ += int((~(same[known] if len(same) == len(known) else same)).sum())
    if not packed or differ:
        print(f"{case}: {differ} elements differ with packed weights")
    return wrong == 0 and packed and not differ


def run_reduction(args, case):
    """Runs matmuls with groups of the reduction and zero-padded segments."""
    rng, groups = case.rng, case.groups
    sizes = rng.integers(0, case.k + 1, groups)
    starts = np.concatenate([[0], np.cumsum(-(-sizes // 128) * 128)])
    total = int(sizes.sum())
    capacity = -(-(total + 127 * groups) // 128) * 128
    a, b = (np.zeros((rows, capacity), ml_dtypes.bfloat16) for rows in (case.m, case.n))
    for start, size in zip(starts, sizes):
        for x in (a, b):
            x[:, start : start + size] = rng.normal(size=(len(x), size))
    init = np.zeros((groups, case.m, case.n), np.float32)
    if case.accumulates:
        init = rng.normal(size=init.shape).astype(np.float32)
    init = init.astype(FLOATS[case.out])
    types = f"tensor<{case.m}x{capacity}xbf16>, tensor<{case.n}x{capacity}xbf16>"
    out = f"tensor<{groups}x{case.m}x{case.n}x{case.out}>"
    after = "accumulate " if case.accumulates else ""
    after += "{mxgpu.schedule = #mxgpu.schedule<" + case.schedule + ">} " if case.schedule else ""
    program = f"""
func.func @main(%a: {types.split(", ")[0]}, %b: {types.split(", ")[1]}, %o: tensor<{groups}xi32>, %c: {out}) -> {out} {{
  %y = mx.grouped_matmul ragged = reduction ins(%a, %b : {types}) offsets(%o : tensor<{groups}xi32>)
    outs(%c : {out}) {after}-> {out}
  return %y : {out}
}}
"""
    ends = np.cumsum(sizes).astype(np.int32)
    results = execute(args, case, program, [as_stored(a), as_stored(b), ends, as_stored(init)], 1)
    if not results:
        return False
    y = widen(results[0])
    wrong, largest = 0, 0.0
    for group, (start, size) in enumerate(zip(starts, sizes)):
        within = slice(start, start + size)
        left, right, before = (x.astype(np.float64) for x in (a[:, within], b[:, within], init[group]))
        more = check_sums(y[group], left @ right.T + before,
                          np.abs(left) @ np.abs(right).T + np.abs(before), count_steps(case, left), case)
        wrong, largest = wrong + more[0], max(largest, more[1])
    print(f"{case}: {wrong} wrong, largest deviation {largest:.3f} of the bound")
    return wrong == 0


def as_bits(array):
    return array.view(f"u{array.itemsize}")


def execute(args, case, program, arrays, count, has_rows=True):
    """Returns the results of a program, or an empty list if it fails."""
    # Cases recorded for a GPU (simulator/scripts/cuda_cases/record.py) are not checked.
    check = (case.kind in ("dense", "rows", "slice", "epilogue") and not case.is_exact
             and "MX_RECORD" not in os.environ)
    # If there are no rows, mx-run compares nothing and exits with status 4.
    expected = 0 if has_rows or not check else 4
    # A cluster must fit on the SMs.
    sms = os.environ.get("MX_SIM_SM_COUNT", "4" if "split_k = 4" in case.schedule else "3")
    done, outs = args.call(program, arrays, count, check=check, status=None, seed=case.index % 3, sms=sms,
                           chip=None if case.is_exact else case.chip)
    if done.returncode != expected:
        print(f"{case}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return []
    return [np.load(out) for out in outs]


def check(case, results, rows, used, w, init, to):
    if case.kind == "quantized":
        return check_quantized(case, results, rows, used, w)
    y = widen(results[0]).reshape(-1, case.n)
    if to is not None:
        y = y[to]
    before = init.astype(np.float64).reshape(-1, case.n)
    wrong, largest = 0, 0.0
    for group in range(max(case.groups, 1)):
        mine = used == group
        a, b, found = rows[mine].astype(np.float64), w[group], y[mine]
        factor = 2.0 if case.kind == "epilogue" else 0.5 if case.has_alpha else 1.0
        if case.kind == "parts":  # equals one matmul with twice the reduction
            a = np.concatenate([a, -a], axis=1)
            b = np.concatenate([b[: case.n], b[case.n :]], axis=1)
        if case.accumulates:
            with np.errstate(invalid="ignore"):
                exact = a @ b.T + before[mine]
                total = np.abs(a) @ np.abs(b).T + np.abs(before[mine])
            more = check_sums(found, exact, total, count_steps(case, a), case)
        else:
            more = compare(found, a * factor, b, count_steps(case, a), OUTS[case.out])
        wrong += more[0]
        largest = max(largest, more[1])
    # Rows outside of all groups must be unchanged.
    left = used < 0
    if not (y[left] == before[left]).all() and case.kind != "parts":
        wrong += int((y[left] != before[left]).sum())
    return wrong, largest


def count_steps(case, a):
    """Counts the roundings of a sum, including those of f64 sums and f32 regions."""
    if not case.is_exact:
        return -(-a.shape[1] // 16) + 2
    return 2 if case.kind == "parts" else 1e-5


def check_sums(y, exact, total, steps, case):
    with np.errstate(invalid="ignore", over="ignore"):
        finite = np.isfinite(total)
        same = (np.isnan(exact) == np.isnan(y))
        e, t, v = exact[finite], total[finite], y[finite]
        exponent = np.maximum(np.frexp(np.maximum(np.abs(v), np.abs(e)))[1] - 1, -126)
        bound = (steps + (steps > 1)) * 2.0**-23 * t + np.ldexp(0.5, exponent - OUTS[case.out])
        ratio = np.abs(v - e) / bound
        return int((~same).sum()) + int((~(ratio <= 1)).sum()), float(ratio.max()) if ratio.size else 0.0


def check_quantized(case, results, rows, used, w):
    """Checks that each element is within one code of the exact value, given the actual scale of its block."""
    elements = results[0].view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    wrong = 0
    for group in range(case.groups):
        mine = np.flatnonzero(used == group)
        if not len(mine):
            continue
        begin = mine[0]
        with np.errstate(invalid="ignore"):
            exact = rows[mine].astype(np.float64) @ w[group].T
            if case.parts > 1:
                exact = exact[:, : case.n] - exact[:, case.n :]
        in_group = np.arange(len(mine))
        tile = begin // 128 + group + in_group // 128
        row, column = np.meshgrid(in_group, np.arange(case.n) // 32, indexing="ij")
        codes = results[1][tile[:, None], column // 4, row % 32, row // 32 % 4, column % 4]
        scale = np.ldexp(1.0, codes.astype(np.int64) - 127)
        found = elements[mine] * scale
        bad = ~np.isfinite(exact)
        limit = 2.0**-3 * np.abs(exact) + 2.0**-9 * scale
        wrong += int((~(np.abs(found - exact) <= limit) & ~bad & (codes != 0xFF)).sum())
        wrong += int(((codes == 0xFF) & ~np.repeat(
            bad.reshape(len(mine), -1, 32).any(axis=2), 32, axis=1)).sum())
    return wrong, 0.0


def main():
    test = Harness("mx_run", "folder", count=0, first=0, step=1, device="sim", chip="sm_90a", packed=False, swap_ab=False,
                   numbers=False, permuted=False)
    count = test.count or len(WEIGHTS) * (len(KINDS) - test.swap_ab + test.numbers)
    numbers = range(test.first, test.first + count, test.step)
    cases = [Case(i, test.device, test.chip, test.swap_ab, test.numbers) for i in numbers]
    for case in cases if test.permuted else []:  # requires --swap-ab
        case.schedule = with_own(case.schedule, "permuted_a = true") + ", workspace = a"
        case.knows_k = True
    if test.packed:  # packed weights are in tiles of 64 columns
        cases = [case for case in cases if "32, 64]" not in case.schedule]
    if test.packed and test.swap_ab:  # wgmma_swap_ab merges the rows of the parts
        cases = [case for case in cases if case.kind != "parts"]
    for case in test.select(cases):
        test.compared += 1
        if not (run_reduction if case.kind == "reduction" else run)(test, case):
            test.fail("wrong")
    test.finish()


if __name__ == "__main__":
    main()
