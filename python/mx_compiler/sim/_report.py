# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports of launches, and their collection."""

import contextlib
import dataclasses
import json
import threading
from typing import Any, Iterator, Optional

from .._runtime import library
from .._runtime.errors import Error


@dataclasses.dataclass(frozen=True)
class Finding:
    """Finding of a launch, at its first occurrence. simulator/docs/Checks.md describes the kinds, and
    simulator/docs/Reports.md the dicts."""

    kind: str  # "race", "deadlock", ...
    is_warning: bool
    message: str
    text: str  # paragraph of mx-sim
    ptx_line: Optional[int] = None
    source: Optional[dict] = None  # file, line, column, function, inlined_at
    cta: Optional[list[int]] = None
    warp: Optional[int] = None
    lanes: Optional[int] = None
    other: Optional[dict] = None  # text, line, source
    remedy: Optional[str] = None
    occurrences: int = 1


class Report:
    """Report of a launch. `json` is its object in the JSON of simulator/docs/Reports.md."""

    def __init__(self, launch: dict) -> None:
        self.json = launch
        self.kernel: str = launch["kernel"]
        self.status: str = launch["status"]  # "clean", "failed", "deadlock" or "bad-input"
        self.findings = [Finding(is_warning=found["severity"] == "warning", ptx_line=found.get("line"),
                                 **{name: value for name, value in found.items() if name in Finding.__annotations__})
                         for found in launch["findings"]]
        self.statistics = {name: launch[name] for name in (
            "warp_instructions", "mmas", "bulk_bytes", "resident_ctas", "warps")}
        self.microseconds: Optional[float] = launch.get("time", {}).get("us")  # modelled

    @property
    def is_clean(self) -> bool:
        """True without errors; warnings are allowed."""
        return self.status == "clean"

    @property
    def text(self) -> str:
        """The findings as text, or "" if there are none."""
        return "\n".join(finding.text for finding in self.findings)


class FindingsError(Error):
    """Error about a launch with errors among its findings. `report` is its Report."""

    def __init__(self, report: Report) -> None:
        super().__init__(f"kernel '{report.kernel}': {report.status}\n{report.text}",
                         *library.status(library.INTERFACE.MX_ERROR_CHECK))
        self.report = report


class Collections(threading.local):
    def __init__(self):
        self.stack = [([], {}, True)]  # (reports, options, check), the innermost last


collections = Collections()


@contextlib.contextmanager
def collect(*, check: Optional[bool] = None, **options: Any) -> Iterator[list[Report]]:
    """Yields a list that receives the reports of all launches of this thread in the `with` block.
    `options` are options of Module, and apply unless the module sets them. With check=False, launches
    raise no FindingsError; None is the choice of the block around, and True without one."""
    reports: list[Report] = []
    _, before, checks = collections.stack[-1]
    collections.stack.append((reports, {**before, **read_options(**options)}, checks if check is None else check))
    try:
        yield reports
    finally:
        collections.stack.pop()


def read_options(*, seed=None, checks=None, sm_count=None, threads=None, time=None, instruction_limit=None,
                 tensor_sums=None):
    """Returns the options as text, with the names of mxSetSimulatorOption. The library checks the values."""
    if checks is not None and not isinstance(checks, str):
        checks = ",".join(checks) or "none"
    found = {"time": time, "seed": seed, "checks": checks, "sm-count": sm_count, "jobs": threads,
             "instruction-limit": instruction_limit, "tensor-sums": tensor_sums}
    return {name: str(value) for name, value in found.items() if value is not None}


def take(text, check, is_harmless):
    """Returns the report in JSON, and adds it to all collections. Errors for which `is_harmless(finding)` is
    true become warnings. Raises FindingsError for errors if `check`, or that of the innermost collection if
    None, is True."""
    launch = json.loads(text)["launches"][0]
    for found in filter(is_harmless, launch["findings"]):
        kind = f"{found['kind']}: "
        found["severity"], found["text"] = "warning", found["text"].replace(kind, f"{kind}warning: ", 1)
    if launch["status"] == "failed" and all(found["severity"] == "warning" for found in launch["findings"]):
        launch["status"] = "clean"
    report = Report(launch)
    for reports, _, _ in collections.stack[1:]:
        reports.append(report)
    if (collections.stack[-1][2] if check is None else check) and not report.is_clean:
        raise FindingsError(report)
    return report
