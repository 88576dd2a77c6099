"""Program sets for scripts/compare-kernels.

The programs of a set use the names and the structure of this checkout, except for the set `frozen`. That set contains
matmuls of all forms, quantizers, reductions and simple kernels with explicit schedules, as printed by an old version
(test/Frozen)."""

import argparse
import importlib.machinery
import importlib.util
import itertools
import os
import re
import sys
from typing import Callable, NamedTuple

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path += [os.path.join(ROOT, d) for d in ("benchmarks/quantize", "benchmarks/grouped")]

# One chip per family of matrix instructions (docs/reference/Chips.md); test/Fuzzing/fuzzing uses all chips.
CHIPS = ("sm_90a", "sm_100a", "sm_120a")


class Program(NamedTuple):
    name: str
    text: str
    chip: str
    # Writes the operands into a directory and returns their paths, or is None if the operands are unknown.
    arrays: Callable | None = None
    results: int = 0
    passes: tuple = ()  # run before mx-to-nvvm
    version: int | None = None  # version of a frozen program


def load_script(path):
    """Loads a script whose name lacks the suffix .py as a module."""
    name = os.path.basename(path).replace("-", "_")
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(ROOT, path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


# --- Operands of a function ---------------------------------------------------

DTYPES = {"f64": "f8", "f32": "f4", "f16": "f2", "i64": "i8", "i32": "i4", "i8": "i1", "i1": "?"}
# Element types: bits per code, and codes that are not finite numbers.
CODES = {"f8E4M3FN": (8, [0x7F, 0xFF]), "f8E5M2": (8, [0x7C, 0x7D, 0x7E, 0x7F, 0xFC, 0xFD, 0xFE, 0xFF]),
         "f6E3M2FN": (6, []), "f6E2M3FN": (6, []), "f4E2M1FN": (4, [])}


def make_integers(rng, what, shape):
    """Creates a list of integers. `ends(n)` contains the ends of expert groups with n rows in total, one group empty.
    `counts(n)` contains row counts up to n, and `rows(n)` contains n row indices."""
    kind, number = re.fullmatch(r"(\w+)\((\d+)\)", what).groups()
    number = int(number)
    if kind == "ends":
        ends = rng.integers(0, number + 1, shape)
        ends.sort()
        ends[-1], ends[1:2] = number, ends[:1]
        return ends
    if kind == "counts":
        return rng.integers(0, number + 1, shape)
    if kind == "rows":
        return rng.integers(0, number, shape)
    raise ValueError(f"expected ends(n), counts(n) or rows(n), found '{what}'")


def make_array(rng, kind, extent, integers):
    """Creates an operand of a type in the input form of mx-run (docs/guide/Run.md)."""
    import numpy as np

    match = re.fullmatch(r"tensor<((?:(?:\d+|\?)x)*)(\w+)(?:, (.*))?>|(\w+)", kind)
    if not match:
        raise ValueError(f"no operands of type {kind}")
    shape = [extent if n == "?" else int(n) for n in (match[1] or "").split("x")[:-1]]
    element, layout = match[2] or match[4], match[3] or ""
    if layout.startswith("#mx.scale_layout"):
        *batch, rows, blocks = shape
        groups = int(g[1]) if (g := re.search(r"ragged = rows, groups = (\d+)", layout)) else 0
        tiles = rows // 128 + groups if groups else -(-rows // 128)
        shape = [*batch, tiles, -(-blocks // 4), 32, 4, 4]
    if element == "f8E8M0FNU":
        return rng.integers(121, 134, shape, np.uint8)
    if element in CODES:
        bits, bad = CODES[element]
        codes = rng.integers(0, 1 << bits, shape, np.uint8)
        codes[np.isin(codes, bad)] = 1
        return codes[..., 0::2] | codes[..., 1::2] << 4 if bits == 4 else codes
    if element == "i32" and shape:
        return make_integers(rng, next(integers), shape).astype(np.int32)
    numbers = rng.standard_normal(shape).astype(np.float32)
    if element == "bf16":
        return (numbers.view(np.uint32) >> 16).astype(np.uint16)
    return (np.abs(numbers) if not shape else numbers).astype(DTYPES[element])


def signature(text):
    """Returns (types of the arguments, number of results) of @main."""
    head = re.search(r"func\.func @main\((.*?)\) -> (.*?) \{\n", text, re.S)
    # The last comma in a type may precede the layout.
    split = lambda types: re.findall(r"(?:%\w+: )?((?:tensor<(?:[^<>]|<[^<>]*>)*>|\w+))(?:, |$)", types)
    return split(head[1]), len(split(head[2].strip("()")))


def get_arrays(text):
    """Creates the operands of @main from its types and the comment `// Arguments: ? = N; ends(N), ...` in the first
    line, which specifies the extent of dynamic dimensions and the contents of integer lists, in order."""
    comment = m[1] if (m := re.match(r"// Arguments: (.*)\n", text)) else ""
    extent = int(m[1]) if (m := re.search(r"\? = (\d+)", comment)) else None

    def save(directory):
        import numpy as np

        rng, integers = np.random.default_rng(1), iter(re.findall(r"\w+\(\d+\)", comment))
        paths = []
        for index, kind in enumerate(signature(text)[0]):
            paths.append(os.path.join(directory, f"in{index}.npy"))
            np.save(paths[-1], make_array(rng, kind, extent, integers))
        return paths

    return save


# --- The sets ------------------------------------------------------------------


def examples(chip, options):
    directory = os.path.join(ROOT, "examples")
    for name in sorted(os.listdir(directory)):
        if name.endswith(".mlir"):
            yield Program(name, read(os.path.join(directory, name)), chip,
                          passes=("--mx-import-scaled", "--mx-quantize-matmuls"))


def quantizers(chip, options):
    import cases

    def program(case):
        text = case.ir()
        known = not case.groups and not case.seed
        return Program(case.name, text, chip, get_arrays(text) if known else None, case.results)

    for axes, element, dtype, layout, swiglu in itertools.product(
            ((1,), (0,), (1, 0)), cases.BITS, cases.BYTES, ("sf_128x4", "linear"), (False, True)):
        if swiglu and dtype != "bf16":
            continue  # its prologue requires bf16
        name = f"quantize {axes} {element} {dtype} {layout}{' swiglu' * swiglu}"
        yield program(cases.Case(name, 384, 512, axes=axes, element=element, dtype=dtype,
                                 layout=layout, swiglu=swiglu))
    for extra in ({"groups": 5}, {"square": True}, {"seed": True}, {"amax": True}):
        for axes in ((1,), (0,), (1, 0)):
            if extra.get("groups") and axes != (0,):
                continue  # groups divide the reduction
            yield program(cases.Case(f"quantize {axes} {extra}", 640, 512, axes=axes, **extra))


def grouped(chip, options):
    compile_script = load_script("benchmarks/grouped/compile")
    for shape in compile_script.SHAPES:
        yield Program(f"grouped {shape.name}", compile_script.program(shape), chip, results=1)


def load_sweep(chip):
    """Loads scripts/sweep-schedules for a chip. The script and its modules read the chip when loaded."""
    for name in ("chips", "matmul_formats"):
        sys.modules.pop(name, None)
    before = os.environ.get("MX_CHIP")
    os.environ["MX_CHIP"] = chip
    try:
        return load_script("scripts/sweep-schedules")
    finally:
        del os.environ["MX_CHIP"]
        if before is not None:
            os.environ["MX_CHIP"] = before


def of_sweep(script, runner, chip, cases):
    for case in cases:
        arrays = lambda directory, case=case: runner.operands.get(case)[0]
        yield Program(script.get_key(case), script.get_program(case), chip, arrays, 1)


def schedules(chip, options):
    """Samples the schedules that the old build accepts."""
    script = load_sweep(chip)
    arguments = argparse.Namespace(mx_opt=os.path.join(options.old, "bin/mx-opt"))
    runner = script.Runner(arguments, options.directory)
    get_program = script.get_program
    probe = {name: values[-1] for name, values in script.CHOICES.items()}
    form = options.find_form(options.old, get_program(script.get_case(probe)))
    script.get_program = lambda case: form(get_program(case))
    cases = script.plan_sample(runner, options.sample, 1)[0]
    script.get_program = get_program
    return of_sweep(script, runner, chip, cases)


def formats(chip, options):
    script = load_sweep(chip)
    runner = script.Runner(argparse.Namespace(), options.directory)
    return of_sweep(script, runner, chip, script.get_format_cases(True))


def frozen(chip, options):
    root = os.path.join(ROOT, "test/Frozen")
    for version in sorted(d for d in os.listdir(root) if d.isdigit()):
        directory = os.path.join(root, version, chip)
        # A version contains no programs for newer chips.
        for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else ():
            text = read(os.path.join(directory, name))
            yield Program(f"frozen {version} {name}", text, chip, get_arrays(text),
                          signature(text)[1], version=int(version))


SETS = {"examples": examples, "quantizers": quantizers, "grouped": grouped,
        "schedules": schedules, "formats": formats, "frozen": frozen}
