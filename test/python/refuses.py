"""That something wrong is refused."""

import re


def refuses(kind, text, call):
    """That `call` raises `kind` with a text in which `text` is found; the error."""
    try:
        call()
    except kind as error:
        assert re.search(text, str(error), re.DOTALL), f"expected {text!r}, found: {error}"
        return error
    raise AssertionError(f"expected {kind.__name__} {text!r}, found no error")
