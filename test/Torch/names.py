# REQUIRES: torch
# RUN: rm -rf %t && mkdir %t && %python %mx_src/scripts/api_docs.py %t
# RUN: %python_torch %s %t/TorchAPI.md %mx_src/docs
"""Checks that names of mx_compiler.torch on pages and in the reference exist, and that dir lists the public names."""

import pathlib
import re
import sys

import mx_compiler.torch as mxt

assert set(dir(mxt)) == {*mxt.__all__, "__doc__"}, dir(mxt)
reference = pathlib.Path(sys.argv[1])
page = reference.read_text()
assert "multiply_grouped" not in page and page.count("mxt.convert_(") == 1
found = 0
for page in (reference, *sorted(pathlib.Path(sys.argv[2]).rglob("*.md"))):
    for name in set(re.findall(r"\bmxt\.([A-Za-z_]\w*)", page.read_text())):
        assert hasattr(mxt, name), f"{page.name}: mx_compiler.torch has no {name}"
        found += 1
    for name in re.findall(r'"((?:mxfp\w+_(?:weight_only|gradients|with_hp|floor|fast))|fp8_block|w4a8)"',
                           page.read_text()):
        assert name in mxt.RECIPES, f"{page.name}: no recipe is called {name}"
assert found > 20, found
