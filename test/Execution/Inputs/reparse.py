"""Parses, verifies and prints every module in a directory.

usage: reparse.py MX_OPT DIRECTORY
"""

import pathlib
import subprocess
import sys

files = sorted(pathlib.Path(sys.argv[2]).glob("*.mlir"))
if len(files) < 3:
    sys.exit(f"expected a module after each of several passes, found {len(files)} files")
for path in files:
    done = subprocess.run([sys.argv[1], path], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{path}: {done.stderr}")
    if done.stdout.strip() != path.read_text().strip():
        sys.exit(f"{path}: the module prints differently after it is parsed")
