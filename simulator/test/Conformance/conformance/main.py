"""The command line of simulator/scripts/conformance."""

import argparse
import ctypes
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

from . import base, device, golden, kernels, simulator

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="conformance",
        description="Runs small kernels, one per instruction or mechanism of "
        "sm_90a, and compares their outputs with the outputs of an H200.",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="compare with the golden data (the default)")
    what.add_argument("--update", action="store_true", help="replace the golden data")
    what.add_argument("--save", metavar="FILE.zip", help="only save the outputs")
    what.add_argument("--write", metavar="DIR", help="write launch files for mx-sim")
    what.add_argument("--ptx", metavar="DIR", help="only write the PTX modules")
    what.add_argument("--list", action="store_true", help="list the cases")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:N or sim")
    parser.add_argument(
        "--library", help="libmx_runtime.so for a GPU (default: the newest build)"
    )
    parser.add_argument(
        "--from",
        dest="saved",
        action="append",
        metavar="FILE.zip",
        help="use the outputs of --save instead of a run",
    )
    parser.add_argument("--golden", metavar="DIR", help="directory of the golden data")
    parser.add_argument("--case", default="", help="only cases with this text in the name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, default=60, help="seconds per case")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for all cases")
    parser.add_argument(
        "--show", type=int, default=4, help="differences to print per case"
    )
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("groups", nargs="*", metavar="GROUP")
    return parser.parse_args()


def capture(machine, case):
    """Treats the text printed by the kernel as an output."""
    saved = os.dup(1)
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 1)
        try:
            outputs = machine.run(case)
            ctypes.CDLL(None).fflush(None)
        finally:
            os.dup2(saved, 1)
            os.close(saved)
        printed.seek(0)
        return dict(outputs, stdout=printed.read())


def worker(options, groups):
    """Reads lines of the form "GROUP CASE" and answers each with a line of JSON. Ends after a
    failure, because the GPU context is then unusable."""
    # Text that kernels print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    by_name = {(c.group.name, c.name): c for g in groups for c in g.cases}
    machine = None
    for line in sys.stdin:
        case = by_name[tuple(line.split())]
        started = time.monotonic()
        answer = {}
        try:
            if machine is None:
                machine = device.Device(options.library, options.device)
            outputs = (
                capture(machine, case)
                if "stdout" in case.outputs
                else machine.run(case)
            )
            answer["outputs"] = {k: v.hex() for k, v in outputs.items()}
        except device.KernelError as error:
            answer["error"] = str(error)
        answer["seconds"] = time.monotonic() - started
        print(json.dumps(answer), file=answers, flush=True)
        if "error" in answer:
            return


