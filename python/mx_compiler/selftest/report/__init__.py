# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One JSON of what works on a GPU and how long it takes, to attach to an issue:

    python -m mx_compiler.selftest --report=FILE [--device=cuda:N|sim|cpu]

docs/guide/Install.md describes it."""
