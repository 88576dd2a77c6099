# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of the fields of a JSON object. A table maps each field name to a rule: a description of
the expected value, and a predicate that takes the value and all fields."""

import json

OBJECT = "an object", lambda x, _: type(x) is dict


def check(found, rules, where, optional=()):
    """Raises ValueError for the first field that violates its rule, or is missing and not in
    `optional`. The message starts with `where` and the field name."""
    for name, (expected, holds) in rules.items():
        if name not in found and name in optional:
            continue
        if name not in found or not holds(found[name], found):
            value = json.dumps(found[name]) if name in found else "none"
            raise ValueError(f"{where}{name}: expected {expected}, found {value}")
