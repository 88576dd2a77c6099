"""The example generates with experts in MXFP4 what it generates with the same in bf16,
and each token is the best one of a decoder in float64 that has no cache; a damaged
checkpoint and wrong options are said in one line. 20 s.

REQUIRES: torch
RUN: rm -rf %t && mkdir %t
RUN: %python_torch %examples/generate_mxfp4.py --device=cpu --tokens=12 --batch=2 --save=%t/model --json=%t/out.json
RUN: %python_torch %s %t %examples/generate_mxfp4.py
"""

import json
import pathlib
import subprocess
import sys

import numpy as np

from gpt_oss_oracle import Model
from safetensors_bytes import read

WORK, EXAMPLE = pathlib.Path(sys.argv[1]), sys.argv[2]
OUT = json.loads((WORK / "out.json").read_text())

# Logits of bf16 are off by a hundredth of their spread.
BEHIND = 0.05


def example(*options):
    return subprocess.run([sys.executable, EXAMPLE, "--device=cpu", *options],
                          capture_output=True, text=True)


def test_figures():
    assert OUT["difference"]["relative_rms"] < 5e-3, OUT["difference"]
    # The layer's experts: 2 layers of 4, 3 matrices of 192 x 320; 4.25 bits each for 16.
    elements = 2 * 4 * 3 * 192 * 320
    assert elements * 2 < OUT["bf16"]["experts_bytes"] < elements * 2.05
    # Tiles of 128 rows and 4 scales are padded.
    assert elements * 0.53 < OUT["mxfp4"]["experts_bytes"] < elements * 0.62
    assert OUT["mxfp4"]["step_ms"] > 0 and OUT["bf16"]["step_ms"] > 0


def test_tokens():
    tensors = {}
    for file in sorted((WORK / "model").glob("*.safetensors")):
        tensors |= read(file)
    config = json.loads((WORK / "model/config.json").read_text())
    model = Model(tensors, config)
    assert len(OUT["prompt"][0]) + 12 > 3 * config["sliding_window"]
    same = 0
    for prompt, ours, reference in zip(OUT["prompt"], *OUT["tokens"].values()):
        for tokens in (ours, reference):
            assert len(tokens) == 12 and len(set(tokens)) > 5, tokens
            margins = check_best(model, prompt, tokens)
        # Both are one sequence as long as no two tokens are as good as each other.
        clear = int(np.argmax(margins < BEHIND)) if (margins < BEHIND).any() else 12
        assert ours[:clear] == reference[:clear], (clear, ours, reference)
        same += clear
    assert same >= 12, same


def check_best(model, prompt, tokens):
    """Each token is the best one there, and how far the second one is behind."""
    logits = model.logits(prompt + tokens)[len(prompt) - 1 : -1]
    behind = (logits.max(-1, keepdims=True) - logits) / logits.std()
    chosen = behind[np.arange(len(tokens)), tokens]
    assert chosen.max() < BEHIND, chosen
    margins = np.sort(behind, -1)[:, 1]
    print("the second is behind by", margins.round(2))
    return margins


def test_messages():
    done = example(f"--checkpoint={WORK}/none")
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done
    assert "none: expected a safetensors file or a folder" in done.stderr, done.stderr
    file = sorted((WORK / "model").glob("*.safetensors"))[1]
    file.write_bytes(file.read_bytes()[:-1000])
    done = example(f"--checkpoint={WORK}/model")
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done
    assert str(file) in done.stderr and "complete" in done.stderr, done.stderr
    done = example("--prompt=1,96")
    assert done.returncode == 2 and "expected tokens of 0 to 95" in done.stderr, done.stderr


for test in (test_figures, test_tokens, test_messages):
    test()
    print(f"{test.__name__}: passed")
