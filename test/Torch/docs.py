# REQUIRES: torch
# RUN: %python_torch %s %mx_src/docs/guide/Torch.md %mx_src/README.md
"""Checks the PyTorch program in README.md, and the ten-line program and the numbers in the operator table of
docs/guide/Torch.md."""

import pathlib
import re
import sys

import torch

import reference

torch.set_default_device(reference.DEVICE)
page = pathlib.Path(sys.argv[1]).read_text()
block, = re.findall(r"is run by test/Torch/docs.py -->\n```python\n(.*?)```", page, re.S)
assert len(block.strip().splitlines()) <= 10
names = {}
exec(block, names)
assert torch.isfinite(names["loss"])
assert all(p.grad is not None for p in names["model"].parameters())

block, = re.findall(r"```python\n(.*?)```", pathlib.Path(sys.argv[2]).read_text(), re.S)
names = {}
exec(block, names)
model = names["model"]
assert sum(type(module).__name__ == "MXLinear" for module in model) == 2
assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.parameters())

import mx_compiler.torch

table = page.split("## Operators")[1].split("## Expert groups")[0]
for name in re.findall(r"`(\w+)`", "\n".join(
        line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))):
    assert hasattr(mx_compiler.torch, name), name
operators = {schema.name.partition("::")[2] for schema in
             torch._C._jit_get_all_schemas() if schema.name.startswith("mx::")}
assert not {x for x in operators if f"`{x}`" not in table}, operators
