"""Runs a bundle of `scripts/check-cuda --pack` on a GPU, and compares all results with NumPy
and with the results of the simulator.

usage: ./check [--device cuda|cuda:N|sim] [--only STEP,...] [--jobs N] [--sanitize]

The steps are runtime, cases, launch, run, wgmma, dropin, layer, graph and training. --sanitize
adds memcheck, racecheck, synccheck and initcheck of compute-sanitizer, on the layer and on some
cases. Needs Python and NumPy, and ml_dtypes for the layer. The last line summarizes the
comparisons. The exit status is 1 if a result is wrong."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

BUNDLE = pathlib.Path(__file__).resolve().parents[3]
INPUTS = BUNDLE / "test/Integration/Run/Inputs"
HERE = BUNDLE / "simulator/scripts/cuda_cases"
# The last row of the first batch is outside all groups.
BATCHES = ["160", "320", "{data}/0", "40", "77", "{data}/1"]
# Output lines with the numbers of comparisons and failures.
COUNTS = re.compile(r"(\d+) (?:cases|products|comparisons|batches), (?:(\d+) elements, )?(\d+) "
                    r"(?:wrong|bad)")


class Failure(Exception):
    pass


class Steps:
    def __init__(self, options, work):
        self.device, self.jobs, self.work = options.device, options.jobs, work
        self.cases = self.elements = self.wrong = 0

    def environment(self):
        path = [BUNDLE / x for x in ("python", "simulator/scripts/cuda_cases", "test/python")]
        env = dict(os.environ, PYTHONPATH=os.pathsep.join(map(str, path)), MX_DEVICE=self.device,
                   MX_RUNTIME=str(BUNDLE / "lib/libmx_runtime.so"), PYTHONDONTWRITEBYTECODE="1",
                   MX_CHIP="sm_90a")
        env["LD_LIBRARY_PATH"] = os.pathsep.join(
            [str(BUNDLE / "lib"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])
        if self.device == "sim":
            env["MX_SIM_TENSOR_SUMS"] = "truncated"
        return env

    def call(self, *command, status=0, counts=True):
        """Runs a program and returns its output. Checks the exit status unless None, and adds
        the reported comparisons to the total, except for repetitions."""
        done = subprocess.run([str(x) for x in command], env=self.environment(), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for cases, elements, wrong in COUNTS.findall(done.stdout)[-1:] if counts else []:
            self.cases += int(cases)
            self.elements += int(elements or 0)
            self.wrong += int(wrong)
        if status is not None and done.returncode != status:
            raise Failure(f"{' '.join(map(str, command))}: exit status {done.returncode}\n"
                          f"{done.stdout[-6000:]}")
        return done.stdout

    def python(self, *command):
        return self.call(sys.executable, *command)

    def last(self, *command):
        return self.python(*command).splitlines()[-1]

    # --- Steps. Each returns a summary line, or None if the bundle lacks the files of the step.

    def runtime(self):
        return self.call(BUNDLE / "bin/mx-check-cuda", BUNDLE / "runtime/test/kernels.ptx",
                         self.device).splitlines()[-1]

    def replay(self, *options):
        return self.last(HERE / "replay.py", BUNDLE / "recorded", f"--device={self.device}",
                         *options)

    def cases_(self):
        if (BUNDLE / "recorded").exists():
            return self.replay(f"--jobs={self.jobs}")
        return None

    def tool(self, name, is_source, count):
        """Runs a tool of mx on cases with dense results, because the tool overwrites the pattern in
        gaps. Returns the summary line."""
        tool = BUNDLE / "bin" / name
        if not tool.exists() or not (BUNDLE / "recorded").exists():
            return None
        sys.path[:0] = [str(BUNDLE / "python"), str(HERE)]
        os.environ["MX_RUNTIME"] = str(BUNDLE / "lib/libmx_runtime.so")
        import cases
        import numpy as np
        found = []
        for path in sorted(BUNDLE.glob("recorded/cases/formats-*"))[:count]:
            case, out = cases.Case(path), f"{self.work}/y.npy"
            program = BUNDLE / "recorded/programs" / case.program
            command = [tool, program / "source.mlir" if is_source else program,
                       f"--device={self.device}", f"--entry={case.info['entry']}"]
            if is_source:
                command.append("--chip=sm_90a")
            for name in case.info["arguments"]:
                command += ["--arg", path / name]
            self.call(*command, "--result", out)
            expected, = case.load("results")
            element = {2: "bf16", 4: "f32"}[expected.dtype.itemsize]
            found.append((expected.size, cases.count_wrong(np.load(out), expected, element)))
        elements, wrong = (sum(x) for x in zip(*found))
        self.cases, self.elements = self.cases + len(found), self.elements + elements
        self.wrong += wrong
        return f"{len(found)} cases, {elements} elements, {wrong} wrong"

    def launch(self):
        return self.tool("mx-launch", is_source=False, count=10)

    def run(self):
        return self.tool("mx-run", is_source=True, count=10)

    def wgmma(self):
        if not (BUNDLE / "wgmma.npz").exists():
            return None
        return self.last(INPUTS / "run_wgmma_blocks.py", BUNDLE / "wgmma",
                         f"--device={self.device}", "--same-as", BUNDLE / "wgmma.npz")

    def dropin(self):
        names = [path.stem for path in sorted(BUNDLE.glob("dropin/*.expected"))]
        for name in names:
            # `main` of these programs returns no value, so the exit status is undefined. Addresses
            # differ between runs.
            found, expected = (re.sub(r"0x[0-9a-f]+", "0x", text) for text in (
                self.call(BUNDLE / "dropin" / name, status=None),
                (BUNDLE / f"dropin/{name}.expected").read_text()))
            if found != expected:
                raise Failure(f"dropin/{name}: expected\n{expected}\nfound\n{found}")
        return f"{len(names)} programs print the same as on the simulator" if names else None

    def layer(self):
        """Compares each stage with NumPy, then repeats with every kind of poison in the slack.
        Runs fewer routings on the simulator."""
        if not (BUNDLE / "layer").exists():
            return None
        few = self.device == "sim"
        program = INPUTS / "moe_layer.py", BUNDLE / "layer/program"
        stages = self.python(*program, "stages", f"--observed={BUNDLE / 'layer/observed'}",
                             f"--count={2 if few else 63}", f"--device={self.device}")
        poison = self.last(*program, "poison", f"--count={1 if few else 9}", "--seed=2",
                           f"--device={self.device}")
        print(stages)
        return f"{stages.splitlines()[-1]}; poison: {poison}"

    def graph(self):
        """Runs the C program with two threads; on a GPU, the whole step is also a CUDA graph."""
        if not (BUNDLE / "layer").exists():
            return None
        batches, data = self.make_batches(), self.work / "data"
        said = self.call(*self.c_program())
        self.python(batches, "check", data, BUNDLE / "layer/program", self.device)
        return f"{said.splitlines()[-1]} by two threads, with the same results as Python"

    def make_batches(self):
        script = BUNDLE / "test/AheadOfTime/Inputs/batches.py"
        self.python(script, "make", self.work / "data")
        return script

    def c_program(self, batches=BATCHES):
        data = self.work / "data"
        return [BUNDLE / "bin/moe_layer", BUNDLE / "layer/program", data,
                *(x.format(data=data) for x in batches)]

    def training(self):
        """Trains for some steps and compares the losses of bf16 and MXFP8."""
        if not (BUNDLE / "layer").exists():
            return None
        said = self.python(BUNDLE / "examples/train_moe.py", BUNDLE / "layer/program",
                           f"--device={self.device}", f"--steps={2 if self.device == 'sim' else 60}",
                           "--rate=2e-3")
        losses = [float(x) for x in re.findall(r"([\d.]+) over the last steps", said)]
        if len(losses) != 2 or abs(losses[0] - losses[1]) > 0.05:
            raise Failure(f"expected losses within 0.05, found\n{said}")
        return "; ".join(said.splitlines())

    def sanitize(self, tool):
        sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        # The runtime queries kernel parameters until the driver reports an error.
        prefix = [sanitizer, f"--tool={tool}", "--error-exitcode=9", "--report-api-errors=no",
                  "--print-limit=1000", "--show-backtrace=no"]
        if (BUNDLE / "layer").exists():
            self.make_batches()
            # Kernels read whole tiles. These include rows outside all groups, which are dropped.
            batches = BATCHES[3:] if tool == "initcheck" else BATCHES
            self.call(*prefix, *self.c_program(batches), counts=False)
        match = "(formats|split|results|reduction|epilogues)-0000"
        if (BUNDLE / "recorded").exists():
            self.call(*prefix, "--target-processes=all", sys.executable, HERE / "replay.py",
                      BUNDLE / "recorded", f"--device={self.device}", f"--match={match}",
                      counts=False)
        return "nothing found"


STEPS = {"runtime": Steps.runtime, "cases": Steps.cases_, "launch": Steps.launch,
         "run": Steps.run, "wgmma": Steps.wgmma, "dropin": Steps.dropin, "layer": Steps.layer,
         "graph": Steps.graph, "training": Steps.training}
TOOLS = ["memcheck", "racecheck", "synccheck", "initcheck"]


def parse():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count(), 12))
    parser.add_argument("--sanitize", action="store_true")
    options = parser.parse_args()
    steps = dict(STEPS, **{tool: lambda steps, tool=tool: steps.sanitize(tool)
                           for tool in TOOLS})
    names = options.only.split(",") if options.only else (
        list(STEPS) + (TOOLS if options.sanitize else []))
    for name in names:
        if name not in steps:
            parser.error(f"expected one of {', '.join(steps)}, found '{name}'")
    return options, {name: steps[name] for name in names}


def main():
    options, chosen = parse()
    failures, begin = [], time.time()
    with tempfile.TemporaryDirectory() as work:
        steps = Steps(options, pathlib.Path(work))
        for name, function in chosen.items():
            start = time.time()
            try:
                text = function(steps) or "not in this bundle"
            except Failure as failure:
                text = f"FAILED: {failure}"
                failures.append(name)
            print(f"{name} ({time.time() - start:.0f} s): {text}", flush=True)
    print(f"{options.device}: {steps.cases} cases, {steps.elements} elements, {steps.wrong} wrong, "
          f"{time.time() - begin:.0f} s; " +
          (f"failed: {', '.join(failures)}" if failures else "all steps right"))
    return 1 if failures or steps.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
