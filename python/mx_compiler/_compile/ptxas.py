# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search for ptxas in the places that mx-compile searches (docs/guide/Run.md) and in the package
nvidia-cuda-nvcc."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess

from .._runtime.chips import OLDEST_CUDA
from .identity import identify_tool

NONE = "none"


def candidates(asked=None):
    """Returns the paths of assemblers in search order, and True if the caller or MX_PTXAS named the
    assembler. The name "none" disables the search. Other names without a slash are searched on
    PATH."""
    asked = asked or os.environ.get("MX_PTXAS")
    if asked:
        asked = os.fspath(asked)
        return ([] if asked == NONE else [shutil.which(asked) or asked]), True
    places = [shutil.which("ptxas")]
    places += [os.path.join(home, "bin", "ptxas") for home in
               (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if home]
    nvidia = importlib.util.find_spec("nvidia")
    for folder in (nvidia.submodule_search_locations or []) if nvidia else []:
        places += sorted(map(str, pathlib.Path(folder).glob("*/bin/ptxas")))
    return [x for x in dict.fromkeys(places)
            if x and os.access(x, os.X_OK)], False


def identify(places):
    """Returns the part of a program's cache key that identifies the assemblers."""
    return [identify_tool(place) if os.path.exists(place) else place
            for place in places]


def cuda_version(text):
    """Returns the CUDA version in the output of --version, such as "12.8", or ""."""
    found = re.search(r"release (\d+\.\d+)", text)
    return found[1] if found else ""


def is_too_old(version):
    """Returns True if ptxas of this CUDA version cannot read the kernels' PTX."""
    return bool(version) and tuple(map(int, version.split("."))) < OLDEST_CUDA


def choose(places, is_asked, chip):
    """Returns the first assembler that supports the chip and the kernels' PTX, or "none". An
    explicitly named assembler is not checked."""
    if is_asked:
        return places[0] if places else NONE
    for place in places:
        if chip in _ask(place, "--help") and not is_too_old(find_version(place)):
            return place
    return NONE


def find_version(place):
    """Returns the CUDA version of the assembler at a path, or "" if it does not run."""
    return cuda_version(_ask(place, "--version"))


def _ask(place, option):
    return subprocess.run([place, option], capture_output=True, text=True, check=False).stdout
