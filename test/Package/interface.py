"""Checks the C interface that the package parses from the headers: all functions are present, and structs and constants
match a compiler's.

RUN: %python %s %cxx %mx_src %t
"""

import ctypes
import re
import subprocess
import sys

from mx_compiler._compile.compiler_library import interface
from mx_compiler._runtime.library import INTERFACE as RUNTIME

compiler, source, work = sys.argv[1:]
HEADERS = {RUNTIME: ("runtime/include/", "mx_runtime.h", "mx_group.h", "mx_program.h"),
           interface(): ("include/", "mx-c/Compiler.h")}
for declared_in, (folder, *headers) in HEADERS.items():
    text = "".join(open(f"{source}/{folder}{header}", encoding="utf-8").read() for header in headers)
    declared = re.findall(r"^MXC?_API [\w ]+?[ *]*(\w+)\(", text, re.M)
    assert set(declared) - set(declared_in.functions) <= {"mxReportError"}, declared
    assert len(declared) > 20
    code, wanted = "".join(f'#include "{header}"\n' for header in headers), 0
    for name, found in vars(declared_in).items():
        if isinstance(found, int):
            code += f"static_assert({name} == {found});\n"
        elif isinstance(found, type) and issubclass(found, ctypes.Structure):
            wanted += 1
            code += f"static_assert(sizeof({name}) == {ctypes.sizeof(found)});\n"
            for field, _ in found._fields_:
                place = getattr(found, field)
                spelled = re.sub(r"_(\w)", lambda letter: letter[1].upper(), field)
                code += (f"static_assert(offsetof({name}, {spelled}) == {place.offset} && "
                         f"sizeof({name}::{spelled}) == {place.size});\n")
    assert wanted == len(re.findall(r"^typedef struct \w+ \{", text, re.M)) > 4
    with open(f"{work}.cpp", "w", encoding="utf-8") as file:
        file.write(code)
    subprocess.run([compiler, "-std=c++17", "-fsyntax-only", f"-I{source}/{folder}", f"{work}.cpp"],
                   check=True)
