"""No file of the project has more phrases that are not plain English than its budget, and
the check sees those that are new, in every kind of file, and budgets that rise.

RUN: %python %s %mx_src %t
"""

import pathlib
import shutil
import subprocess
import sys

source, work = map(pathlib.Path, sys.argv[1:])
BUDGET = "test/Docs/prose-budget.txt"


def check(root, *options):
    done = subprocess.run([sys.executable, source / "scripts/check-prose", *options, root],
                          capture_output=True, text=True)
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done
    return done


done = check(source)
assert done.returncode == 0 and not done.stderr, done.stderr
assert int(done.stdout.split()[0]) > 1500, done.stdout

# A tree of its own, with a history.
shutil.rmtree(work, ignore_errors=True)
(work / "test/Docs").mkdir(parents=True)


def git(*words):
    subprocess.run(["git", "-C", work, "-c", "user.name=t", "-c", "user.email=t@example.org",
                    *words], check=True, capture_output=True)


def put(path, text):
    (work / path).parent.mkdir(parents=True, exist_ok=True)
    (work / path).write_text(text)


def finds(path, text, rule, line):
    """A new file with `text` fails, by the name of the rule and the line."""
    put(path, text)
    done = check(work)
    assert done.returncode == 1, (path, text, done)
    assert f"{path}:{line}: '{rule}'" in done.stderr, (rule, done.stderr)
    assert f"{path}: expected at most 0" in done.stderr, done.stderr
    (work / path).unlink()


def passes(path, text):
    put(path, text)
    done = check(work)
    assert done.returncode == 0, done.stderr
    (work / path).unlink()


finds("docs/A.md", "Rows\nbehind the last group.\n", "behind", 2)
finds("README.md", "Nobody reads it.\n", "nobody", 1)
finds("lib/A.cpp", "// Waits for those\n// who multiply.\n", "those who", 1)
finds("include/mx/A.h", "/// What this thread has\n/// of the tile.\n", "what ... has of", 1)
finds("python/mx_compiler/a.py", '"""So\nmany lanes."""\n', "so many", 1)
finds("scripts/a", "# somebody else's\n", "somebody", 1)
finds("lib/Conversion/A.cpp", "Value unit = next();\n", "unit", 1)
finds("include/mx/A.td", "let summary = [{ the sums of wgmma }];\n", "sums", 1)
finds("runtime/lib/A.cpp", "// kept calls\n", "kept calls", 1)
finds("docs/B.md", "bf16 numbers on the grid.\n", "numbers on the grid", 1)
finds("test/A.mlir", "// The stage behind it.\n", "behind", 1)

# The senses that are right.
passes("docs/A.md", "Two devices behind one C interface. The file behind the link. It falls behind.\n")
passes("lib/Conversion/A.cpp", "// A unit attribute, a unit stride, sums of rows.\n")
passes("simulator/lib/A.cpp", "unsigned unit = 0; // of a multiprocessor\n")

# Budgets: lowered, never raised, and a file that moves takes its own along.
text = "".join(f"{i} nobody, a line that is long enough to be known again\n" for i in range(2))
put("docs/A.md", text)
put(BUDGET, "2 docs/A.md\n")
assert check(work).returncode == 0
git("init", "-q")
git("add", ".")
git("commit", "-qm", "first")
put("docs/A.md", "behind, long ago: one of them\n")
done = check(work)
assert done.returncode == 1 and "budget of 2 to fall to 1" in done.stderr, done
check(work, "--lower")
assert (work / BUDGET).read_text().splitlines()[-1] == "1 docs/A.md"
assert check(work).returncode == 0
git("commit", "-qam", "second")
put("docs/A.md", text)
check(work, "--lower")
assert check(work).returncode == 1, "budgets do not rise by --lower"
put(BUDGET, "2 docs/A.md\n")
done = check(work)
assert done.returncode == 1 and "expected at most 1 for docs/A.md" in done.stderr, done
git("commit", "-qam", "third")
assert "in commit" in check(work).stderr, "a commit does not hide it"
put("docs/A.md", "behind, long ago: one of them\n")
check(work, "--lower")
assert check(work).returncode == 0, "a raise that was taken back is forgotten"
git("reset", "-q", "--hard", "HEAD~1")
git("mv", "docs/A.md", "docs/B.md")
done = check(work)
assert done.returncode == 1 and "expected files that exist, found docs/A.md" in done.stderr, done
check(work, "--lower")
assert (work / BUDGET).read_text().splitlines()[-1] == "1 docs/B.md"
assert check(work).returncode == 0
put("docs/C.md", "nobody\n")
put(BUDGET, "1 docs/B.md\n1 docs/C.md\n")
done = check(work)
assert done.returncode == 1 and "expected at most 0 for docs/C.md" in done.stderr, done
