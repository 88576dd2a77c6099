"""Parses, verifies and prints every module of a directory.

usage: reparse.py MX_OPT DIRECTORY
"""

import pathlib
import subprocess
import sys

files = sorted(pathlib.Path(sys.argv[2]).glob("*.mlir"))
if len(files) < 3:
    sys.exit(f"expected the module after several passes, found {len(files)} files")
for path in files:
    done = subprocess.run([sys.argv[1], path], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{path}: {done.stderr}")
    if done.stdout.strip() != path.read_text().strip():
        sys.exit(f"{path}: printed otherwise when read again")
