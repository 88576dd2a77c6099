# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Methods for other modules of the package."""


def internal(function):
    """Marks a method as internal, which excludes it from the reference."""
    function.is_internal = True
    return function
