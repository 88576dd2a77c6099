# REQUIRES: torch
# RUN: rm -rf %t && mkdir %t
# RUN: %python_torch %s %examples %t
"""Runs a few steps of examples/train_moe_torch.py at its tiny size. A resumed run has the losses of an uninterrupted
run, on the host bit for bit. The first losses of all recipes are similar, and losses decrease. The logs can be
plotted."""

import json
import math
import os
import pathlib
import runpy
import subprocess
import sys
import xml.dom.minidom

EXAMPLES, OUT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
DEVICE = os.environ.get("MX_TORCH_DEVICE", "cpu")
STEPS = 12
UNFINISHED = 75
sys.path.insert(0, str(EXAMPLES))


def train(*options, code=0, error=None, elsewhere=False):
    """Runs the example in this process, which saves time, or in a separate process."""
    options = (f"--device={DEVICE}", "--size=tiny", f"--steps={STEPS}",
               "--batch-tokens=512", "--validation-tokens=1024", "--rate=5e-3", *options)
    program = str(EXAMPLES / "train_moe_torch.py")
    if elsewhere:
        found = subprocess.run([sys.executable, program, *options]).returncode
    else:
        found = call(program, *options)
    assert found == code if error is None else error in str(found), (options, found)


def call(program, *options):
    """Returns the exit status (2 for argparse messages) or the message of SystemExit."""
    sys.argv = [program, *map(str, options)]
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as end:
        return end.code
    return 0


def rows(log):
    return [json.loads(line) for line in open(log)]


def losses(log):
    return [row["loss"] for row in rows(log) if "loss" in row]


def all_runs():
    """Resumes an interrupted first run, and does not repeat finished runs."""
    folder = OUT / "runs"
    options = "--all", f"--out={folder}", "--seeds=3", "--recipes=bf16, mxfp8"
    first = folder / "bf16-seed3"
    train("--recipe=bf16", "--seed=3", "--stop-at=5", f"--log={first}.jsonl",
          f"--checkpoint={first}.checkpoint", code=UNFINISHED, elsewhere=True)
    assert len(losses(f"{first}.jsonl")) == 5
    train(*options)
    logs = [folder / f"{recipe}-seed3.jsonl" for recipe in ("bf16", "mxfp8")]
    before = [log.stat().st_mtime_ns for log in logs]
    train(*options)  # nothing left to run
    assert before == [log.stat().st_mtime_ns for log in logs]
    train(*options, "--rate=0.5", error="bf16-seed3.jsonl: expected a run with rate=0.5, "
          "found rate=0.005: pass a different path or remove the file")
    return logs


def goes_on(log, recipe):
    """Compares with an uninterrupted run, or with an interrupted MXFP8 run."""
    other = OUT / f"{recipe}.jsonl"
    if recipe == "mxfp8":
        options = (f"--recipe={recipe}", "--seed=3", f"--log={other}",
                   f"--checkpoint={OUT / 'checkpoint'}")
        train(*options, "--stop-at=7", code=UNFINISHED)
        assert len(losses(other)) == 7
        train(f"--recipe={recipe}", "--seed=4", f"--checkpoint={OUT / 'checkpoint'}",
              error="expected a run with seed=4, found seed=3: pass a different path")
    else:
        options = f"--recipe={recipe}", "--seed=3", f"--log={other}"
    train(*options)
    results = [rows(x)[-1]["result"] for x in (other, log)]
    for a, b in ((losses(other), losses(log)), *(
            [[r[name]] for r in results] for name in ("validation_loss", "training_loss"))):
        # On a GPU, the order of additions in PyTorch's attention varies.
        assert a == b or DEVICE != "cpu" and len(a) == len(b) and all(
            math.isclose(x, y, rel_tol=0.01) for x, y in zip(a, b)), (a, b)
    assert len(losses(log)) == STEPS


def right(log):
    about, *steps, last = rows(log)
    found, result = losses(log), last["result"]
    assert about["run"]["seed"] == 3 and about["parameters"] > 100_000
    assert [row["step"] for row in steps] == list(range(STEPS))
    assert all(row["ms"] > 0 and row["tokens_per_s"] > 0 for row in steps)
    # The first loss is near the entropy of a uniform distribution. Initial weights add a small difference.
    assert math.log(64) - 0.2 < found[0] < math.log(64) + 1.5, found[0]
    assert found[-1] < found[0] - 0.3, found
    assert result["tokens"] == STEPS * 512 and result["validation_tokens"] == 1024
    assert abs(result["validation_loss"] - found[-1]) < 0.5
    assert math.isclose(result["training_loss"], sum(found) / STEPS, rel_tol=1e-5)


def picture(logs):
    plot = str(EXAMPLES / "plot_moe_training.py")
    assert not call(plot, *logs, "-o", OUT / "moe.svg", f"--table={OUT / 'moe.md'}")
    xml.dom.minidom.parse(str(OUT / "moe.svg"))
    _, _, bf16, mxfp8 = (OUT / "moe.md").read_text().splitlines()
    base, other = (rows(log)[-1]["result"]["validation_loss"] for log in logs)
    assert f"| bf16 | 3 | {base:.4f} |  |" in bf16, bf16
    assert f"| mxfp8 | 3 | {other:.4f} | {100 * (other / base - 1):+.2f} |" in mxfp8, mxfp8


logs = all_runs()
for log, recipe in zip(logs, ("bf16", "mxfp8")):
    goes_on(log, recipe)
    right(log)
a, b = map(losses, logs)
assert a != b and abs(a[0] - b[0]) < 0.01 * a[0]
assert all(abs(x - y) < 0.03 * x for x, y in zip(a, b)), (a, b)
picture(logs)
train("--batch-tokens=500", error="--batch-tokens: expected a multiple of 64")
for wrong in (["--all"], ["--all", "--out=x", "--seed=1"], ["--out=x"], ["--steps=0"],
              ["--batch-tokens=-64"], ["--seed=-1"], ["--seed=99999999999"],
              ["--rate=nan"], ["--rate=-1"], ["--time-limit=59"], ["--recipe=mxfp9"],
              ["--recipe=mxfp4_weight_only"], ["--all", "--out=x", "--recipes=bf16,"],
              ["--device=foo"], ["--device=meta"], ["--device=cuda:99"],
              ["--device=cpu", "--graph"], ["--log=x", "--checkpoint=x"]):
    train(*wrong, code=2)
for option in ("--log", "--checkpoint"):
    train(f"{option}=/dev/null/x", error="/dev/null/x: expected a path that can be written")
    train(f"{option}={OUT}", error=f"{OUT}: expected a regular file or no file")
mine = OUT / "mine.txt"
for text in ("my notes\n", "1\n", '{"run": 3}\n', '{"run": {}}\n'):
    mine.write_text(text)
    train(f"--log={mine}", error="mine.txt: expected")
    assert mine.read_text() == text
whole = (OUT / "checkpoint").read_bytes()
for cut in (b"", b"text", whole[:1000], whole[:len(whole) // 2]):
    mine.write_bytes(cut)
    train("--recipe=mxfp8", "--seed=3", f"--checkpoint={mine}",
          error="mine.txt: expected a checkpoint of this program")
