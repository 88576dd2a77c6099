#!/usr/bin/env python3
"""exits.py STATUS COMMAND...: checks that the command exits with STATUS."""
import subprocess, sys

status = subprocess.run(sys.argv[2:]).returncode
if status != int(sys.argv[1]):
    sys.exit(f"expected exit status {sys.argv[1]}, found {status}")
