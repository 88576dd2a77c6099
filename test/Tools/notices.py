"""Checks messages that the tools and the Python package print without a request: the notice about a missing GPU,
progress on a terminal, and colors, with the switches for all of them. Terminals are pseudo-terminals; a small emulator
computes the final screen.

RUN: %python %s %mx_obj/bin %mx_libs/libmx_runtime%shlibext %t
REQUIRES: compiler, numpy
"""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import numpy as np
from work_folder import enter, write

tools, runtime, work = sys.argv[1:]
enter(work)
CLEAN = {name: value for name, value in os.environ.items() if name not in ("MX_DEVICE", "MX_QUIET", "NO_COLOR")}
CLEAN.update(MX_CUDA_DRIVER="/no/such/libcuda.so", TERM="xterm")


def run(*words, **environment):
    """Returns the standard error of a command that succeeds."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, env={**CLEAN, **environment})
    assert done.returncode == 0, (words, done)
    return done.stderr


def on_terminal(*words, until=None, interrupt=False, width=80, **environment):
    """Returns the status and the output of a command on a terminal; sends Ctrl-C once `until` appears."""
    child, terminal = pty.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # background suites ignore it
        os.environ.clear()
        os.environ.update(CLEAN, COLUMNS=str(width), **environment)
        subprocess.run(["stty", "cols", str(width)], check=True)
        os.execv(words[0], words)
    text, end = b"", time.time() + 120
    while time.time() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                more = os.read(terminal, 4096)
            except OSError:  # the terminal is closed
                break
            if not more:
                break
            text += more
        if interrupt and until in text:
            os.write(terminal, b"\x03")
            interrupt = False
    else:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    return status, text.decode()


def screen(text):
    """Returns the lines that a terminal shows after it has received `text`."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[\d;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text.replace("^C", "")):
        if part == "\r":
            column = 0
        elif part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part.endswith("K"):
            lines[row] = lines[row][:column]
        elif not part.startswith("\x1b"):
            line = lines[row].ljust(column)
            lines[row] = line[:column] + part + line[column + len(part):]
            column += len(part)
    return [line.rstrip() for line in lines]


def tool(name):
    return os.path.join(tools, name)


def of_tool(lines):
    """Returns the notices of a tool. Compiler remarks are left out; they begin with a location."""
    return [line for line in lines if "mx-" in line]


# --- No GPU --------------------------------------------------------------------------
add = write("add.mlir", """func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = arith.addf %x, %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
""")
np.save("x.npy", np.ones(64, np.float32))
run(tool("mx-compile"), add, "-o", "add", "--ptxas=none")
NOTICE = "no GPU here can run this program: it runs on the simulator"
for name, words in {"mx-run": [add], "mx-launch": ["add"]}.items():
    command = [tool(name), *words, "--arg=x.npy"]
    for more, environment in (([], {}), (["--device=auto"], {}), ([], {"MX_DEVICE": "auto"}),
                              ([], {"MX_QUIET": "0"})):
        said = of_tool(run(*command, *more, **environment).splitlines())
        assert len(said) == 1 and said[0].startswith(f"{name}: {NOTICE}"), said
    for more, environment in ((["--device=sim"], {}), ([], {"MX_DEVICE": "sim"}), (["--quiet"], {}),
                              ([], {"MX_QUIET": "1"})):
        assert of_tool(run(*command, *more, **environment).splitlines()) == [], (name, more, environment)
assert run(tool("mx-run"), add, "--arg=x.npy", "--device=cpu") == ""
assert run(tool("mx-launch"), "add", "--list") == ""

# Remarks of the compiler are suppressed in the same cases.
for command in [tool("mx-run"), add, "--arg=x.npy", "--device=sim"], [tool("mx-compile"), add, "-o", "add", "--ptxas=none"]:
    for more, environment in (([], {}), ([], {"MX_QUIET": "0"})):
        assert "add.mlir:2:8: remark: 'linalg.generic' runs as a simple kernel" in run(*command, *more, **environment)
    for more, environment in ((["--quiet"], {}), ([], {"MX_QUIET": "1"})):
        assert run(*command, *more, **environment) == "", (command, more, environment)

