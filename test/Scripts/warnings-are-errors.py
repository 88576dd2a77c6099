"""Checks that the preset gcc turns warnings into errors only for the g++ version of the suite's build, and not with
sanitizers, which cause g++ warnings about correct code. To save time, the test configures only the runtime.

RUN: %python %s %cmake %ninja %mx_src %t
REQUIRES: numpy
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

cmake, ninja, source, work = sys.argv[1:]
work = pathlib.Path(work)
shutil.rmtree(work, ignore_errors=True)
major = int(subprocess.run(["g++", "-dumpversion"], capture_output=True, text=True).stdout.split(".")[0])
tested = int(re.search(r"MX_GCC_WITHOUT_WARNINGS (\d+)",
                       (pathlib.Path(source) / "simulator/cmake/MXBuild.cmake").read_text())[1])


def treats_warnings_as_errors(name, *options):
    subprocess.run([cmake, "--preset", "gcc", "-B", work / name, "-DMX_RUNTIME_ONLY=ON",
                    f"-DCMAKE_MAKE_PROGRAM={ninja}", *options],
                   cwd=source, check=True, capture_output=True)
    commands = json.loads((work / name / "compile_commands.json").read_text())
    found = {"-Werror" in entry["command"].split() for entry in commands}
    assert len(found) == 1, (name, found)
    return found.pop()


assert treats_warnings_as_errors("tested") == (major == tested)
assert treats_warnings_as_errors("on", "-DMX_ENABLE_WERROR=ON")
assert not treats_warnings_as_errors("off", "-DMX_ENABLE_WERROR=OFF")
assert not treats_warnings_as_errors("sanitized", "-DMX_SANITIZE=address")
