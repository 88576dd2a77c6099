"""Checks that `fuzz inputs` detects each kind of failure of a tool. inputs.py runs the unmodified tools.

RUN: %python %s %S/fuzz %mx_obj/bin %t
TIER: slow
REQUIRES: compiler, numpy
UNSUPPORTED: sanitizers
"""

import re

from fuzzing.runs import fuzz, tools, work

# Replacements for mx-opt. Each fails in its own way if the input contains the word of its key.
WAYS = {
    "signal": ("kill -SEGV $$", "SIGSEGV"),
    "abort": ("kill -ABRT $$", "SIGABRT"),
    "status": ("echo no >&2; exit 7", "exit status 7"),
    "silent": ("exit 1", "exit status 1 without a message"),
    "sanitizer": ("echo x.cpp:1: runtime error: shift >&2; exit 1", "runtime error:"),
    "time": ("while :; do :; done", "out of time"),
}
for name, (command, says) in WAYS.items():
    folder = work / f"{name}-tools"
    folder.mkdir()
    for tool in tools.glob("mx-*"):
        (folder / tool.name).symlink_to(tool)
    (folder / "mx-opt").unlink()
    (folder / "mx-opt").write_text(f"""#!/bin/sh
[ "$1" = --help ] && exec {tools}/mx-opt --help
grep -q scale_layout "$1" && {{ {command}; }}
exit 0
""")
    (folder / "mx-opt").chmod(0o755)
    status, text = fuzz("inputs", folder, name, "--only=opt", "--count=40", "--seconds=1", "--seed=5")
    assert status == 1 and re.search(rf"FAILED mx-opt: {says}", text), (name, status, text)
    kept = sorted((work / name).glob("*-mx-opt"))
    assert kept, text
    if name != "time":  # shortened to the offending line
        assert len((kept[0] / "in.mlir").read_text().strip().splitlines()) == 1
    assert fuzz("inputs", folder, name, "--replay", kept[0], "--seconds=1")[0] == 1
    assert fuzz("inputs", tools, name, "--replay", kept[0])[0] == 0
