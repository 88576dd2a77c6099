"""The example generates the same tokens with experts in MXFP4 and in bf16. A float64 decoder without a cache confirms
that each token is the best. A damaged checkpoint, a wrong config.json and wrong options are each reported in one line.
The test takes 20 s.

REQUIRES: torch
RUN: rm -rf %t && mkdir %t
RUN: %python_torch %examples/generate_mxfp4.py --device=cpu --tokens=12 --batch=2 --save=%t/model --json=%t/out.json
RUN: env MX_DEVICE=cpu %python_torch %s %t %examples/generate_mxfp4.py
"""

import contextlib
import copy
import io
import json
import pathlib
import runpy
import sys

import numpy as np

from gpt_oss_oracle import Model
from safetensors_bytes import read

WORK, EXAMPLE = pathlib.Path(sys.argv[1]), sys.argv[2]
OUT = json.loads((WORK / "out.json").read_text())

# bf16 logits deviate by up to a hundredth of their spread.
BEHIND = 0.05


def example(*options):
    """Returns the exit status, and the last line of stderr. A traceback ends this test."""
    sys.argv = [EXAMPLE, "--device=cpu", *map(str, options)]
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            runpy.run_path(EXAMPLE, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            return 1, end.code
        return end.code, said.getvalue().rstrip().rpartition("\n")[2]
    return 0, ""


def refused(code, options, *parts):
    found, said = example(*options)
    assert found == code and "\n" not in said, (options, found, said)
    for part in parts:
        assert str(part) in said, (part, options, said)


def test_figures():
    assert OUT["difference"]["relative_rms"] < 5e-3, OUT["difference"]
    # Each of 2 layers has 4 experts, with 3 matrices of 192 x 320; 4.25 bits replace 16.
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
        # The sequences agree until two tokens are equally probable.
        clear = int(np.argmax(margins < BEHIND)) if (margins < BEHIND).any() else 12
        assert ours[:clear] == reference[:clear], (clear, ours, reference)
        same += clear
    assert same >= 12, same


def check_best(model, prompt, tokens):
    """Checks that each token is the best. Returns the distances to the second best."""
    logits = model.logits(prompt + tokens)[len(prompt) - 1 : -1]
    behind = (logits.max(-1, keepdims=True) - logits) / logits.std()
    chosen = behind[np.arange(len(tokens)), tokens]
    assert chosen.max() < BEHIND, chosen
    margins = np.sort(behind, -1)[:, 1]
    print("margin to the second best", margins.round(2))
    return margins


def test_options():
    for option, found, *parts in (
            ("device", "foo", "expected cuda, cuda:N or cpu"),
            ("device", "meta", "expected cuda, cuda:N or cpu"),
            ("device", "cuda:999", "GPUs that PyTorch finds"),
            ("seed", 99999999999999999999999, "integer from 0 to 9223372036854775807"),
            ("seed", -1, "integer from 0 to"),
            ("seed", "x", "integer from 0 to"),
            ("batch", 0, "integer from 1 to 2147483647"),
            ("tokens", 1, "integer from 2 to"),
            ("prompt-length", 10**20, "integer from 1 to"),
            ("layers", 0, "integer from 1 to"),
            ("json", WORK / "none/x.json", "a writable file"),
            ("json", WORK, "a writable file"),
            ("save", WORK, "a folder that does not exist yet")):
        refused(2, [f"--{option}={found}"], f"--{option}: expected", *parts,
                f"found {found}")
    refused(2, ["--prompt=1,96"], "expected tokens of 0 to 95")
    refused(2, ["--prompt=1,96", f"--seed={2**63 - 1}"], "expected tokens of 0 to 95")
    refused(2, [f"--checkpoint={WORK}/model", f"--save={WORK}/new"],
            "--save: expected no --checkpoint")
    refused(1, [f"--save={WORK}/out.json/new"], "--save: expected a writable path",
            f"found {WORK}/out.json/new")
    # No folder is created after an error.
    for options in ([f"--save={WORK}/new"], [f"--checkpoint={WORK}/model"]):
        refused(1, [*options, "--layers=99"], "--layers: expected at most 2", "found 99")
    assert not (WORK / "new").exists()


WRONG = {
    "model_type": ("llama", None),
    "num_hidden_layers": (0, -1, 2.5, True, 2**40),
    "hidden_size": ("64", 48),
    "intermediate_size": (None, 33),
    "num_local_experts": (0,),
    "num_experts_per_tok": (0, 5),
    "num_key_value_heads": (0,),
    "num_attention_heads": (3, [4]),
    "head_dim": (31,),
    "vocab_size": (10**30,),
    "sliding_window": ("a", None, 0),
    "rms_norm_eps": ("1e-5", 0, float("nan")),
    "swiglu_limit": (float("inf"), False),
    "rope_theta": (-1, 1, 10**400),
    "layer_types": (5, ["x"], [], ["x", "full_attention"], ["full_attention"] * 3),
    "rope_scaling": (5, []),
    "rope_scaling.rope_type": ("llama3", 1),
    "rope_scaling.factor": (0.5, "32"),
    "rope_scaling.beta_fast": (0,),
    "rope_scaling.beta_slow": (None,),
    "rope_scaling.truncate": (1,),
    "rope_scaling.original_max_position_embeddings": (0, 4096.0),
}
OPTIONAL = {"rms_norm_eps", "swiglu_limit", "rope_theta", "layer_types", "rope_scaling",
            "rope_scaling.truncate"}


def changed(config, name, *value):
    """Returns a copy of a config with another value of a field, or without the field."""
    config = copy.deepcopy(config)
    place = config
    *parents, name = name.split(".")
    for parent in parents:
        place = place[parent]
    del place[name]
    place.update({name: x for x in value})
    return config


def test_config():
    from gpt_oss_like.config import SIZES, Config

    def refuses(config, *parts):
        try:
            Config.from_json(config, "config.json")
        except ValueError as error:
            assert all(part in str(error) for part in parts), (parts, str(error))
            return
        raise AssertionError(config)

    for size in SIZES.values():
        assert Config.from_json(size.to_json(), "") == size
    good = json.loads((WORK / "model/config.json").read_text())
    for name, values in WRONG.items():
        for value in values:
            refuses(changed(good, name, value), f"config.json: {name}: expected",
                    f"found {json.dumps(value)}")
        if name in OPTIONAL:
            Config.from_json(changed(good, name), "config.json")
        else:
            refuses(changed(good, name), f"config.json: {name}: expected", "found none")
    refuses(changed(good, "rope_scaling", {"a": 1}), "rope_scaling.rope_type",
            "found none")
    # Newer checkpoints use one object for all position parameters.
    newer = changed(good, "rope_scaling")
    newer["rope_parameters"] = {**good["rope_scaling"], "rope_theta": 77.0}
    assert Config.from_json(newer, "").rope_theta == 77
    assert Config.from_json(newer, "").rope_scaling["factor"] == 32
    refuses(changed(newer, "rope_parameters.factor", 0), "rope_parameters.factor",
            "found 0")
    refuses(changed(newer, "rope_parameters", 3), "rope_parameters: expected", "found 3")
    plain = Config.from_json(changed(good, "rope_scaling", None), "")
    assert plain.rope_scaling == {"rope_type": "default"}
    types = ["full_attention", "sliding_attention"]
    assert Config.from_json(changed(good, "layer_types", types), "").window(0) is None


def test_checkpoints():
    model = WORK / "model"
    refused(1, [f"--checkpoint={WORK}/none"],
            "none: expected a safetensors file or a folder")
    config = model / "config.json"
    text = config.read_text()
    config.write_text(json.dumps(changed(json.loads(text), "rope_theta", -1)))
    refused(1, [f"--checkpoint={model}"], f"{config}: rope_theta: expected", "found -1")
    config.unlink()
    refused(1, [f"--checkpoint={model}"], f"{config}: expected this file", "found none")
    config.write_text(text)
    file = sorted(model.glob("*.safetensors"))[1]
    file.write_bytes(file.read_bytes()[:-1000])
    refused(1, [f"--checkpoint={model}"], file, "complete")


sys.path.insert(0, str(pathlib.Path(EXAMPLE).parent))
for test in (test_figures, test_tokens, test_options, test_config, test_checkpoints):
    test()
    print(f"{test.__name__}: passed")
