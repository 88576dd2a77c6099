"""Checks that every script and test command prints its usage for --help and does nothing else.

RUN: %python %s %mx_src %t
REQUIRES: numpy
"""

import os
import pathlib
import shutil
import subprocess
import sys

source, work = map(pathlib.Path, sys.argv[1:])
scripts = source / "scripts"
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
# Commands started by scripts. None of them may be called.
(work / "bin").mkdir()
for name in ["cmake", "ninja", "apt-get", "g++", "pip", "lit", "clang-format-22"]:
    (work / "bin" / name).write_text(f"#!/bin/sh\necho {name} >> {work}/called\nexit 1\n")
    (work / "bin" / name).chmod(0o755)
environment = {**os.environ, "PATH": f"{work}/bin:{os.environ['PATH']}",
               "PYTHONDONTWRITEBYTECODE": "1",
               "MX_BUILD": f"{work}/build", "CXX": f"{work}/bin/g++",
               "MX_CHECK_CUDA_DIR": f"{work}/check-cuda"}
FOLDERS = [scripts, *(source / "test" / name for name in ("Fuzzing", "Mutation", "Package", "Time", "Wheel"))]
found = [s for folder in FOLDERS for s in sorted(folder.iterdir())
         if s.is_file() and os.access(s, os.X_OK) and not s.suffix == ".test"]
assert len(found) > 30
for script in found:
    for word in "--help", "-h":
        command = [sys.executable] if b"python3" in script.read_bytes()[:30] else []
        done = subprocess.run([*command, script, word], capture_output=True, text=True,
                              cwd=work, env=environment, timeout=60)
        assert done.returncode == 0 and not done.stderr, (script, done)
        assert script.name in done.stdout or "usage" in done.stdout, (script, done)
    assert not (work / "called").exists(), (script, (work / "called").read_text())
assert sorted(p.name for p in work.iterdir()) == ["bin"], list(work.iterdir())

for script in "build", "test", "lint", "demo", "setup":
    done = subprocess.run([scripts / script, "--frobnicate"], capture_output=True, text=True,
                          cwd=work, env=environment)
    assert done.returncode == 2 and "--" in done.stderr, (script, done)
assert not (work / "called").exists()
