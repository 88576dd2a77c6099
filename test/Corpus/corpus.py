"""Runs a corpus program on the simulator (for one chip of each family) and on the CPU path, and compares the results
with a float64 oracle.

    corpus.py --run=MX_RUN --opt=MX_OPT --directory=DIR PROGRAM.mlir     runs a program
    corpus.py --check                                                    compares README.md and the rows with the files
    corpus.py --write                                                    writes the table of README.md

Each program has a row in rows/ with its arguments and its oracle. Oracles follow the definition of the operations and
compute intervals (intervals.py). A second pass checks that the comparison rejects wrong results and the results for
exchanged arguments."""

import argparse
import glob
import importlib
import itertools
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "python"))
sys.path.append(os.path.join(HERE, "..", "Frozen"))

import ml_dtypes
import numpy as np
from formats import Codes, Scales
from intervals import Bits, Interval
from kernel_programs import CHIPS
from program import PROGRAMS

DTYPES = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64", np.dtype(np.float16): "f16",
          np.dtype(ml_dtypes.bfloat16): "bf16"}


def load_rows():
    for path in sorted(glob.glob(os.path.join(HERE, "rows", "*.py"))):
        importlib.import_module("rows." + os.path.basename(path)[:-3])
    return PROGRAMS


def describe(name):
    """Returns the first comment of a program, which describes it."""
    with open(os.path.join(HERE, name + ".mlir"), encoding="utf-8") as file:
        lines = file.read().split("\n")
    comment = itertools.takewhile(lambda line: line.startswith("// "), lines[2:])
    return " ".join(line[3:].strip() for line in comment)


# --- Running ------------------------------------------------------------------------


def value_of(argument):
    """Converts an argument to the value passed to the oracle."""
    dtype = DTYPES.get(getattr(argument, "dtype", None))
    return Interval(dtype, argument.astype(np.float64)) if dtype else argument


def kind_of(argument):
    """Returns a key. Arguments with equal keys could be mistaken for each other."""
    if isinstance(argument, Codes):
        return argument.element, argument.codes.shape
    if isinstance(argument, Scales):
        return argument.tiled, argument.nvfp4, argument.bytes.shape
    return argument.dtype, np.shape(argument)


def array_of(argument):
    return np.asarray(argument.array() if isinstance(argument, (Codes, Scales)) else argument)


class Runner:
    def __init__(self, options, name, program):
        self.options, self.name, self.program = options, name, program
        os.makedirs(options.directory, exist_ok=True)

    def path(self, what):
        return os.path.join(self.options.directory, what)

    def execute(self, command):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode < 0:
            sys.exit(f"{self.name}: {' '.join(command)}\nended by signal {-done.returncode}\n{done.stderr}")
        return done

    def prepared(self):
        """Runs the passes that precede mx-run; returns the program's path and the completed process."""
        source = os.path.join(HERE, self.name + ".mlir")
        if not self.program.passes:
            return source, None
        command = [self.options.opt, source, *self.program.passes, "-o", self.path("prepared.mlir")]
        return self.path("prepared.mlir"), self.execute(command)

    def command(self, source, arguments, results):
        command = [self.options.run, source, f"--entry={self.program.entry}"]
        for i, argument in enumerate(arguments):
            np.save(self.path(f"in{i}.npy"), array_of(argument))
            command.append(f"--arg={self.path(f'in{i}.npy')}")
        return command + [f"--result={self.path(f'out{i}.npy')}" for i in range(results)]

    def run(self, command, device, chip, results):
        done = self.execute([*command, f"--device={device}", f"--chip={chip}"])
        where = f"{self.name} on {device}, {chip}"
        if done.returncode:
            sys.exit(f"{where}: expected exit status 0, found {done.returncode}\n{' '.join(command)}\n{done.stderr}")
        if device == "sim" and "finding" in done.stderr:
            sys.exit(f"{where}: the simulator reports\n{done.stderr}")
        return [np.load(self.path(f"out{i}.npy")) for i in range(results)]

    def refuse(self, arguments):
        """Checks that a refused program ends with its status and reports the reason on all chips."""
        source = os.path.join(HERE, self.name + ".mlir")
        command = self.command(source, arguments, self.program.results)
        for chip in CHIPS:
            refused = self.execute([*command, "--device=sim", f"--chip={chip}"])
            if refused.returncode != self.program.status or self.program.refused not in refused.stderr:
                sys.exit(f"{self.name}, {chip}: expected exit status {self.program.status} and the words "
                         f"'{self.program.refused}', found {refused.returncode} and\n{refused.stderr}")
            if not re.search(r"\.mlir:(\d+:\d+| entry '\w+', (argument|result) \d+)", refused.stderr):
                sys.exit(f"{self.name}, {chip}: expected a place in the program, found\n{refused.stderr}")
            print(f"{self.name}, {chip}: refused as expected")


# --- Comparing ----------------------------------------------------------------------


def read(array, expected):
    """Converts a result array to the type of the comparison."""
    if isinstance(expected, (Codes, Scales)):
        return expected.read(array)
    if isinstance(expected, Interval):
        if expected.dtype == "bf16":
            array = array.view(ml_dtypes.bfloat16)
        return array.astype(np.float64)
    return array


def wrong_places(found, expected):
    """Returns the indices of mismatches, or None if the shapes differ."""
    if isinstance(expected, (Interval, Bits, Codes, Scales)):
        shape = expected.codes.shape if isinstance(expected, Codes) else (
            expected.bytes.shape if isinstance(expected, Scales) else expected.shape)
        if found.shape != shape:
            return None
        return np.argwhere(expected.check(found))
    if found.shape != np.shape(expected):
        return None
    return np.argwhere(found != expected)


