# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m mx_compiler: reports and checks this installation."""

import sys

from ._doctor.report import main

if __name__ == "__main__":
    sys.exit(main())
