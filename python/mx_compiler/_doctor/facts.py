# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Facts about an installation as JSON data."""

import concurrent.futures
import importlib
import importlib.util
import json
import os
import platform
import signal
import subprocess
import sys

from .._compile import cache, ptxas
from .._runtime import library
from .._runtime.chips import CHIPS

# Settings to try if programs fail on the default device, and their explanations.
REMEDIES = {"MX_DEVICE=sim": "the simulator works here, and needs no GPU and no driver",
            "MX_PTXAS=none": "programs work without this assembler"}
# Time limit of a probe in seconds. A busy GPU responds late, and PyTorch may load from a slow disk.
SECONDS = 120


def collect():
    """Returns all facts. A fact that cannot be determined is {"error": reason}."""
    names = ["runtime", "driver", "gpus", "default"]
    if importlib.util.find_spec("torch"):
        names.append("torch")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = dict(zip(names, pool.map(ask, names)))
    gpus, default = answers["gpus"], answers["default"]
    return {
        "versions": versions(), "runtime": answers["runtime"], "compiler": compiler(),
        "driver": answers["driver"], "gpus": gpus.get("gpus", []),
        # Reason why no GPU was found.
        "no_gpu": None if gpus.get("gpus") else gpus.get("error") or gpus["end"],
        "ptxas": assemblers(), "cache": describe_cache(), "torch": answers.get("torch"),
        "environment": {name: value for name, value in sorted(os.environ.items())
                        if name.startswith("MX_")},
        "default": default, "remedy": find_remedy() if "error" in default else None,
    }


def find_remedy():
    """Returns the first setting of REMEDIES that makes programs work, or None."""
    return next((setting for setting in REMEDIES
                 if "error" not in ask("default", **dict([setting.split("=")]))), None)


def ask(name, **variables):
    """Runs a probe in its own process with the environment `variables`. Returns the fact, or an
    error."""
    environment = {**os.environ, "MX_QUIET": "1", "MX_SIM_WARNINGS": "none", **variables}
    try:
        done = subprocess.run([sys.executable, "-m", f"{__package__}.probe", name],
                              capture_output=True, text=True, timeout=SECONDS,
                              env=environment, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {SECONDS} s"}
    if done.returncode < 0:
        return {"error": f"its process was ended by {signal.Signals(-done.returncode).name}"}
    try:
        return json.loads(done.stdout)
    except ValueError:
        lines = done.stderr.strip().splitlines() or ["no answer"]
        return {"error": lines[-1]}


def versions():
    found = {"python": platform.python_version()}
    for name in ("numpy", "ml_dtypes", "platformdirs", "safetensors"):
        try:
            found[name] = importlib.import_module(name).__version__
        except ImportError:
            found[name] = None
    return found


def compiler():
    try:
        return {"file": library.compiler_path()}
    except ImportError as error:
        return {"error": str(error)}


def assemblers():
    """Returns each ptxas in search order with the targets for which it can assemble kernels of mx.
    The list of targets is empty if ptxas is too old for the kernels' PTX."""
    places, is_asked = ptxas.candidates()
    found = []
    for place in places:
        try:
            text = {option: subprocess.run([place, option], capture_output=True, text=True,
                                           timeout=SECONDS, check=True).stdout
                    for option in ("--version", "--help")}
        except OSError as error:
            found.append({"file": place, "error": error.strerror})
            continue
        except subprocess.CalledProcessError as error:
            found.append({"file": place, "error": f"ends with status {error.returncode}"})
            continue
        except subprocess.TimeoutExpired:
            found.append({"file": place, "error": f"no answer within {SECONDS} s"})
            continue
        version = ptxas.cuda_version(text["--version"])
        knows = [] if ptxas.is_too_old(version) else CHIPS.values()
        found.append({"file": place, "cuda": version,
                      "knows": [target for target in knows if target in text["--help"]]})
    return {"found": found, "is_asked": is_asked}


def describe_cache():
    try:
        folder, most = cache.directory(), cache.limit()
        files = [entry.stat().st_size for entry in os.scandir(folder)
                 if entry.name.endswith(cache.SUFFIX)] if folder.exists() else []
    except (OSError, ValueError, ImportError) as error:
        return {"error": str(error)}
    return {"folder": str(folder), "programs": len(files), "bytes": sum(files), "limit": most}
