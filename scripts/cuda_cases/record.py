#!/usr/bin/env python3
"""Stands in for mx-run in test scripts, and keeps what they run for a GPU.

usage: MX_RECORD=DIRECTORY MX_RECORD_TOOLS=BUILD/bin record.py FILE.mlir [OPTIONS OF mx-run]

The program runs on the simulator, whose sums are then those of the tensor core
(MX_SIM_TENSOR_SUMS=truncated), so that the script that called compares it with
its own reference. The compiled program, its arguments and its results go to the
directory, where replay.py finds them."""

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

CHIP = "sm_90a"


def parse(argv):
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("program")
    parser.add_argument("--entry", default="main")
    parser.add_argument("--arg", action="append", default=[])
    parser.add_argument("--result", action="append", default=[])
    parser.add_argument("--chip")
    parser.add_argument("--device")
    return parser.parse_known_args(argv)


def compile_program(tools, program, entry, root):
    """The directory of the compiled program, which equal programs share."""
    text = pathlib.Path(program).read_bytes()
    name = hashlib.sha256(text + entry.encode()).hexdigest()[:16]
    target = root / "programs" / name
    if not target.exists():
        command = [tools / "mx-compile", program, f"--chip={CHIP}", f"--entry={entry}", "-o", target]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            shutil.rmtree(target, ignore_errors=True)
            sys.stderr.write(done.stderr)
            sys.exit(done.returncode)
    return name


def keep(root, program, options):
    """A case: its program, arguments and results."""
    cases = root / "cases"
    cases.mkdir(parents=True, exist_ok=True)
    case = cases / f"{len(list(cases.iterdir())):05}"
    case.mkdir()
    files = {}
    for kind, paths in (("args", options.arg), ("results", options.result)):
        files[kind] = []
        for i, path in enumerate(paths):
            if not path.endswith(".npy"):
                files[kind].append(path)
                continue
            files[kind].append(f"{kind}{i}.npy")
            shutil.copy(path, case / files[kind][-1])
    # Rows that several threads add to come in any order.
    unordered = "scatter" in pathlib.Path(options.program).read_text()
    info = dict(program=program, entry=options.entry, unordered=unordered, **files)
    (case / "case.json").write_text(json.dumps(info))


def main():
    root, tools = (pathlib.Path(os.environ[name]) for name in ("MX_RECORD", "MX_RECORD_TOOLS"))
    options, rest = parse(sys.argv[1:])
    program = compile_program(tools, options.program, options.entry, root)
    command = [tools / "mx-run", options.program, f"--chip={CHIP}", "--device=sim",
               f"--entry={options.entry}", *rest]
    for name in ("arg", "result"):
        for path in getattr(options, name):
            command += [f"--{name}", path]
    # The check on the CPU rounds otherwise than the tensor core.
    command = [part for part in command if part != "--check=cpu"]
    environment = dict(os.environ, MX_SIM_TENSOR_SUMS="truncated")
    done = subprocess.run(command, env=environment)
    if done.returncode == 0:
        keep(root, program, options)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
