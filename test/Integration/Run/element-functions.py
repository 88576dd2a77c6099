"""Random regions return the same bits on the CPU path, on the simulator and in numpy.

RUN: %python %s mx-run %t
RUN: env MX_CHIP=sm_120a MX_ELEMENT_SEED=1001 %python %s mx-run %t
TIER: slow
REQUIRES: compiler, numpy

The test generates expressions of the functions in test/python/element_functions.py with a depth of 1 to 8, and
evaluates them on numbers at the edges of their types. A region contains many expressions, each evaluated for its own
rows. On sm_100a the region is the epilogue of a matmul, so results are stored as they are. On sm_90a the region is the
prologue of a quantizer (one of its inputs is quantized), and results are hashed to values that E4M3 represents. If
MX_CHIP is sm_120a, both kernels run on this chip. The bits of NaN are unspecified.

Environment variables: MX_ELEMENT_SECONDS is the duration in seconds (default 45), MX_ELEMENT_SEED the first seed, and
MX_ELEMENT_ROWS the number of rows for each expression (default 8), out of 512 rows in a program.
"""

import os
import sys
import time

import element_functions as table
import mx_reference as ref
import numpy as np
from chips import CHIP, IS_MMA_SYNC, adapt_schedule
from harness import Harness

harness = Harness("mx_run", "folder")
seconds = float(os.environ.get("MX_ELEMENT_SECONDS", "45"))
first_seed = int(os.environ.get("MX_ELEMENT_SEED", "1"))

ROWS, COLUMNS = 512, 32
EACH = int(os.environ.get("MX_ELEMENT_ROWS", "8"))  # rows for each expression
COUNT = ROWS // EACH
# Chip for each kind of kernel: the two older chips, or the chip in MX_CHIP.
CHIPS = {"matmul": CHIP, "quantizer": CHIP if IS_MMA_SYNC else "sm_90a"}
SCHEDULE = adapt_schedule(f"tile = [128, {COLUMNS}, 128], stages = 2, epilogue = direct")
# Names and types of a region's inputs; "q" is a dequantized number.
INPUTS = {"a": "f32", "b": "f32", "c": "bf16", "d": "bf16", "e": "f16", "f": "f16", "i": "i32", "j": "i32",
          "q": "bf16"}
# NumPy types of the bits, and of the arrays passed to mx-run.
DTYPES = {"f32": ("u4", "f4"), "bf16": ("u2", "u2"), "f16": ("u2", "f2"), "i32": ("u4", "i4"), "q": ("u1", "u1")}
EDGES = {
    "f32": [0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x3F000000,
            0x3FC00000, 0x40200000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001,
            0x7FA00000, 0x7FFFFFFF, 0x4B800000, 0x4F000000, 0xCF000000, 0x4F7FFFFF, 0x5F000000, 0x3F808000,
            0x3F818000, 0x477FEFFF, 0x477FF000, 0x33000000, 0x33800000, 0x42FE0000, 0x43000000],
    "i32": [0, 1, 2, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x80000001, 0x7F, 0x80, 0x8000, 0x1000001, 0x3000001,
            0x1010001, 0x1FEFFFF],
}
EDGES["bf16"] = [bits >> 16 for bits in EDGES["f32"]]
EDGES["f16"] = [0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x3C00, 0xBC00, 0x3800, 0x3E00, 0x7BFF, 0xFBFF, 0x7C00,
                0xFC00, 0x7E00, 0xFE01, 0x7D00, 0x7FFF]


def make_bits(rng, of):
    """Draws a third of the numbers from the edges, a third from all bits, and a third from moderate magnitudes."""
    shape, width = (ROWS, COLUMNS), table.BITS[of]
    random = rng.integers(0, 1 << width, shape, np.uint64)
    if of == "i32":
        moderate = rng.integers(-300, 300, shape).astype(np.int64).view(np.uint64) & np.uint64(0xFFFFFFFF)
    else:
        near = np.round(rng.standard_normal(shape) * np.exp2(rng.integers(-3, 9, shape)), 2)
        moderate = table.get_bits(table.round_to(near, of), of).view(np.uint64) & np.uint64((1 << width) - 1)
    choice = rng.integers(0, 3, shape)
    bits = np.where(choice == 0, rng.choice(np.uint64(EDGES[of]), shape), np.where(choice == 1, random, moderate))
    return bits.astype(DTYPES[of][0])


