"""Runs python -m mx_compiler.selftest --report on the simulator. Every case passes, and the file conforms to
docs/guide/SelftestReport.schema.json. A failing case is reported and does not affect other cases.

RUN: rm -rf %t && mkdir %t
RUN: env MX_CACHE_DIR=%t/cache MX_CHIP= MX_PTXAS=none %python %s %mx_src %t
RUN: env MX_CACHE_DIR=%t/cache MX_CHIP= MX_PTXAS=none %python %S/Inputs/report_on_gpu.py
TIER: slow
"""

import contextlib
import copy
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import types

source, folder = map(pathlib.Path, sys.argv[1:])
schema = json.loads((source / "docs/guide/SelftestReport.schema.json").read_text())
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool,
         "integer": int, "number": (int, float), "null": type(None)}


def problems(value, rule, where="report"):
    """Yields the ways in which a value violates a schema. Supports the subset of JSON Schema in use."""
    known = {"$ref", "anyOf", "const", "enum", "type", "minimum", "items", "required",
             "properties", "additionalProperties", "$schema", "title", "$defs"}
    assert set(rule) <= known, set(rule) - known
    if "$ref" in rule:
        rule = schema["$defs"][rule["$ref"].rpartition("/")[2]]
    if "anyOf" in rule:
        found = [list(problems(value, one, where)) for one in rule["anyOf"]]
        if all(found):
            yield from min(found, key=len)
        return
    if "const" in rule and value != rule["const"]:
        yield f"{where}: expected {rule['const']}, found {value}"
    if "enum" in rule and value not in rule["enum"]:
        yield f"{where}: expected one of {rule['enum']}, found {value}"
    kinds = rule.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if kinds and not any(isinstance(value, TYPES[kind]) and
                         (kind == "boolean" or not isinstance(value, bool))
                         for kind in kinds):
        yield f"{where}: expected {kinds}, found {value!r}"
        return
    if "minimum" in rule and value < rule["minimum"]:
        yield f"{where}: expected at least {rule['minimum']}, found {value}"
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from problems(item, rule.get("items", {}), f"{where}[{index}]")
    if isinstance(value, dict):
        for key in rule.get("required", []):
            if key not in value:
                yield f"{where}: expected the key {key}"
        others = rule.get("additionalProperties", True)
        for key, item in value.items():
            if key in rule.get("properties", {}):
                yield from problems(item, rule["properties"][key], f"{where}.{key}")
            elif others is False:
                yield f"{where}: unknown key {key}"
            elif others is not True:
                yield from problems(item, others, f"{where}.{key}")


def validate(report):
    found = list(problems(report, schema))
    assert not found, found
    with contextlib.suppress(ImportError):
        import jsonschema
        jsonschema.validate(report, schema)


def run(name, **environment):
    path = folder / name
    done = subprocess.run([sys.executable, "-m", "mx_compiler.selftest",
                           f"--report={path}", "--device=sim"],
                          env={**os.environ, **environment}, capture_output=True,
                          text=True)
    report = json.loads(path.read_text()) if path.is_file() else None
    return done, report


# All cases pass on the simulator, without times.
done, report = run("all.json")
assert done.returncode == 0, done
validate(report)
assert report["failed"] == 0 and report["device"]["kind"] == "sim", report
assert report["timing"] is None and "no times" in done.stdout
families = {}
for case in report["cases"]:
    families.setdefault(case["family"], []).append(case["name"])
    assert case["passed"] and case["times"] is None and case["error"] is None, case
    assert case["comparison"]["compared"] > 0
import mx_compiler as mx
assert families["quantize"] == families["dequantize"] == list(mx.FORMATS)
assert len(families["matmul"]) == len(families["weight_only"]) == 6
assert list(families) == ["quantize", "dequantize", "matmul", "weight_only",
                          "grouped_matmul", "swiglu_quantize", "moe_layer",
                          "simple_kernels"]
# The page lists the families.
page = (source / "docs/guide/Install.md").read_text()
assert all(f"`{family}`" in page for family in families)

# Report for kernels of another chip.
done, other = run("sm_120a.json", MX_CHIP="sm_120a")
assert done.returncode == 0, done
validate(other)
assert len(other["cases"]) == len(report["cases"]) and not other["failed"], other

# The schema rejects invalid reports.
for change in (lambda r: r.pop("mx"), lambda r: r.update(more=1),
               lambda r: r["cases"][0].update(passed=1),
               lambda r: r["cases"][0]["comparison"].update(by="eye"),
               lambda r: r["cases"][0]["shape"].update(rows="many"),
               lambda r: r.update(failed=-1)):
    wrong = copy.deepcopy(report)
    change(wrong)
    assert list(problems(wrong, schema)), change

