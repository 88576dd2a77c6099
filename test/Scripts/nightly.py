"""Runs scripts/nightly on trivial parts and checks the selected parts, their logs and the summary. A part with a result
on this commit must not be repeated.

RUN: %python %s %mx_src/scripts/nightly %t
REQUIRES: numpy
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

script, work = map(pathlib.Path, sys.argv[1:])
shutil.rmtree(work, ignore_errors=True)
work.mkdir(parents=True)
table = work / "parts.toml"
TABLE = """
setup = "echo setup >> {work}/ran"
[[part]]
name = "good"
about = "passes"
minutes = 5
environment = {{ MX_PRESET = "sanitize" }}
commands = ["echo good $MX_PRESET >> {work}/ran", "echo 3 passed"]
[[part]]
name = "bad"
about = "fails"
minutes = 7
commands = ["echo bad >> {work}/ran; echo 1 failed; exit 3", "echo never >> {work}/ran"]
[[part]]
name = "parts"
about = "is divided"
minutes = 6
shards = 3
environment = {{ MX_PRESET = "gcc" }}
commands = ["echo $MX_PRESET $MX_NIGHTLY_SHARD/$MX_NIGHTLY_SHARDS >> {work}/ran; test ! -e {work}/stop-$MX_NIGHTLY_SHARD"]
[[part]]
name = "fuzz"
about = "has a seed"
minutes = 0.5
fuzzer = true
commands = ["echo $MX_NIGHTLY_MINUTES minutes from $MX_NIGHTLY_SEED"]
"""
table.write_text(TABLE.format(work=work))


def nightly(*words, parts=table):
    done = subprocess.run([sys.executable, script, f"--parts={parts}", f"--out={work / 'out'}", *words],
                          capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def ran():
    """Returns the parts that ran since the last call."""
    path = work / "ran"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return lines


# --list and invalid arguments run no part.
status, said, _ = nightly("--list", "--minutes=30")
assert status == 0 and re.search(r"^good +5 min  passes\nbad +7 min  fails\n"
                                r"parts +6 min  is divided \(shards parts-1 to parts-3\)\nfuzz +30.5 min ", said), said
status, _, complaint = nightly("good", "godo")
assert status == 2 and "expected parts of good, bad, parts, fuzz, found 'godo'" in complaint, complaint
for text in 'part = 1', "[[part]]\nname = 'x'", "[[part", None:
    other = work / "other.toml"
    other.unlink() if text is None else other.write_text(text)
    status, _, complaint = nightly(parts=other)
    assert status == 2 and f"expected a table of parts in {other}" in complaint, (text, complaint)
assert not ran() and not (work / "out").exists()

# A named part.
status, said, _ = nightly("good")
assert status == 0 and ran() == ["setup", "good sanitize"], said
assert re.search(r"^good +passed +0\.0 min +0\.0 CPU min  3 passed$", said, re.M), said
assert said.endswith("1 of 1 parts passed\n"), said

# All parts run: a part with a result is skipped, and a failing part ends at its first failing command without stopping
# the other parts.
status, said, _ = nightly("--minutes=2", "--seed=42")
assert status == 1 and ran() == ["setup", "bad", "gcc 1/3", "gcc 2/3", "gcc 3/3"], said
assert re.search(r"^good +passed .*\nbad +FAILED +0\.0 min +0\.0 CPU min  exit status 3: echo bad .*\n"
                 r"parts-1 +passed .*\nparts-2 +passed .*\nparts-3 +passed .*\n"
                 r"fuzz +passed +0\.0 min +0\.0 CPU min  2 minutes from 42$", said, re.M), said
assert said.endswith("5 of 6 parts passed; failed or not run: bad\n"), said
folder, = (work / "out").iterdir()
log = (folder / "bad.log").read_text()
assert log.startswith(f"commit={folder.name}\n") and "\n1 failed\nexit status 3: " in log, log
assert "\nMX_NIGHTLY_SEED=42\n" in (folder / "fuzz.log").read_text()
assert json.loads((folder / "good.json").read_text())["passed"] is True

# A failure also counts as a result until the part is requested again; an interrupted part has no result.
assert nightly()[0] == 1 and ran() == ["setup"]
assert nightly("--again", "bad")[0] == 1 and ran() == ["setup", "bad"]
(folder / "good.json").unlink()
table.write_text(TABLE.format(work=work).replace("exit 3", "exit 0"))
assert nightly()[0] == 1 and ran() == ["setup", "good sanitize"]
assert nightly("--again", "bad")[0] == 0 and ran() == ["setup", "bad", "never"]
assert nightly()[0] == 0 and ran() == ["setup"]

# One shard is repeated while the others keep their results.
(work / "stop-2").touch()
assert nightly("--again", "parts-2")[0] == 1 and ran() == ["setup", "gcc 2/3"]
(work / "stop-2").unlink()
(folder / "parts-2.json").unlink()
assert nightly("parts")[0] == 0 and ran() == ["setup", "gcc 2/3"]

# If a requirement of the parts is missing, none of them runs.
table.write_text(TABLE.format(work=work).replace("ran\"\n[[", "ran; false\"\n[[", 1))
status, said, complaint = nightly("--again")
assert status == 1 and "failed" in complaint and ran() == ["setup"], (said, complaint)

# Each part of the real table declares its commands and its duration. All parts together take 160 minutes.
real = script.with_suffix(".toml")
status, said, _ = nightly("--list", parts=real)
assert status == 0
minutes = 0
for line in said.splitlines():
    minutes += float(re.match(r"[\w-]+ +([1-9][.0-9]*) min  \w", line)[1])
assert minutes <= 160, said
for part in "suite", "sanitize", "threads", "clang", "torch", "fuzz", "fuzz-tensors":
    assert re.search(rf"^{part} ", said, re.M), said
