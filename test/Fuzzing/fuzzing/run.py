"""Runs a case under limits and classifies the failure."""

import dataclasses
import os
import re
import resource
import signal
import subprocess

# Documented exit statuses (docs/guide/Run.md). Upstream drivers return 0 or 1.
STATUSES = {
    "mx-opt": {0, 1},
    "mx-translate": {0, 1},
    "mx-compile": {0, 1, 2},
    "mx-run": {0, 1, 2, 3, 4},
    "mx-launch": {0, 1, 2, 3},
    "mx-sim": {0, 1, 2, 3},
}

# Mutated programs may loop forever, so these tools may time out.
EXECUTING = {"mx-run", "mx-launch", "mx-sim"}

# Messages of a crash.
ABNORMAL = re.compile(
    r"LLVM ERROR|PLEASE submit a bug|Stack dump|terminate called|Assertion .* failed"
    r"|runtime error:|AddressSanitizer|UndefinedBehaviorSanitizer|Symbols not found"
)

# Known LLVM and MLIR faults in code that runs before ours, or on input that we cannot filter. Each entry contains a
# pattern for the output or the stack, and the reason why the fault is not ours.
UPSTREAM = [
    (r"mlir::Attribute::getContext.*mlir::linalg::\w+Op::parse",
     "after an error about a missing list in `dimensions =`, the parser of linalg.reduce "
     "continues with a null attribute (mlir-opt crashes as well)"),
]


@dataclasses.dataclass
class Limits:
    bytes: int  # address space limit
    seconds: int  # CPU time limit; the wall-clock limit is ten times as long


@dataclasses.dataclass
class Ended:
    status: int  # negative if a signal ended the process
    output: str
    timed_out: bool


def run(command, folder, limits, environment=None):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (limits.bytes, limits.bytes))
        resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, preexec_fn=limit, start_new_session=True,
        env={**os.environ, **(environment or {})})
    try:
        output, _ = process.communicate(timeout=limits.seconds * 10)
        timed_out = process.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        timed_out = True
    return Ended(process.returncode, output.decode("utf-8", "replace"), timed_out)


def verdict(tool, ended):
    """Returns the reason for a failure, "slow" for a permitted timeout, or None on success."""
    if ended.timed_out:
        return "slow" if tool in EXECUTING else "out of time"
    if ended.status < 0:
        return signal.Signals(-ended.status).name
    if ended.status not in STATUSES[tool]:
        return f"exit status {ended.status}"
    if found := ABNORMAL.search(ended.output):
        return found.group()
    if ended.status and not ended.output.strip():
        return f"exit status {ended.status} without a message"
    return None


def upstream(ended):
    """Returns the reason why a failure is a known upstream fault, or None."""
    for pattern, reason in UPSTREAM:
        if re.search(pattern, ended.output, re.S):
            return reason
    return None


def frames(output):
    """Returns the location that identifies a crash: the functions on the stack, or the last output line."""
    found = re.findall(r"^ *#\d+ 0x\w+ (?:\([^)]*\)|(.*?)(?: \(|/|$))", output, re.M)
    names = [re.sub(r"\(.*", "", f).strip() for f in found]
    names = [n for n in names if n and not re.match(r"llvm::sys|SignalHandler|__|raise|abort", n)]
    if names:
        return " < ".join(names[:4])
    lines = [l for l in output.strip().splitlines() if l.strip()]
    return re.sub(r"\d+", "N", lines[-1])[:120] if lines else ""
