# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m mx_compiler [--json]

Describes this installation of mx: versions, GPUs and their targets, driver, ptxas, program cache,
PyTorch, and the default device with the reason for its choice. Runs a program on the default
device.

The exit status is 0 if the program works. Otherwise it is 1, and the last line names a remedy."""

import argparse
import json
import os
import sys

from .._compile.ptxas import is_too_old
from .._runtime.chips import OLDEST_CUDA
from .facts import REMEDIES, collect

MEGABYTE = 1e6


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m mx_compiler", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    wants_json = parser.parse_args(arguments).json
    facts = collect()
    why = explain_default(facts)
    advice = None if "error" not in facts["default"] else advise(facts)
    if wants_json:
        print(json.dumps({**facts, "why": why, "works": not advice, "advice": advice}, indent=2))
    else:
        for name, text in lines(facts, why):
            print(f"{name:<10} {text}")
        if not advice:
            default = facts["default"]
            print(f"works: {default['did']} on {default['device']} in {default['seconds']:.1f} s")
    if advice:
        print(advice, file=sys.stderr)
    return 1 if advice else 0


def explain_default(facts):
    """Returns the reason why the default device was chosen."""
    asked = os.environ.get("MX_DEVICE")
    if asked and asked != "auto":
        return f"MX_DEVICE={asked} selects it"
    kind = facts["default"].get("kind")
    if kind == "cuda":
        return "it is the first GPU that runs mx programs"
    if facts["gpus"]:
        return "no GPU here runs mx programs, which need sm_90 or newer"
    return facts["no_gpu"] or "there is no GPU"


def advise(facts):
    """Returns the error of the default device, with a remedy."""
    error = facts["default"]["error"]
    if "error" in facts["runtime"]:
        return f"mx does not work: {facts['runtime']['error']}"
    remedy = facts["remedy"]
    if not remedy:
        return (f"mx does not work: {error}. Install the package again; python -m "
                "mx_compiler.selftest --device=sim reports details")
    asked = os.environ.get("MX_DEVICE")
    where = f" with MX_DEVICE={asked}" if asked else ""
    return (f"mx does not work{where}: {error}. Until it does, set {remedy}: {REMEDIES[remedy]}")


def lines(facts, why):
    """Yields the name and the text of each line of the report."""
    found = facts["versions"]
    runtime = facts["runtime"]
    yield "mx", runtime.get("version") or "?"
    yield "python", ", ".join(
        [found["python"], *(f"{name} {found[name] or 'missing'}" for name in found
                            if name != "python" and (found[name] or name != "safetensors"))])
    yield "runtime", runtime.get("file") or f"none: {runtime['error']}"
    if "error" not in runtime:
        yield "calls", runtime["calls"] or "PyTorch calls use ctypes, without mx_calls.abi3.so"
    yield "compiler", facts["compiler"].get("file") or f"none: {facts['compiler']['error']}"
    yield "driver", describe_driver(facts["driver"])
    for gpu in facts["gpus"]:
        yield gpu["device"], (f"{gpu['name']}, {gpu['capability']}, "
                              f"{gpu['memory'] / 2 ** 30:.0f} GiB: {runs(gpu['runs'])}")
    if not facts["gpus"]:
        yield "GPU", "none"
    if "simulator" in runtime:
        yield "simulator", runs(runtime["simulator"])
    yield "ptxas", describe_assemblers(facts["ptxas"])
    yield "cache", describe_cache(facts["cache"])
    yield "torch", describe_torch(facts["torch"])
    default = facts["default"]
    where = default.get("device", "does not work")
    chip = f", programs for {default['chip']}" if default.get("chip") else ""
    yield "default", f"{where}{chip}: {default.get('error') or why}"


def runs(targets):
    return f"runs {enumerate_names(targets)}" if targets else "runs no mx programs"


def enumerate_names(names):
    """Joins names: "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def describe_driver(driver):
    if "error" in driver:
        return f"none: {driver['error']}"
    module = f", kernel module {driver['module']}" if driver["module"] else ""
    return f"CUDA {driver['cuda']}{module}"


def describe_assemblers(ptxas):
    texts = []
    for one in ptxas["found"]:
        says = one.get("error") or f"CUDA {one['cuda']}, {_describe_targets(one)}"
        texts.append(f"{one['file']}: {says}")
    if texts:
        return "; ".join(texts)
    asked = ", as set by MX_PTXAS" if ptxas["is_asked"] else ""
    return f"none{asked}: the driver assembles programs when they are loaded"


def _describe_targets(one):
    if is_too_old(one["cuda"]):
        return "too old for mx kernels: CUDA {}.{} or newer reads their PTX".format(*OLDEST_CUDA)
    return f"supports {enumerate_names(one['knows']) or 'no mx target'}"


def describe_cache(cache):
    if "error" in cache:
        return cache["error"]
    count = cache["programs"]
    return (f"{cache['folder']}: {count} program{'s' * (count != 1)}, "
            f"{cache['bytes'] / MEGABYTE:.1f} of {cache['limit'] / MEGABYTE:.0f} MB")


def describe_torch(torch):
    if torch is None:
        return "not installed: mx_compiler.torch needs it"
    if "error" in torch:
        return torch["error"]
    built = f"CUDA {torch['cuda']}" if torch["cuda"] else "built without CUDA"
    count = torch["gpus"]
    sees = f"sees {count or 'no'} GPU{'s' * (count > 1)}"
    return f"{torch['version']}, {built}, {sees}"
