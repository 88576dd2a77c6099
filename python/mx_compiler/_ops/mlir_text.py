# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pieces of MLIR as text."""


def tensor(dims, element, encoding=""):
    """A tensor type; a dimension of None is dynamic."""
    extents = "".join("?x" if d is None else f"{d}x" for d in dims)
    return f"tensor<{extents}{element}{', ' + encoding if encoding else ''}>"


class Body:
    """The body of a function, an operation a line."""

    def __init__(self):
        self.lines = []
        self._count = 0

    def add(self, operation, results=1):
        """Adds an operation, and returns the name of its result, or the names."""
        names = [f"%v{self._count + i}" for i in range(results)]
        self._count += results
        if results:
            operation = f"{', '.join(names)} = {operation}"
        self.lines.append("  " + operation)
        return names[0] if results == 1 else names

    def index(self, number):
        return self.add(f"arith.constant {number} : index")

    def dim(self, value, type, number):
        return self.add(f"tensor.dim {value}, {self.index(number)} : {type}")

    def empty(self, type, sizes=()):
        """A tensor to write to, with the dynamic sizes that its type lacks."""
        return self.add(f"tensor.empty({', '.join(sizes)}) : {type}")

    def function(self, arguments, results, returned):
        """The text of a function @main; arguments and results are (name, type)
        pairs and types, `returned` names of values."""
        head = ", ".join(f"%{name}: {type}" for name, type in arguments)
        types = ", ".join(results)
        return "\n".join([
            f"func.func @main({head}) -> ({types}) {{", *self.lines,
            f"  return {', '.join(returned)} : {types}", "}", ""])
