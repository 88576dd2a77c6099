"""Runs the commands of docs/design/Lowering.md verbatim and in order. The output of each command must contain the lines
of the excerpt below the command in the same order; SSA value numbers are ignored.

REQUIRES: compiler
RUN: rm -rf %t && mkdir -p %t && ln -s %examples %t/examples
RUN: cd %t && %python %s %mx_src/docs/design/Lowering.md
"""

import re
import subprocess
import sys

page = open(sys.argv[1]).read()
blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.M | re.S)
if len(blocks) < 20 or len(blocks) % 2:
    sys.exit(f"expected commands and an excerpt after each, found {len(blocks)} blocks")


def normal(line):
    line = re.sub(r"%[\w#:]+", "%", line.strip())
    return re.sub(r"\s+", " ", line)


def pattern(line):
    """Returns a regular expression for the line. Three dots match any text."""
    parts = normal(line).split("...")
    return re.compile(".*".join(re.escape(part.strip() if part.isspace() else part) for part in parts) + "$")


for (language, commands), (_, excerpt) in zip(blocks[::2], blocks[1::2]):
    if language != "sh":
        sys.exit(f"expected a command, found a block of '{language}'")
    done = subprocess.run(["sh", "-ec", commands], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{commands}status {done.returncode}\n{done.stderr}")
    written = re.search(r"-o (\S+)\s*$", commands)
    if not written:
        sys.exit(f"expected a command that ends with -o FILE, found\n{commands}")
    lines = iter(map(normal, open(written[1])))
    wanted = [line for line in excerpt.splitlines() if line.strip() != "..."]
    if not wanted:
        sys.exit(f"expected lines in the excerpt of {written[1]}")
    for line in wanted:
        if not any(pattern(line).match(found) for found in lines):
            sys.exit(f"{written[1]}: expected, after the lines before it in the excerpt,\n{line}")
