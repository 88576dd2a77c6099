# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""List of the supported chips. The compiler's list is in lib/Target/TargetInfo.cpp, and a test
compares the two."""
# Chips by compute capability.
CHIPS = {(9, 0): "sm_90a", (10, 0): "sm_100a", (10, 3): "sm_103a",
         (12, 0): "sm_120a", (12, 1): "sm_121a"}

# First CUDA version with a ptxas and a driver for PTX 8.8. The kernels use PTX 8.8.
OLDEST_CUDA = (12, 9)


def chip_of(capability):
    """Returns the default chip for a compute capability. If the capability is not in CHIPS, the
    compiler refuses the chip and lists the supported chips."""
    return CHIPS.get(tuple(capability), "sm_{}{}a".format(*capability))
