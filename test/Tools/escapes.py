"""Checks that every tool and the Python package escape control characters when they print file names or file contents.

RUN: %python %s %mx_obj/bin %t
REQUIRES: compiler, numpy
"""

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
from work_folder import enter, write

tools, work = sys.argv[1:]
enter(work)
os.environ["MX_DEVICE"] = "sim"
# Escape sequence for red; an 8-bit control character; a bell and a carriage return.
EVIL = "\x1b[31mred\x9b31m\x07\rover"


def check(text, *words):
    """Checks that `text` contains the words, and no terminal controls."""
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), repr(text)
    for word in words:
        assert word in text, (word, text)


def run(status, words, *command):
    done = subprocess.run([os.path.join(tools, command[0]), *command[1:]], capture_output=True, timeout=60)
    text = (done.stdout + done.stderr).decode()  # must be UTF-8
    assert done.returncode == status, (command, done)
    check(text, *words)


PROGRAM = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.abs ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
"""
write("it.mlir", PROGRAM)
np.save("x.npy", np.zeros(4, np.float32))
np.save("short.npy", np.zeros(3, np.float32))
run(0, [], "mx-compile", "it.mlir", "-o", "it", "--ptxas=none")
with open("it/manifest.json") as file:
    manifest = json.load(file)
SHOWN = r"\x1B[31mred\xC2\x9B31m\x07\x0Dover"


def changed(change):
    """Returns a program directory with a changed manifest."""
    shutil.rmtree("changed", ignore_errors=True)
    shutil.copytree("it", "changed")
    copy = json.loads(json.dumps(manifest))
    change(copy)
    with open("changed/manifest.json", "w") as file:
        json.dump(copy, file)
    return "changed"


def rename_entry(m):
    m["entries"][0]["name"] = EVIL


def rename_argument(m):
    m["entries"][0]["arguments"][0]["name"] = EVIL


def change_type(m):
    m["entries"][0]["arguments"][0]["type"] = EVIL


def rename_kernel(m):
    # The name of the kernel is in several places.
    name = m["kernels"][0]["name"]
    m.update(json.loads(json.dumps(m).replace(json.dumps(name), json.dumps(EVIL))))


def rename_ptx(m):
    m["ptx"] = EVIL


run(0, [SHOWN], "mx-launch", changed(rename_entry), "--list")
run(2, [SHOWN], "mx-launch", "changed", "--arg", "x.npy")
run(2, [SHOWN], "mx-launch", "changed", f"--entry={EVIL}")
run(0, [SHOWN], "mx-launch", changed(rename_argument), "--list")
run(2, [SHOWN], "mx-launch", changed(change_type), "--arg", "short.npy")
run(2, [SHOWN], "mx-launch", changed(rename_kernel), "--arg", "x.npy")
run(2, [SHOWN], "mx-launch", changed(rename_ptx), "--arg", "x.npy")
run(2, [SHOWN], "mx-launch", "it", "--arg", EVIL)
run(2, [SHOWN], "mx-launch", EVIL)

import mx_compiler as mx

for change in rename_entry, rename_argument, change_type:
    with mx.Program(changed(change)) as program:
        entry = next(iter(program.entries.values()))
        check(repr(entry), "\\x1b[31mred")
        try:
            entry(np.zeros(3, np.float32))
        except ValueError as error:
            check(str(error), "\\x1b[31mred")
        else:
            raise AssertionError("expected an error")
try:
    mx.Program(changed(rename_ptx))
except mx.Error as error:
    check(str(error), SHOWN)
else:
    raise AssertionError("expected an error")

# Names, locations and source lines of programs, together with MLIR's own escapes. A carriage return would end the
# source line.
LINE, SHOWN_LINE = EVIL.replace("\r", ""), SHOWN.replace("\\x0D", "")
write("name.mlir", f'func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{ // {LINE}\n  return %nothing : tensor<4xf32>\n}}\n')
write("line.mlir", f'func.func @main() -> i32 {{ return %nothing : i32 }} // {LINE}\n')
write("entry.mlir", 'func.func @"\\1B[31mred"() { return }\n')
write("located.mlir", 'func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n'
      '  %y = "no.op"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("\\1B[31mred":1:2)\n  return %y : tensor<4xf32>\n}\n')
for tool, *rest in ("mx-run", "--arg", "x.npy"), ("mx-compile", "-o", "other", "--ptxas=none"):
    run(2, [], tool, "name.mlir", *rest)
    run(2, [SHOWN_LINE], tool, "line.mlir", *rest)
    run(2, ["\\x1B[31mred"] if tool == "mx-run" else [], tool, "entry.mlir", *rest,
        *([] if tool == "mx-run" else ["--entry=main"]))
    run(2, [], tool, "located.mlir", *rest)
try:
    mx.compile('module { func.func @main() { call @"\\1B[31mred"() : () -> ()\n return } }')
except mx.CompileError as error:
    check(str(error), "red")
else:
    raise AssertionError("expected an error")

# Names and keys in launch files.
for text in (json.dumps({"kernel": EVIL}), '{"' + EVIL.replace("\x1b", "\\u001b").replace("\x07", "").replace("\r", "") + '": 1}', EVIL):
    write("launch.json", text)
    run(2, [], "mx-sim", "launch.json")
write("evil.ptx", f'.version 8.7\n.target sm_100a\n.address_size 64\n{EVIL}\n')
run(2, [], "mx-sim", "--list", "evil.ptx")
run(2, [SHOWN], "mx-sim", EVIL)
print("right")
