# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled programs and calls of their entries."""
