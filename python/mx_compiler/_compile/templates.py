# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Templates of programs, with names in place of sizes and types."""

import operator
import os
import string
from typing import Any

from .._arrays.elements import find_element
from .files import read_bytes


class _Text(string.Template):
    # Matches only ${name}, because MLIR uses `$` in names and strings.
    pattern = r"\$\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)\}" \
              r"|(?P<escaped>(?!))(?P<named>(?!))(?P<invalid>(?!))"


class Template:
    """MLIR text in which `${name}` stands for a size or an element type. For example:

        mx.Template("func.func @f(%x: tensor<${rows}x${hidden}x${dtype}>) ...")

    `source` is the text, or a pathlib.Path of a file. `names` lists the names in the text. A size is
    an integer of at least 1, or "?" for an extent that may differ between calls. A type is a name of
    MLIR or NumPy, or a dtype of NumPy, ml_dtypes or PyTorch."""

    def __init__(self, source: str | os.PathLike[str], name: str | None = None) -> None:
        if isinstance(source, os.PathLike):
            name = name or os.fspath(source)
            source = read_bytes(source).decode()
        if not isinstance(source, str):
            raise TypeError("expected a template to be text or a pathlib.Path, found "
                            f"{type(source).__name__}")
        self.text, self.name = source, name or "template"
        self._template = _Text(source)
        self.names = _names(source)

    def substitute(self, **values: Any) -> str:
        """Returns the text with `values` substituted. Raises TypeError for missing or unknown
        names, and TypeError or ValueError for a value that is neither a size nor a type."""
        missing = [name for name in self.names if name not in values]
        unknown = [name for name in values if name not in self.names]
        if missing or unknown:
            what = [f"no value for {', '.join(missing)}"] if missing else []
            what += [f"the unknown {', '.join(unknown)}"] if unknown else []
            raise TypeError(f"{self.name}: expected values for [{', '.join(self.names)}], found "
                            + " and ".join(what))
        return self._template.substitute(
            {name: _as_text(f"{self.name}: {name}", value)
             for name, value in values.items()})

    def __repr__(self):
        return f"<mx_compiler.Template {self.name}({', '.join(self.names)})>"


def _as_text(where, value):
    if value == "?" and isinstance(value, str):
        return "?"
    try:
        size = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        size = None
    if size is not None:
        if size < 1:
            raise ValueError(f"{where}: expected a size of at least 1, or \"?\", "
                             f"found {value}")
        return str(size)
    try:
        return find_element(value).mlir
    except TypeError as error:
        raise TypeError(f"{where}: expected a size, \"?\" or a dtype, found "
                        f"{value!r} ({error})") from None


def _names(text):
    """Returns the names in the text, like string.Template.get_identifiers of Python 3.11."""
    return tuple(dict.fromkeys(found["braced"] for found in _Text.pattern.finditer(text)))


def is_template(text):
    """Returns True if the text contains a `${name}`."""
    return bool(_names(text))
