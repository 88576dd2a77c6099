"""Files that a pass runs through, of a program whose lines can be counted by hand: it
takes the options of mx-opt, and does less.

RUN: %python %s %mx_src/scripts/count-files %t
REQUIRES: numpy
"""

import pathlib
import shutil
import subprocess
import sys

script, work = map(pathlib.Path, sys.argv[1:])
shutil.rmtree(work, ignore_errors=True)

FILES = {
    # Reads and prints: two of its lines run in the pass alone.
    "lib/Dialect/Ops.h": """
inline int verify(int kind) {
  if (kind == 1)
    return 1;
  return 2;
}
inline int build(int kind) {
  return kind + 1;
}
""",
    "lib/Conversion/Pass.cpp": """
#include "../Dialect/Ops.h"
int convert(int kind) {
  if (kind != 1)
    return kind;
  return build(kind);
}
""",
    "lib/Conversion/Other.cpp": """
int other(int kind) {
  return kind;
}
""",
    # Not of lib/ or include/mx.
    "tools/main.cpp": """
#include "../lib/Dialect/Ops.h"
#include <cstdio>
#include <cstring>
int convert(int), other(int);
int main(int argc, char **argv) {
  std::FILE *file = std::fopen(argv[1], "r");
  int kind = 0;
  if (!file || std::fscanf(file, "%d", &kind) != 1)
    return std::fprintf(stderr, "%s: expected a kind\\n", argv[1]), 2;
  for (int i = 2; i < argc; ++i)
    if (std::strstr(argv[i], "--mlir-print-ir-before=convert"))
      std::fprintf(stderr, "// -----// IR Dump Before X (convert) //----- //\\n%d\\n", kind);
    else if (std::strstr(argv[i], "--convert=chip=sm_100a"))
      kind = convert(kind);
  if (argc > 20)
    kind = other(kind);
  verify(kind);
  std::printf("%d\\n", kind);
}
""",
}
for name, text in FILES.items():
    (work / name).parent.mkdir(parents=True, exist_ok=True)
    (work / name).write_text(text.lstrip("\n"))
(work / "build/bin").mkdir(parents=True)
(work / "one").write_text("1\n")
sources = [str(work / name) for name in FILES if name.endswith(".cpp")]


def build(*flags):
    # As CMake does: objects are in the build folder, and so are their counters.
    for source in sources:
        subprocess.run(["g++", *flags, "-c", source], cwd=work / "build", check=True)
    objects = [pathlib.Path(source).stem + ".o" for source in sources]
    subprocess.run(["g++", *flags, *objects, "-o", "bin/mx-opt"], cwd=work / "build", check=True)


def count(*arguments):
    command = [sys.executable, str(script), str(work / "build"), "--pass=convert=chip=sm_100a", f"--source={work}"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


build("-O0", "--coverage")
status, out, err = count("--lines", str(work / "one"))
expected = """    3 lib/Conversion/Pass.cpp
      2 3 5
    2 lib/Dialect/Ops.h
      6 7
5 lines of 2 files, 1 of lib/Conversion
"""
assert (status, out) == (0, expected), (status, out, err)

# What cannot be counted is an error.
status, out, err = count(str(work / "none"))
assert status == 1 and "none: expected a kind" in err, (status, err)
status, out, err = count("--pass=other", str(work / "one"))
assert status == 1 and "to run other once, found 0 runs" in err, (status, err)
build("-O0")
status, out, err = count(str(work / "one"))
assert status == 1 and "build it with --coverage" in err, (status, err)
