# REQUIRES: torch
# RUN: %python_torch %s %mx_src/docs
"""The names of mx_compiler.torch that its pages mention exist."""

import pathlib
import re
import sys

import mx_compiler.torch as mxt

found = 0
for page in sorted(pathlib.Path(sys.argv[1]).glob("*.md")):
    for name in set(re.findall(r"\bmxt\.([A-Za-z_]\w*)", page.read_text())):
        assert hasattr(mxt, name), f"{page.name}: mx_compiler.torch has no {name}"
        found += 1
    for name in re.findall(r'"(mxfp\w+_(?:weights|gradients|with_hp|floor))"',
                           page.read_text()):
        assert name in mxt.RECIPES, f"{page.name}: no recipe is called {name}"
assert found > 20, found
