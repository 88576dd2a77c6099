# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles the report. It describes the machine and contains the results of all families of cases,
each of which runs in its own process."""

import datetime
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from importlib import metadata

import mx_compiler as mx

from ..._compile import ptxas
from ..._compile.compile import default_chip
from ..._runtime.chips import CHIPS
from ..runner import has_gpu, why_no_device
from . import timing
from .cases import TABLE

FORMAT = 1
# Time limit of a family in seconds.
LIMIT = 300


def _version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _assembler(kind):
    """Returns the CUDA version of the ptxas that assembles the kernels, or "?" if unknown. Returns
    None if the driver assembles the kernels, or if there are no kernels."""
    if kind == "cpu":
        return None
    chosen = ptxas.choose(*ptxas.candidates(), default_chip())
    return None if chosen == ptxas.NONE else ptxas.find_version(chosen) or "?"


def _gpu_query(number, fields):
    """Queries nvidia-smi. Returns a dictionary of values keyed by field, or None if the query fails."""
    try:
        text = subprocess.run(
            ["nvidia-smi", f"--id={number}", "--query-gpu=" + ",".join(fields),
             "--format=csv,noheader,nounits"],
            capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return dict(zip(fields, (part.strip() for part in text.split("\n")[0].split(","))))


def _clocks(number):
    return _gpu_query(number, ("clocks.sm", "clocks.mem", "temperature.gpu", "power.draw"))


def _describe_device(device):
    info = mx.device_info()
    return {"kind": info.kind, "name": info.name, "capability": list(info.capability),
            "multiprocessors": info.multiprocessors, "memory_bytes": info.global_memory,
            "chip": None if info.kind != "cuda" else CHIPS.get(tuple(info.capability))}


def _run_family(row, device):
    """Runs the cases of a family. Returns the results keyed by name, the names of the cases that began,
    and the reason why results are missing, or None."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "results")
        command = [sys.executable, "-m", "mx_compiler.selftest.report.worker", row.family,
                   device, path]
        why = None
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
            if done.returncode < 0:
                why = f"its process ended by {signal.Signals(-done.returncode).name}"
            elif done.returncode:
                last = done.stderr.strip().split("\n")[-1]
                why = f"its process ended with status {done.returncode}: {last}"
        except subprocess.TimeoutExpired:
            why = f"its process took more than {LIMIT} seconds"
        lines = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file if line.endswith("\n")]
    results = {line.pop("ends"): line for line in lines if "ends" in line}
    begun = [line["begins"] for line in lines if "begins" in line]
    return results, begun, why


def _cases(device, is_gpu):
    for row in TABLE:
        results, begun, why = _run_family(row, device)
        for name in row.names:
            found = results.get(name)
            if found is None:
                ran = "" if name in begun else "not run: "
                found = {"passed": False, "comparison": None, "times": None,
                         "error": ran + (why or "its process returned no result"),
                         "seconds": None}
            case = {"family": row.family, "name": name,
                    "shape": row.sizes if is_gpu else row.tiny, **found}
            _print(case)
            yield case


def _in_words(found):
    if found["median_us"] is None:
        return f"slower on the host ({found['host_us']} us) than on the GPU"
    return f"{found['median_us']} us"


def _print(case):
    words = "passed" if case["passed"] else f"FAILED: {case['error']}"
    if case["times"]:
        beside = case["times"]["torch"]
        words += f", {_in_words(case['times']['mx'])}"
        words += f" (torch: {_in_words(beside)})" if beside else ""
    print(f"{case['family']} {case['name']}: {words}", flush=True)


def collect(device):
    """Returns the report as JSON data. The caller must have selected the device."""
    about = _describe_device(device)
    is_gpu = about["kind"] == "cuda"
    number = int(device.partition(":")[2] or 0)
    report = {
        "format": FORMAT, "mx": mx.__version__,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat("T", "seconds"),
        "versions": {"python": platform.python_version(),
                     **{name: _version(name) for name in ("numpy", "ml_dtypes", "torch")},
                     "ptxas": _assembler(about["kind"])},
        "platform": platform.platform(), "device": about, "driver": None,
        "clocks": None, "timing": None, "error": None, "cases": [], "failed": 0}
    if is_gpu:
        driver = _gpu_query(number, ("driver_version",))
        report["driver"] = {"version": driver and driver["driver_version"],
                            "cuda": timing.Clock(number).version()}
        report["clocks"] = {"before": _clocks(number), "after": None}
        report["timing"] = {"method": timing.METHOD, "bursts": timing.BURSTS,
                            "launches": timing.LAUNCHES, "fill_bytes":
                            timing.FILL * timing.FILLS}
        if not about["chip"]:
            report["error"] = (
                "mx has no kernels for compute capability {}.{}: expected one of {}"
                .format(*about["capability"], ", ".join(f"{a}.{b}" for a, b in CHIPS)))
            return report
    report["cases"] = list(_cases(device, is_gpu))
    report["failed"] = sum(not case["passed"] for case in report["cases"])
    if is_gpu:
        report["clocks"]["after"] = _clocks(number)
    return report


def _can_write(path):
    if os.path.exists(path):
        return not os.path.isdir(path) and os.access(path, os.W_OK)
    folder = os.path.dirname(os.path.abspath(path))
    return os.path.isdir(folder) and os.access(folder, os.W_OK)


def _refuse(why):
    print(f"selftest: error: {why}", file=sys.stderr)
    return 2


def write_report(path, device=None):
    """Writes the report to `path` and returns the exit status. The default device is the first
    GPU, else the simulator."""
    if device is None:
        device = "cuda:0" if has_gpu() else "sim"
    if not _can_write(path):
        return _refuse(f"--report: expected a file that can be written, found {path}")
    if why := why_no_device(device):
        return _refuse(why)
    report = collect(device)
    kind = report["device"]["kind"]
    print(f"mx {report['mx']} on {kind}: {report['device']['name']}")
    if kind != "cuda":
        print("no times, because they are measured only on a GPU")
    if report["error"]:
        print(f"selftest: {report['error']}")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    is_right = not report["failed"] and not report["error"]
    print(f"{path}: {len(report['cases'])} cases, {report['failed']} failed")
    return 0 if is_right else 1
