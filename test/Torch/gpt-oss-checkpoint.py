"""Loads expert weights from a checkpoint in gpt-oss's layout. This test writes the checkpoint byte by byte. Loaded
weights match a table of E2M1 values, a module returns the bytes of the checkpoint, and errors name the file and the
key. The test takes 10 s.

REQUIRES: torch
RUN: rm -rf %t && mkdir %t && %python_torch %s %t

Modules that keep packed elements, such as those of gate_up_proj:
RUN: rm -rf %t && mkdir %t && env MX_DEVICE=sim MX_CHIP=sm_90a MX_PTXAS=none %python_torch %s %t packed
"""

import importlib
import json
import pathlib
import shutil
import sys

import ml_dtypes
import numpy as np
import torch

from mx_compiler.torch import MXWeightOnlyGptOssExperts, gpt_oss

from gpt_oss_oracle import unpack
from reference import DEVICE
from refuses import refuses
from safetensors_bytes import read, write

WORK = pathlib.Path(sys.argv[1])
RNG = np.random.default_rng(0)
E, H, I = 3, 192, 160  # numbers of rows are not multiples of 128
PREFIX = "model.layers.1.mlp.experts."
load = MXWeightOnlyGptOssExperts.from_checkpoint


def bits(*shape, low=0, high=256):
    return RNG.integers(low, high, shape, dtype=np.uint8)


def numbers(*shape):
    return RNG.standard_normal(shape).astype(ml_dtypes.bfloat16)


