# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors about sizes that fit the block size but not the chip. With E2M1, chips with scaled MMAs
need larger reduction steps. The compiler reports such sizes, and this module names the Python
arguments in the error."""

import contextlib
import re

from .._compile.compile import default_chip
from .._runtime.errors import CompileError

_REDUCTION = re.compile(r"expected a reduction of a multiple of (\d+) elements")


@contextlib.contextmanager
def named_reductions(names, formats, found, chip=None):
    """Converts the compiler's error about a matmul's reduction size to a ValueError. `names` are the
    arguments of the Python function, and `found` describes their sizes."""
    try:
        yield
    except CompileError as error:
        wanted = _REDUCTION.search(str(error))
        if wanted is None:
            raise
        raise ValueError(
            f"{names}: expected a multiple of {wanted[1]} for the reduction size K, with "
            f"{' and '.join(dict.fromkeys(formats))} on {chip or default_chip()}, found "
            f"{found}: pad with zeros, use other formats, or set MX_CHIP=sm_90a for the "
            "simulator or MX_DEVICE=cpu for the reference path, which accept this size") from error
