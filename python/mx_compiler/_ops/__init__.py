# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions: quantizers, matmuls and a layer of experts."""
