# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of PyTorch, and what puts them into a model."""
