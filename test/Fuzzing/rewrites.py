"""Runs `fuzz rewrites` briefly, always on the same cases, and checks that it reports a wrong number, a refused program,
and a crash.

RUN: %python %s %S/fuzz %mx_obj/bin %t
TIER: slow
REQUIRES: compiler, numpy
"""

import re
import sys

from fuzzing.runs import fuzz, tools, work

status, output = fuzz("rewrites", tools, "all", "--count=80", "--seed=1", "--simulate=4")
print(output)
assert status == 0, output
counts = re.findall(r"(\d+) rewritten, (\d+) left", output)
assert len(counts) == 2 and all(int(rewritten) > 15 for rewritten, _ in counts), output

# A row of packed numbers with a dynamic length.
status, output = fuzz("rewrites", tools, "row", "--count=1", "--seed=50293", "--simulate=1")
assert status == 0 and "1 rewritten" in output, output

# Tools with one fault each, and the expected report.
CHANGE = """
path = sys.argv[sys.argv.index("--result") + 1]
data = bytearray(open(path, "rb").read())
data[-2] ^= 0x40
open(path, "wb").write(data)
"""
WAYS = {
    "number": ("mx-run", CHANGE, "wrong number"),
    "refusal": ("mx-run", "print('x.mlir:1:1: error: expected another program', file=sys.stderr)\nsys.exit(1)",
                "error: expected another program"),
    "crash": ("mx-opt", "os.abort()", "SIGABRT"),
}
for name, (tool, wrong, says) in WAYS.items():
    folder = work / f"{name}-tools"
    folder.mkdir()
    for real in tools.glob("mx-*"):
        (folder / real.name).symlink_to(real)
    (folder / tool).unlink()
    (folder / tool).write_text(f"#!{sys.executable}\nimport os, subprocess, sys\n"
                               f"status = subprocess.run([{str(tools / tool)!r}, *sys.argv[1:]]).returncode\n"
                               f"if status:\n    sys.exit(status)\n{wrong}\n")
    (folder / tool).chmod(0o755)
    status, output = fuzz("rewrites", folder, name, "--count=2", "--seed=20", "--only=quantize", "--simulate=0")
    assert status == 1 and says in output and list((work / name).glob("*/why.txt")), output
