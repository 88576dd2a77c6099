"""Checks that dir(mx_compiler) and the reference list the public names and the public methods of classes, and no
others, and that docs/reference/Api.md lists the names of mx_compiler and mx_compiler.torch.

RUN: rm -rf %t && mkdir %t && %python %mx_src/scripts/api_docs.py %t
RUN: %python %s %t/PythonAPI.md %t/TorchAPI.md %mx_src/docs/reference/Api.md
"""

import inspect
import pathlib
import re
import sys

import mx_compiler as mx

page, torch_page, public = (pathlib.Path(name).read_text() for name in sys.argv[1:])
assert set(dir(mx)) == {*mx.__all__, "__doc__", "__version__"}, dir(mx)
assert all(hasattr(mx, name) for name in dir(mx))
headings = re.findall(r"^### (\w+)$", page, re.M)
assert sorted(headings) == sorted(mx.__all__), set(headings) ^ set(mx.__all__)
tables = public.partition("\n## Names\n")[2].split("\n\n| `mx_compiler")[1:]
for table, names in zip(tables, (headings, re.findall(r"^### (\w+)$", torch_page, re.M)), strict=True):
    listed = re.findall(r"`(\w+)`", table.partition("\n")[2])
    assert sorted(listed) == sorted(names), set(listed) ^ set(names)
shown, hidden = 0, 0
for name in mx.__all__:
    for member, value in vars(getattr(mx, name)).items() if inspect.isclass(getattr(mx, name)) else ():
        function = getattr(value, "__func__", getattr(value, "fget", value))
        if getattr(function, "is_internal", False):
            assert not re.search(rf"^`?{name}\.{member}\b", page, re.M), f"{name}.{member}"
            hidden += 1
shown = set(re.findall(r"^`?(\w+\.\w+)[(`]", page, re.M)) - {f"mx.{name}" for name in mx.__all__}
assert {"Entry.launch", "Program.save", "DeviceArray.numpy", "Value.dtype", "MoELayer.forward"} <= shown, shown
assert hidden >= 10 and not any(member.startswith("_") for _, member in (n.split(".") for n in shown)), hidden
