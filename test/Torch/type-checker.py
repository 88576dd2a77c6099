"""mypy accepts right uses of the public names and rejects wrong ones.

REQUIRES: torch, mypy
RUN: env MYPYPATH=%mx_src/python %python_torch %s %S/Inputs/typed_uses.py %t
"""

import pathlib
import re
import subprocess
import sys

file, cache = sys.argv[1:]
done = subprocess.run([sys.executable, "-m", "mypy", "--follow-imports=silent", "--disallow-untyped-calls",
                       f"--cache-dir={cache}", file], capture_output=True, text=True)
found = {int(line): code for line, code in re.findall(r":(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.M)}
lines = pathlib.Path(file).read_text().splitlines()
expected = {number: line.partition("# error: ")[2] for number, line in enumerate(lines, 1) if "# error: " in line}
assert found == expected and len(found) > 15, done
