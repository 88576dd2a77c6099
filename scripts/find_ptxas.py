#!/usr/bin/env python3
"""Finds a ptxas that assembles kernels of mx, and prints its path.

Looked for in this order: PATH, $CUDA_HOME/bin, /usr/local/cuda/bin, and the
nvidia-cuda-nvcc package in the project's .venv, or in $MX_VENV. Where MX_PTXAS is set, it
is the only place ("none": nowhere); a name without a slash is looked up on PATH. Exit status 1
where there is none."""

import argparse
import glob
import os
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


def supports_blackwell(ptxas):
    if not os.access(ptxas, os.X_OK):
        return False
    try:
        done = subprocess.run([ptxas, "--help"], capture_output=True, text=True)
    except OSError:
        return False
    return "sm_100a" in done.stdout


def find_ptxas(source_root):
    """The first suitable ptxas, or None."""
    return next(filter(supports_blackwell, candidates(source_root)), None)


if __name__ == "__main__":
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = find_ptxas(root)
    if not path:
        sys.exit(1)
    print(path)
