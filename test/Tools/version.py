"""Checks that all tools, the plugin and the Python package report the commit and the version of CMakeLists.txt. A copy
of the sources without git reports no commit; an archive created by git contains the commit.

RUN: %python %s %mx_src %mx_obj %cmake %t
REQUIRES: compiler, numpy
"""

import os
import re
import shutil
import subprocess
import sys

source, build, cmake, work = sys.argv[1:]
shutil.rmtree(work, ignore_errors=True)
os.makedirs(work)
number = re.search(r"project\(MX VERSION ([\d.]+)", open(f"{source}/CMakeLists.txt").read())[1]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


found = {output(f"{build}/bin/{tool}", "--version").splitlines()[0]
         for tool in ["mx-opt", "mx-translate", "mx-run", "mx-compile", "mx-launch", "mx-lsp-server"]}
assert output(f"{build}/bin/mx-sim", "--version") == f"mx-sim {number}\n"
import mx_compiler as mx
found.add("mx " + mx.__version__)
# The tools may be built at different commits, and each reports its own.
for text in found:
    assert re.fullmatch(rf"mx {re.escape(number)}(\+[0-9a-f]{{12}}(\.changed)?)?", text), found


def commit_of(tree):
    """Returns the commit that a build of these sources would report."""
    subprocess.run([cmake, "-D", f"GIT={shutil.which('git') or ''}", "-D", f"SOURCE_DIR={tree}",
                    "-D", "VERSION=1.2.3", "-D", f"OUTPUT={work}/Commit.inc",
                    "-P", f"{source}/cmake/modules/MXVersion.cmake"], check=True)
    text = open(f"{work}/Commit.inc").read()
    assert '#define MX_VERSION "1.2.3"\n' in text, text
    return re.search(r'MX_COMMIT "(.*)"', text)[1]


def tree(name, commit):
    os.makedirs(f"{work}/{name}/cmake")
    with open(f"{work}/{name}/cmake/commit.txt", "w") as file:
        file.write(commit + "\n")
    return f"{work}/{name}"


assert commit_of(tree("copy", "$Format:%H$")) == ""
assert commit_of(tree("archive", "0123456789abcdef0123456789abcdef01234567")) == "+0123456789ab"
if shutil.which("git"):
    there = tree("repository", "$Format:%H$")
    git = ["git", "-C", there, "-c", "user.name=a", "-c", "user.email=a@b"]
    output(*git, "init", "-q")
    output(*git, "add", ".")
    output(*git, "commit", "-q", "-m", "first")
    head = output(*git, "rev-parse", "HEAD")[:12]
    assert commit_of(there) == "+" + head
    stamp = os.stat(f"{work}/Commit.inc").st_mtime_ns
    assert commit_of(there) == "+" + head and os.stat(f"{work}/Commit.inc").st_mtime_ns == stamp
    open(f"{there}/cmake/commit.txt", "a").write("more\n")
    assert commit_of(there) == f"+{head}.changed"
    # A copy of the sources inside an unrelated repository does not report that repository's commit.
    os.makedirs(f"{there}/within/cmake")
    shutil.copy(f"{work}/copy/cmake/commit.txt", f"{there}/within/cmake")
    assert commit_of(f"{there}/within") == ""
