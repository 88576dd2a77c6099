"""Runs rename-ir on unreadable files and invalid tables: it ends with status 2 and a message, without output.

RUN: %python %s %mx_src/scripts/rename-ir %S/Inputs/rename-ir %t
"""

import pathlib
import shutil
import subprocess
import sys

script, inputs, work = map(pathlib.Path, sys.argv[1:])
shutil.rmtree(work, ignore_errors=True)
(work / "empty").mkdir(parents=True)
old = (inputs / "old.mlir").read_bytes()
(work / "a.mlir").write_bytes(old)
(work / "bytes.mlir").write_bytes(b"zoo.fetch \xff")
(work / "text.txt").write_bytes(b"zoo.fetch")
table = (inputs / "table.md").read_text()


def expect(message, *paths, text=table):
    (work / "table.md").write_text(text)
    for options in [], ["--check"]:
        command = [sys.executable, script, "--table", work / "table.md", *options, work / "a.mlir", *paths]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 2 and not done.stdout, done
        assert done.stderr == f"error: {message}\n", done.stderr
        assert (work / "a.mlir").read_bytes() == old


def expect_row(message, row):
    line = table.index("| | op | `zoo.later`")
    expect(f"{work}/table.md:{table[:line].count(chr(10)) + 1}: {message}", text=table[:line] + row + "\n" + table[line:])


expect(f"{work}/none.mlir: cannot be read: No such file or directory", work / "none.mlir")
expect(f"{work}/bytes.mlir: expected a text file in UTF-8", work / "bytes.mlir")
expect(f"{work}/text.txt: expected a .mlir file or a folder", work / "text.txt")
expect(f"{work}/empty: expected a folder with .mlir files, found none", work / "empty")
expect(f"{work}/table.md: expected a table with the columns done, kind, old, new, where it is used", text="no table")
expect_row("expected 5 cells, found 4", "| yes | op | `a` | `b` |")
expect_row("expected 'yes' or nothing under 'done', found 'soon'", "| soon | op | `a` | `b` | |")
expect_row("expected one of C++, Python, attribute, kernel, layout, name, op, option, pass, type, found 'ops'", "| | ops | `a` | `b` | |")
expect_row("expected where 'a' is used, in backticks", "| yes | attribute | `a` | `b` | zoo.load |")
expect_row("expected two names, found 'a' and 'a'", "| yes | op | `a` | `a` | |")
expect_row("'zoo.fetch' is in line 5 too", "| | op | `zoo.fetch` | `zoo.get` | |")

done = subprocess.run([sys.executable, script, "--table", work / "none.md", work / "a.mlir"], capture_output=True, text=True)
assert done.returncode == 2 and "none.md: cannot be read" in done.stderr, done
done = subprocess.run([sys.executable, script], capture_output=True, text=True)
assert done.returncode == 2 and "FILE" in done.stderr, done