def tensors():
    """Returns tensors with all element bytes, and all scales except NaN and scales whose products exceed f32."""
    return {
        "gate_up_proj_blocks": bits(E, 2 * I, H // 32, 16),
        "gate_up_proj_scales": bits(E, 2 * I, H // 32, low=1, high=252),
        "gate_up_proj_bias": numbers(E, 2 * I),
        "down_proj_blocks": bits(E, H, I // 32, 16),
        "down_proj_scales": bits(E, H, I // 32, low=1, high=252),
        "down_proj_bias": numbers(E, H),
    }


def keyed(found):
    return {PREFIX + name: array for name, array in found.items()}


GOOD = tensors()


def is_good(experts):
    """Returns True if the tensors equal the checkpoint, bit for bit."""
    found = gpt_oss.checkpoint_tensors(experts)
    return found.keys() == GOOD.keys() and all(
        np.array_equal(found[name].cpu().view(torch.uint8).numpy(), array.view(np.uint8))
        for name, array in GOOD.items())


def test_values():
    file = WORK / "good.safetensors"
    write(file, keyed(GOOD))
    experts = load(file, 1, device=DEVICE)
    for name, rows in {"gate_up_proj": 2 * I, "down_proj": H}.items():
        plain = GOOD[f"{name}_scales"][1]
        wanted = unpack(GOOD[f"{name}_blocks"], GOOD[f"{name}_scales"])
        assert len(np.unique(wanted)) > 1000
        assert np.array_equal(experts.dequantized(name, torch.float32).cpu().numpy(), wanted), name
        # Tiles of 128 rows and 4 scales: row r, scale c is at (r % 32) 16 + (r // 32) 4 + c.
        tile = getattr(experts, f"{name}_scales")[1].flatten()[:512].cpu().numpy()
        for r in range(min(128, rows)):
            for c in range(min(4, plain.shape[1])):
                assert tile[(r % 32) * 16 + (r // 32) * 4 + c] == plain[r, c]
        assert np.array_equal(getattr(experts, f"{name}_bias").detach().float().cpu().numpy(),
                              GOOD[f"{name}_bias"].astype(np.float32))


def test_state_dict():
    """The module returns the checkpoint's tensors, also after a state dict is loaded."""
    experts = load(WORK / "good.safetensors", 1)
    assert is_good(experts)
    other = MXWeightOnlyGptOssExperts(E, H, I)
    other.load_state_dict(experts.state_dict())
    assert is_good(other)
    # Conversion to another dtype keeps the bits of elements and scales.
    for name, tensor in gpt_oss.checkpoint_tensors(other.to(torch.float32)).items():
        assert np.array_equal(tensor.numpy(), GOOD[name].astype(np.float32 if "bias" in name else np.uint8)), name
    for wrong in torch.nn.Linear(32, 32), MXWeightOnlyGptOssExperts(1, 32, 32, "mxfp8_weight_only"):
        refuses(TypeError, "module: expected an mx_compiler.torch.MXWeightOnlyGptOssExperts with weights in mxfp4",
                gpt_oss.checkpoint_tensors, wrong)


def test_without_contents():
    """A module created on meta equals the original after a state dict is loaded."""
    experts = load(WORK / "good.safetensors", 1, device=DEVICE)
    x = torch.from_numpy(RNG.standard_normal((5, H))).to(DEVICE, torch.bfloat16)
    chosen = torch.tensor([[0, 2], [1, 0], [2, 1], [0, 1], [2, 0]], device=DEVICE)
    shares = torch.ones(5, 2, device=DEVICE)
    wanted = experts(x, chosen, shares)
    for assign in (False, True):
        other = MXWeightOnlyGptOssExperts(E, H, I, device="meta")
        if not assign:
            other.to_empty(device=DEVICE)
        other.load_state_dict(experts.state_dict(), assign=assign)
        assert torch.equal(other(x, chosen, shares).view(torch.int16), wanted.view(torch.int16))


def test_saved_file():
    """The safetensors library writes the tensors. The bytes of its file match the format above."""
    from safetensors.torch import save_file
    experts = load(WORK / "good.safetensors", 1)
    save_file({PREFIX + name: x for name, x in gpt_oss.checkpoint_tensors(experts).items()},
              WORK / "saved.safetensors")
    found = read(WORK / "saved.safetensors")
    assert set(found) == set(keyed(GOOD))
    for key, array in keyed(GOOD).items():
        assert np.array_equal(found[key].view(np.uint8), array.view(np.uint8)), key


def test_folder():
    """If a folder contains an index, the index lists the files. Sizes come from config.json."""
    folder = WORK / "folder"
    folder.mkdir()
    names = list(GOOD)
    for number, part in enumerate((names[:2], names[2:])):
        write(folder / f"model-{number}.safetensors",
              {PREFIX + name: GOOD[name] for name in part})
    load(folder, 1)
    index = {PREFIX + name: f"model-{int(name not in names[:2])}.safetensors" for name in names}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    load(folder, 1)
    config = {"num_local_experts": E, "hidden_size": H, "intermediate_size": I + 32}
    (folder / "config.json").write_text(json.dumps(config))
    refuses(ValueError, ("model-0.safetensors", PREFIX + "gate_up_proj_blocks",
                         [E, 2 * I + 64, H // 32, 16], [E, 2 * I, H // 32, 16]),
            lambda: load(folder, 1))
    (folder / "config.json").write_text(json.dumps({**config, "intermediate_size": 161}))
    refuses(ValueError, ("intermediate", "multiple of 32", "161"), lambda: load(folder, 1))
    (folder / "config.json").write_text("{")
    refuses(ValueError, (folder / "config.json", "JSON"), lambda: gpt_oss.Checkpoint(folder))
    (folder / "config.json").unlink()
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": 3}}')
    refuses(ValueError, ("model.safetensors.index.json", "name of a file in the same folder for a", "found 3"),
            lambda: gpt_oss.Checkpoint(folder))
    # Files outside of the index's folder are refused, although they exist and are readable.
    (folder / "inner").mkdir()
    outside = WORK / "outside.safetensors"
    for file in outside, folder / "inner" / "x.safetensors":
        shutil.copy(folder / "model-0.safetensors", file)
    (folder / "link").symlink_to(WORK)
    for name in (str(outside), "../outside.safetensors", "inner/x.safetensors", "inner/../model-0.safetensors",
                 "./model-0.safetensors", "link/outside.safetensors", f"../{folder.name}/model-0.safetensors",
                 "..\\outside.safetensors", "model-0.safetensors\0", "/dev/zero", "", ".", ".."):
        (folder / "model.safetensors.index.json").write_text(
            json.dumps({"weight_map": {**index, "a": name}}))
        refuses(ValueError, ("model.safetensors.index.json", "name of a file in the same folder for a of weight_map", repr(name)),
                lambda: gpt_oss.Checkpoint(folder))
    # A file next to the index may be a link, because checkpoint caches consist of links.
    (folder / "linked.safetensors").symlink_to(outside)
    (folder / "model.safetensors.index.json").write_text(json.dumps(
        {"weight_map": {key: name.replace("model-0", "linked") for key, name in index.items()}}))
    load(folder, 1)
    (folder / "link").unlink()
    shutil.rmtree(folder / "inner")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    refuses(TypeError, ("path", "NoneType"), lambda: gpt_oss.Checkpoint(None))
    (folder / "model-1.safetensors").unlink()
    refuses(FileNotFoundError, ("model-1.safetensors", "model.safetensors.index.json"),
            lambda: gpt_oss.Checkpoint(folder))
    shutil.rmtree(folder)
    folder.mkdir()
    refuses(FileNotFoundError, (folder, "*.safetensors"), lambda: gpt_oss.Checkpoint(folder))
    refuses(FileNotFoundError, WORK / "none", lambda: gpt_oss.Checkpoint(WORK / "none"))


def broken(**changed):
    """Creates a file with changed tensors. None removes a tensor."""
    file = WORK / "broken.safetensors"
    write(file, {key: x for key, x in keyed({**GOOD, **changed}).items() if x is not None})
    return file


def test_tensors():
    scales, bias = GOOD["gate_up_proj_scales"], GOOD["down_proj_bias"]
    not_a_number = scales.copy()
    not_a_number[2, 5, 1] = not_a_number[0, 0, 0] = 255
    cases = [
        (dict(down_proj_scales=None), PREFIX + "down_proj_scales", "found no tensor with this key",
         "down_proj_blocks"),
        (dict(gate_up_proj_blocks=None), PREFIX + "gate_up_proj_blocks", "found no tensor with this key"),
        (dict(gate_up_proj_scales=scales.astype(np.float32)), PREFIX + "gate_up_proj_scales",
         "expected the dtype uint8", "found float32"),
        (dict(gate_up_proj_scales=scales.astype(np.int64)), "expected the dtype uint8",
         "found I64"),
        (dict(down_proj_bias=GOOD["down_proj_blocks"]), "down_proj_bias",
         "bfloat16 or float32", "found uint8"),
        (dict(gate_up_proj_scales=scales[:, 1:]), PREFIX + "gate_up_proj_scales",
         [E, 2 * I, H // 32], [E, 2 * I - 1, H // 32]),
        (dict(down_proj_blocks=GOOD["down_proj_blocks"][:2]), [E, H, I // 32, 16],
         [2, H, I // 32, 16]),
        (dict(down_proj_bias=bias[..., None]), [E, H], [E, H, 1]),
        (dict(gate_up_proj_blocks=GOOD["gate_up_proj_blocks"][:, 1:]), "2 * intermediate",
         [E, 2 * I - 1, H // 32, 16]),
        (dict(gate_up_proj_blocks=GOOD["gate_up_proj_blocks"].reshape(E, 2 * I, -1)),
         "found", [E, 2 * I, H // 2]),
        (dict(gate_up_proj_scales=not_a_number), PREFIX + "gate_up_proj_scales", "255",
         "2 places"),
    ]
    for changed, *parts in cases:
        file = broken(**changed)
        refuses(ValueError, (file, *parts), lambda: load(file, 1))
    refuses(ValueError, ("model.layers.7.mlp.experts.gate_up_proj_blocks", "found no tensor with this key"),
            lambda: load(WORK / "good.safetensors", 7))
    # Some programs write f32 biases. They stay f32.
    file = broken(down_proj_bias=bias.astype(np.float32))
    assert load(file, 1).down_proj_bias.dtype == torch.float32
    refuses(ValueError, "recipe: expected weights in mxfp4, the format of the checkpoint, found mxfp8_weight_only",
            lambda: load(file, 1, recipe="mxfp8_weight_only"))
    assert str(load(file, 1, recipe="w4a8").recipe) == "w4a8"
    # gpt-oss's own layout uses other keys.
    own = WORK / "own.safetensors"
    write(own, {"block.1.mlp.mlp1_weight.blocks": GOOD["gate_up_proj_blocks"]})
    refuses(ValueError, (own, "Transformers' layout"), lambda: load(own, 1))


def test_damaged():
    whole = (WORK / "good.safetensors").read_bytes()
    file = WORK / "damaged.safetensors"
    contents = {"the end is missing": whole[:-1], "half": whole[: len(whole) // 2],
                "in the header": whole[:100], "empty": b"", "a few bytes": whole[:5],
                "too long": whole + b"x", "no safetensors": b"PK\3\4" * 1000}
    for content in contents.values():
        file.write_bytes(content)
        refuses(ValueError, (file, "expected a complete safetensors file"), lambda: gpt_oss.Checkpoint(file))


def test_without_safetensors():
    """Without the package safetensors, the modules can be imported, but reading a file reports the missing package."""
    hidden = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "safetensors"}
    sys.modules.update(dict.fromkeys(["safetensors", *hidden]))
    importlib.reload(gpt_oss)
    for read_it in (lambda: gpt_oss.Checkpoint(WORK / "good.safetensors"),
                    lambda: load(WORK / "good.safetensors", 1)):
        refuses(ImportError, "expected the package safetensors to read a checkpoint, found no such package: "
                "pip install safetensors",
                read_it)
    del sys.modules["safetensors"]
    sys.modules.update(hidden)
    assert gpt_oss.Checkpoint(WORK / "good.safetensors").keys()


def test_packed():
    """Elements are packed if the rows and columns of all experts fill tiles."""
    experts = load(WORK / "good.safetensors", 1)
    assert "packed=gate_up_proj" in repr(experts)
    assert experts.gate_up_proj_elements.shape == (E, 2 * I // 64, H // 64, 128, 16)
    assert experts.down_proj_elements.shape == (E, H, I // 2)
    other = MXWeightOnlyGptOssExperts(E, H, I, device="meta")
    assert "packed" not in repr(other)
    other.load_state_dict(experts.state_dict(), assign=True)
    assert torch.equal(other.gate_up_proj_elements, experts.gate_up_proj_elements)


everything = (test_values, test_state_dict, test_without_contents, test_saved_file, test_folder, test_tensors,
              test_damaged, test_without_safetensors)
for test in (test_values, test_state_dict, test_packed) if sys.argv[2:] == ["packed"] else everything:
    test()
    print(f"{test.__name__}: passed")
