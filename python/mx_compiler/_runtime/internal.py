# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What classes of the interface have for other modules of the package."""


def internal(function):
    """Marks a method that is no part of the interface: the reference leaves it out."""
    function.is_internal = True
    return function
