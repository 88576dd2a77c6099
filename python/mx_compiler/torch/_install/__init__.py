# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's own functions, served by mx."""
