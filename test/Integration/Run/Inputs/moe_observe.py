"""Writes a version of examples/moe_layer.mlir with additional intermediate results, so each stage can be
compared with a result computed from the stage's own inputs.

usage: moe_observe.py FILE.mlir OUT.mlir
"""

import re
import sys

# Appended to the function's own results, in this order (moe_device.py).
OBSERVED = {
    "forward": ["%xq#0", "%xq#1", "%hq#0", "%hq#1", "%z"],
    "backward": ["%zq#0", "%zq#1", "%zq#2", "%zq#3", "%dh",
                 "%gq#0", "%gq#1", "%gq#2", "%gq#3", "%dxp"],
}


def type_of(body, value):
    """Returns the type after the arrow of the operation that defines the value."""
    name, _, index = value.partition("#")
    statement = re.search(rf"^  {re.escape(name)}(?::\d+)? = .*?"
                          r"(?=^  [%/}]|^  return|^$)", body, re.M | re.S)
    types = statement.group(0).rpartition("->")[2].strip().strip("()")
    return types.split(", ")[int(index or 0)]


def observe(text, function, values):
    begin = text.index(f"func.func @{function}(")
    end = text.index("\n}", begin)
    body = text[begin:end]
    types = "".join(", " + type_of(body, value) for value in values)
    head, middle = body.split("\n    -> (", 1)
    results, rest = middle.split(") {", 1)
    rest, _, returned = rest.rpartition("  return ")
    names, _, old = returned.partition(":")
    body = (f"{head}\n    -> ({results}{types}) {{{rest}  return {names.strip()}, "
            f"{', '.join(values)} : {old.strip()}{types}")
    return text[:begin] + body + text[end:]


path, out = sys.argv[1:]
with open(path) as file:
    text = file.read()
for function, values in OBSERVED.items():
    text = observe(text, function, values)
with open(out, "w") as file:
    file.write(text)
