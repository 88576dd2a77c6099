#!/usr/bin/env python3
"""Replaces mx-run in test scripts, and records their cases for a GPU.

usage: MX_RECORD=DIRECTORY MX_RECORD_TOOLS=BUILD/bin [MX_RECORD_NAME=TEXT]
       record.py FILE.mlir [OPTIONS OF mx-run]

Compiles the program for sm_90a, whichever chip the script names, and runs it on the simulator
with the sums of tensor cores (MX_SIM_TENSOR_SUMS=truncated). The calling script compares the
results with its own reference. Scripts read the chip from MX_CHIP. cases.py describes a
recorded case. Runs on the CPU use mx-run and are not recorded."""

import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CHIP = "sm_90a"
# Cases with larger arrays run but are not recorded, to limit the size of the bundle.
MOST_BYTES = 1 << 20


def parse(argv):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("--entry", default="main")
    parser.add_argument("--arg", action="append", default=[])
    parser.add_argument("--result", action="append", default=[])
    parser.add_argument("--chip")
    parser.add_argument("--device")
    parser.add_argument("--check")
    return parser.parse_args(argv)


def compile_program(tools, text, options, root):
    """Returns the name of the compiled program, shared by equal programs."""
    name = hashlib.sha256((text + options.entry).encode()).hexdigest()[:16]
    target = root / "programs" / name
    if target.exists():
        return name
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root) as work:
        source = pathlib.Path(work) / "case.mlir"
        source.write_text(text)
        command = [tools / "mx-compile", source, f"--chip={CHIP}", f"--entry={options.entry}",
                   "--ptxas=none", "-o", f"{work}/program"]
        done = subprocess.run(command, capture_output=True, text=True)
        sys.stderr.write(done.stderr)
        if done.returncode:
            sys.exit(done.returncode)
        try:
            os.rename(f"{work}/program", target)
        except OSError:  # Another process created it.
            if not target.exists():
                raise
        else:
            (target / "source.mlir").write_text(text)  # for mx-run
    return name


def new_directory(root):
    """Returns the next unused case directory of this caller."""
    prefix = os.environ.get("MX_RECORD_NAME", "case")
    (root / "cases").mkdir(parents=True, exist_ok=True)
    for index in range(len(list((root / "cases").glob(f"{prefix}-*"))), 1 << 20):
        case = root / "cases" / f"{prefix}-{index:04}"
        try:
            case.mkdir()
            return case
        except FileExistsError:
            pass
    raise RuntimeError(f"{root}: no name for a case is left")


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    root, tools = (pathlib.Path(os.environ[name]) for name in ("MX_RECORD", "MX_RECORD_TOOLS"))
    options = parse(sys.argv[1:])
    if options.device == "cpu":
        return subprocess.run([tools / "mx-run", *sys.argv[1:]]).returncode
    text = pathlib.Path(options.program).read_text()
    program = compile_program(tools, text, options, root)

    os.environ["MX_SIM_TENSOR_SUMS"] = "truncated"
    import cases
    import mx_compiler as mx
    import numpy as np
    mx.set_device("sim")
    entry = mx.Program(str(root / "programs" / program))[options.entry]
    arguments = [np.load(path) if path.endswith(".npy") else float(path)
                 for path in options.arg]
    try:
        results = cases.run(entry, arguments)
    except mx.Error as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for path, result in zip(options.result, results):
        np.save(path, result)
    if sum(np.asarray(x).nbytes for x in arguments + results) > MOST_BYTES:
        return 0
    case = new_directory(root)
    try:
        cases.Case.write(case, program, options.entry, arguments, results,
                         bool(re.search(r"\bmath\.", text)))
    except BaseException:
        shutil.rmtree(case)
        raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
