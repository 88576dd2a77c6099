# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a JSON report about correctness and speed on a GPU. Users can attach it to an issue:

    python -m mx_compiler.selftest --report=FILE [--device=cuda:N|sim|cpu]

docs/guide/Install.md describes the format."""
