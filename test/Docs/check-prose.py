"""Checks scripts/check-prose: rates of weak constructions stay within limits that may only be lowered, replaced
terms are found in every kind of file, and pages are wrapped.

RUN: %python %s %mx_src %t
"""

import pathlib
import shutil
import subprocess
import sys

source, work = map(pathlib.Path, sys.argv[1:])
LIMITS = "test/Docs/prose-rates.txt"


def check(root, *options):
    done = subprocess.run([sys.executable, source / "scripts/check-prose", "--root", root, *options],
                          capture_output=True, text=True)
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done
    return done


done = check(source)
assert done.returncode == 0 and not done.stderr, done.stderr
assert int(done.stdout.split()[0]) > 1500, done.stdout

# A separate tree with a history.
shutil.rmtree(work, ignore_errors=True)
(work / "test/Docs").mkdir(parents=True)


def git(*words):
    subprocess.run(["git", "-C", work, "-c", "user.name=t", "-c", "user.email=t@example.org",
                    *words], check=True, capture_output=True)


def put(path, text):
    (work / path).parent.mkdir(parents=True, exist_ok=True)
    (work / path).write_text(text)


def finds(path, text, message):
    """Checks that a new file with `text` fails with `message`."""
    put(path, text)
    done = check(work)
    assert done.returncode == 1 and message in done.stderr, (path, text, done)
    (work / path).unlink()


def passes(path, text):
    put(path, text)
    done = check(work)
    assert done.returncode == 0, done.stderr
    (work / path).unlink()


# A page wraps text at 120 columns, but not code, tables, links and comments.
WIDE = "word " * 25
finds("docs/A.md", f"# A\n\n{WIDE}\n", "docs/A.md:3: expected at most 120 columns, found 125")
for text in f"```\n{WIDE}\n```\n", f"| {WIDE} |\n", f"[{WIDE}](b.md)\n", f"<!-- {WIDE} -->\n":
    passes("docs/A.md", text)

# Terms are reported with file and line.
finds("lib/Conversion/A.cpp", "Value unit = next();\n", "lib/Conversion/A.cpp:1: 'unit'")
finds("include/mx/A.td", "let summary = [{ the sums of wgmma }];\n", "include/mx/A.td:1: 'sums'")
finds("runtime/lib/A.cpp", "\n// kept\n// calls\n", "runtime/lib/A.cpp:2: 'kept calls'")
finds("docs/B.md", "fake-quantized numbers on the grid.\n", "docs/B.md:1: 'numbers on the grid'")
passes("lib/Conversion/A.cpp", "// A unit attribute, a unit stride, sums of rows.\n")
passes("simulator/lib/A.cpp", "unsigned unit = 0; // of a multiprocessor\n")

# Constructions are counted in each kind of comment; code is ignored.
ABOVE = "expected at most 0 of '{}' per 1000 words, found"
finds("docs/A.md", "Read what follows.\n", "pages: " + ABOVE.format("what"))
finds("lib/A.cpp", "// The role, whose warps wait.\n", "compiler: " + ABOVE.format("whose"))
finds("include/mx/A.td", "let description = [{ It waits. }];\n", "compiler: " + ABOVE.format("it"))
finds("runtime/lib/A.c", "// The one.\n", "runtime: " + ABOVE.format("one"))
finds("python/mx_compiler/a.py", '"""Returns the rows\nwhich remain."""\n', "python: " + ABOVE.format("which"))
finds("scripts/a", "# the file that remains\n", "scripts: " + ABOVE.format("that"))
finds("test/A.mlir", "// A stage has two buffers.\n", "tests: " + ABOVE.format("has"))
finds("simulator/lib/A.h", "/// Of the warp.\nint a;\n", "simulator: expected at most 0 of 'openings' per 100 doc")
passes("docs/A.md", "Run `what it has`.\n\n```sh\necho which one\n```\n")
passes("lib/A.cpp", "int it = what(one);\n/// Returns the rows.\n")
passes("test/A.mlir", "// CHECK: what it has\n")

# Limits may be lowered but not raised.
put("docs/A.md", "It reads rows of a tile, and it stores columns.\n")
put(LIMITS, "pages it 250\n")
assert check(work).returncode == 0
git("init", "-q")
git("add", ".")
git("commit", "-qm", "first")
assert "docs/A.md: 10 words, it 200.0" in check(work, "--list").stdout
assert "expected a file" in subprocess.run(
    [sys.executable, source / "scripts/check-prose", "--root", work, "--list", "none"],
    capture_output=True, text=True).stderr
check(work, "--lower")
assert "pages it 200.0\n" in (work / LIMITS).read_text()
assert check(work).returncode == 0
git("commit", "-qam", "second")
put("docs/A.md", "It reads it.\n")
check(work, "--lower")
done = check(work)
assert done.returncode == 1 and "pages: expected at most 200.0 of 'it'" in done.stderr, "--lower must not raise a limit"
put(LIMITS, "pages it 700\n")
done = check(work)
assert done.returncode == 1 and "expected at most 200.0 for pages it, as in commit" in done.stderr, done
git("commit", "-qam", "third")
assert "in commit" in check(work).stderr, "a commit must not hide a raised limit"
