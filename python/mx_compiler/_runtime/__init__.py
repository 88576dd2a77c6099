# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bindings of libmx_runtime by ctypes: devices, streams and errors."""
