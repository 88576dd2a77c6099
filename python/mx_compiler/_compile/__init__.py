# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation of program text to kernels, with a cache."""
