# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From the text of a program to its kernels, by way of a cache."""