def to_numbers(bits, of):
    bits = bits.astype(np.int64)
    return table.wrap(bits, of) if of in table.INTEGERS else table.from_bits(bits, of)


# --- Expressions --------------------------------------------------------------


class Expression:
    """A chain of operations. Each operation uses the result of its predecessor."""

    def __init__(self, rng, index, names):
        self.lines, self.steps = [], []
        pool = [(f"%{name}", INPUTS[name]) for name in names]
        last = pool[rng.integers(len(pool))]
        for step in range(rng.integers(1, 9)):
            function, place = self.choose(rng, last[1], {t for _, t in pool})
            operands = [self.pick(rng, pool, t, last) for t in function.operands]
            operands[place] = last
            constant = function.constants and int(rng.choice(function.constants))
            result = (f"%v{index}_{step}", function.result)
            text = function.text
            if constant is not None:
                k = f"%k{index}_{step}"
                self.lines.append(f"{k} = arith.constant {constant} : {function.operands[0]}")
                text = text.replace("{k}", k)
            self.lines.append(f"{result[0]} = " + text.format(*(name for name, _ in operands)))
            self.steps.append((result, function, operands, constant))
            pool.append(result)
            last = result
        self.result = last

    @staticmethod
    def choose(rng, of, known):
        """Chooses a function with an operand of type `of`, and this operand's position. Conversions are chosen
        rarely."""
        able = [f for f in table.FUNCTIONS if of in f.operands and set(f.operands) <= known]
        converts = [f for f in able if f.operands == [of] and f.result not in (of, "i1")]
        others = [f for f in able if f not in converts]
        able = converts if not others or (converts and rng.random() < 0.3) else others
        function = able[rng.integers(len(able))]
        places = [i for i, t in enumerate(function.operands) if t == of]
        return function, places[rng.integers(len(places))]

    @staticmethod
    def pick(rng, pool, of, last):
        """Picks a value of type `of`, usually not `last`, because many operations fold if both operands are equal."""
        fitting = [value for value in pool if value[1] == of]
        others = [value for value in fitting if value != last]
        if others and rng.random() < 0.9:
            fitting = others
        return fitting[rng.integers(len(fitting))]

    def evaluate(self, inputs):
        """Returns the result, or None if a function has no model."""
        values = dict(inputs)
        for (name, _), function, operands, constant in self.steps:
            arguments = [values[operand] for operand, _ in operands]
            if constant is not None:
                arguments.append(constant)
            known = function.model and all(a is not None for a in arguments)
            values[name] = function.model(*arguments) if known else None
        return values[self.result[0]]


def as_f32(value, of, prefix):
    """Returns lines to convert a value of any type to f32, the name of the result, and a model. Floats are converted
    exactly; all bits of integers and f64 are folded into 23 bits."""
    lines, n = [], iter(range(100))

    def add(text):
        lines.append(f"%{prefix}_{next(n)} = {text}")
        return lines[-1].split(" ")[0]

    if of == "f32":
        return lines, value, lambda x: x
    if of in ("bf16", "f16"):
        return lines, add(f"arith.extf {value} : {of} to f32"), lambda x: x
    if of == "i1":
        return lines, add(f"arith.uitofp {value} : i1 to f32"), lambda x: x.astype(np.float64)
    bits, width = value, table.BITS[of]
    if of == "f64":
        bits = add(f"arith.bitcast {value} : f64 to i64")
    if width < 64:
        bits = add(f"arith.extui {bits} : {of} to i64")
    for shift in (32, 16):
        shifted = add(f"arith.shrui {bits}, %shift{shift} : i64")
        bits = add(f"arith.xori {bits}, {shifted} : i64")
    bits = add(f"arith.andi {bits}, %mask : i64")

    def model(x):
        x = table.get_bits(x, of) if of == "f64" else x
        x = table.unsigned(x, of)
        x = x ^ (x >> np.uint64(32))
        x = x ^ (x >> np.uint64(16))
        return (x & np.uint64(0x7FFFFF)).astype(np.float64)

    return lines, add(f"arith.uitofp {bits} : i64 to f32"), model


