# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch modules, and their insertion into a model."""
