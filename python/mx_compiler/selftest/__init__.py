# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks this installation: compiles programs, runs them and compares the results with NumPy.

    python -m mx_compiler.selftest [--device=sim|cpu|cuda|cuda:N] [PART...]
    python -m mx_compiler.selftest --write=DIR      # compile only, for another machine
    python -m mx_compiler.selftest --program=DIR    # run what --write made
    python -m mx_compiler.selftest --report=FILE    # times and deviations as JSON

Without --device the test uses the simulator, then the GPU if present. Without PART it runs all
parts. Without a compiler it tests the runtime, and with --program a compiled program. Exit
status 1 if a part fails."""
