"""Compares the functions that the libraries export with the export lists and the headers. A new function must be added
to all three.

RUN: %python %s %mx_src %mx_capi %mx_libs/libmx_runtime%shlibext
REQUIRES: compiler
"""

import pathlib
import re
import subprocess
import sys

source, capi, runtime = map(pathlib.Path, sys.argv[1:])


def declared(*headers):
    names = set()
    for header in headers:
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", (source / header).read_text(), flags=re.DOTALL)
        names |= set(re.findall(r"\b((?:mxc?[A-Z]|mgpu)\w+)\s*\((?!\*)", text))
        names |= {f"mlirGetDialectHandle__{name}__" for name in re.findall(
            r"MLIR_DECLARE_CAPI_DIALECT_REGISTRATION\(\w+, (\w+)\)", text)}
    # These C++ templates are not exported.
    return names - {"mxSized", "mxcSized"}


def exported(library, pattern):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    names = {line.split()[2].partition("@")[0] for line in lines}
    return {name for name in names if re.match(pattern, name)}


def listed(path, pattern):
    return set(re.findall(pattern, (source / path).read_text(), flags=re.MULTILINE))


wrong = 0
for library, pattern, names, headers in (
        (runtime, "", listed("runtime/mx_runtime.map", r"^ +(m\w+);$"), declared(
            "runtime/include/mx_runtime.h", "runtime/include/mx_program.h", "runtime/include/mx_group.h",
            "unittests/Runtime/Mgpu.h")),
        (capi, "mxc|mlirGetDialectHandle__mx", listed("lib/CAPI/exports.txt", r"^(\w+)$"), declared(
            "include/mx-c/Compiler.h", "include/mx-c/Registration.h"))):
    found = exported(library, pattern)
    print(f"{library.name}: {len(found)} functions, {len(names)} listed, {len(headers)} declared")
    assert len(names) > 25, names
    for what, one, other in (("exported and not listed", found, names), ("listed and not exported", names, found),
                             ("declared and not listed", headers, names), ("listed and not declared", names, headers)):
        for name in sorted(one - other):
            print(f"wrong: {name} is {what}")
            wrong += 1
assert not wrong
