"""Checks scripts/check-target: all declarations in include/mx/Target are used outside of tests, and unused declarations
are reported.

TIER: slow
RUN: %python %s %mx_src %t
"""

import pathlib
import re
import shutil
import subprocess
import sys

source, work = map(pathlib.Path, sys.argv[1:])
script = source / "scripts/check-target"


def check(root):
    done = subprocess.run([sys.executable, script, root], capture_output=True, text=True)
    return done.returncode, re.findall(r"use '([\w:]+)'", done.stderr), done


status, found, done = check(source)
assert status == 0, done.stderr
assert int(done.stdout.split()[0]) > 150, done.stdout

shutil.rmtree(work, ignore_errors=True)
for directory in "include", "lib", "runtime", "tools":
    shutil.copytree(source / directory, work / directory)
header, code = work / "include/mx/Target/TargetInfo.h", work / "lib/Target/TargetInfo.cpp"
clean = {path: path.read_text() for path in (header, code)}


def change(path, before, after):
    text = path.read_text()
    assert before in text, (path, before)
    path.write_text(text.replace(before, after, 1))


def expect(*names):
    status, found, done = check(work)
    assert (status, found) == (1 if names else 0, list(names)), (names, done)
    for path, text in clean.items():
        path.write_text(text)


expect()
# A constant, a function, and a field written but never read.
end = "} // namespace mx::target"
change(header, end, "inline constexpr unsigned kMaxSpeed = 7;\n" + end)
expect("kMaxSpeed")
change(header, end, "unsigned countTargets();\n" + end)
change(code, "Table<TargetInfo> mx::target::getTargets",
       "unsigned mx::target::countTargets() { return 5; }\n"
       "Table<TargetInfo> mx::target::getTargets")
expect("countTargets")
change(header, "unsigned smCount = 0;", "unsigned smCount = 0;\n  unsigned dieCount = 1;")
change(code, "target.smCount = smCount;", "target.smCount = smCount;\n  target.dieCount = 2;")
expect("TargetInfo::dieCount")
# The field is read from a variable, and by the struct itself.
other = work / "lib/Dialect/MXGPU/Transforms/VerifyMmas.cpp"
clean[other] = other.read_text()
change(header, "unsigned smCount = 0;", "unsigned smCount = 0;\n  unsigned dieCount = 0;")
change(other, "using namespace mx;",
       "using namespace mx;\nunsigned get(const target::TargetInfo &chip) { return chip.dieCount; }")
expect()
change(header, "unsigned smCount = 0;", "unsigned smCount = 0;\n  unsigned dieCount = 0;")
change(code, "return computeCapability >= 100 ? 32 : 16;", "return dieCount ? 32 : 16;")
expect()
# The only uses are in other unused declarations, in comments and in strings.
change(header, end, "inline constexpr unsigned kDies = 2;\nunsigned countDies();\n" + end)
change(code, "Table<TargetInfo> mx::target::getTargets",
       "unsigned mx::target::countDies() { return kDies; }\n"
       "Table<TargetInfo> mx::target::getTargets")
change(other, "using namespace mx;", 'using namespace mx;\n// countDies\nconst char *x = "kDies";')
expect("kDies", "countDies")
# Listed declarations may lack a user until a user appears or they are removed.
waiting = work / "check-target"
waiting.write_text(script.read_text().replace("AWAITED = {", 'AWAITED = {"countDies": "dies",', 1))
script = waiting
change(header, end, "unsigned countDies();\n" + end)
expect()
change(header, end, "unsigned countDies();\n" + end)
change(other, "using namespace mx;", "using namespace mx;\nunsigned i = target::countDies();")
status, found, done = check(work)
assert status == 1 and "'countDies' has a user now" in done.stderr, done
header.write_text(clean[header])
status, found, done = check(work)
assert status == 1 and "'countDies', which waits for dies, does not exist" in done.stderr, done
