# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Entry points for the tools of a wheel, each of which executes a program in mx_compiler/bin.

This is a separate module, because importing the package imports NumPy, which takes longer than most
runs of the tools."""

import importlib.util
import os
import signal
import sys


def _become(tool):
    package = importlib.util.find_spec("mx_compiler").submodule_search_locations[0]
    program = os.path.join(package, "bin", tool)
    # Python ignores these signals, and the executed program would also ignore them.
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execv(program, [tool, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{tool}: cannot run {program}: {error.strerror}. "
                 "Reinstall the package")


def mx_compile():
    _become("mx-compile")


def mx_launch():
    _become("mx-launch")


def mx_opt():
    _become("mx-opt")


def mx_run():
    _become("mx-run")


def mx_sim():
    _become("mx-sim")


def mx_translate():
    _become("mx-translate")
