"""Runs programs after mx-import-scaled, for all supported element types."""

import mx_reference as ref
import numpy as np

# Elements of programs, and their names in mx_reference.
ELEMENTS = {name: name for name in ref.ELEMENTS if name != "i8"} | {"!tosa.mxint8": "i8"}


def all_codes(element):
    width = 8 if ELEMENTS[element] == "i8" else int(element[1])
    return np.arange(2**width, dtype=np.uint8)


def run_imported(test, text, arguments, results=1, chip="cpu", passes="", left=()):
    """Returns the results after the import, which must convert all of its input."""
    module = test.rewrite(text, f"--pass-pipeline=builtin.module({passes}mx-import-scaled,canonicalize,cse)")
    for name in ["arith.scaling", "tosa.", "linalg.matmul", *left]:
        test.require(f"{name} is imported from\n{text}\n", name not in module, module)
    found = test.run(module, arguments, results, chip=chip)
    return found[0] if results == 1 else found