HASH = """
    %h0 = arith.bitcast %chosen : f32 to i32
    %h1 = arith.shrui %h0, %c16 : i32
    %h2 = arith.xori %h0, %h1 : i32
    %h3 = arith.shrui %h2, %c8 : i32
    %h4 = arith.xori %h2, %h3 : i32
    %h5 = arith.shrui %h4, %c4 : i32
    %h6 = arith.xori %h4, %h5 : i32
    %h7 = arith.andi %h6, %c15 : i32
    %hash = arith.uitofp %h7 : i32 to f32
    mx.yield %hash : f32"""


def hash_bits(x):
    bits = table.get_bits(x, "f32")
    for shift in (16, 8, 4):
        bits = bits ^ (table.unsigned(bits, "i32") >> np.uint64(shift)).astype(np.int64)
    return (bits & 15).astype(np.float64)


CONSTANTS = """
    %each = arith.constant {each} : index
    %part = arith.divui %row, %each : index
    %shift32 = arith.constant 32 : i64
    %shift16 = arith.constant 16 : i64
    %mask = arith.constant 0x7FFFFF : i64
    %c16 = arith.constant 16 : i32
    %c8 = arith.constant 8 : i32
    %c4 = arith.constant 4 : i32
    %c15 = arith.constant 15 : i32
    %chosen_0 = arith.constant 0.0 : f32"""


def region(expressions):
    """Evaluates all expressions, and selects one of them for each row."""
    lines = [CONSTANTS.format(each=EACH)]
    for i, expression in enumerate(expressions):
        more, result, _ = as_f32(*expression.result, f"r{i}")
        lines += expression.lines + more
        after = "chosen" if i + 1 == len(expressions) else f"chosen_{i + 1}"
        lines += [f"%i{i} = arith.constant {i} : index",
                  f"%is{i} = arith.cmpi eq, %part, %i{i} : index",
                  f"%{after} = arith.select %is{i}, {result}, %chosen_{i} : f32"]
    return "\n    ".join(lines)


# --- Programs -----------------------------------------------------------------

MATMUL = """
func.func @main(%x: !a, %xs: !as, %y: !b, %ys: !bs, {parameters}) -> !r {{
  %none = tensor.empty() : !r
  %0 = mx.matmul ins(%x, %xs, %y, %ys : !a, !as, !b, !bs) outs(%none : !r)
      {{mxgpu.schedule = #mxgpu.schedule<{schedule}>}} -> !r
  epilogue {{
  ^bb0(%acc: f32, %row: index, %col: index):
    {loads}{region}
    mx.yield %chosen : f32
  }}
  return %0 : !r
}}
"""
QUANTIZER = """
func.func @main({parameters}, %qs: !qs) -> (!e, !es) {{
  %elements = tensor.empty() : !e
  %scales = tensor.empty() : !es
  %0:2 = mx.fused_quantize ins({ins}) input_scales(%qs : !qs) outs(%elements, %scales : !e, !es) -> !e, !es
  prologue {{
  ^bb0({arguments}, %row: index, %col: index):
    {loads}{region}{hash}
  }}
  return %0#0, %0#1 : !e, !es
}}
"""


def alias(of):
    return "tensor<{}x{}x{}>".format(ROWS, COLUMNS, of)


def make_program(kind, expressions):
    types = {name: alias("f8E4M3FN" if name == "q" else of) for name, of in INPUTS.items()}
    if kind == "matmul":
        types.pop("q")
    parameters = ", ".join(f"%t{name}: {t}" for name, t in types.items())
    direct = [n for n in types if kind == "quantizer" and n not in "ij"]
    loads = "\n    ".join(f"%{n} = tensor.extract %t{n}[%row, %col] : {t}" for n, t in types.items() if n not in direct)
    heads = f"""
!r = {alias("f32")}
!a = tensor<{ROWS}x32xf8E4M3FN>
!as = tensor<{ROWS}x1xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<{COLUMNS}x32xf8E4M3FN>
!bs = tensor<{COLUMNS}x1xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!e = {alias("f8E4M3FN")}
!es = tensor<{ROWS}x{COLUMNS // 32}xf8E8M0FNU>
!qs = !es
"""
    return heads + (MATMUL if kind == "matmul" else QUANTIZER).format(
        parameters=parameters, loads=loads, schedule=SCHEDULE, region=region(expressions), hash=HASH,
        ins=", ".join(f"%t{n}" for n in direct) + " : " + ", ".join(types[n] for n in direct),
        arguments=", ".join(f"%{n}: {INPUTS[n]}" for n in direct))


