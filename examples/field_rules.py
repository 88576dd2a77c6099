# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules for the fields of a JSON object: a table with a rule for each name. A rule is a
description of the expected value, and a predicate on the value and all fields."""

import json

OBJECT = "an object", lambda x, _: type(x) is dict


def check(found, rules, where, optional=()):
    """Raises ValueError about the first field that violates `rules`. `where` precedes its name
    in the message."""
    for name, (expected, holds) in rules.items():
        if name not in found and name in optional:
            continue
        if name not in found or not holds(found[name], found):
            value = json.dumps(found[name]) if name in found else "none"
            raise ValueError(f"{where}{name}: expected {expected}, found {value}")
