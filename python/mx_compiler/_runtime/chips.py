# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Supported chips, the only list in Python. The compiler's list is lib/Target/TargetInfo.cpp; a
test compares them."""

# By compute capability.
CHIPS = {(9, 0): "sm_90a", (10, 0): "sm_100a", (10, 3): "sm_103a",
         (12, 0): "sm_120a", (12, 1): "sm_121a"}

# First CUDA version with a ptxas and driver for PTX 8.8, the version of the kernels.
OLDEST_CUDA = (12, 9)


def chip_of(capability):
    """Returns the default chip for a compute capability. The compiler refuses chips outside the
    table and lists the supported chips."""
    return CHIPS.get(tuple(capability), "sm_{}{}a".format(*capability))
