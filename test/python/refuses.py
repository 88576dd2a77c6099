# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that invalid calls are refused."""

import re


def refuses(kind, text, call, *arguments, **options):
    """Checks that a call raises `kind`. `text` is the message, a pattern that the message contains, or a tuple of
    words. Returns the error."""
    try:
        call(*arguments, **options)
    except kind as error:
        said = str(error)
        found = all(str(word) in said for word in text) if isinstance(text, (tuple, list)) else (
            str(text) in said or re.search(str(text), said, re.DOTALL))
        assert found, f"expected {text!r}, found: {said}"
        return error
    raise AssertionError(f"expected {kind} {text!r}, found no error")
