"""The first run in README.md prints the findings that README.md shows, and a barrier removes them.

RUN: rm -rf %t && mkdir %t && cd %t && %python %s %sim_source/README.md
REQUIRES: cuda-library
"""

import pathlib
import re
import subprocess
import sys


def output_of(command):
    done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    # Line numbers and folders depend on the version of nvcc.
    text = re.sub(r"(\.ptx:|line )\d+", r"\1N", done.stdout)
    return done.returncode, re.sub(r"[\w./-]*/(?=halves\.cu)", "", text).strip()


page = pathlib.Path(sys.argv[1]).read_text()
blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.M | re.S)
source, = (text for language, text in blocks if language == "cuda")
build, = (text for language, text in blocks if language == "sh" and "nvcc" in text)
printed, = (text for language, text in blocks if language == "text")
command, _, printed = printed.removeprefix("$ ").partition("\n")

pathlib.Path("halves.cu").write_text(source)
subprocess.run(["sh", "-ec", build], check=True)
wanted = re.sub(r"(\.ptx:|line )\d+", r"\1N", printed).strip()
if output_of(command) != (1, wanted):
    sys.exit(f"expected\n{wanted}\nfound\n{output_of(command)}")

lines = source.splitlines()
pathlib.Path("halves.cu").write_text("\n".join([*lines[:5], "  __syncthreads();", *lines[5:]]))
subprocess.run(["sh", "-ec", build], check=True)
clean = "mx-sim: ./halves: 1 launch, clean"
if output_of(command) != (0, f"32 222\n{clean}") or clean not in page or "32 222" not in page:
    sys.exit(f"expected 32 222 and '{clean}', found {output_of(command)}")
