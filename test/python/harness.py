# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs programs on arrays and compares their results with numpy.

A test declares its arguments, draws cases from a seed, and calls `run` and `expect`:

    test = Harness("mx_run", "folder", "*chips", seed=1, count=20)
    for case in test.select(Case(test.rng) for _ in range(test.count)):
        found, = test.run(case.text(), case.arrays(), 1, chip="sm_90a")
        test.expect("elements", found, case.expected())
    test.finish(least=1000)

A failure prints the first differing element and a command to run only this case.
"""

import argparse
import dataclasses
import glob
import os
import shlex
import subprocess
import sys

import ml_dtypes
import mx_reference as ref
import numpy as np

BF16 = ml_dtypes.bfloat16
FLOATS = {"f32": np.float32, "bf16": BF16, "f16": np.float16}
BITS = {"f32": np.uint32, "bf16": np.uint16, "f16": np.uint16}
CHIPS = ("sm_90a", "sm_100a", "sm_120a")


def tensor(shape, element):
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def stored(array):
    """Converts an array to a type that .npy files support. Elements of types that numpy lacks are converted to bits."""
    array = np.asarray(array)
    return array if array.dtype.isbuiltin == 1 else array.view(f"u{array.itemsize}")


def to_array(x, dtype):
    """Returns an mx-run argument, and the same numbers as float32."""
    with np.errstate(all="ignore"):
        numbers = np.asarray(x).astype(FLOATS[dtype])
    return np.ascontiguousarray(stored(numbers)), numbers.astype(np.float32)


def widen(array):
    """Converts f32, f16, or bf16 bits to float64."""
    with np.errstate(invalid="ignore"):
        return (array.view(BF16) if array.dtype == np.uint16 else array).astype(np.float64)


def difference(found, expected):
    """Describes the first differing element, or returns None if all bits are equal."""
    found, expected = stored(found), stored(expected)
    if found.dtype != expected.dtype:
        found = found.view(expected.dtype)
    if found.shape != expected.shape:
        return f"expected shape {expected.shape}, found {found.shape}"
    if expected.dtype.kind == "f":
        found, expected = (np.ascontiguousarray(a).view(f"u{a.itemsize}").reshape(a.shape) for a in (found, expected))
    places = np.argwhere(found != expected)
    if not len(places):
        return None
    first = tuple(map(int, places[0]))
    return (f"{len(places)} of {expected.size} differ; at {first} expected {int(expected[first]):#x}, "
            f"found {int(found[first]):#x}")


def everywhere(chips=CHIPS, orders=(1, 2)):
    """Returns the names and options of runs on the CPU path, and of runs on each chip with each thread order."""
    yield "cpu", dict(device="cpu")
    for chip in chips:
        for order in orders:
            yield f"{chip}, seed {order}", dict(chip=chip, seed=order)


class Harness:
    """Arguments, runs and findings of a test program.

    `names` are positional arguments, and `*name` takes all remaining arguments. Keywords are options with defaults."""

    def __init__(self, *names, device="sim", argv=None, **options):
        parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__,
                                         formatter_class=argparse.RawDescriptionHelpFormatter)
        for name in names:
            parser.add_argument(name.strip("*?"), nargs=name[0] if name[0] in "*?" else None)
        for name, default in options.items():
            kind = {"action": "store_true"} if default is False else {"type": type(default)}
            parser.add_argument("--" + name.replace("_", "-"), default=default, **kind)
        parser.add_argument("--only", default="", help="run only cases with this text in the name")
        if "device" not in names:
            parser.add_argument("--device", default=device)
        self.mx_run, self.folder = "mx-run", "."
        parser.parse_args(argv, namespace=self)
        self.rng = np.random.default_rng(getattr(self, "seed", 0))
        self.compared = self.failures = self.cases = 0
        self.case = ""
        os.makedirs(self.folder, exist_ok=True)

    def file(self, name, program):
        """Writes the text of a program to a file and returns the path."""
        return self.write(name, program) if "\n" in program else program

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def save(self, name, array):
        np.save(self.path(name), np.asarray(stored(array), order="C"))
        return self.path(name)

    def select(self, cases):
        """Returns the cases selected by --only."""
        for case in cases:
            if self.only in str(case):
                self.case = str(case)
                self.cases += 1
                yield case
        self.case = ""

    # --- Runs ---------------------------------------------------------------------------

    def execute(self, *command, status=0, quiet=False, env=None, **options):
        """Runs a command and returns the finished process. Ends the test if the exit status is not `status`, or if the
        command prints messages although `quiet` is set."""
        env = {name: str(value) for name, value in (env or {}).items() if value is not None}
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env}, **options)
        if status is not None and done.returncode != status or quiet and done.stderr:
            again = [*(f"{name}={value}" for name, value in env.items()), *map(str, command)]
            sys.exit(f"{self.case}\n{shlex.join(again)}\nexpected exit status {status}, found {done.returncode}\n"
                     f"{done.stdout[-4000:]}{done.stderr[-4000:]}{self.repeat()}")
        return done

    def files(self, arrays, results):
        """Returns the options for arguments and results, and the result paths. A list contains one array per rank."""
        for old in glob.glob(self.path("out[0-9]*.npy")):
            os.remove(old)
        options, ranks = [], ""
        for i, array in enumerate(arrays):
            if isinstance(array, list):
                ranks = "-{rank}"
                for rank, own in enumerate(array):
                    self.save(f"in{i}-{rank}.npy", own)
                options.append("--arg=" + self.path(f"in{i}{ranks}.npy"))
            else:
                options.append("--arg=" + self.save(f"in{i}.npy", array))
        outs = [self.path(f"out{i}{ranks}.npy") for i in range(results)]
        return options + ["--result=" + out for out in outs], outs

    def call(self, program, arrays, results=0, *options, device=None, chip=None, check=False, seed=None, sms=None,
             env=None, **more):
        """Runs mx-run on a program, given as text or as a path. Returns the process and the result paths."""
        path = self.file("case.mlir", program)
        files, outs = self.files(arrays, results)
        device, chip = ("cpu", None) if chip == "cpu" else (device or self.device, chip)
        command = [self.mx_run, path, f"--device={device}", *options, *files]
        command += [f"--chip={chip}"] * bool(chip) + ["--check=cpu"] * check
        env = {"MX_SIM_SEED": seed, "MX_SIM_SM_COUNT": sms, **(env or {})}
        return self.execute(*command, env=env, **more), outs

    def run(self, program, arrays=None, results=None, *options, **more):
        """Runs a program and returns the results of @main. A `Function` provides its own arguments and results."""
        if isinstance(program, Function):
            program, arrays, results = program.text(), program.arrays, len(program.results)
        return [np.load(out) for out in self.call(program, arrays, results, *options, **more)[1]]

    def refuse(self, message, program, arrays, results=0, *options, **more):
        """Runs a program that must fail with a message. Returns the message."""
        done, _ = self.call(program, arrays, results, *options, status=None, **more)
        if done.returncode != 2 or message not in done.stderr:
            self.fail(f"expected the message {message}, found status {done.returncode}\n{done.stderr}")
        return done.stderr

    def run_ranks(self, ranks, program, arrays, results, *options, **more):
        """Runs a program on several ranks. Each argument is a list with one array per rank, and so is each result."""
        _, outs = self.call(program, arrays, results, f"--ranks={ranks}", *options, **more)
        return [[np.load(out.format(rank=rank)) for out in outs] for rank in range(ranks)]

    def rewrite(self, program, *options):
        """Returns the output of mx-opt for a program."""
        return self.execute(self.mx_opt, self.file("plain.mlir", program), *options).stdout

    def compile(self, program, *options, chip=None, name="compiled"):
        """Compiles a program to a launch plan and returns its folder."""
        options = [*options, *[f"--chip={chip}"] * bool(chip)]
        self.execute(self.mx_compile, self.file("case.mlir", program), "-o", self.path(name), *options)
        return self.path(name)

    def call_plan(self, plan, arrays, results=0, *options, **more):
        """Runs mx-launch on a plan's folder. Returns the process and the result paths."""
        files, outs = self.files(arrays, results)
        return self.execute(self.mx_launch, plan, "--device=sim", *options, *files, **more), outs

    def launch(self, program, arrays, results, chip=None, *options, **more):
        """Same as `run`, but executes a launch plan. Takes its folder, or a text to compile with `options`."""
        if "\n" in program:
            program, options = self.compile(program, *options, chip=chip), ()
        return [np.load(out) for out in self.call_plan(program, arrays, results, *options, **more)[1]]

    # --- Findings -----------------------------------------------------------------------

    def repeat(self):
        """Returns a command to repeat only the current case."""
        own = [word for word in sys.argv if not word.startswith("--only")]
        return f"\nrepeat: {shlex.join([*own, '--only=' + self.case])}" if self.case else ""

    def require(self, what, good, found=""):
        """Checks a condition and adds 1 to the number of compared elements."""
        self.compared += 1
        if not good:
            self.fail(f"{what}: wrong {found}")

    def fail(self, text):
        self.failures += 1
        print(f"{self.case}{': ' * bool(self.case)}{text}{self.repeat()}", flush=True)

    def expect(self, what, found, expected, part=(), nan=False):
        """Compares all bits of the defined part. With `nan`, any two NaNs are equal."""
        found, expected = np.asarray(found), np.asarray(expected)
        if found.dtype != expected.dtype:
            found = stored(found).view(expected.dtype)
        found, expected = found[part], expected[part]
        if nan and found.shape == expected.shape:
            found = np.where(np.isnan(found) & np.isnan(expected), expected, found)
        self.compared += expected.size
        text = difference(found, expected)
        if text:
            self.fail(f"{what}: {text}")
        return not text

    def expect_numbers(self, what, found, expected, limit=0):
        """Compares numbers with an error limit. NaN and infinities equal only themselves."""
        found, expected = widen(np.asarray(found)), np.asarray(expected, np.float64)
        self.compared += expected.size
        if found.shape != expected.shape:
            return self.fail(f"{what}: expected shape {expected.shape}, found {found.shape}")
        with np.errstate(all="ignore"):
            good = (found == expected) | (np.isnan(found) & np.isnan(expected)) | (np.abs(found - expected) <= limit)
        if not good.all():
            first = tuple(map(int, np.argwhere(~good)[0]))
            self.fail(f"{what}: {int((~good).sum())} of {good.size} wrong; at {first} expected {expected[first]}, "
                      f"found {found[first]}")

    def finish(self, least=1):
        """Ends the test. Fails if fewer than `least` elements were compared, unless --only excluded cases."""
        print(f"{self.cases or 'all'} cases, {self.compared} elements compared, {self.failures} failures")
        sys.exit(self.failures != 0 or self.compared < (1 if self.only else least))


