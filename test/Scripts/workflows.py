"""Checks that workflows call existing scripts, request minimal permissions, and pin actions by commit. scripts/lint
--workflows checks more if its programs are installed, and names missing programs.

RUN: %python %s %mx_src %t
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

root, work = map(pathlib.Path, sys.argv[1:])
SCRIPT = re.compile(r"(?<![\w/.-])((?:scripts|\.ci)/[\w-]+)")
OPTION = re.compile(r"(?:scripts|\.ci)/[\w-]+((?: --[\w-]+)+)")


def check(text):
    """Yields the errors of a workflow."""
    lines = text.splitlines()
    if "permissions: {}" not in lines:
        yield "expected 'permissions: {}' for the whole workflow"
    jobs = re.split(r"^  (?=[\w-]+:$)", text.partition("\njobs:\n")[2], flags=re.M)[1:]
    if not jobs:
        yield "expected jobs, found none"
    for job in jobs:
        name = job.partition(":")[0]
        for wanted in "    timeout-minutes: ", "    permissions:\n", "    runs-on: ubuntu-":
            if wanted not in job:
                yield f"{name}: expected '{wanted.strip()}', found none"
        rights = re.search(r"^    permissions:\n((?:      .*\n)+)", job, re.M)
        if rights and "write" in rights[1] and "scripts/" in job:
            yield f"{name}: expected a job that runs code of the repository to write nothing"
        if "actions/checkout@" in job and "persist-credentials: false" not in job:
            yield f"{name}: expected a checkout that keeps no credentials"
    for line in lines:
        if "uses:" in line and not re.search(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line):
            yield f"expected an action pinned by its commit, with the version beside it, found {line.strip()}"
        if re.search(r"run: .*\$\{\{", line):
            yield f"expected values in variables of the environment, found {line.strip()}"
    code = "\n".join(line.partition(" #")[0] for line in lines if not line.startswith("#"))
    for script in SCRIPT.findall(code):
        if not os.access(root / script, os.X_OK):
            yield f"expected a script, found {script}"
    for call in OPTION.finditer(code):
        script = call[0].split()[0]
        if os.access(root / script, os.X_OK):
            said = subprocess.run([root / script, "--help"], capture_output=True, text=True).stdout
            yield from (f"expected an option of {script}, found {option}"
                        for option in call[1].split() if option not in said)


texts = {path.name: path.read_text() for path in sorted((root / ".github/workflows").glob("*.yml"))}
assert {"suite.yml", "docs.yml", "nightly.yml", "release.yml"} <= set(texts), texts.keys()
for name, text in texts.items():
    found = list(check(text))
    assert not found, (name, found)

# Only tested commits and installed wheels are published, under the tag of their version.
release = texts["release.yml"]
assert 'scripts/release --tag "$TAG"' in release and "needs: [test, install]" in release, release

# Each single mistake is reported.
for name, old, new, said in (
        ("suite.yml", "permissions: {}", "permissions: read-all", "for the whole workflow"),
        ("suite.yml", " # v7.0.1", "", "pinned"),
        ("suite.yml", re.search(r"@[0-9a-f]{40} # v", texts["suite.yml"])[0], "@v", "pinned"),
        ("suite.yml", ".ci/run", ".ci/walk", "expected a script, found .ci/walk"),
        ("suite.yml", "--nightly", "--frobnicate", "expected an option of scripts/setup-container"),
        ("suite.yml", "          persist-credentials: false\n", "", "no credentials"),
        ("suite.yml", "    timeout-minutes: 120\n", "", "timeout"),
        ("release.yml", "contents: read", "contents: write", "to write nothing"),
        ("nightly.yml", '"$PART"', "${{ matrix.part }}", "variables of the environment")):
    assert old in texts[name], (name, old)
    found = list(check(texts[name].replace(old, new)))
    assert any(said in line for line in found), (name, old, found)

# The names of the parts match the matrix of the workflow.
listed = subprocess.run([sys.executable, root / "scripts/nightly", "--list"], capture_output=True, text=True)
assert listed.returncode == 0 and all(re.match(r"[\w-]+ ", line) for line in listed.stdout.splitlines()), listed

# Run scripts/lint --workflows with stand-ins for its programs.
shutil.rmtree(work, ignore_errors=True)
bin_folder = work / "bin"
bin_folder.mkdir(parents=True)


def lint(*words):
    return subprocess.run([root / "scripts/lint", *words], capture_output=True, text=True,
                          env={**os.environ, "MX_PYTHON": str(bin_folder / "python3"),
                               "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"})


def stand_in(name, status):
    (bin_folder / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {work}/called\nexit {status}\n')
    (bin_folder / name).chmod(0o755)


done = lint("--workflows")
assert done.returncode == 1 and done.stderr == \
    "error: check-jsonschema not found: scripts/setup --nightly installs it, or pip install check-jsonschema\n", done
stand_in("check-jsonschema", 0)
assert "error: zizmor not found" in lint("--workflows").stderr
stand_in("zizmor", 0)
done = lint("--workflows")
assert done.returncode == 0 and not done.stderr, done
called = (work / "called").read_text()
for path in sorted((root / ".github").glob("*/*.yml")):
    assert path.relative_to(root).as_posix() in called, (path, called)
assert ".github/dependabot.yml" in called and "zizmor --offline --quiet .github" in called, called
for name in "check-jsonschema", "zizmor":
    stand_in(name, 1)
    done = lint("--workflows")
    assert done.returncode == 1 and "the files of .github have faults" in done.stderr, (name, done)
    stand_in(name, 0)
done = lint("--workflows", "more")
assert done.returncode == 2 and done.stderr == "error: expected --workflows alone, found 'more'\n", done
