"""Runs mx-sim on a module and a launch, and parses its output."""

import copy
import dataclasses
import hashlib
import json
import os
import pathlib
import subprocess
import tempfile

TIMEOUT = 120


@dataclasses.dataclass
class Outcome:
    status: int = 0  # exit status of mx-sim; -1: out of time
    kinds: tuple = ()  # kinds of the findings
    message: str = ""
    outputs: tuple = ()  # a digest per output
    instructions: int = 0
    stdout: str = ""


class Simulator:
    def __init__(self, program, launch_file):
        self.program = program
        self.launch_file = pathlib.Path(launch_file).resolve()
        self.launch = json.loads(self.launch_file.read_text())
        self.limit = None  # limit on warp instructions, set after a clean run

    def run(self, ptx, seed=0, edit=None, checks="all"):
        """Runs the PTX text `ptx` instead of the launch file's modules. `edit` changes the launch. Outputs use a
        separate directory."""
        with tempfile.TemporaryDirectory(prefix="mx-mutant-") as where:
            kernel = os.path.join(where, "kernel.ptx")
            pathlib.Path(kernel).write_text(ptx)
            launch = copy.deepcopy(self.launch)
            launch.pop("modules", None)
            if edit:
                edit(launch)
            for buffer in launch.get("buffers", {}).values():
                if "file" in buffer:
                    buffer["file"] = str(self.launch_file.parent / buffer["file"])
            outputs = []
            for name, entry in launch.get("outputs", {}).items():
                path = os.path.join(where, f"out-{name}.npy")
                outputs.append(path)
                if isinstance(entry, dict):
                    entry["file"] = path
                else:
                    launch["outputs"][name] = path
            if self.limit:
                launch["limits"] = {"instructions": self.limit}
            launch_path = os.path.join(where, "launch.json")
            pathlib.Path(launch_path).write_text(json.dumps(launch))
            report = os.path.join(where, "report.json")
            command = [self.program, kernel, launch_path, "--any-path", f"--seed={seed}"]
            command += [f"--checks={checks}", f"--report={report}", "--jobs=1"]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=TIMEOUT
                )
            except subprocess.TimeoutExpired:
                return Outcome(status=-1, message="out of time")
            result = Outcome(status=done.returncode, stdout=done.stdout)
            result.message = done.stderr.strip().replace(kernel, "kernel.ptx")
            if os.path.exists(report):
                data = json.loads(pathlib.Path(report).read_text())
                found = [f for l in data["launches"] for f in l["findings"]]
                result.kinds = tuple(sorted({f["kind"] for f in found}))
                result.instructions = sum(
                    l["warp_instructions"] for l in data["launches"]
                )
            result.outputs = tuple(digest(path) for path in outputs)
            return result


def digest(path):
    if not os.path.exists(path):
        return None
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
