# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What fields of an object in JSON are to be: a table of a rule for each name. A rule
is what is expected, in words, and a function of the value and of all fields."""

import json

OBJECT = "an object", lambda x, _: type(x) is dict


def check(found, rules, where, optional=()):
    """Raises ValueError about the first field that is not what `rules` expect. `where`
    stands before its name."""
    for name, (expected, holds) in rules.items():
        if name not in found and name in optional:
            continue
        if name not in found or not holds(found[name], found):
            value = json.dumps(found[name]) if name in found else "none"
            raise ValueError(f"{where}{name}: expected {expected}, found {value}")
