# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JSON report of correctness and speed on a GPU, to attach to an issue:

    python -m mx_compiler.selftest --report=FILE [--device=cuda:N|sim|cpu]

docs/guide/Install.md describes the format."""
