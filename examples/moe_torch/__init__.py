# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What train_moe_torch.py trains, on what, and how."""
