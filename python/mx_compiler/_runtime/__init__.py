# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libmx_runtime by ctypes: devices, streams and errors."""
