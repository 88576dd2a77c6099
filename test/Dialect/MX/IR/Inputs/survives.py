"""Runs a command. Fails if a signal ends the command, if the command hangs, or if it reports no error."""

import subprocess
import sys

done = subprocess.run(sys.argv[1:], capture_output=True, timeout=300)
if done.returncode not in (0, 1):
    sys.stderr.buffer.write(done.stderr[-8000:])
    sys.exit(f"expected exit status 0 or 1, found {done.returncode}")
errors = done.stderr.count(b"error:")
if errors == 0:
    sys.exit("expected errors for malformed input, found none")
print(f"{errors} errors reported")
