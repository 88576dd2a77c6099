"""Checks that dir(mx_compiler) and the reference list the public names and the public methods of classes, and no
others.

RUN: rm -rf %t && mkdir %t && %python %mx_src/scripts/api_docs.py %t
RUN: %python %s %t/PythonAPI.md
"""

import inspect
import pathlib
import re
import sys

import mx_compiler as mx

page = pathlib.Path(sys.argv[1]).read_text()
assert set(dir(mx)) == {*mx.__all__, "__doc__", "__version__"}, dir(mx)
assert all(hasattr(mx, name) for name in dir(mx))
headings = re.findall(r"^### (\w+)$", page, re.M)
assert sorted(headings) == sorted(mx.__all__), set(headings) ^ set(mx.__all__)
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
