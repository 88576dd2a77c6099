# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of a run: a readable log, and a checkpoint to resume from. Errors end the program with
a message."""

import json
import os
import pathlib

import torch


class Log:
    """Log file in the JSON lines format: a description of the run, a line for each step, and the
    result."""

    def __init__(self, path, options):
        """Opens a log. `options` is a dictionary; an existing file must be a log with the same
        options and is overwritten."""
        self.path = pathlib.Path(path)
        _make_place(self.path)
        if self.path.stat().st_size:
            _check_same(self.path, _first_line(self.path)["run"], options)

    def is_finished(self):
        return '\n{"result"' in self.path.read_text()

    def begin(self, about):
        self._write([about], "w")

    def add(self, rows):
        self._write(rows, "a")

    def _write(self, rows, mode):
        with open(self.path, mode) as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)


def _first_line(path):
    try:
        with open(path) as file:
            line = json.loads(file.readline())
    except ValueError:
        line = None
    if not isinstance(line, dict) or "run" not in line:
        raise SystemExit(f"{path}: expected no file or the log of a run, found another file: "
                         "pass a different path or remove the file")
    return line


class Checkpoint:
    """State of a run, saved with its options, which must match. One process writes the file."""

    def __init__(self, path, options, is_writer=True):
        self.path, self.options = pathlib.Path(path), options
        self.part = self.path.with_name(self.path.name + ".part")
        _check_file(self.path)
        if is_writer:
            _make_place(self.part, self.path)
            self.part.unlink()

    def exists(self):
        return self.path.exists()

    def save(self, state):
        """Saves atomically."""
        torch.save({"options": self.options, **state}, self.part)
        os.replace(self.part, self.path)

    def load(self, device, restore):
        """Calls `restore` with the state. Any error is reported as an error of the file."""
        try:
            saved = torch.load(self.path, map_location=device, weights_only=True)
            _check_same(self.path, saved["options"], self.options)
            restore(saved)
        except Exception as error:
            text = str(error).strip().splitlines() or [""]
            raise SystemExit(
                f"{self.path}: expected a checkpoint of this program, found a file that "
                f"cannot be read ({type(error).__name__}: {text[0]}): pass a different path "
                "or remove the file") from None


def _check_same(path, found, wanted):
    if not isinstance(found, dict):
        raise SystemExit(f"{path}: expected the options of a run, found {found!r}: pass a "
                         "different path or remove the file")
    for name in {**wanted, **found}:
        if found.get(name) != wanted.get(name):
            raise SystemExit(f"{path}: expected a run with {name}={wanted.get(name)}, "
                             f"found {name}={found.get(name)}: pass a different path or remove "
                             "the file")


def _check_file(path):
    if path.exists() and not path.is_file():
        raise SystemExit(f"{path}: expected a regular file or no file, found something else: "
                         "pass a different path")


def _make_place(path, wanted=None):
    """Checks that `path` can be written. The error message names `wanted` instead if present."""
    _check_file(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        open(path, "a").close()
    except OSError as error:
        raise SystemExit(f"{wanted or path}: expected a path that can be written, found "
                         f"'{error.strerror}' at {error.filename}") from None
