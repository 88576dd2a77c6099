# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA's assembler: where mx-compile looks (docs/guide/Run.md), and in the package
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
    """Paths of assemblers in the order in which they are tried, and whether the only
    one was asked for: by `asked`, else by MX_PTXAS. "none" is nowhere; another name
    without a slash is looked up on PATH."""
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
    """What a compiled program depends on, for its key."""
    return [identify_tool(place) if os.path.exists(place) else place
            for place in places]


def cuda_version(text):
    """The CUDA of an assembler, as its --version says: "12.8"; "" where it does not."""
    found = re.search(r"release (\d+\.\d+)", text)
    return found[1] if found else ""


def is_too_old(version):
    """Whether ptxas of this CUDA does not read the PTX of kernels."""
    return bool(version) and tuple(map(int, version.split("."))) < OLDEST_CUDA


def choose(places, is_asked, chip):
    """The assembler for a chip: the first that knows it and reads the PTX of kernels; one
    that was asked for is not looked at; "none" where there is none."""
    if is_asked:
        return places[0] if places else NONE
    for place in places:
        if chip in _ask(place, "--help") and not is_too_old(find_version(place)):
            return place
    return NONE


def find_version(place):
    """The same of the assembler at a path; "" where it does not run."""
    return cuda_version(_ask(place, "--version"))


def _ask(place, option):
    return subprocess.run([place, option], capture_output=True, text=True, check=False).stdout
