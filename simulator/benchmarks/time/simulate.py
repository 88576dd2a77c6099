# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models the times of programs that mx-compile compiles."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "simulator/scripts"))
import find_ptxas
import machine_code

CHIP, TARGET = "h200", "sm_90a"
# Scales that avoid the slow paths of kernels. Elements are zeros, because no kernel inspects them
# before the MMA.
SCALES = {"f8E8M0FNU": 120, "f8E4M3FN": 0x38}
INSTRUCTIONS = 10**12


class Failed(Exception):
    pass


def need(what, path):
    return path or sys.exit(f"expected {what}, found none: install it, name it in "
                            f"MX_{what.upper()}, or pass --ptx-prices")


class Simulator:
    """Runs the simulator of the build folder `binaries` for at most `most` seconds per program.
    Instruction costs are taken from machine code, or from PTX if `ptx_prices` is set."""

    def __init__(self, binaries, most, ptx_prices=False):
        self.binaries, self.most, self.ptxas = binaries, most, None
        if not ptx_prices:
            self.ptxas = need("ptxas", find_ptxas.find_ptxas(str(ROOT)))
            self.nvdisasm = need("nvdisasm", machine_code.find_nvdisasm(str(ROOT)))

    def about(self):
        """Returns the versions that determine the modelled times."""
        version = "none"
        if self.ptxas:
            text = subprocess.run([self.ptxas, "--version"], capture_output=True, text=True).stdout
            version = next((word[1:] for word in text.split() if word.startswith("V")), "?")
        commit = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%h %cs"],
                                capture_output=True, text=True).stdout.strip()
        return dict(chip=CHIP, ptxas=version, commit=commit)

    def run(self, case, way):
        """Returns the reports of the launches of the entry "main", and the simulation time in
        seconds."""
        with tempfile.TemporaryDirectory() as name:
            directory = pathlib.Path(name)
            program = self.compile(case, way, directory)
            return self.launch(program, arguments(case, program, directory), self.prices(program))

    def prices(self, program):
        """Returns environment variables that select instruction costs from machine code."""
        if not self.ptxas:
            return {}
        ptx, listing = (program / "kernels.ptx").read_text(), program / "listing"
        listing.write_text(machine_code.disassemble(ptx, TARGET, self.ptxas, self.nvdisasm))
        return dict(MX_SIM_MACHINE_CODE=str(listing))

    def compile(self, case, way, directory):
        source, program = directory / "case.mlir", directory / "program"
        source.write_text(case.text(way))
        done = subprocess.run([self.binaries / "mx-compile", source, f"--chip={TARGET}", "--quiet",
                               "--ptxas=none", "-o", program], capture_output=True, text=True)
        if done.returncode:
            raise Failed(f"not compiled: {done.stderr.strip()}")
        return program

    def launch(self, program, arrays, prices):
        report = program / "report.json"
        environment = dict(os.environ, MX_SIM_TIME=CHIP, MX_SIM_DATA="none", MX_SIM_CHECKS="none",
                           MX_SIM_REPORT=str(report), MX_SIM_INSTRUCTION_LIMIT=str(INSTRUCTIONS),
                           **prices)
        command = [self.binaries / "mx-launch", program, "--device=sim", "--quiet",
                   *(f"--arg={path}" for path in arrays)]
        start = time.monotonic()
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True,
                                  timeout=self.most)
        except subprocess.TimeoutExpired:
            raise Failed(f"took more than {self.most:g} s") from None
        if done.returncode:
            raise Failed(done.stderr.strip())
        launches = json.loads(report.read_text())["launches"]
        return [launch for launch in launches if "time" in launch], time.monotonic() - start


def arguments(case, program, directory):
    """Writes the arrays of the entry. Arrays of zeros are sparse files."""
    manifest = json.loads((program / "manifest.json").read_text())
    entry = next(entry for entry in manifest["entries"] if entry["name"] == "main")
    paths = []
    for argument in entry["arguments"]:
        path = directory / f"{argument['name']}.npy"
        array = np.lib.format.open_memmap(path, mode="w+", dtype=np.dtype(argument["dtype"]),
                                          shape=tuple(argument["shape"]))
        if argument["dtype"] == "i4":
            array[...] = ends_of_groups(case)
        elif "scale_layout" in argument["type"]:
            array[...] = next(value for element, value in SCALES.items()
                              if f"x{element}" in argument["type"])
        array.flush()
        paths.append(path)
    return paths


def ends_of_groups(case):
    import cases
    return cases.group_ends(case.m, case.groups, case.load)
