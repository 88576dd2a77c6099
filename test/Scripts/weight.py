"""Checks the repository against the table of scripts/check-weight, and the report of each kind of excess.

RUN: %python %s %mx_src %t
"""

import pathlib
import shutil
import subprocess
import sys

source, work = map(pathlib.Path, sys.argv[1:])
script = source / "scripts/check-weight"
shutil.rmtree(work, ignore_errors=True)
root = work / "repository"
table = root / "test/Scripts/weight.txt"
table.parent.mkdir(parents=True)
HEAD = "# Why.\n"
TABLE = HEAD + "4 lines code: lib tools\n3 words pages: docs\n4 lines rest: .\n1 files large files: .\n"


def git(*words):
    subprocess.run(["git", "-C", root, *words], check=True, capture_output=True)


def write(name, data):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    git("add", name)


def check(*words, root=root):
    done = subprocess.run([sys.executable, script, *words, root], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def exceeds(message):
    status, said, error = check()
    assert status == 1 and error == (f"error: {message}: remove as many, or raise the number in test/Scripts/weight.txt "
                                     "in the same commit and say why in its message\n"), (status, said, error)


status, said, error = check(root=source)
print(said)
assert status == 0 and not error, error

# Files of each kind, untracked files and binary files stay within the limits.
git("init", "-q")
write("test/Scripts/weight.txt", TABLE)
write("lib/A/a.cpp", "1\n2\n")
write("tools/a.cpp", "1\n2\n")
write("docs/a.md", "one two\nthree\n")
write("lib/binary.npy", b"\0\n\n\n\n\n")
write("library/large.json", b"x" * (65 << 10))
write("simulator/test/large.json", b"x" * (65 << 10))
(root / "lib/unknown.cpp").write_text("1\n")
status, said, error = check()
assert status == 1 and "rest: expected at most 4 lines, found 5" in error, (said, error)
table.write_text(TABLE.replace("4 lines rest", "5 lines rest"))
status, said, error = check()
assert status == 0 and not error and "      4 of       4 lines  code\n" in said, (said, error)

# Exceed the limit of each unit, and the limit of files in a component, in any folder.
write("lib/B/b.cpp", "1\n")
exceeds("code: expected at most 4 lines, found 5")
git("rm", "-qf", "lib/B/b.cpp")
write("docs/b.md", "four\n")
exceeds("pages: expected at most 3 words, found 4")
git("rm", "-qf", "docs/b.md")
write("docs/b.png", b"\0" * (65 << 10))
exceeds("large files: expected at most 1 files above 64 KiB, found 2")
git("rm", "-qf", "docs/b.png")

# --update only lowers limits; limits of lines become multiples of 500.
table.write_text(HEAD + "900 lines code: lib tools\n501 words pages: docs\n4 lines rest: .\n7 files large files: .\n")
status, said, error = check("--update")
assert status == 1 and "rest: expected at most 4 lines, found 5" in error, error
assert table.read_text() == HEAD + "500 lines code: lib tools\n500 words pages: docs\n4 lines rest: .\n1 files large files: .\n"

# The table is invalid or missing, or the checkout is an export.
table.write_text(TABLE + "5 pages docs\n")
assert check() == (2, "", f"check-weight: error: {table}:6: expected 'NUMBER UNIT NAME: PATH...', found '5 pages docs'\n")
export = work / "export"
shutil.copytree(root, export, ignore=shutil.ignore_patterns(".git"))
assert check(root=export) == (0, f"skipped: {export} is not a clone, so git lists no files\n", "")
(export / "test/Scripts/weight.txt").unlink()
assert check(root=export)[0] == 2
