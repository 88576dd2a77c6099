#!/usr/bin/env python3
"""Checks that every constraint on the specification pages has a verifier and a negative test.

PAGES lists the pages: docs/reference/Spec.md for mx; docs/reference/KernelSpec.md and KernelOperations.md for mxgpu and
mxbar. Each constraint `C<n>` of a section with the heading `<name>` needs the comment `// <name> C<n>` at its check,
and a case that expects an error:

- for mx in a function `@<name>_c<n>` or `@<name>_c<n>_<what>`;
- for mxgpu and mxbar below a line `// <name> C<n>`.

A comment or test for a constraint that the page does not contain is an error. After an error, the script lists missing
and superfluous constraints and exits with status 1.
"""

import argparse
import dataclasses
import pathlib
import re
import sys
from collections.abc import Callable


def spec_constraints(text):
    """Returns the constraints of each section. A heading with several words does not begin a section."""
    found, section = [], None
    for line in text.splitlines():
        if match := re.fullmatch(r"#{2,3} (\w+)", line):
            section = match[1]
        elif match := re.match(r"\| C(\d+) \|", line):
            found.append((section, int(match[1])))
    return found


def checks(text):
    return {(name, int(number)) for name, number in re.findall(r"// (\w+) C(\d+)\b", text)}


def functions(text):
    """Returns the constraints for which a case, a section or a paragraph, expects an error."""
    found = set()
    for case in re.split(r"^(?:// -----)?$", text, flags=re.M):
        if "expected-error" not in case:
            continue
        for name, number in re.findall(r"@(\w+?)_c(\d+)(?:_\w+)?\(", case):
            found.add((name, int(number)))
    return found


def comments(text):
    """Returns the constraints that a comment above an expected error names."""
    lines = re.findall(r"^ *// (\w+) C(\d+)\n *// expected-error", text, flags=re.M)
    return {(name, int(number)) for name, number in lines}


@dataclasses.dataclass
class Pages:
    specs: tuple[str, ...]
    sources: tuple[str, ...]
    tests: str
    tested: Callable[[str], set]  # returns the constraints tested by a file


PAGES = [
    Pages(("docs/reference/Spec.md",), ("lib/Dialect/MX/IR/*.cpp", "lib/Dialect/MX/Transforms/Groups/*.cpp",
                                         "lib/Dialect/Shared/*.cpp"),
          "test/Dialect/MX/IR/*-invalid.mlir", functions),
    Pages(("docs/reference/KernelSpec.md", "docs/reference/KernelOperations.md"),
          ("lib/Dialect/MXGPU/**/*.cpp", "lib/Dialect/MXGPU/**/*.h", "include/mx/Dialect/MXGPU/IR/*.td",
           "lib/Dialect/MXBar/**/*.cpp"),
          "test/Dialect/MX[GB]*/**/*.mlir", comments),
]


def named(pages):
    return " and ".join(pages.specs)


def check(pages, root):
    """Returns the number of constraints, and the errors."""
    def collect(read, *patterns):
        paths = [path for pattern in patterns for path in sorted(root.glob(pattern))]
        return set().union(*(read(path.read_text()) for path in paths))

    listed = [each for spec in pages.specs for each in spec_constraints((root / spec).read_text())]
    spec = set(listed)
    problems = [f"{n} C{i}: twice in {named(pages)}" for n, i in sorted(spec) if listed.count((n, i)) > 1]
    for what, there in (("check", collect(checks, *pages.sources)),
                        ("negative test", collect(pages.tested, pages.tests))):
        problems += [f"{n} C{i}: no {what}" for n, i in sorted(spec - there)]
        problems += [f"{n} C{i}: {what} without specification" for n, i in sorted(there - spec)]
    if not spec:
        problems.append(f"{named(pages)}: expected constraints, found none")
    return len(spec), problems


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path("."))
    root = parser.parse_args().root
    try:
        results = [(pages, *check(pages, root)) for pages in PAGES]
    except OSError as error:
        sys.exit(f"error: {error}")
    for pages, count, problems in results:
        for problem in problems:
            print(problem, file=sys.stderr)
        if not problems:
            print(f"{named(pages)}: {count} constraints specified, checked and tested")
    return 1 if any(problems for _, _, problems in results) else 0


if __name__ == "__main__":
    sys.exit(main())
