"""Compares arithmetic in launch plans with the models in test/python/element_functions.py. Every arith and math
operation runs on every type, with numbers at the edges of the type and with random numbers.

RUN: %python -W error::SyntaxWarning %s %t mx-compile
REQUIRES: compiler, numpy

Functions are compiled once, and the runtime evaluates them for all inputs. Integers of non-native widths are passed and
returned as i64.
"""

import operator

import element_functions as table
import numpy as np
from harness import Harness

import mx_compiler as mx

test = Harness("folder", "mx_compile", seed=7)
random = test.rng
INTEGERS = [f"i{w}" for w in (1, 4, 8, 12, 16, 32, 33, 64)]
NATIVE = ["i8", "i16", "i32", "i64", *table.TYPES]  # types of arguments and results
table.BITS.update((t, int(t[1:])) for t in INTEGERS)
FUNCTIONS = [*(f for t in table.TYPES for f in table.floats(t)), *(f for t in INTEGERS for f in table.integers(t)),
             *table.conversions(INTEGERS[1:]),
             *(table.Function(f"arith.remf {{0}}, {{1}} : {t}", [t, t], t, np.fmod, None) for t in table.TYPES)]


class Function:
    """Function @t with three operands of one type and an i1 operand, its results, and models of the results."""

    def __init__(self, t):
        self.t, self.lines, self.results = t, [], []
        native = t if t in NATIVE else "i64"
        self.arguments = ", ".join(f"%{name}: {native}" for name in "abc") + ", %bit: i64"
        self.operands = {name: f"%{name}" if native == t else self.add(f"arith.trunci %{name} : i64 to {t}") for name in "abc"}
        self.operands["bit"] = self.add("arith.trunci %bit : i64 to i1")

    def add(self, text, count=1):
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name}{f':{count}' * (count > 1)} = {text}")
        return name

    def give(self, text, value, t, names, model):
        if t not in NATIVE:
            value = self.add(f"arith.extsi {value} : {t} to i64")
        self.results.append((text, value, t, names, model))

    def compute(self, function):
        own = iter("abc")
        names = [next(own) if t == self.t else "bit" for t in function.operands]
        text = function.text.format(*(self.operands[name] for name in names))
        self.give(function.text, self.add(text), function.result, names, function.model)

    def compute_pair(self, name, combine, number):
        """Models operations with two results: both halves of a product, or a sum and its carry."""
        width, high = table.BITS[self.t], "i1" if combine is operator.add else self.t
        text = f"arith.{name}_extended {{0}}, {{1}} : {self.t}" + ", i1" * (combine is operator.add)
        pair = self.add(text.format(self.operands["a"], self.operands["b"]), 2)
        for i, t in enumerate((self.t, high)):
            self.give(f"{text} #{i}", f"{pair}#{i}", t, "ab", lambda a, b, shift=i * width: np.array(
                [(combine(int(x), int(y)) >> shift) % 2**64 for x, y in zip(number(a, self.t), number(b, self.t))],
                np.uint64).view(np.int64))

    def compute_index(self, cast, number):
        index = self.add(f"arith.{cast} {self.operands['a']} : {self.t} to index")
        self.give(cast, self.add(f"arith.index_cast {index} : index to i64"), "i64", "a", lambda a: number(a, self.t).view(np.int64))

    def text(self):
        _, values, types, _, _ = zip(*self.results)
        types = ", ".join(t if t in NATIVE else "i64" for t in types)
        return "\n".join([f"func.func @{self.t}({self.arguments}) -> ({types}) {{", *self.lines,
                          f"return {', '.join(values)} : {types}", "}\n"])


def make(t):
    made = Function(t)
    for function in FUNCTIONS:
        if function.operands[-1] == t and not function.constants and (t != "i1" or "absi" not in function.text):
            made.compute(function)
    if t in INTEGERS:
        made.compute_pair("mulsi", operator.mul, table.wrap)
        made.compute_pair("mului", operator.mul, table.unsigned)
        made.compute_pair("addui", operator.add, table.unsigned)
    if t in INTEGERS[:-1]:
        made.compute_index("index_cast", table.wrap)
        made.compute_index("index_castui", table.unsigned)
    return made


def integers(t):
    """Returns pairs of numbers at the edges of the type and at random."""
    w = table.BITS[t]
    edges = np.array([0, 1, 2, (1 << w) - 1, 1 << w - 1, (1 << w - 1) - 1, w, w - 1, w + 1], np.uint64)
    some = random.integers(0, 2**64, 6, np.uint64) >> random.integers(0, 64, 6, np.uint64)
    numbers = np.unique(table.wrap(np.concatenate([edges, some]).view(np.int64), t))
    return [x.ravel() for x in np.meshgrid(numbers, numbers)]


def floats(t):
    """Returns bits of operand triples at the edges of type t and at random. In many triples the terms of fma cancel."""
    sign = np.int64(-1) << table.BITS[t] - 1

    def bits_of(*numbers):
        numbers = table.round_to(np.array(numbers), t)
        return table.get_bits(numbers[np.isfinite(numbers)], t)

    one, normal, infinity = *bits_of(1.0, table.least_normal(t)), table.get_bits(np.array(np.inf), t)
    positive = np.unique(np.concatenate([
        [0, 1, 2, normal - 1, normal, normal + 1, infinity - 1, infinity, infinity + normal // 2, one - 1, one, one + 1],
        bits_of(0.5, 1.5, 2.5, 3.0, 127.5, 128.0, 255.5, 32767.5, 65504.0, 2.0**31, 2.0**63, 2.0**64, 2.0**24 + 1),
        random.integers(0, infinity, 10)]))
    bits = np.concatenate([positive, positive | sign])
    a, b, c = (random.choice(bits, 14 * len(bits)) for _ in range(3))
    a[:] = bits.repeat(14)
    with np.errstate(all="ignore"):
        product = table.round_to(table.from_bits(a, t) * table.from_bits(b, t), t)
    c = np.where(random.random(len(a)) < 0.5, table.get_bits(-product, t), c)
    return a, np.where(random.random(len(a)) < 0.3, a ^ sign, b), c


def to_numbers(bits, t):
    return table.from_bits(bits, t) if t in table.TYPES else table.wrap(bits, t)


functions = [make(t) for t in (*INTEGERS, *table.TYPES)]
compiled = test.compile("".join(f.text() for f in functions), "--ptxas=none")
mx.set_device("sim")
program = mx.Program(compiled)
for f in functions:
    native = f.t if f.t in NATIVE else "i64"
    size = table.BITS[native] // 8
    dtype = f"{'u' if native == 'bf16' else native[0]}{size}"
    bits = dict(zip("abc", floats(f.t) if f.t in table.TYPES else [*integers(f.t)] * 2))
    bits["bit"] = random.integers(0, 2, len(bits["a"]))
    stored = [bits[name].astype(f"i{size}").view(dtype) for name in "abc"]
    rows = [program[f.t](*row) for row in zip(*stored, bits["bit"])]
    numbers = {name: to_numbers(x, f.t) for name, x in bits.items() if name != "bit"} | {"bit": bits["bit"]}
    for (text, _, t, names, model), found in zip(f.results, zip(*rows)):
        found = np.array(found)
        found = found.view(f"i{found.itemsize}").astype(np.int64)
        with np.errstate(all="ignore"):
            expected = model(*(numbers[name] for name in names))
        test.expect(f"@{f.t} {text}", to_numbers(found, t), table.wrap(expected, t) if t not in table.TYPES else expected, nan=True)
test.finish(least=200000)
