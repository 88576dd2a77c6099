# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Building blocks of MLIR text."""


def tensor(dims, element, encoding=""):
    """Returns a tensor type. A dimension of None is dynamic."""
    extents = "".join("?x" if d is None else f"{d}x" for d in dims)
    return f"tensor<{extents}{element}{', ' + encoding if encoding else ''}>"


class Body:
    """Body of a function, with an operation on each line."""

    def __init__(self):
        self.lines = []
        self._count = 0

    def add(self, operation, results=1):
        """Adds an operation and returns the name of its result, or a list of names."""
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
        """Adds a tensor.empty of `type`. `sizes` are the values of the dynamic dimensions."""
        return self.add(f"tensor.empty({', '.join(sizes)}) : {type}")

    def function(self, arguments, results, returned):
        """Returns the text of a function @main. `arguments` are (name, type) pairs, `results`
        are types, and `returned` are value names."""
        head = ", ".join(f"%{name}: {type}" for name, type in arguments)
        types = ", ".join(results)
        return "\n".join([
            f"func.func @main({head}) -> ({types}) {{", *self.lines,
            f"  return {', '.join(returned)} : {types}", "}", ""])
