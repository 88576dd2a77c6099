"""Checks properties of PTX that FileCheck patterns cannot express.

usage: check_ptx.py FILE.ptx

- No kernel uses local memory.
- Between a tcgen05.ld and the next tcgen05.wait::ld, no instruction uses a
  register written by the load (PTX ISA, tcgen05.wait). Branches in between are
  rejected, so text order is execution order.

With --ptxas PTXAS.log, each kernel must use 0 bytes for stack and spills.
"""

import re
import sys


def check_loads(lines):
    loads = 0
    pending = {}
    for number, line in lines:
        registers = set(re.findall(r"%[a-z]+\d+", line))
        if line.startswith("tcgen05.wait::ld"):
            pending = {}
        elif line.startswith("tcgen05.ld"):
            filled, address = re.fullmatch(r"tcgen05\.ld\S*\s+(\{[^}]*\}|%\w+), (\[.*\]);", line).groups()
            for register in set(re.findall(r"%[a-z]+\d+", address)) & pending.keys():
                sys.exit(f"{number}: {register} is used before the wait for line {pending[register]}")
            filled = re.findall(r"%[a-z]+\d+", filled)
            if not filled:
                sys.exit(f"{number}: expected destination registers, found: {line}")
            pending.update({register: number for register in filled})
            loads += 1
        elif pending:
            for register in registers & pending.keys():
                sys.exit(f"{number}: {register} is used before the wait for line {pending[register]}")
            if re.match(r"(@\S+\s+)?(bra|brx|ret|exit|call)\b", line) or line.endswith(":"):
                sys.exit(f"{number}: expected tcgen05.wait::ld before a branch, found: {line}")
    if pending:
        sys.exit(f"expected a tcgen05.wait::ld after line {min(pending.values())}, found none")
    return loads


def statements(text):
    """Yields (line, text) for each statement; statements may span lines."""
    statement, start = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        line = line.split("//")[0].strip()
        if not line:
            continue
        if not statement:
            start = number
        statement = (statement + " " + line).strip()
        if statement.endswith((";", ":", "{", "}", ")")) or statement.startswith("."):
            yield start, re.sub(r"\s+", " ", statement)
            statement = ""


def check_usage(log, kernels):
    found = 0
    for stack, stores, loads in re.findall(
        r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", log
    ):
        if (stack, stores, loads) != ("0", "0", "0"):
            sys.exit(f"expected no stack and no spills, found {stack}, {stores} and {loads} bytes")
        found += 1
    if found != kernels:
        sys.exit(f"expected ptxas to report {kernels} kernels, found {found}")


text = open(sys.argv[1]).read()
for pattern in (r"\.local\b", r"\bld\.local", r"\bst\.local"):
    if re.search(pattern, text):
        sys.exit(f"expected no local memory, found {re.search(pattern, text)[0]}")
loads = check_loads(statements(text))
kernels = len(re.findall(r"\.entry\b", text))
if len(sys.argv) > 2:
    check_usage(open(sys.argv[3]).read(), kernels)
print(f"{kernels} kernels, {loads} loads from tensor memory")
