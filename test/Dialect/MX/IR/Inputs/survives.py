"""Runs a command; fails if it dies by a signal, hangs, or reports nothing in any split."""

import subprocess
import sys

done = subprocess.run(sys.argv[1:], capture_output=True, timeout=300)
if done.returncode not in (0, 1):
    sys.stderr.buffer.write(done.stderr[-8000:])
    sys.exit(f"expected exit status 0 or 1, found {done.returncode}")
errors = done.stderr.count(b"error:")
if errors == 0:
    sys.exit("expected errors from malformed input, found none")
print(f"{errors} errors reported")
