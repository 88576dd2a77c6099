# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that processes share the program cache."""

import os
import subprocess
import sys
import tempfile
import uuid

import mx_compiler as mx

from .program import SOURCE

_FIND = """
import sys
import mx_compiler as mx
mx._compile.compile.compile_parts = None  # fails if this process compiles
program = mx.compile(sys.stdin.read(), chip=sys.argv[1], cache=sys.argv[2])
print(*program.entries)
"""


def check_cache():
    """Checks that another process finds a program that this process compiled."""
    if mx.device_name() == "cpu":
        return "programs of cpu stay in memory"
    chip = "sm_100a"
    # The program must be new, because this process keeps compiled programs in memory.
    text = f"{SOURCE}// {uuid.uuid4()}\n"
    with tempfile.TemporaryDirectory() as folder:
        mx.compile(text, chip=chip, cache=folder)
        files = [name for _, _, names in os.walk(folder) for name in names]
        assert files, "nothing was kept in the cache"
        found = subprocess.run([sys.executable, "-c", _FIND, chip, folder],
                               input=text, env={**os.environ, "MX_DEVICE": "sim"},
                               capture_output=True, text=True)
        assert found.returncode == 0 and "matmul" in found.stdout, found.stderr