class Function:
    """Text of @main: arguments with their arrays, operations, and results."""

    def __init__(self, *types):
        self.arguments, self.arrays, self.lines, self.results, self.types = [], [], [], [], list(types)

    def argument(self, type_, array, name=None):
        name = "%" + (name or f"a{len(self.arguments)}")
        self.arguments.append(f"{name}: {type_}")
        self.arrays.append(array)
        return name

    def empty(self, type_, sizes=""):
        name = f"%e{len(self.lines)}"
        self.lines.append(f"{name} = tensor.empty({sizes}) : {type_}")
        return name

    def call(self, text, types, region="", sizes=(), returned=True):
        """Appends an operation. New destination tensors replace OUTS in `text`. Returns the names of the operation's
        results."""
        sizes = [*sizes, *[""] * (len(types) - len(sizes))]
        outs, joined = [self.empty(*pair) for pair in zip(types, sizes) if "OUTS" in text], ", ".join(types)
        name = f"%r{len(self.lines)}"
        text = text.replace("OUTS", f"outs({', '.join(outs)} : {joined})")
        many = len(types) > 1
        self.lines.append(f"{name}{f':{len(types)}' * many} = {text} -> {joined} {region}")
        names = [f"{name}#{i}" for i in range(len(types))] if many else [name]
        self.results += zip(names, types) if returned else []
        return names

    def text(self):
        names, types = (", ".join(words) for words in zip(*self.results))
        return "\n".join([*self.types, f"func.func @main({', '.join(self.arguments)}) -> ({types}) {{", *self.lines,
                          f"return {names} : {types}", "}"]) + "\n"


