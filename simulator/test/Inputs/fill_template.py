"""fill_template.py MX-SIM PLACES OUT: checks templates of mx-sim, fills them in, and
runs them. The sources next to the PTX declare the parameters."""

import json
import struct
import subprocess
import sys

sim, places, out = sys.argv[1:]


def read(name):
    with open(f"{out}/{name}.json", encoding="utf-8") as file:
        return json.load(file)


def run(ptx, name, launch):
    with open(f"{out}/{name}-filled.json", "w", encoding="utf-8") as file:
        json.dump(launch, file)
    subprocess.run([sim, f"{places}/{ptx}", f"{out}/{name}-filled.json", "--checks=none"],
                   check=True)


def floats(name, count):
    with open(f"{out}/{name}", "rb") as file:
        data = file.read()
    return struct.unpack(f"<{count}f", data[-4 * count:])


# sums<64>(const float *in, float *out, int rows)
launch = read("sums")
assert "void demo::sums<64>(float const*, float*, int)" in launch["notes"]
assert launch["args"] == [{"buffer": "param_0"}, {"buffer": "param_1"}, {"i32": "?"}]
assert launch["grid"] == launch["block"] == ["?", 1, 1]
assert "dynamic_smem" not in launch and "cluster" not in launch
launch["grid"][0], launch["block"][0], launch["args"][2]["i32"] = 2, 64, 3
launch["buffers"]["param_0"].update(bytes=3 * 64 * 4, fill="zero")
launch["buffers"]["param_1"]["bytes"] = 3 * 4
launch["outputs"]["param_1"] = "sums.npy"
run("sums.ptx", "sums", launch)
with open(f"{out}/sums.npy", "rb") as file:  # the kernel's race does not affect its values
    assert b"(12,)" in file.read()

# one(int *x), in clusters of two
launch = read("one")
assert launch["cluster"] == [2, 1, 1] and launch["args"] == [{"buffer": "param_0"}]

# scaled(CUtensorMap, {const float *, float, int, double}, float, long long, float *)
launch = read("scaled")
fields = [{"offset": 0, "buffer": "param_1_at_0"}, {"offset": 8, "f32": "?"},
          {"offset": 12, "i32": "?"}, {"offset": 16, "f64": "?"}]
assert launch["args"] == [
    {"tensor_map": "param_0"},
    {"struct": {"size": 24, "align": 8, "fields": fields}},
    {"f32": "?"}, {"i64": "?"}, {"buffer": "param_4"}], launch["args"]
assert launch["dynamic_smem"] == "?"
assert any("at most 128x1x1" in note for note in launch["notes"])
assert sorted(launch["buffers"]) == ["param_0", "param_1_at_0", "param_4"]
launch["grid"][0], launch["block"][0], launch["dynamic_smem"] = 1, 128, 512
launch["buffers"]["param_0"]["bytes"] = 1024
launch["buffers"]["param_1_at_0"].update(bytes=512, fill="zero")
launch["buffers"]["param_4"]["bytes"] = 512
launch["tensor_maps"]["param_0"].update(type="f32", dims=[16, 16], strides=[64],
                                        box=[16, 16], swizzle="none")
fields = launch["args"][1]["struct"]["fields"]
fields[1]["f32"], fields[2]["i32"], fields[3]["f64"] = 2.0, 5, 0.25
launch["args"][2]["f32"], launch["args"][3]["i64"] = 3.0, 1
launch["outputs"]["param_4"] = {"file": "scaled.npy", "dtype": "f32", "shape": [128]}
run("params.ptx", "scaled", launch)
assert set(floats("scaled.npy", 128)) == {5.25}

# copies({CUtensorMap, CUtensorMap, int *, int}, CUtensorMap): of ranks 2, 3 and 1
launch = read("copies")
fields = [{"offset": 0, "tensor_map": "param_0_at_0"}, {"offset": 128, "tensor_map": "param_0_at_128"},
          {"offset": 256, "buffer": "param_0_at_256"}, {"offset": 264, "i32": "?"}]
assert launch["args"] == [{"struct": {"size": 384, "align": 64, "fields": fields}},
                          {"tensor_map": "param_1"}], launch["args"]
assert any('"param_0_at_256": {"file"' in note for note in launch["notes"])
for name, rank in ("param_0_at_0", 2), ("param_0_at_128", 3), ("param_1", 1):
    one = launch["tensor_maps"][name]
    assert (one["dims"], one["strides"], one["box"]) == (
        ["?"] * rank, ["?"] * (rank - 1), ["?"] * rank), (name, one)
    launch["buffers"][name].update(bytes=256, fill="ff")
    sides = [64, 1, 1][:rank]
    one.update(type="i32", dims=sides, strides=[256, 256][:rank - 1], box=sides, swizzle="none")
launch["grid"][0] = 1
launch["buffers"]["param_0_at_256"]["bytes"] = 4
launch["args"][0]["struct"]["fields"][3]["i32"] = 8
launch["outputs"]["param_0_at_256"] = {"file": "copies.npy", "dtype": "i32", "shape": [1]}
run("maps.ptx", "copies", launch)
with open(f"{out}/copies.npy", "rb") as file:  # -1 + 8
    assert struct.unpack("<i", file.read()[-4:]) == (7,)
