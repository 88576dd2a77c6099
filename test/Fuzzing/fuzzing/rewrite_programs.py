"""Random programs for the passes that rewrite matmuls to mx operations: text, arguments and permitted results.

A function contains several independent cases. Each case depends only on its seed. NumPy computes the expected values in
float64 with the formulas in `mx_reference`, which share no code with the compiler."""

import dataclasses
import pathlib
import sys

import ml_dtypes
import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "test" / "python"))
import mx_reference as reference

FLOATS = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
UNITS = {"f32": 2.0**-24, "bf16": 2.0**-8, "f16": 2.0**-11}
LARGEST = {"f32": 3.4028235e38, "bf16": 3.3895314e38, "f16": 65504.0}
LEAST = {"f32": 2.0**-149, "bf16": 2.0**-133, "f16": 2.0**-24}
ELEMENTS = ["f8E4M3FN", "f8E5M2", "f6E3M2FN", "f6E2M3FN", "f4E2M1FN"]


@dataclasses.dataclass
class Expected:
    """Permitted result: `exact`, within a tolerance for the additions and for rounding to `dtype`."""

    exact: np.ndarray
    sizes: np.ndarray  # sums of the addends' magnitudes, to which the addition error is relative
    dtype: str
    roundings: int  # number of additions of type `additions`
    additions: str = "f32"

    def bound(self):
        unit = self.roundings * 2 * UNITS[self.additions]
        return (unit * self.sizes + 1.01 * UNITS[self.dtype] * (np.abs(self.exact) + unit * self.sizes)
                + LEAST[self.dtype])

    def disagreement(self, found):
        """Returns the first wrong element, or None."""
        with np.errstate(invalid="ignore"):
            right = np.abs(found - self.exact) <= self.bound()
            beyond = np.abs(self.exact) + self.bound() > LARGEST[self.dtype]
        right |= beyond & np.isinf(found) & (np.sign(found) == np.sign(self.exact))
        places = np.argwhere(~right & ~np.isnan(self.sizes))
        return tuple(int(i) for i in places[0]) if len(places) else None


@dataclasses.dataclass
class Codes:
    """Expected bytes of a result."""

    exact: np.ndarray

    def disagreement(self, found):
        places = np.argwhere(found.view(np.uint8) != self.exact)
        return tuple(int(i) for i in places[0]) if len(places) else None


@dataclasses.dataclass
class Case:
    seed: int
    first: int = 0  # first line of the case in the program
    last: int = 0
    # Names, types and expected values of results.
    results: list = dataclasses.field(default_factory=list)


def decode(array, dtype):
    """Converts an output of mx-run to float64."""
    kind = FLOATS[dtype]
    with np.errstate(invalid="ignore"):  # NaN inputs
        return (array if array.dtype == kind else array.view(kind)).astype(np.float64)


def tensor(dims, dtype, dynamic=()):
    """Returns a tensor type in which the axes in `dynamic` are `?`."""
    return "tensor<" + "".join(f"{'?' if i in dynamic else n}x" for i, n in enumerate(dims)) + dtype + ">"


def affine_map(loops, results):
    return f"affine_map<({', '.join(loops)}) -> ({', '.join(results)})>"


class Programs:
    """Text of a function to which cases are appended."""

    def __init__(self):
        self.lines, self.arguments, self.cases, self.count = [], [], [], 0

    # Text

    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def say(self, text):
        name = self.fresh()
        self.lines += f"{name} = {text}".split("\n")
        return name

    def index(self, number):
        return self.say(f"arith.constant {number} : index")

    def argument(self, kind, array):
        self.arguments.append((kind, array))
        return f"%a{len(self.arguments) - 1}"

    def size_of(self, name, kind, axis):
        return self.say(f"tensor.dim {name}, {self.index(axis)} : {kind}")

    def empty(self, kind, sizes):
        """Creates an empty tensor. `sizes` contains the names of the dynamic sizes."""
        return self.say(f"tensor.empty({', '.join(sizes)}) : {kind}")

    def filled(self, kind, dtype, sizes, number=0.0):
        value = self.say(f"arith.constant {number:e} : {dtype}")
        return self.say(f"linalg.fill ins({value} : {dtype}) outs({self.empty(kind, sizes)} : {kind}) -> {kind}")

    def generic(self, maps, iterators, inputs, out, body, arguments):
        """Adds a linalg.generic. `inputs` and `out` contain names and types. `arguments` contains the body's argument
        types. These arguments are named %x0_N, ..., and `body` refers to them as {0}, ..."""
        self.count += 1
        names = [f"%x{i}_{self.count}" for i in range(len(arguments))]
        local = body.format(*names, n=self.count)
        listed = ", ".join(name for name, _ in inputs), ", ".join(kind for _, kind in inputs)
        loops = ", ".join(f'"{kind}"' for kind in iterators)
        block = ", ".join(f"{name}: {kind}" for name, kind in zip(names, arguments))
        return self.say(f"linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{loops}]}} "
                        f"ins({listed[0]} : {listed[1]}) outs({out[0]} : {out[1]}) {{\n^bb0({block}):\n{local}\n}} -> {out[1]}")

    def truncated(self, name, dims, dtype, dynamic, sizes, on_tensors):
        """Rounds f32 to `dtype`."""
        kind, narrow = tensor(dims, "f32", dynamic), tensor(dims, dtype, dynamic)
        if on_tensors:
            return self.say(f"arith.truncf {name} : {kind} to {narrow}")
        loops = [f"d{i}" for i in range(len(dims))]
        same = affine_map(loops, loops)
        return self.generic([same, same], ["parallel"] * len(dims), [(name, kind)], (self.empty(narrow, sizes), narrow),
                            f"%t_{{n}} = arith.truncf {{0}} : f32 to {dtype}\nlinalg.yield %t_{{n}} : {dtype}", ["f32", dtype])

    # Cases

    def grow(self, seed):
        """Adds the case that `make` generates from a seed."""
        case = Case(seed, first=len(self.lines))
        self.make(np.random.default_rng(seed), case)
        case.last = len(self.lines)
        self.cases.append(case)

    def program(self):
        parameters = ", ".join(f"%a{i}: {kind}" for i, (kind, _) in enumerate(self.arguments))
        results = [result for case in self.cases for result in case.results]
        types = ", ".join(kind for _, kind, *_ in results)
        return "\n".join([f"func.func @main({parameters}) -> ({types}) {{", *self.lines,
                          f"return {', '.join(name for name, *_ in results)} : {types}", "}", ""])

    def find_case(self, line):
        """Returns the case at a program line. The first line is 1."""
        return next((case for case in self.cases if case.first <= line - 2 < case.last), None)
