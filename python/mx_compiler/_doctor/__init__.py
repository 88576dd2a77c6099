# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `python -m mx_compiler` finds out about an installation (docs/guide/Install.md)."""
