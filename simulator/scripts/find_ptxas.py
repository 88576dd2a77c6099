#!/usr/bin/env python3
"""Finds a ptxas that assembles kernels of mx, and prints its path.

Searches PATH, $CUDA_HOME/bin, /usr/local/cuda/bin, and the nvidia-cuda-nvcc package in the
project's .venv or in $MX_VENV, in this order. If MX_PTXAS is set, only the named file is tried;
a name without a slash is looked up on PATH, and "none" disables the search. The exit status is
1 if no suitable ptxas is found."""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys


def candidates(source_root):
    asked = os.environ.get("MX_PTXAS")
    if asked:
        found = None if asked == "none" else shutil.which(asked)
        if found:
            yield found
        return
    found = shutil.which("ptxas")
    if found:
        yield found
    for cuda in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if cuda:
            yield os.path.join(cuda, "bin", "ptxas")
    venv = os.environ.get("MX_VENV") or os.path.join(source_root, ".venv")
    packages = os.path.join(glob.escape(venv), "lib/python3*/site-packages")
    yield from sorted(glob.glob(os.path.join(packages, "nvidia/*/bin/ptxas")))


def assembles_kernels(ptxas):
    """Returns True if `ptxas` supports sm_100a and PTX 8.8, which requires CUDA 12.9
    (lib/AheadOfTime/Output/Ptxas.cpp)."""
    if not os.access(ptxas, os.X_OK):
        return False
    try:
        says, version = (subprocess.run([ptxas, option], capture_output=True, text=True).stdout
                         for option in ("--help", "--version"))
    except OSError:
        return False
    release = re.search(r"release (\d+)\.(\d+)", version)
    return "sm_100a" in says and (not release or tuple(map(int, release.groups())) >= (12, 9))


def find_ptxas(source_root):
    """Returns the first suitable ptxas, or None."""
    return next(filter(assembles_kernels, candidates(source_root)), None)


if __name__ == "__main__":
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = find_ptxas(root)
    if not path:
        sys.exit(1)
    print(path)
