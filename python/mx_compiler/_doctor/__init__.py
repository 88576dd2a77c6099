# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Report of `python -m mx_compiler` on an installation (docs/guide/Install.md)."""