class Worker:
    """A process that runs the cases of one group."""

    def __init__(self, options, cases):
        self.options, self.cases, self.results = options, list(cases), {}
        self.process = None

    def start(self):
        o = self.options
        command = [sys.executable, os.path.join(ROOT, "scripts", "conformance")]
        command += ["--worker", "--device", o.device, "--library", o.library]
        command += [self.cases[0].group.name]
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors
        )
        self.feed()

    def feed(self):
        case = self.cases[0]
        self.started = time.monotonic()
        try:
            self.process.stdin.write(f"{case.group.name} {case.name}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
        self.process = None

    def finish(self, answer):
        self.results[self.cases.pop(0)] = answer
        # After a fault, the GPU accepts no more work from the process.
        alive = self.process.poll() is None and "error" not in answer
        if alive and self.cases:
            return self.feed()
        self.stop()
        if self.cases:
            self.start()

    def poll(self):
        """Reads an answer, or records that the process ended without an answer."""
        line = self.process.stdout.readline()
        if line:
            return self.finish(json.loads(line))
        self.process.wait()
        self.errors.seek(0)
        text = self.errors.read().decode(errors="replace").strip()
        status = self.process.returncode
        self.finish({"error": f"process ended with status {status}: {text[-500:]}"})

    def check_time(self):
        if self.process and time.monotonic() - self.started > self.options.timeout:
            self.process.kill()
            self.process.wait()
            self.finish({"error": f"no answer within {self.options.timeout:g} s"})


def simulate_all(options, cases):
    """Runs the cases on mx-sim. Returns results in the form of `run_on_gpu`."""
    end = time.monotonic() + options.limit

    def simulate(batch):
        seconds = min(options.timeout * len(batch), end - time.monotonic())
        if seconds <= 0:
            return {c: {"error": "no time left", "broken": True} for c in batch}
        return simulator.run(batch, folder, seconds)

    with tempfile.TemporaryDirectory() as folder:
        for group in {c.group for c in cases}:
            base.write_module(group, os.path.join(folder, group.name))
        results = {}
        with ThreadPoolExecutor(options.jobs) as pool:
            for part in pool.map(simulate, simulator.batches(cases)):
                results.update(part)
        return results


def run_on_gpu(options, cases):
    """Runs the cases and returns {case: {"outputs": {name: bytes}} or {"error": text}}."""
    by_group = {}
    for case in cases:
        by_group.setdefault(case.group.name, []).append(case)
    waiting = [Worker(options, c) for c in by_group.values()]
    # Sort so that the largest groups start first.
    waiting.sort(key=lambda w: len(w.cases))
    running, done = [], []
    end = time.monotonic() + options.limit
    while waiting or running:
        if time.monotonic() > end:
            for w in running + waiting:
                w.stop()
                w.results.update({c: {"error": "no time left"} for c in w.cases})
            done += running + waiting
            break
        while waiting and len(running) < options.jobs:
            running.append(waiting.pop())
            running[-1].start()
        streams = {w.process.stdout: w for w in running}
        for stream in select.select(list(streams), [], [], 1)[0]:
            streams[stream].poll()
        for w in running:
            w.check_time()
        done += [w for w in running if not w.process]
        running = [w for w in running if w.process]
    results = {}
    for w in done:
        for case, answer in w.results.items():
            if "outputs" in answer:
                answer["outputs"] = {
                    k: bytes.fromhex(v) for k, v in answer["outputs"].items()
                }
            results[case] = answer
    return results


PART = 12 << 20


def save(path, results):
    """Writes FILE.zip, FILE-2.zip and so on, each with about 12 MiB at most."""
    waiting, part = list(results.items()), 1
    while waiting:
        stem, dot = os.path.splitext(path)
        status = {}
        name = path if part == 1 else f"{stem}-{part}{dot}"
        with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
            while waiting and archive.fp.tell() < PART:
                case, answer = waiting.pop(0)
                key = f"{case.group.name}/{case.name}"
                status[key] = {k: v for k, v in answer.items() if k != "outputs"}
                for output, data in answer.get("outputs", {}).items():
                    archive.writestr(f"{key}/{output}", data)
            archive.writestr("status.json", json.dumps(status, indent=1))
        part += 1


def load(paths, cases):
    results = {}
    for path in paths:
        with zipfile.ZipFile(path) as archive:
            status = json.loads(archive.read("status.json"))
            for case in cases:
                key = f"{case.group.name}/{case.name}"
                answer = status.get(key)
                if answer is None:
                    continue
                if "error" not in answer:
                    answer["outputs"] = {
                        o: archive.read(f"{key}/{o}") for o in case.outputs
                    }
                results[case] = answer
    return results


def main():
    options = parse_arguments()
    groups = kernels.groups(options.groups)
    if isinstance(groups, str):
        sys.exit(f"conformance: {groups}")
    if options.golden:
        golden.DIRECTORY = options.golden
    if options.worker:
        return worker(options, groups)
    cases = [c for g in groups for c in g.cases if options.case in c.name]
    if options.list:
        for case in cases:
            print(case.group.name, case.name)
        return
    if options.write:
        for group in groups:
            folder = os.path.join(options.write, group.name)
            base.write_module(group, folder)
            for case in group.cases:
                base.write_launch_file(case.name, [case], folder)
        return
    if options.ptx:
        os.makedirs(options.ptx, exist_ok=True)
        for group in groups:
            with open(os.path.join(options.ptx, group.name + ".ptx"), "w") as f:
                f.write(group.ptx())
        return
    if not cases:
        sys.exit("conformance: no case matches --case")
    if options.update and options.case:
        sys.exit("conformance: --update replaces whole groups: remove --case")
    if options.saved:
        results = load(options.saved, cases)
    else:
        is_simulated = options.device == "sim"
        if is_simulated and not shutil.which("mx-sim"):
            sys.exit("conformance: expected mx-sim in PATH, found none")
        if not is_simulated:
            options.library = options.library or device.find_library(os.path.dirname(ROOT))
            if not options.library:
                sys.exit(
                    "conformance: no libmx_runtime.so in build/: build the runtime, or pass --library=PATH"
                )
        started = time.monotonic()
        results = (simulate_all if is_simulated else run_on_gpu)(options, cases)
        seconds = time.monotonic() - started
        print(f"{len(results)} cases on {options.device} in {seconds:.1f} s")
    if options.save:
        save(options.save, results)
        for case, answer in results.items():
            if "error" in answer:
                print(
                    f"{case.group.name} {case.name}: {answer['error'].splitlines()[0][:200]}"
                )
        bad = sum("error" in a for a in results.values())
        print(f"{len(results)} cases saved, {bad} failed")
        return
    if options.update:
        return golden.update(groups, results)
    sys.exit(golden.check(groups, cases, results, options))
