"""Checks that scripts/check_wheel.py reports faults that make a wheel useless on other machines.

REQUIRES: wheel, wheel-runtime, numpy
RUN: rm -rf %t && mkdir %t
RUN: %python %s %mx_src %mx_obj %t
"""

import pathlib
import subprocess
import sys
import zipfile

sources, build, work = map(pathlib.Path, sys.argv[1:])
RUNTIME = "mx_compiler_runtime-0.1.0-py3-none-manylinux_2_28_x86_64.whl"
GOOD = build / "wheels/wheel-runtime/mx_compiler/libmx_runtime.so"


def check(name, library, stored=False):
    """Returns the output of the script for a wheel with one library."""
    wheel = work / name
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as file:
        file.write(library, "mx_compiler/libmx_runtime.so")
        file.writestr("mx-0.dist-info/RECORD", "mx_compiler/libmx_runtime.so,,\n")
        file.writestr("mx-0.dist-info/WHEEL", "Root-Is-Purelib: false\nTag: " + "-".join(
            name.removesuffix(".whl").split("-")[2:]) + "\n")
    done = subprocess.run([sys.executable, sources / "scripts/check_wheel.py", wheel],
                          capture_output=True, text=True)
    assert (done.returncode == 0) == (not done.stderr), done
    return done.stderr


assert check(RUNTIME, GOOD) == ""
assert "expected at most 3 MB, found " in check(RUNTIME, GOOD, stored=True)
assert "expected files that run with manylinux_2_5_x86_64" in check(RUNTIME.replace("28", "5"), GOOD)
# The build's own library links to the C++ library and exports its symbols.
ordinary = check(RUNTIME, build / "lib/libmx_runtime.so")
assert "expected a dependence on the C library only, found libstdc++.so.6" in ordinary
assert "expected a stripped file" in ordinary
# A program may link to more and export more.
assert "expected exports of the C interfaces only, found _Z" in check(
    RUNTIME, build / "lib/MXPlugin.so")
