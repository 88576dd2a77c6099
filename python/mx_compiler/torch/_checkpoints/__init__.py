# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading and writing of checkpoints with quantized weights."""
