# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Model, data and training loop of train_moe_torch.py."""
