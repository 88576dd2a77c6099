# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays in device memory, and exchange with other packages."""
