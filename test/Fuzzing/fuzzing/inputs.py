"""Runs the tools on randomly mutated input and looks for failures that no input may cause:
docs/contributing/Developing.md, "Mutation fuzzing".

Each case mutates a file of the repository's tests and examples, or a file derived from them (manifest, image, launch
file, array), and runs one tool on it with limits on address space and time. A case fails if a signal or an abort ends
the tool, if the exit status is undocumented, if a failure has no message, or if a sanitizer reports an error. Tools
that only compile must also end before the timeout. Failing cases are shortened and kept with their command."""

import argparse
import collections
import pathlib
import random
import shlex
import shutil
import sys
import tempfile
import time

from . import cases, run

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLES = ["matmul", "matmul_schedule", "grouped_matmul", "matmul_f32", "moe_layer"]
WEIGHTS = {"opt": 6, "translate": 1, "compile": 3, "run": 4, "manifests": 2, "images": 2, "npy": 1,
           "launch-files": 2, "ptx": 1}
# Inputs derived from compiled examples.
COMPILED = {"manifests", "images", "npy", "launch-files", "ptx"}
# Stop kernels in which a mutation made a loop endless.
ENVIRONMENT = {"MX_SIM_INSTRUCTION_LIMIT": "20000000", "MX_DEVICE": "sim",
               "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"}


def arguments():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--minutes", type=float, metavar="N", help="run time in minutes; default: 1")
    p.add_argument("--count", type=int, metavar="N", help="number of cases; replaces --minutes")
    p.add_argument("--seed", type=int, default=1, metavar="N")
    p.add_argument("--only", default=",".join(WEIGHTS), metavar="LIST",
                   help="comma-separated list of tools and input kinds from " + ", ".join(WEIGHTS) + "; default: all")
    p.add_argument("--bin", type=pathlib.Path, default=None, metavar="DIR",
                   help="directory with the tools; default: the build")
    p.add_argument("--out", type=pathlib.Path, default=None, metavar="DIR",
                   help="directory for failing cases; default: fuzz/ in the build")
    p.add_argument("--memory", type=int, default=4096, metavar="MIB", help="address space limit")
    p.add_argument("--seconds", type=int, default=20, metavar="N", help="CPU time limit per case")
    p.add_argument("--sanitized", action="store_true",
                   help="do not limit address space, because sanitizers reserve it")
    p.add_argument("--replay", type=pathlib.Path, nargs="+", metavar="DIR",
                   help="failing cases to run again")
    return p.parse_args()


class Fuzzer:
    def __init__(self, options, build):
        self.options = options
        self.tools = (options.bin or build / "bin").resolve()
        self.out = options.out or build / "fuzz"
        bytes = -1 if options.sanitized else options.memory << 20
        self.limits = run.Limits(bytes, options.seconds)
        self.failures = collections.Counter()
        self.known = collections.Counter()
        self.tried, self.slow = collections.Counter(), collections.Counter()
        self.statuses = collections.Counter()

    def ended(self, command, folder):
        return run.run([self.tools / command[0], *command[1:]], folder, self.limits, ENVIRONMENT)

    def one(self, name, make, folder):
        command, changed = make(folder)
        ended = self.ended(command, folder)
        self.tried[name] += 1
        why = run.verdict(command[0], ended)
        if why == "slow":
            self.slow[name] += 1
        elif why is None:
            self.statuses[name, ended.status] += 1
        elif reason := run.upstream(ended):
            self.known[reason] += 1
        else:
            self.fail(command, changed, folder, why, ended)

    def fail(self, command, changed, folder, why, ended):
        where = run.frames(ended.output)
        key = f"{command[0]}: {why}: {where}"
        self.failures[key] += 1
        if self.failures[key] > 3:
            return
        self.shorten(command, folder / changed, why, where)
        ended = self.ended(command, folder)
        kept = self.out / f"{sum(self.failures.values()):04}-{command[0]}"
        shutil.copytree(folder, kept, dirs_exist_ok=True)
        (kept / "command.txt").write_text(shlex.join(command) + "\n")
        (kept / "output.txt").write_text(f"{why}\n{ended.output}")
        print(f"FAILED {key}\n  {kept}: {shlex.join(command)}", flush=True)

    def shorten(self, command, path, why, where):
        """Removes lines while the failure stays the same, for a limited time."""
        if path.suffix == ".npy" or not path.read_bytes().isascii() or why == "out of time":
            return
        end = time.monotonic() + 30
        lines = path.read_bytes().split(b"\n")
        size, shorter = len(lines), True
        while (size > 1 or shorter) and time.monotonic() < end:
            size, shorter, at = max(1, size // 2), False, 0
            while at < len(lines) and time.monotonic() < end:
                fewer = lines[:at] + lines[at + size :]
                path.write_bytes(b"\n".join(fewer))
                ended = self.ended(command, path.parent)
                if run.verdict(command[0], ended) == why and run.frames(ended.output) == where:
                    lines, shorter = fewer, True
                else:
                    at += size
        path.write_bytes(b"\n".join(lines))

    def fuzz(self):
        chosen = random.Random(self.options.seed)
        names = self.options.only.split(",")
        for name in names:
            if name not in WEIGHTS:
                print(f"fuzz: error: expected --only of {', '.join(WEIGHTS)}, found '{name}'",
                      file=sys.stderr)
                return 2
        with tempfile.TemporaryDirectory(prefix="mx-fuzz-") as work:
            work = pathlib.Path(work)
            compiled = EXAMPLES if COMPILED & set(names) else []
            corpus = cases.Corpus(chosen, ROOT, self.tools, work, compiled)
            made = cases.Cases(chosen, corpus, self.tools)
            end = time.monotonic() + 60 * (self.options.minutes or 1)
            number = 0
            while (number < self.options.count if self.options.count else time.monotonic() < end):
                number += 1
                # Each case depends only on the seed and the case number.
                chosen.seed(f"{self.options.seed} {number}")
                name = chosen.choices(names, [WEIGHTS[n] for n in names])[0]
                folder = work / f"case-{number}"
                folder.mkdir()
                self.one(name, getattr(made, name.replace("-", "_")), folder)
                shutil.rmtree(folder)
        return self.report()

    def report(self):
        for name in self.tried:
            ends = ", ".join(f"{n} x {status}" for (t, status), n in sorted(self.statuses.items())
                             if t == name)
            print(f"{name}: {self.tried[name]} cases, exit statuses {ends or 'none'}"
                  + (f", {self.slow[name]} stopped after {self.limits.seconds} s"
                     if self.slow[name] else ""))
        for reason, n in self.known.items():
            print(f"not ours, {n} cases: {reason}")
        for key, n in self.failures.most_common():
            print(f"failed, {n} cases: {key}")
        print(f"{sum(self.tried.values())} cases, {sum(self.failures.values())} failed")
        return 1 if self.failures else 0

    def replay(self, folders):
        bad = 0
        for kept in folders:
            with tempfile.TemporaryDirectory(prefix="mx-fuzz-") as work:
                folder = pathlib.Path(work) / "case"
                shutil.copytree(kept, folder)
                command = shlex.split((kept / "command.txt").read_text())
                ended = self.ended(command, folder)
            why = run.verdict(command[0], ended)
            bad += why not in (None, "slow")
            print(f"{kept}: {why or f'exit status {ended.status}'}")
            if len(folders) == 1:
                print(ended.output, end="")
        return 1 if bad else 0


def main(build):
    options = arguments()
    fuzzer = Fuzzer(options, build)
    return fuzzer.replay(options.replay) if options.replay else fuzzer.fuzz()

