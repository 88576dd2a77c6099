# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the runtime and the compiler report, as exceptions."""

import re
import sys
from typing import NamedTuple, Optional


class Error(RuntimeError):
    """An error of the runtime. `status` is its mxStatus, `name` that status in
    words ("not found", "check failed", ...), and the text is the runtime's."""

    def __init__(self, text, status, name):
        super().__init__(text)
        self.status = status
        self.name = name


class InvalidValueError(Error, ValueError):
    """An argument is wrong, and nothing was done: a size that is no multiple of
    what a kernel needs, the name of an option that there is not."""


class CapacityError(RuntimeError):
    """More rows came to the experts of a rank than its layer has room for, and those
    beyond were left out: results of the call are wrong. `rank` had `needed` rows, and
    room for `available`."""

    def __init__(self, rank, needed, available):
        super().__init__(
            f"rank {rank}: expected at most {available} rows for its experts, the capacity, "
            f"found {needed}: results are wrong, give a larger capacity")
        self.rank, self.needed, self.available = rank, needed, available


class Diagnostic(NamedTuple):
    """A message of the compiler. `file`, `line` and `column` are None where it
    has no place. The text of a Diagnostic is that of a message of mx-compile."""

    severity: str  # "error", "warning", "remark" or "note"
    file: Optional[str]
    line: Optional[int]
    column: Optional[int]
    text: str

    @staticmethod
    def read(severity, text):
        """Of a message that begins with its place, where it has one."""
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
    """A program that does not compile. `diagnostics` are all messages of the
    compiler, in order; the text is theirs, one a line."""

    def __init__(self, diagnostics, status):
        super().__init__("\n".join(map(str, diagnostics)), status, "compile")
        self.diagnostics = tuple(diagnostics)


class CompileWarning(UserWarning):
    """What the compiler warns of."""


class SimulatorWarning(RuntimeWarning):
    """What the simulator found in a launch that succeeded: findings of class warning
    (simulator/docs/Simulator.md). An error where MX_SIM_WARNINGS=error, or the simulator's
    option `warnings`, asks for it."""


def printable(text):
    """A name out of a file as messages have it: a terminal would obey control
    characters."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def caller_depth():
    """The `stacklevel` of whoever called the package, for a warning of the function
    that asks."""
    ours, frame, depth = __package__.partition("._")[0], sys._getframe(1), 1
    while frame.f_back and (frame.f_globals.get("__package__") or "").partition("._")[0] == ours:
        frame, depth = frame.f_back, depth + 1
    return depth