# Python prints the notice once, when the first device is needed, unless the user has chosen a device.
USE = "import mx_compiler as mx, numpy as np{0}; [mx.array(np.ones(3, 'f4')).numpy() for _ in range(2)]"
PYTHON = "mx_compiler: no GPU here can run programs of mx: they run on the simulator"
for choice in "", "; mx.set_device()", "; mx.set_device('auto'); mx.set_device('auto')":
    said = run(sys.executable, "-W", "error", "-c", USE.format(choice))
    assert said.startswith(PYTHON) and said.count("\n") == 1, said
threads = "; import threading; [t.join() for t in [threading.Thread(target=mx.device_name) for _ in range(4)] if t.start() is None]"
assert run(sys.executable, "-c", USE.format(threads)).count("\n") == 1
for choice, environment in (("; mx.set_device('sim')", {}), ("", {"MX_DEVICE": "sim"}), ("", {"MX_QUIET": "1"})):
    assert run(sys.executable, "-c", USE.format(choice), **environment) == "", (choice, environment)
assert run(sys.executable, "-c", "import mx_compiler") == ""

# The library prints no notices if another program uses it.
LIBRARY = """import ctypes, sys
mx, pointer = ctypes.CDLL(sys.argv[1]), ctypes.c_void_p()
assert mx.mxMemAlloc(ctypes.byref(pointer), ctypes.c_size_t(64)) == 0
"""
assert run(sys.executable, "-c", LIBRARY, runtime) == ""

# --- Progress --------------------------------------------------------------------------
write("spin.ptx", """.version 8.8
.target sm_100a
.address_size 64
.visible .entry spin(.param .u64 out)
{
LOOP:
  bra LOOP;
}
""")
write("spin.json", json.dumps({
    "modules": ["spin.ptx"], "buffers": {"O": {"bytes": 256}}, "kernel": "spin", "grid": [1], "block": [32],
    "args": [{"buffer": "O"}], "limits": {"instructions": 10 ** 15}}))
slow = write("slow-ptxas", """#!/bin/sh
case "$*" in *--help*) echo sm_100a; exit 0;; esac
sleep 3.5
for word; do case "$word" in *.ptx) ;; -o) next=1;; *) [ "$next" ] && { echo cubin >"$word"; next=; };; esac; done
""")
os.chmod(slow, 0o755)
compiling = [tool("mx-compile"), add, "-o", "slow", f"--ptxas={os.path.abspath(slow)}"]
status, text = on_terminal(*compiling)
assert status == 0 and "mx-compile: compiling, 2 s\r" in text and "compiling, 3 s\r" in text, (status, text)
assert not of_tool(screen(text)), screen(text)
# On a narrow terminal the line is truncated, because a wrapped line could not be erased.
status, text = on_terminal(*compiling, width=12)
assert "\x1b[Kmx-compile:\r" in text and not of_tool(screen(text)), text
for more, environment in ((["--quiet"], {}), ([], {"MX_QUIET": "1"}), ([], {"TERM": "dumb"})):
    status, text = on_terminal(*compiling, *more, **environment)
    assert status == 0 and not of_tool(text.split("\n")), (more, environment, text)
assert not of_tool(run(*compiling).splitlines())

# Ctrl-C erases the line and ends the tool as usual.
status, text = on_terminal(tool("mx-sim"), "spin.json", until=b"mx-sim: simulating, 2 s", interrupt=True)
assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT, status
assert not any(screen(text)), screen(text)

# --- Colors ----------------------------------------------------------------------------
bad = write("bad.mlir", "func.func @main( {")
for words in ([tool("mx-run"), bad], [tool("mx-compile"), bad, "-o", "bad"], [tool("mx-opt"), bad],
              [tool("mx-sim"), "none.json"]):
    status, text = on_terminal(*words)
    assert status and re.search(r"\x1b\[[\d;]*31m(\x1b\[[\d;]*m)*error: ", text), (words, text)
    status, text = on_terminal(*words, NO_COLOR="1")
    assert status and "error: " in text and "\x1b" not in text, (words, text)
    done = subprocess.run(words, capture_output=True, text=True, env=CLEAN)
    assert "error: " in done.stderr and "\x1b" not in done.stderr, done