def agrees(found, expected):
    places = wrong_places(found, expected)
    return places is not None and not len(places)


def explain(found, expected):
    places = wrong_places(found, expected)
    if places is None:
        return f"shape {found.shape} is not the expected one"
    place = tuple(int(i) for i in places[0])
    wanted = expected.describe(place) if hasattr(expected, "describe") else expected[place]
    return f"{len(places)} of {found.size} elements are wrong, at {place}: expected {wanted}, found {found[place]}"


def spoiled(found):
    """Yields results that a faulty program could return: shifted by a row or column, transposed, negated, all zeros, or
    with the last element set to 0."""
    for axis in range(found.ndim):
        if found.shape[axis] > 1:
            yield f"shifted along {axis}", np.roll(found, 1, axis)
    if found.ndim > 1 and found.shape[-1] == found.shape[-2]:
        yield "transposed", np.swapaxes(found, -1, -2)
    yield "zeros", np.zeros_like(found)
    if found.size:
        last = found.copy()
        last[(-1,) * found.ndim] = 0
        yield "without its last element", last
    if found.dtype.kind == "f":
        yield "negated", -found


def check_sharpness(name, program, arguments, found, expected):
    """Checks that the comparison rejects wrong results."""
    for i, (array, wanted) in enumerate(zip(found, expected)):
        for what, wrong in spoiled(array):
            if not np.array_equal(wrong, array, equal_nan=array.dtype.kind == "f") and agrees(wrong, wanted):
                sys.exit(f"{name}, result {i}: the oracle accepts a result that is {what}")
    for i, j in itertools.combinations(range(len(arguments)), 2):
        a, b = arguments[i], arguments[j]
        if kind_of(a) != kind_of(b):
            continue
        others = list(arguments)
        others[i], others[j] = b, a
        with np.errstate(all="ignore"):
            other = program.oracle(*[value_of(each) for each in others])
        if all(agrees(array, wanted) for array, wanted in zip(found, other)):
            sys.exit(f"{name}: the oracle does not tell arguments {i} and {j} apart")


def run_one(options, name, program):
    arguments = program.make(np.random.default_rng(sum(name.encode())))
    runner = Runner(options, name, program)
    if program.refused:
        return runner.refuse(arguments)
    with np.errstate(all="ignore"):
        expected = program.oracle(*[value_of(each) for each in arguments])
    source, done = runner.prepared()
    if done and done.returncode:
        sys.exit(f"{name}: {' '.join(done.args)}\n{done.stderr}")
    command = runner.command(source, arguments, len(expected))
    for device, chip in [*(("sim", chip) for chip in CHIPS), ("cpu", CHIPS[0])]:
        found = [read(array, wanted) for array, wanted in zip(runner.run(command, device, chip, len(expected)), expected)]
        for i, (array, wanted) in enumerate(zip(found, expected)):
            if not agrees(array, wanted):
                sys.exit(f"{name} on {device}, {chip}, result {i}: {explain(array, wanted)}")
        check_sharpness(name, program, arguments, found, expected)
        print(f"{name} on {device}, {chip}: right")


# --- The table ----------------------------------------------------------------------


def table(programs):
    lines = ["| program | what it shows | state |", "|---|---|---|"]
    for name in sorted(programs):
        state = f"refused: {programs[name].reason}" if programs[name].refused else "runs"
        lines.append(f"| [{name}]({name}.mlir) | {describe(name)} | {state} |")
    refused = sum(bool(program.refused) for program in programs.values())
    return f"{len(programs)} programs, of which {len(programs) - refused} run and {refused} are refused.\n\n" + "\n".join(lines) + "\n"


def read_page():
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as page:
        head, mark, _ = page.read().partition("<!-- corpus.py --write -->\n")
    if not mark:
        sys.exit("README.md: expected the line <!-- corpus.py --write --> before the table")
    return head + mark


def check_files(programs):
    files = {os.path.basename(path)[:-5] for path in glob.glob(os.path.join(HERE, "*.mlir"))}
    if files != set(programs):
        sys.exit(f"expected a row for each program and a program for each row, found only programs of "
                 f"{sorted(files - set(programs))} and only rows of {sorted(set(programs) - files)}")
    for name in sorted(files):
        if not describe(name):
            sys.exit(f"{name}.mlir: expected a description of the program after the RUN line")
    runs = sum(not program.refused for program in programs.values())
    if runs < 60:
        sys.exit(f"expected at least 60 programs that run, found {runs}")
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as page:
        if page.read() != read_page() + table(programs):
            sys.exit("README.md does not match the rows and programs: run test/Corpus/corpus.py --write")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program", nargs="?", help="a .mlir file of this folder")
    p.add_argument("--run", default="mx-run")
    p.add_argument("--opt", default="mx-opt")
    p.add_argument("--directory", default="corpus-files")
    p.add_argument("--check", action="store_true")
    p.add_argument("--write", action="store_true")
    options = p.parse_args()
    programs = load_rows()
    if options.write:
        text = read_page() + table(programs)
        with open(os.path.join(HERE, "README.md"), "w", encoding="utf-8") as page:
            page.write(text)
    elif options.check:
        check_files(programs)
    else:
        name = os.path.basename(options.program)[:-5]
        if name not in programs:
            sys.exit(f"{name}: expected a row of this name in {HERE}/rows")
        run_one(options, name, programs[name])


if __name__ == "__main__":
    main()