@dataclasses.dataclass
class Blocks:
    """Matrix quantized along an axis: IR types, and expected bytes computed with numpy."""
    element: str
    axis: int = 1
    layout: str = "linear"
    rounding: str = "ceil"
    encode: float = None  # global factor of an NVFP4 tensor
    square: bool = False
    groups: int = 0  # number of row groups
    batch: str = ""
    size: int | str = None  # elements per block, "row", or rows and columns: "128x128"
    scale: str = None  # "f32", or the type of the format
    spreads: bool = False

    @property
    def block(self):
        size = self.size or (32 if self.encode is None else 16)
        return int(size.split("x")[1]) if "x" in str(size) else size

    @property
    def block_rows(self):
        return int(self.size.split("x")[0]) if "x" in str(self.size) else 1

    def types(self, rows, columns):
        """Returns the types of elements, scales and optional spreads for `rows x columns` numbers."""
        scale = self.scale or ("f8E8M0FNU" if self.encode is None else "f8E4M3FN")
        mark, ragged = "", ""
        if not self.axis:
            rows, columns = columns, rows
        if self.groups:
            ragged = f", ragged = {'rows' if self.axis else 'reduction'}, groups = {self.groups}"
            if not self.axis:
                columns = ref.capacity(columns, self.groups)
                mark = f", #mx.ragged<groups = {self.groups}, align = 128>"
        blocks = 1 if self.block == "row" else columns if columns == "?" else columns // self.block
        lines = rows if rows == "?" else -(-rows // self.block_rows)
        return [f"tensor<{self.batch}{rows}x{columns}x{self.element}{mark}>",
                f"tensor<{self.batch}{lines}x{blocks}x{scale}, #mx.scale_layout<{self.layout}{ragged}>>",
                *[f"tensor<{self.batch}{f'{rows}x{blocks}' if self.axis else f'{blocks}x{rows}'}xi8>"] * self.spreads]

    def quantize(self, x):
        if self.scale == "f32":
            return ref.quantize_f32(x, self.element, self.rounding, self.block, self.block_rows)
        size, square = x.shape[-1] if self.block == "row" else self.block, self.square or self.block_rows > 1
        elements, scales = ref.quantize(np.ascontiguousarray(x), self.element, self.rounding, self.encode, square, size)
        return elements, scales[::self.block_rows]

    def find_spreads(self, x):
        return ref.spreads(np.ascontiguousarray(x), self.element, self.rounding,
                           x.shape[-1] if self.block == "row" else self.block)

    def expected_spreads(self, x, ends=None):
        """Returns the spreads of float32 numbers, with the index of the defined part."""
        if self.axis:
            return self.find_spreads(x), () if ends is None else np.s_[:ends[-1]]
        if ends is None:
            return self.find_spreads(x.T).T, ()
        blocks = ref.quantize_groups(x, ends, lambda part: (self.quantize(part)[0], self.find_spreads(part)), self.block)
        return blocks[1].T, np.s_[:ref.group_starts(ends)[-1] // self.block]

    def lay_out(self, scales):
        if self.layout == "mn_major":
            return np.pad(scales.T, ((0, 0), (0, -len(scales) % 4)))
        return ref.tile(scales) if self.layout == "sf_128x4" else scales

    def part(self, index):
        """Returns the part of scales, in the layout, with an index of the linear layout."""
        return index[::-1] if self.layout == "mn_major" else index

    def expected(self, x, ends=None):
        """Quantizes float32 numbers. Returns elements and scales, each with the index of the defined part."""
        if ends is None:
            elements, scales = self.quantize(x if self.axis else x.T)
            return (ref.pack(elements, self.element), ()), (self.lay_out(scales), ())
        if self.axis:
            elements, scales = self.quantize(x)
            rows = np.s_[:ends[-1], :]
            tiled = self.layout == "sf_128x4"
            return ((ref.pack(elements, self.element), rows),
                    (ref.tile_rows(scales, ends), ref.defined_tiles(ends)) if tiled
                    else (self.lay_out(scales), self.part(rows)))
        elements, scales = ref.quantize_groups(x, ends, self.quantize, self.block)
        end = ref.group_starts(ends)[-1]
        packed = end // 2 if self.element == "f4E2M1FN" else end
        blocks = end // self.block // (4 if self.layout == "sf_128x4" else 1)
        return (ref.pack(elements, self.element), np.s_[:, :packed]), (self.lay_out(scales), self.part(np.s_[:, :blocks]))

    def compare(self, test, what, found, x, ends=None, skip=()):
        """Compares the next elements, scales and spreads of a matrix or batch, from the iterator `found`, with numpy's."""
        matrices = [[*self.expected(matrix, ends), *([self.expected_spreads(matrix, ends)] if self.spreads else [])]
                    for matrix in (x.reshape(-1, *x.shape[-2:]) if x.ndim > 2 else [x])]
        for name, *pairs in zip(("elements", "scales", "spreads"), *matrices):
            array, part = pairs[0] if x.ndim < 3 else (np.stack([array for array, _ in pairs]), ())
            own = next(found)
            own = own.reshape(array.shape) if array.dtype == np.float32 else own.view(np.uint8)
            if name not in skip:
                test.expect(f"{what} {name}", own, array, part)


def random_operand(rng, shape, element, nvfp4=False, scales=(120, 134)):
    """Draws finite elements and scales with exact float64 dot products."""
    codes = rng.integers(0, 2**int(element[1]), shape).astype(np.uint8)
    codes[~np.isfinite(ref.decode(codes, element))] = 0
    *outer, k = shape
    if nvfp4:
        return codes, rng.integers(0x20, 0x50, (*outer, k // 16)).astype(np.uint8)
    return codes, rng.integers(*scales, (*outer, k // 32)).astype(np.uint8)


def exact_operand(rng, rows, k, element="f8E4M3FN", block=32):
    """Draws a matrix with dot products exact in any order. Returns its elements, scales and values."""
    values = rng.choice([-2, -1.5, -1, -0.5, 0, 0.5, 1, 2], (rows, k))
    codes = values.astype(ref.ELEMENTS[element][0]).view(np.uint8)
    if block == 16:
        factors = rng.choice([0.5, 1, 2], (rows, k // 16))
        scales = factors.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    else:
        scales = rng.integers(126, 129, (rows, k // 32)).astype(np.uint8)
        factors = np.exp2(scales - 127.0)
    return codes, scales, values * factors.repeat(block, axis=1)


def group_ends(rng, total, groups):
    """Draws cumulative ends. If there are several expert groups, one is empty."""
    ends = np.sort(rng.integers(0, total + 1, groups))
    if groups > 2:
        ends[1] = ends[0]
    ends[-1] = total
    return ends.astype(np.int32)
