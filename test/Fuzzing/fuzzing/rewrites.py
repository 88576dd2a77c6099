"""Rewrites random matmuls and scaled numbers to mx operations, runs them, and compares the results with NumPy's
float64: docs/contributing/Developing.md, "Random rewrites".

mx-quantize-matmuls rewrites contractions with arbitrary index maps and loops over expert groups. mx-import-scaled
rewrites block-scaled linalg, arith and TOSA operations. A case fails if a tool crashes, if a sanitizer reports a fault,
if a rewrite fails, if a later pass refuses the rewritten program, or if a number is wrong. Failing cases are kept with
their arrays."""

import argparse
import collections
import pathlib
import re
import shutil
import sys
import tempfile
import time

from . import run
from .cases import CHIPS

ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"}
LIMITS = run.Limits(-1, 300)
# Documented kernel limits: a pattern for the error message, and the documented reason.
GPU_LIMITS = [
    (r"expected scales of [ab] in layout sf_128x4 on the GPU", "grouped matmuls read tiles (docs/design/Matmul.md)"),
    (r"expected operands that the tensor core multiplies", "MXINT8 matmuls are bf16 matmuls (docs/guide/Import.md)"),
    (r"expected a reduction of a multiple of \d+ elements for |expected dimension \d+ of a to be a multiple of \d+, found",
     "reduction size of an instruction (docs/reference/Formats.md)"),
    (r"expected dimension \d+ of input to be a multiple of \d+, found", "dynamic row size not divisible by 16 bytes "
     "(docs/guide/Import.md)"),
]
REMARK = re.compile(r"main\.mlir:(\d+):\d+: remark: (not (?:quantized|imported): .*)")


def arguments():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--count", type=int, metavar="N", help="number of cases; default: 100")
    p.add_argument("--minutes", type=float, metavar="N", help="time limit; replaces --count")
    p.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the first case")
    p.add_argument("--only", choices=["quantize", "import"], help="run only this rewrite")
    p.add_argument("--batch", type=int, default=10, metavar="N",
                   help="cases per function; cases of a failing function are rerun separately; default: 10")
    p.add_argument("--simulate", type=int, default=6, metavar="N",
                   help="also run every N-th function on the simulator; 0: none; default: 6")
    p.add_argument("--bin", type=pathlib.Path, default=None, metavar="DIR",
                   help="directory with the tools; default: the build")
    p.add_argument("--out", type=pathlib.Path, default=None, metavar="DIR",
                   help="directory for failing cases; default: fuzz-rewrites/ in the build")
    return p.parse_args()


class Failed(Exception):
    pass


