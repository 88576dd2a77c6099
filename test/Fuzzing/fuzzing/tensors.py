"""Compiles random graphs of tensor operations, runs them on the simulator and on the CPU path, and compares the results
with NumPy in float64, within the rounding error of each operation: docs/contributing/Developing.md, "Random graphs".

A case fails if a number is wrong, if a device refuses the program, or if a tool crashes. Failing cases are kept with
their arrays."""

import argparse
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

DEVICES = ["sim", "cpu"]
LONGEST = 600  # time limit of a program in seconds, also with sanitizers


def arguments():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--graphs", type=int, default=50, metavar="N", help="number of graphs; default: 50")
    p.add_argument("--minutes", type=float, metavar="N", help="time limit; replaces --graphs")
    p.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the first graph")
    p.add_argument("--loops", action="store_true",
                   help="generate programs with loops and branches instead of graphs")
    p.add_argument("--batch", type=int, default=5, metavar="N",
                   help="graphs per function; graphs of a failing function are rerun separately; default: 5")
    p.add_argument("--chip", default="sm_100a", metavar="CHIP")
    p.add_argument("--bin", type=pathlib.Path, default=None, metavar="DIR",
                   help="directory with mx-run; default: the build")
    p.add_argument("--out", type=pathlib.Path, default=None, metavar="DIR",
                   help="directory for failing cases; default: fuzz-tensors/ in the build")
    return p.parse_args()


def run(tool, folder, device, chip, arrays, results):
    """Runs a program on a device. Returns an error message, or None, and the result arrays."""
    import numpy as np

    command = [tool, "main.mlir", f"--device={device}", f"--chip={chip}"]
    for i in range(arrays):
        command += ["--arg", f"a{i}.npy"]
    for i in range(len(results)):
        command += ["--result", f"{device}{i}.npy"]
    try:
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return f"{device}: did not end within {LONGEST} seconds", None
    if ended.returncode:
        lines = [line for line in ended.stderr.splitlines() if "error:" in line or "Assertion" in line]
        return f"{device}: ended with {ended.returncode}: {(lines or [ended.stderr[-300:]])[0]}", None
    found = [np.load(folder / f"{device}{i}.npy") for i in range(len(results))]
    for i, (array, expected) in enumerate(zip(found, results)):
        if array.shape != expected.shape:
            return f"{device}: result {i} has shape {array.shape}, expected {expected.shape}", None
        place = expected.disagreement(array)
        if place is not None:
            return (f"{device}: result {i} {expected.dtype} at {place}: {array[place]}, expected "
                    f"{expected.exact[place]} within {expected.error[place]}"), None
    return None, found


class Fuzzer:
    def __init__(self, tool, chip, out, loops):
        self.tool, self.chip, self.out, self.loops = tool, chip, out, loops
        self.tried = self.failed = self.same = self.results = 0

    def try_together(self, seeds, folder):
        """Builds the graphs with these seeds in one function and compares the results of all devices."""
        import numpy as np

        from .loop_programs import LoopPrograms
        from .tensor_graphs import Graphs

        graphs = LoopPrograms() if self.loops else Graphs()
        for seed in seeds:
            graphs.grow(seed)
        text, arrays, results = graphs.program()
        (folder / "main.mlir").write_text(text)
        for i, array in enumerate(arrays):
            np.save(folder / f"a{i}.npy", array)
        return zip(*[run(self.tool, folder, device, self.chip, len(arrays), results) for device in DEVICES])

    def compare(self, seeds):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            whys, founds = self.try_together(seeds, folder)
            if any(whys) and len(seeds) == 1:
                self.keep(seeds[0], folder, [why for why in whys if why])
        if any(whys) and len(seeds) > 1:
            for seed in seeds:
                self.compare([seed])
            return
        self.tried += len(seeds)
        if not any(whys):
            same = [a.tobytes() == b.tobytes() for a, b in zip(*founds)]
            self.same, self.results = self.same + sum(same), self.results + len(same)

    def keep(self, seed, folder, whys):
        self.failed += 1
        kept = self.out / str(seed)
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept)
        (kept / "why.txt").write_text("\n".join(whys) + "\n")
        print(f"graph {seed}: {'; '.join(whys)}\n  kept in {kept}", flush=True)

    def summary(self):
        return (f"fuzz tensors: {self.tried} graphs, {self.failed} failed; of {self.results} results {self.same} have the "
                f"same bits on both devices, the others are within their roundings")


def main(build):
    options = arguments()
    try:
        import ml_dtypes  # noqa: F401, required by the graphs
    except ImportError as missing:
        sys.exit(f"fuzz tensors: expected numpy and ml_dtypes: {missing}")
    fuzzer = Fuzzer((options.bin or build / "bin").resolve() / "mx-run", options.chip,
                    options.out or build / "fuzz-tensors", options.loops)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    seed, end = options.seed, options.seed + options.graphs
    until = time.monotonic() + 60 * (options.minutes or 0)
    try:
        while time.monotonic() < until if options.minutes else seed < end:
            last = seed + options.batch if options.minutes else min(seed + options.batch, end)
            fuzzer.compare(range(seed, last))
            seed = last
    except KeyboardInterrupt:
        pass
    print(fuzzer.summary())
    return 1 if fuzzer.failed else 0

