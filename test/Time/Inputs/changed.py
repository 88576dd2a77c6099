"""Runs test/Time/golden-times for one program and a chip with a higher HBM latency."""

import os
import subprocess
import sys

environment = os.environ | {"MX_SIM_TIME_FIGURE": "hbm-latency=1500"}
command = [sys.executable, *sys.argv[1:], "--only=quantize-rows"]
print("exit status", subprocess.run(command, env=environment).returncode, flush=True)