class Fuzzer:
    def __init__(self, options, build):
        self.options = options
        self.tools = (options.bin or build / "bin").resolve()
        self.out = options.out or build / "fuzz-rewrites"
        self.tried, self.failures = collections.Counter(), collections.Counter()
        self.simulated, self.refused = 0, 0

    def ended(self, folder, tool, *command):
        """Runs a tool and returns its output. Fails if the tool fails."""
        ended = run.run([self.tools / tool, *command], folder, LIMITS, ENVIRONMENT)
        why = run.verdict(tool, ended)
        if why is None and ended.status:
            lines = ended.output.splitlines()
            why = next((line for line in lines if "error:" in line), lines[-1] if lines else "")
        if why:
            (folder / "output.txt").write_text(ended.output)
            raise Failed(f"{tool} {' '.join(command[:1])}: {why}: {run.frames(ended.output) if ended.status < 0 else ''}")
        return ended.output

    def execute(self, folder, device, programs):
        """Runs the rewritten program and compares the results."""
        import numpy as np

        from .rewrite_programs import Expected, decode

        results = [result for case in programs.cases for result in case.results]
        command = ["rewritten.mlir", *device.split()]
        for i, (_, array) in enumerate(programs.arguments):
            np.save(folder / f"a{i}.npy", array)
            command += ["--arg", f"a{i}.npy"]
        for i in range(len(results)):
            command += ["--result", f"r{i}.npy"]
        self.ended(folder, "mx-run", *command)
        for i, (_, kind, expected) in enumerate(results):
            found = np.load(folder / f"r{i}.npy")
            if isinstance(expected, Expected):
                found = decode(found, expected.dtype)
            if found.shape != expected.exact.shape:
                raise Failed(f"{device}: result {i} of {kind} has shape {found.shape}, expected {expected.exact.shape}")
            place = expected.disagreement(found)
            if place is not None:
                within = f" within {expected.bound()[place]}" if isinstance(expected, Expected) else ""
                raise Failed(f"{device}: wrong number at {place} of result {i} of {kind}: {found[place]}, expected "
                             f"{expected.exact[place]}{within}")

    def simulate(self, folder, chip, programs):
        try:
            self.execute(folder, f"--device=sim --chip={chip}", programs)
            self.simulated += len(programs.cases)
        except Failed as failed:
            if len(programs.cases) > 1 or not any(re.search(words, str(failed)) for words, _ in GPU_LIMITS):
                raise
            self.refused += 1

    def try_together(self, kind, seeds, folder):
        """Runs the cases with these seeds in one function and returns their outcomes."""
        from .contractions import Contractions
        from .scaled_programs import ScaledPrograms

        # All seeds of a batch share the pass options.
        group = seeds[0] // self.options.batch
        left, programs = {}, {"quantize": Contractions, "import": ScaledPrograms}[kind](seeds, group)
        (folder / "main.mlir").write_text(programs.program())
        printed = self.ended(folder, "mx-opt", f"--pass-pipeline={programs.pipeline}", "main.mlir", "-o", "rewritten.mlir")
        for line, remark in REMARK.findall(printed):
            if case := programs.find_case(int(line)):
                left[case.seed] = remark
        runs = programs.choose(left)
        if runs is not programs and runs.cases:
            (folder / "main.mlir").write_text(runs.program())
            self.ended(folder, "mx-opt", f"--pass-pipeline={runs.pipeline}", "main.mlir", "-o", "rewritten.mlir")
        if runs.cases:
            self.execute(folder, "--device=cpu", runs)
            if self.options.simulate and group % self.options.simulate == 0:
                chip = CHIPS[group // self.options.simulate % len(CHIPS)]
                self.simulate(folder, chip, runs)
        for seed in seeds:
            self.tried[kind, "left" if seed in left else "rewritten"] += 1

    def compare(self, kind, seeds):
        with tempfile.TemporaryDirectory(prefix="mx-rewrites-") as name:
            folder = pathlib.Path(name)
            try:
                return self.try_together(kind, seeds, folder)
            except Failed as failed:
                why = str(failed)
            if len(seeds) == 1:
                return self.keep(kind, seeds[0], folder, why)
        for seed in seeds:
            self.compare(kind, [seed])

    def keep(self, kind, seed, folder, why):
        self.tried[kind, "failed"] += 1
        key = re.sub(r"\d+", "N", f"{kind}: {why}")[:200]
        self.failures[key] += 1
        if self.failures[key] > 3:
            return
        kept = self.out / f"{kind}-{seed}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept)
        (kept / "why.txt").write_text(why + "\n")
        print(f"{kind} {seed}: {why}\n  kept in {kept}", flush=True)

    def fuzz(self):
        kinds = [self.options.only] if self.options.only else ["quantize", "import"]
        count, end = self.options.count or 100, time.monotonic() + 60 * (self.options.minutes or 0)
        seed = self.options.seed
        while (time.monotonic() < end if self.options.minutes else seed < self.options.seed + count):
            # The first seed in a function is a multiple of the batch size, so a case always gets the same options.
            stop = (seed // self.options.batch + 1) * self.options.batch
            if not self.options.minutes:
                stop = min(stop, self.options.seed + count)
            self.compare(kinds[seed // self.options.batch % len(kinds)], range(seed, stop))
            seed = stop
        for key, n in self.failures.most_common():
            print(f"failed, {n} cases: {key}")
        counts = "; ".join(f"{kind}: {self.tried[kind, 'rewritten']} rewritten, {self.tried[kind, 'left']} unchanged"
                           for kind in kinds)
        failed = sum(self.failures.values())
        print(f"fuzz rewrites: seeds {self.options.seed} to {seed - 1}, {sum(self.tried.values())} cases ({counts}), "
              f"{self.simulated} also on the simulator, {self.refused} refused there as documented, {failed} failed")
        return 1 if failed else 0


def main(build):
    options = arguments()
    try:
        import ml_dtypes  # noqa: F401, required by the cases
    except ImportError as missing:
        sys.exit(f"fuzz rewrites: expected numpy and ml_dtypes: {missing}")
    return Fuzzer(options, build).fuzz()