# If the process of one family ends, the other families are still reported. If the compiler does not run, each case
# reports its error.
(folder / "sitecustomize.py").write_text(
    "import os, signal, sys\n"
    "if 'moe_layer' in sys.orig_argv: os.kill(os.getpid(), signal.SIGKILL)\n"
    "if 'swiglu_quantize' in sys.orig_argv:\n"
    "    import mx_compiler as mx, numpy as np\n"
    "    right = mx.swiglu_quantize\n"
    "    mx.swiglu_quantize = lambda x, *a, **b: right(np.flip(x, 0), *a, **b)\n")
paths = f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
done, report = run("killed.json", PYTHONPATH=paths)
assert done.returncode == 1, done
validate(report)
failed = {(case["family"], case["name"]): case["error"] for case in report["cases"]
          if not case["passed"]}
assert failed == {
    ("moe_layer", "mxfp8"): "not run: its process ended by SIGKILL",
    ("moe_layer", "mxfp4"): "not run: its process ended by SIGKILL",
    ("swiglu_quantize", "mxfp8"): "the results differ from the reference"}, failed
assert report["failed"] == 3

done, report = run("none.json", MX_COMPILER=str(folder / "absent"))
assert done.returncode == 1, done
validate(report)
assert report["failed"] == len(report["cases"])
assert all("absent" in case["error"] for case in report["cases"]), report["cases"][0]

# An unwritable file is refused before any case runs.
done, report = run("absent/r.json")
assert done.returncode == 2 and report is None and not done.stdout, done
assert done.stderr == ("selftest: error: --report: expected a file that can be written, "
                       f"found {folder / 'absent/r.json'}\n"), done.stderr

done = subprocess.run([sys.executable, "-m", "mx_compiler.selftest", "--device=tpu",
                       f"--report={folder / 'r.json'}"], capture_output=True, text=True)
assert done.returncode == 2 and done.stderr.count("\n") == 1, done
assert done.stderr.startswith("selftest: error: ") and "tpu" in done.stderr, done.stderr

# Kernels are compiled for the chip of the GPU.
from mx_compiler._runtime.chips import CHIPS
from mx_compiler.selftest import reference
from mx_compiler.selftest.report import collect
for capability, chip in CHIPS.items():
    info = mx.DeviceInfo("cuda", "a GPU", 170, capability, 101376, 1 << 35)
    collect.mx = types.SimpleNamespace(device_info=lambda: info)
    assert collect._describe_device("cuda:0")["chip"] == chip
# mx has no kernels for this GPU.
info = mx.DeviceInfo("cuda", "a GPU", 170, (8, 9), 101376, 1 << 35)
collect.why_no_device = lambda device: None
collect.mx = types.SimpleNamespace(__version__="0", device_info=lambda: info)
collect.timing = types.SimpleNamespace(
    **{**vars(collect.timing), "Clock": lambda number: types.SimpleNamespace(
        version=lambda: 13000)})
with contextlib.redirect_stdout(io.StringIO()) as out:
    assert collect.write_report(folder / "sm_89.json", "cuda:0") == 1
report = json.loads((folder / "sm_89.json").read_text())
validate(report)
assert report["error"] == ("mx has no kernels for compute capability 8.9: expected one "
                           "of 9.0, 10.0, 10.3, 12.0, 12.1") and not report["cases"], report
assert "no kernels" in out.getvalue()

# Comparisons detect one wrong bit, an error just above the bound, NaN, and noise.
import numpy as np
ones = np.ones(8)
for comparison in (reference.by_bits(x=(np.arange(8), np.arange(8) ^ (np.arange(8) == 3))),
                   reference.by_bound(ones * 1.02, ones, ones * 0.01),
                   reference.by_bound(ones * np.nan, ones, ones),
                   reference.by_bound(ones, ones * 0, ones * 0),
                   reference.by_ratio({"x": ones * 1.2}, {"x": ones}, 22.0),
                   reference.by_ratio({"x": ones * np.nan}, {"x": ones}, 22.0)):
    assert not reference.is_right(comparison), comparison
for comparison in (reference.by_bits(x=(ones, ones)),
                   reference.by_bound(ones * 1.009, ones, ones * 0.01),
                   reference.by_ratio({"x": ones * 1.01}, {"x": ones}, 22.0)):
    assert reference.is_right(comparison), comparison
print("all is well")
