#!/usr/bin/env python3
"""Compare docs/Spec.md with the verifiers and their negative tests.

Each constraint `C<n>` of a section `## <name>` needs the comment
`// <name> C<n>` beside its check in lib/Dialect/MX/IR and a function
`@<name>_c<n>` (or `@<name>_c<n>_<what>`) in test/Dialect/MX/IR/invalid.mlir
that expects an error; neither may name a constraint that the specification
lacks. Exits 1 and lists what is missing or too much.
"""

import argparse
import pathlib
import re
import sys


def spec_constraints(text):
    found, section = set(), None
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:].strip()
        elif match := re.match(r"\| C(\d+) \|", line):
            found.add((section, int(match[1])))
    return found


def checks(sources):
    return {
        (name, int(number))
        for source in sources
        for name, number in re.findall(r"// (\w+) C(\d+)\b", source)
    }


def tests(text):
    """Constraints with a case that expects an error; cases are split."""
    found = set()
    for case in re.split(r"^// -----$", text, flags=re.M):
        if "expected-error" not in case:
            continue
        for name, number in re.findall(r"@(\w+?)_c(\d+)(?:_\w+)?\(", case):
            found.add((name, int(number)))
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path("."))
    root = parser.parse_args().root
    try:
        spec = spec_constraints((root / "docs/Spec.md").read_text())
        code = checks(p.read_text() for p in sorted((root / "lib/Dialect/MX/IR").glob("*.cpp")))
        negative = tests((root / "test/Dialect/MX/IR/invalid.mlir").read_text())
    except OSError as error:
        sys.exit(f"error: {error}")
    problems = []
    for what, there in (("check", code), ("negative test", negative)):
        problems += [f"{n} C{i}: no {what}" for n, i in sorted(spec - there)]
        problems += [f"{n} C{i}: {what} without specification" for n, i in sorted(there - spec)]
    if not spec:
        problems.append("docs/Spec.md: expected constraints, found none")
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"{len(spec)} constraints specified, checked and tested")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
