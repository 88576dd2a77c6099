#!/usr/bin/env python3
"""Checks that a wheel runs on other machines: the size, dependences on the C library and
other libraries, and exported names.

    scripts/check_wheel.py WHEEL.whl

Needs auditwheel. On failure, prints a line for each reason and exits with status 1."""

import argparse
import io
import json
import os
import re
import subprocess
import sys
import zipfile

from elftools.elf.elffile import ELFFile

# Maximum size in megabytes, keyed by the prefix of the wheel's name.
SIZES = {"mx_compiler_runtime-": 3, "mx_compiler-": 40}
# C library and processor in a wheel's name.
TAG = re.compile(r"manylinux_2_(?P<minor>\d+)_(?P<machine>\w+)\.whl")
# Available on every machine; libmx and libmx_runtime are in the wheel.
NEEDED = re.compile(r"libc\.so\.6|libm\.so\.6|libgcc_s\.so\.1|lib(pthread\.so\.0|dl\.so\.2)|ld-linux.*|libmx(_runtime)?\.so")
# Exports: the C interfaces, main functions of tools, and Python's entry point of an extension.
SHOWN = re.compile(r"(mx|mgpu|mxc(?!Register))[A-Z]\w*|PyInit_mx_calls")


def check_size(path):
    name = os.path.basename(path)
    limit = next(size for start, size in SIZES.items() if name.startswith(start))
    size = os.path.getsize(path) / 1e6
    print(f"{name}: {size:.1f} MB")
    if size > limit:
        yield f"expected at most {limit} MB, found {size:.1f}"


def check_platform(path):
    """Compares the tag in the name with the result of auditwheel."""
    done = subprocess.run([sys.executable, "-m", "auditwheel", "show", "--json", path],
                          capture_output=True, text=True)
    if done.returncode:
        yield f"auditwheel: {done.stderr.strip()}"
        return
    found = json.loads(done.stdout)
    claimed = TAG.search(path)
    allowed = TAG.fullmatch(found["overall_tag"] + ".whl")
    print(f"{claimed[0]}: the files need {found['overall_tag']}")
    if not allowed or allowed["machine"] != claimed["machine"] or \
            int(allowed["minor"]) > int(claimed["minor"]):
        yield f"expected files that run with {claimed[0]}, found {found['overall_tag']}"
    for library in found["external_libs"]:
        yield f"expected no library from elsewhere, found {library}"


def check_elf(name, file):
    elf = ELFFile(io.BytesIO(file))
    for tag in elf.get_section_by_name(".dynamic").iter_tags():
        if tag.entry.d_tag == "DT_NEEDED" and not NEEDED.fullmatch(tag.needed):
            yield f"{name}: expected a dependence on the C library only, found {tag.needed}"
        if tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH"):
            path = getattr(tag, "runpath", None) or getattr(tag, "rpath", None)
            if path != "$ORIGIN/..":
                yield f"{name}: expected the run path $ORIGIN/.., found {path}"
    if elf.get_section_by_name(".symtab"):
        yield f"{name}: expected a stripped file, found symbols"
    if not name.endswith(".so"):
        return
    shown = [symbol.name for symbol in elf.get_section_by_name(".dynsym").iter_symbols()
             if symbol.name and symbol.entry.st_shndx != "SHN_UNDEF"]
    for symbol in shown:
        if not SHOWN.fullmatch(symbol):
            yield f"{name}: expected exports of the C interfaces only, found {symbol}"
    if not shown:
        yield f"{name}: expected exports of the C interfaces, found none"


def check(path):
    yield from check_size(path)
    yield from check_platform(path)
    with zipfile.ZipFile(path) as archive:
        found = 0
        for name in archive.namelist():
            file = archive.read(name)
            if file.startswith(b"\x7fELF"):
                found += 1
                yield from check_elf(name, file)
    if not found:
        yield "expected a library, found none"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    path = parser.parse_args().wheel
    reasons = list(check(path))
    for reason in reasons:
        print(f"error: {os.path.basename(path)}: {reason}", file=sys.stderr)
    return bool(reasons)


if __name__ == "__main__":
    sys.exit(main())
