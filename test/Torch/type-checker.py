"""mypy accepts right uses of the public names and rejects wrong ones, and finds no attribute in the package that the
oldest supported Python lacks.

REQUIRES: torch, mypy
RUN: env MYPYPATH=%mx_src/python %python_torch %s %mx_src %S/Inputs/typed_uses.py
"""

import pathlib
import re
import subprocess
import sys

source, uses = sys.argv[1:]


def errors(*words):
    """Returns the errors of mypy as tuples of file, line, text and code."""
    done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir=/dev/null", *words],
                          capture_output=True, text=True)
    assert done.returncode < 2, done
    return re.findall(r"^(\S+):(\d+): error: (.*)  \[([\w-]+)\]$", done.stdout, re.M)


found = errors("--follow-imports=silent", "--disallow-untyped-calls", uses)
lines = enumerate(pathlib.Path(uses).read_text().splitlines(), 1)
expected = {number: line.partition("# error: ")[2] for number, line in lines if "# error: " in line}
assert {int(line): code for _, line, _, code in found} == expected and len(expected) > 15, found

oldest = re.search(r'requires-python = ">=([\d.]+)"', pathlib.Path(source, "pyproject.toml").read_text())[1]
alone = "--follow-imports=skip", "--check-untyped-defs", "-p", "mx_compiler"
of_oldest, of_this = ({text for *_, text, code in errors(*alone, *version) if code == "attr-defined"}
                      for version in ([f"--python-version={oldest}"], []))
assert of_this and not of_oldest - of_this, of_oldest - of_this