def observe(kind, program, inputs, scales):
    """Returns the results of both paths, as float64 arrays."""
    def zeros(rows):
        return np.zeros((rows, 32), np.uint8)

    names = [n for n in INPUTS if kind == "quantizer" or n != "q"]
    arrays = [inputs[n].view(DTYPES["q" if n == "q" else INPUTS[n]][1]) for n in names]
    if kind == "matmul":
        tiles = np.zeros((ROWS // 128, 1, 32, 4, 4), np.uint8)
        arrays = [zeros(ROWS), tiles, zeros(COLUMNS), tiles[:1], *arrays]
    else:
        arrays.append(scales)
    found = {}
    for device, chip in ("cpu", "cpu"), ("sim", CHIPS[kind]):
        results = harness.run(program, arrays, 1 if kind == "matmul" else 2, chip=chip, sms=1)
        if kind == "matmul":
            found[device] = results[0].astype(np.float64)
        else:
            # The results are integers from 0 to 15, which E4M3 represents with any scale.
            found[device] = ref.real(*results, "f8E4M3FN")
    return found


def is_same(a, b):
    same = (a == b) & (np.signbit(a) == np.signbit(b))
    return same | (np.isnan(a) & np.isnan(b))


def report(kind, seed, expression, rows, expected, found, inputs):
    print(f"{kind}, MX_ELEMENT_SEED={seed}:")
    print("\n".join("  " + line for line in expression.lines))
    for device, values in found.items():
        reference, name = (expected, "numpy") if expected is not None else (found["cpu"], "cpu")
        wrong = np.argwhere(~is_same(values, reference))
        for row, column in wrong[:3]:
            operands = ", ".join(f"%{n} = {int(inputs[n][rows][row, column]):#x}" for n in INPUTS)
            print(f"  {device} gives {values[row, column].hex()}, {name} {reference[row, column].hex()} "
                  f"of {operands}; {len(wrong)} differ")


def test(kind, seed):
    rng = np.random.default_rng([seed, kind == "matmul"])
    names = [n for n in INPUTS if kind == "quantizer" or n != "q"]
    inputs = {n: make_bits(rng, of) for n, of in INPUTS.items() if n != "q"}
    inputs["q"] = rng.integers(0, 256, (ROWS, COLUMNS)).astype(np.uint8)
    scales = rng.integers(100, 150, (ROWS, COLUMNS // 32)).astype(np.uint8)
    expressions = [Expression(rng, i, names) for i in range(COUNT)]
    found = observe(kind, make_program(kind, expressions), inputs, scales)

    numbers = {f"%{n}": to_numbers(inputs[n], INPUTS[n]) for n in names if n != "q"}
    numbers["%q"] = table.round_to(ref.real(inputs["q"], scales, "f8E4M3FN"), "bf16")
    failures, modelled = 0, 0
    for i, expression in enumerate(expressions):
        rows = slice(i * EACH, (i + 1) * EACH)
        expected = expression.evaluate({name: x[rows] for name, x in numbers.items()})
        parts = {device: values[rows] for device, values in found.items()}
        if expected is not None:
            expected = as_f32(*expression.result, "r")[2](expected)
            expected = hash_bits(expected) if kind == "quantizer" else expected
            modelled += 1
        reference = expected if expected is not None else parts["cpu"]
        if not all(is_same(values, reference).all() for values in parts.values()):
            failures += 1
            report(kind, seed, expression, rows, expected, parts, inputs)
    return failures, modelled


begin, seed, failures, modelled = time.monotonic(), first_seed, 0, 0
with np.errstate(all="ignore"):
    while seed == first_seed or time.monotonic() - begin < seconds:
        for kind in ("matmul", "quantizer"):
            wrong, known = test(kind, seed)
            failures, modelled = failures + wrong, modelled + known
        if failures > 20:
            break
        seed += 1
programs = 2 * (seed - first_seed)
print(f"{programs * COUNT} expressions in {programs} programs, {modelled} with a model in numpy; "
      f"{programs * ROWS * COLUMNS} values on each path; {failures} expressions differ")
sys.exit(failures != 0)
