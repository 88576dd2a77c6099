"""Tests operands of a ragged reduction whose capacity exceeds the rows in groups. The cost of dequantization is
proportional to the number of rows, and memory after the last segment is neither read nor written.

RUN: env MX_QUIET=1 MX_CUDA_DRIVER=none %python %s mx-run mx-compile %t
REQUIRES: compiler, numpy

The same groups run with a small and a large capacity, and with offsets of both types. Elements and scales after the
last segment, and the workspace before a call, are NaN. Results contain bytes that must be preserved. Results are
compared with NumPy, and defined columns also with the reference path. Reports of the simulator count stored bytes and
executed instructions.
"""

import json

import mx_compiler as mx
import mx_reference as ref
import numpy as np
from harness import FLOATS, Harness

test = Harness("mx_run", "mx_compile", "folder", seed=11)
mx.set_device("sim")
ROWS = 136, 200  # rows of a and b
SIZES = [130, 0, 70, 1]
USED = sum(-(-size // 128) * 128 for size in SIZES)
POISON, BF16_NAN = 0xA5, 0x7FC0  # byte in results, and value in the workspace

TYPES = """
!a = tensor<{m}x{cap}xf8E4M3FN, #mx.ragged<groups = {g}, align = 128>>
!as = tensor<{m}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = {g}>>
!b = tensor<{n}x{cap}xf8E4M3FN, #mx.ragged<groups = {g}, align = 128>>
!bs = tensor<{n}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = {g}>>
!o = tensor<{g}x{offset}>
!x = tensor<{m}x{cap}x{number}>
!w = tensor<{n}x{cap}x{number}>
!y = tensor<{g}x{m}x{n}xf32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: !o)"""
DEQUANTIZE = TYPES + """ -> (!x, !w) {{
  %0 = tensor.empty() : !x
  %x = mx.dequantize ragged = reduction padded ins(%a, %as : !a, !as) offsets(%o : !o)
      outs(%0 : !x) -> !x
  %1 = tensor.empty() : !w
  %w = mx.dequantize ragged = reduction padded ins(%b, %bs : !b, !bs) offsets(%o : !o)
      outs(%1 : !w) -> !w
  return %x, %w : !x, !w
}}
"""
MATMUL = TYPES + """ -> !y {{
  %0 = tensor.empty() : !y
  %y = mx.grouped_matmul ragged = reduction ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : !o) outs(%0 : !y) {{{schedule}}} -> !y
  return %y : !y
}}
"""
WORKSPACE = "mxgpu.schedule = #mxgpu.schedule<tile = [128, {n}, 64], workspace = ab>"


def poisoned(shape, dtype):
    return np.full((*shape, dtype.itemsize), POISON, np.uint8).view(dtype).reshape(shape)


class Case:
    """Operands of the groups, with capacity for `total` rows."""

    def __init__(self, total, operands, offset="i32", number="bf16"):
        self.total, self.groups = total, len(SIZES)
        self.capacity = ref.capacity(total, self.groups)
        self.fields = dict(m=ROWS[0], n=ROWS[1], cap=self.capacity, blocks=self.capacity // 32,
                           g=self.groups, offset=offset, number=number)
        self.arrays = []
        for codes, scales in operands:
            elements = np.full((len(codes), self.capacity), 0x7F, np.uint8)  # NaN
            elements[:, :USED] = codes
            factors = np.full((len(codes), self.capacity // 32), 0xFF, np.uint8)
            factors[:, :USED // 32] = scales
            self.arrays += [elements, ref.tile(factors)]
        self.arrays.append(np.cumsum(SIZES).astype(offset.replace("i", "int")))

    def launch(self, text, chip):
        """Fills the memory of results and workspace with poison, launches, and returns the results."""
        with mx.Program(test.compile(text, "--ptxas=none", chip=chip)) as program:
            entry = program["main"]
            arguments = [mx.array(array.view(value.storage))
                         for array, value in zip(self.arrays, entry.arguments, strict=True)]
            results = [mx.array(poisoned(shape, value.storage))
                       for value, shape in zip(entry.results, entry.result_shapes(*arguments))]
            workspace = np.full(entry.workspace_bytes(*arguments) // 2, BF16_NAN, np.uint16)
            entry.launch(arguments, results, mx.array(workspace.view(np.uint8)))
            mx.synchronize()
            return [np.asarray(result.numpy(dtype=result.element.storage)) for result in results]

    def check(self, text, chip):
        """Compares each operation with the reference path."""
        done, _ = test.call(text, self.arrays, 0, chip=chip, check=True)
        test.require(f"{chip}: check", "check: passed" in done.stdout, done.stdout)

    def count(self, text, chip):
        """Returns the simulator's report of each launch."""
        test.call(text, self.arrays, 0, chip=chip, env={"MX_SIM_REPORT": test.path("report.json")})
        with open(test.path("report.json"), encoding="utf-8") as file:
            return json.load(file)["launches"]


def draw(rows):
    """Draws elements and scales of all segments, with zero padding."""
    codes, scales = np.zeros((rows, USED), np.uint8), np.zeros((rows, USED // 32), np.uint8)
    start = 0
    for size in SIZES:
        own = test.rng.integers(0, 256, (rows, size)).astype(np.uint8)
        own[own & 0x7F == 0x7F] = 1  # no NaN
        codes[:, start:start + size] = own
        blocks = -(-size // 32)
        scales[:, start // 32:start // 32 + blocks] = test.rng.integers(122, 132, (rows, blocks))
        start += -(-size // 128) * 128
    return codes, scales


operands = [draw(rows) for rows in ROWS]
exact = [ref.real(*operand, "f8E4M3FN") for operand in operands]
SMALL, LARGE = sum(SIZES), 3000


def check_dequantized(chip):
    for total, offset, number in ((SMALL, "i64", "bf16"), (LARGE, "i32", "bf16"),
                                  (LARGE, "i64", "f32")):
        case = Case(total, operands, offset, number)
        assert case.capacity > USED
        text = DEQUANTIZE.format(**case.fields)
        case.check(text, chip)
        found = case.launch(text, chip)
        for bits, numbers in zip(found, exact):
            wanted = numbers.astype(FLOATS[number])  # every number is exact
            test.expect(f"{chip}: numbers", bits[:, :USED], wanted)
            test.expect(f"{chip}: columns after the last segment", bits[:, USED:],
                        poisoned(bits[:, USED:].shape, bits.dtype))


def check_matmuls(chip, schedules):
    starts = np.cumsum([0] + [-(-size // 128) * 128 for size in SIZES])

    def multiply(x, w):
        return np.stack([x[:, a:b] @ w[:, a:b].T for a, b in zip(starts, starts[1:])])

    wanted, size = multiply(*exact), multiply(*map(abs, exact))
    for schedule in schedules:
        found = []
        for total in SMALL, LARGE:
            case = Case(total, operands)
            found.append(case.launch(MATMUL.format(schedule=schedule, **case.fields), chip)[0])
        test.expect_numbers(f"{chip} {schedule}", found[0], wanted, size * 2**-16)
        test.expect(f"{chip} {schedule}: room", found[1], found[0])


def check_work(chip, text, kernel):
    """Checks that the number of stored bytes depends only on the rows, and that CTAs without work end early."""
    found = []
    for total in SMALL, LARGE:
        case = Case(total, operands)
        launches = [launch for launch in case.count(text.format(**case.fields), chip)
                    if kernel in launch["kernel"]]
        test.require(f"{chip}: launches of {kernel}", launches)
        stored = sum(role["bytes"].get("registers_to_global", 0)
                     for launch in launches for role in launch["roles"])
        test.require(f"{chip}: bytes stored of {total} rows", stored == 2 * USED * sum(ROWS), stored)
        warps = sum(np.prod(launch["grid"]) * launch["block"][0] // 32 for launch in launches)
        instructions = sum(launch["warp_instructions"] for launch in launches)
        found.append((instructions, warps, len(launches)))
    (few, least, launches), (many, most, _) = found
    idle = (many - few) / (most - least)
    print(f"{chip} {kernel}: {launches} launches, {few} and {many} instructions of {least} and "
          f"{most} warps, {idle:.0f} instructions in a warp without work")
    test.require(f"{chip} {kernel}: instructions of an idle warp", idle <= 150, idle)
    return launches


for chip in "sm_90a", "sm_100a", "sm_120a":
    check_dequantized(chip)
    check_work(chip, DEQUANTIZE, "dequantize")
check_matmuls("sm_90a", [WORKSPACE.format(n=n) for n in (64, 128, 256)])
check_matmuls("sm_100a", [""])
# One launch dequantizes both operands.
both = MATMUL.replace("{schedule}", WORKSPACE.format(n=128))
launches = check_work("sm_90a", both, "dequantize")
test.require("launches for both operands", launches == 1, launches)
test.finish(least=2000000)
