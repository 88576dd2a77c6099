"""Tests mx_compiler.compile(..., tune=...) with a driver that only records calls: measurements, cached results and
errors.

RUN: rm -rf %t && mkdir %t
RUN: env MX_DEVICE= MX_FAKE_CUDA_READS_PTX=1 MX_CUDA_DRIVER=%mx_obj/unittests/libMXFakeCuda%shlibext %python -W error %s %t
"""

import json
import logging
import pathlib
import sys

import mx_compiler as mx
from refuses import refuses

folder = pathlib.Path(sys.argv[1])
messages = []
handler = logging.Handler()
handler.emit = lambda record: messages.append(record.getMessage())
log = logging.getLogger("mx_compiler.compile")
log.setLevel(logging.INFO)
log.addHandler(handler)

TEXT = """
func.func @main(%a: tensor<512x256xbf16>, %b: tensor<384x256xbf16>) -> tensor<512x384xbf16> {
  %init = tensor.empty() : tensor<512x384xbf16>
  %y = mx.matmul ins(%a, %b : tensor<512x256xbf16>, tensor<384x256xbf16>) outs(%init : tensor<512x384xbf16>) -> tensor<512x384xbf16>
  return %y : tensor<512x384xbf16>
}
"""
ROWS = TEXT.replace("512", "?").replace("tensor.empty()", "tensor.empty(%rows)").replace(
    "  %init", "  %zero = arith.constant 0 : index\n  %rows = tensor.dim %a, %zero : tensor<?x256xbf16>\n  %init")


def compile(text=TEXT, **options):
    messages.clear()
    return mx.compile(text, chip="sm_90a", ptxas="none", **{"cache": folder / "kept", **options})


def table(name="kept"):
    return json.loads((folder / name / "tuned-schedules.json").read_text())["entries"]


mx.set_device("cuda")
plain = compile()
assert not messages and not (folder / "kept" / "tuned-schedules.json").exists()
tuned = compile(tune=True)
assert len(messages) == 1 and "timed 8 schedules on Fake GPU" in messages[0], messages
entry, = table()
assert entry["key"]["gpu"] == "Fake GPU" and entry["key"]["chip"] == "sm_90a"
assert len(entry["sizes"][0]["candidates"]) == 8

# The tuned program is cached in memory and on disk, separately from the untuned program.
compile(tune=True)
assert not messages
mx._compile.compile._memory.clear()
compile(tune=8)
assert not messages
programs = len(list((folder / "kept").glob("*.mxp")))
assert programs == 2, programs
compile(tune=2)
assert "timed 2 schedules" in messages[0]
compile()
assert not messages

# Without a cache, each call measures and stores nothing.
for _ in range(2):
    compile(tune=2, cache=False)
    assert "timed 2 schedules" in messages[0]
assert len(list((folder / "kept").glob("*.mxp"))) == programs + 1

# tune_rows sets the timed row counts.
compile(ROWS, tune=2, tune_rows=[16, 4000])
assert [m.split(":")[-2].split()[1] for m in messages] == ["16", "4000"], messages
assert table()[-1]["rows"] == [16, 4000]

for kind, text, options in (
        (TypeError, "tune: expected True, False or a number of schedules, found 'yes'", dict(tune="yes")),
        (ValueError, "tune: expected a number of schedules from 1 to 1000, found 0", dict(tune=0)),
        (TypeError, "tune_rows: expected a list of numbers, found 3", dict(tune=True, tune_rows=3)),
        (ValueError, r"tune_rows: expected numbers of at least 1, found \[0\]", dict(tune=True, tune_rows=[0])),
        (TypeError, "tune_rows requires tune=True, found tune=False", dict(tune_rows=[16])),
        (mx.CompileError, "tuning requires a GPU that runs sm_100a, found Fake GPU of compute capability 9.0",
         dict(tune=True, chip="sm_100a"))):
    refuses(kind, text, lambda: mx.compile(TEXT, **{"cache": folder / "no", "ptxas": "none", **options}))

# An invalid table is ignored.
(folder / "bad").mkdir()
(folder / "bad" / "tuned-schedules.json").write_text("{}")
refuses(mx.CompileError, "expected a table of tuned schedules", lambda: compile(tune=3, cache=folder / "bad"))
assert (folder / "bad" / "tuned-schedules.json").read_text() == "{}"

mx.set_device("sim")
refuses(mx.CompileError, "tuning requires a GPU that runs sm_90a, found only the simulator",
        lambda: compile(tune=True))
mx.set_device("cpu")
refuses(ValueError, "tuning requires a GPU, found the device cpu", lambda: compile(tune=True))
