# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions: quantizers, matmuls and a layer of experts."""
