"""Runs of test/Fuzzing/fuzz by a test, whose arguments are the script, the folder of tools and
a folder to work in."""

import pathlib
import shutil
import subprocess
import sys

script, tools, work = map(pathlib.Path, sys.argv[1:])
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)


def fuzz(tools, name, *arguments):
    """Its exit status, and all that it printed."""
    done = subprocess.run([sys.executable, script, f"--bin={tools}", f"--out={work / name}",
                           *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr
