# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions for errors and warnings of the runtime and the compiler."""

import re
import sys
from typing import Iterable, NamedTuple, Optional


class Error(RuntimeError):
    """Error of the runtime. `status` is the mxStatus, and `name` is the status in words ("not
    found", "check failed", ...)."""

    def __init__(self, text: str, status: int, name: str) -> None:
        super().__init__(text)
        self.status = status
        self.name = name


class InvalidValueError(Error, ValueError):
    """Error about an invalid argument, such as an unknown option or a size that is not a multiple
    that a kernel requires. The call had no effect."""


class CapacityError(RuntimeError):
    """Error about too many rows for the experts of a rank, or too many tokens for the slots of a rank
    group. Rows were dropped, so the results of the call are wrong. `rank` received (or, for slots,
    had to send to one rank) `needed` rows and had room for `available`."""

    def __init__(self, rank: int, needed: int, available: int, is_of_slots: bool = False) -> None:
        what, remedy = (("tokens for the experts of one rank, the slots", "more slots")
                        if is_of_slots else
                        ("rows for its experts, the capacity", "a larger capacity"))
        super().__init__(f"rank {rank}: expected at most {available} {what}, found {needed}: "
                         f"results are wrong, give {remedy}")
        self.rank, self.needed, self.available = rank, needed, available


class Diagnostic(NamedTuple):
    """Message of the compiler. `file`, `line` and `column` are None without a location.
    str() formats the message like mx-compile."""

    severity: str  # "error", "warning", "remark" or "note"
    file: Optional[str]
    line: Optional[int]
    column: Optional[int]
    text: str

    @staticmethod
    def read(severity: str, text: str) -> "Diagnostic":
        """Parses a message with an optional location prefix."""
        place = re.match(r"([^\n]+?):(\d+):(\d+): ", text)
        if not place:
            return Diagnostic(severity, None, None, None, text)
        file, line, column = place.groups()
        return Diagnostic(severity, file, int(line), int(column),
                          text[place.end():])

    def __str__(self):
        place = "" if self.file is None else (
            f"{self.file}:{self.line}:{self.column}: ")
        return f"{place}{self.severity}: {self.text}"


class CompileError(Error):
    """Error about a program that does not compile. `diagnostics` contains all compiler messages in
    order, and the text of the error lists them."""

    def __init__(self, diagnostics: Iterable[Diagnostic], status: int) -> None:
        super().__init__("\n".join(map(str, diagnostics)), status, "compile")
        self.diagnostics = tuple(diagnostics)


class CompileWarning(UserWarning):
    """Warning of the compiler."""


class SimulatorWarning(RuntimeWarning):
    """Warning of the simulator about a successful launch (simulator/docs/Simulator.md).
    MX_SIM_WARNINGS=error or the simulator option `warnings` turns warnings into errors."""


def printable(text):
    """Escapes control characters in a name, so a terminal does not interpret them."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def caller_depth():
    """Returns the `stacklevel` with which a warning in the calling function refers to the code that
    called this package."""
    ours, frame, depth = __package__.partition("._")[0], sys._getframe(1), 1
    while frame.f_back and (frame.f_globals.get("__package__") or "").partition("._")[0] == ours:
        frame, depth = frame.f_back, depth + 1
    return depth
