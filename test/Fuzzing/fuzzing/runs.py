"""Runs test/Fuzzing/fuzz in a test. The test's arguments are the script, the tools folder and a
work folder."""

import pathlib
import shutil
import subprocess
import sys

script, tools, work = (pathlib.Path(path).resolve() for path in sys.argv[1:])
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)


def fuzz(fuzzer, tools, name, *arguments):
    """Returns the exit status and the output of a fuzzer."""
    done = subprocess.run([sys.executable, script, fuzzer, f"--bin={tools}", f"--out={work / name}",
                           *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr
