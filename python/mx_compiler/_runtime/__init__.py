# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ctypes bindings of libmx_runtime: devices, streams and errors."""
