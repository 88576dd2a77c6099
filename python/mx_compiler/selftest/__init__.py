# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks this installation: compiles programs, runs them and compares the results with NumPy.

    python -m mx_compiler.selftest [--device=sim|cpu|cuda|cuda:N] [PART...]
    python -m mx_compiler.selftest --write=DIR      # compile only, for another machine
    python -m mx_compiler.selftest --program=DIR    # run programs from --write
    python -m mx_compiler.selftest --report=FILE    # times and deviations as JSON

Without --device, the test runs on the simulator, and then on the GPU if there is one. Without PART,
all parts run. If no compiler is installed, the test checks the runtime, and with --program also a
compiled program. The exit status is 1 if a part fails."""
