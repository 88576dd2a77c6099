"""Every file that a comment, a .td file or a page names exists.

A name is a path from the root, or from simulator/ in the files there. COMMIT:PATH names a file of an
older commit, and words in capitals stand for others.

RUN: %python %s %mx_src
"""

import pathlib
import re
import sys

TOP = ("benchmarks", "cmake", "docs", "examples", "include", "lib", "python", "runtime", "scripts", "simulator",
       "test", "tools", "unittests")
SUFFIXES = {".c", ".cmake", ".cpp", ".cu", ".def", ".h", ".md", ".mlir", ".ptx", ".td", ".test"}
PATH = re.compile(r"(?<![\w/.:%${}<*-])((?:" + "|".join(TOP) + r")/[\w./+-]*\w\.\w+)\b(?![/*])")
LEFT_OUT = re.compile(r"CHANGELOG\.md$|test/Frozen/\d|/Golden/|(^|/)(build|\.)[^/]*/")
OF_OTHERS = {"python/matmul.py"}  # a test of LLVM


def wrong(root, path):
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(root).as_posix()
    for match in PATH.finditer(text):
        found = match[1]
        stem = re.split(r"[/._-]", found)
        if found in OF_OTHERS or any(word.isupper() and len(word) > 2 and word != "README" for word in stem):
            continue
        bases = [root, *([root / "simulator"] if name.startswith("simulator/") else [])]
        if not any((base / found).exists() for base in bases):
            yield f"{name}:{text.count(chr(10), 0, match.start()) + 1}: expected a file, found {found}"


def main():
    root = pathlib.Path(sys.argv[1])
    paths = [path for top in TOP for path in sorted((root / top).rglob("*"))]
    paths += sorted(root.glob("*.md"))
    errors, checked = [], 0
    for path in paths:
        if path.suffix in SUFFIXES and path.is_file() and not LEFT_OUT.search(path.relative_to(root).as_posix()):
            checked += 1
            errors += wrong(root, path)
    assert checked > 1000, checked
    sys.exit("\n".join(errors) or 0)


main()
