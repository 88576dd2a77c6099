# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The chips that mx has kernels for: in Python, this is the one list of them. The
compiler's is lib/Target/TargetInfo.cpp; a test compares them."""

# By the compute capability of their GPUs.
CHIPS = {(9, 0): "sm_90a", (10, 0): "sm_100a", (10, 3): "sm_103a",
         (12, 0): "sm_120a", (12, 1): "sm_121a"}

# The first CUDA whose ptxas and driver read the PTX of kernels, version 8.8.
OLDEST_CUDA = (12, 9)


def chip_of(capability):
    """The chip that programs are compiled for where a GPU has this compute capability.
    The compiler refuses those that are not in the table, and lists its own."""
    return CHIPS.get(tuple(capability), "sm_{}{}a".format(*capability))
