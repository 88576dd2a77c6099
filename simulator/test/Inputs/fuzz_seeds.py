"""fuzz_seeds.py TESTS DIR: writes the PTX and JSON parts of the tests in a folder, and
the list of all instructions in pieces, as files in DIR/ptx and DIR/json."""

import os
import re
import sys

import instruction_set

tests, out = sys.argv[1:]
for kind in ("ptx", "json"):
    os.makedirs(os.path.join(out, kind), exist_ok=True)


def write(kind, name, text):
    with open(os.path.join(out, kind, name), "w") as f:
        f.write(text)


for name in sorted(os.listdir(tests)):
    if not name.endswith((".ptx", ".test")):
        continue
    with open(os.path.join(tests, name)) as f:
        parts = re.split(r"^(?://|#)--- (\S+)\n", f.read(), flags=re.M)
    for part, text in zip(parts[1::2], parts[2::2]):
        kind = part.rpartition(".")[2]
        if kind in ("ptx", "json"):
            write(kind, f"{name}-{part}", text)

for family in instruction_set.SETS["sm_100a"]:
    lines = instruction_set.module("sm_100a", [family]).splitlines()
    body = next(k for k, line in enumerate(lines) if line == "  ret;")
    begin = next(k for k, line in enumerate(lines) if "%gm;" in line) + 1
    # Only a few of each family: an executed seed should be short.
    chosen = lines[begin:body][::max(1, (body - begin) // 40)]
    write("ptx", f"{family}.ptx",
          "\n".join(lines[:begin] + chosen + lines[body:]) + "\n")
