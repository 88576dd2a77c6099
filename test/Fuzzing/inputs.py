"""Runs `fuzz inputs` briefly, always on the same cases. faults.py tests failing tools.

RUN: %python %s %S/fuzz %mx_obj/bin %t
REQUIRES: compiler, numpy
UNSUPPORTED: sanitizers
"""

import re

from fuzzing.runs import fuzz, tools

first = fuzz("inputs", tools, "first", "--count=80", "--seed=1")
print(first[1])
assert first[0] == 0, first[1]
for kind in "opt", "compile", "run", "translate", "manifests", "images", "npy", "launch-files", "ptx":
    assert re.search(rf"^{kind}: \d+ cases, exit statuses \d", first[1], re.M), first[1]
assert fuzz("inputs", tools, "none", "--only=abacus")[0] == 2
