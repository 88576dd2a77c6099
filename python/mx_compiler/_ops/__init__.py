# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions: quantizers, products and a layer of experts."""
