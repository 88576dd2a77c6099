"""Writes a program directory, as mx-compile would, from a hand-written manifest, and its input arrays.

usage: make_program.py KERNELS.ptx DIRECTORY [FROM TO]

TO replaces every occurrence of FROM in the manifest.
"""

import json
import os
import shutil
import sys

import numpy as np

kernels, directory, *change = sys.argv[1:]
os.makedirs(directory)
shutil.copy(kernels, os.path.join(directory, "kernels.ptx"))


def array(name):
    return {"name": name, "type": "tensor<?xf32>", "dtype": "f4", "shape": ["?"]}


entry = {
    "name": "sum",
    "arguments": [
        array("x"),
        array("y"),
        {"name": "n", "type": "i32", "dtype": "i4"},
    ],
    "results": [{**array("z"), "shape": ["arg0[0]"]}],
    "values": [
        ["mul", "arg0[0]", 4],
        ["ceildiv", "arg0[0]", 128],
        ["eq", "arg0[0]", "arg1[0]"],
    ],
    "requires": [
        {
            "condition": "v2",
            "message": "sum.mlir:3:5: expected {} elements of y, found {}",
            "values": ["arg0[0]", "arg1[0]"],
        }
    ],
    "workspace": 0,
    "buffers": [],
    "tensor_maps": [],
    "steps": [
        {
            "launch": "vector_add",
            "grid": [4, 1, 1],
            "args": [
                {"buffer": "arg0"},
                {"buffer": "arg1"},
                {"buffer": "result0"},
                {"argument": 2},
            ],
        }
    ],
}
manifest = {
    "format": 5,
    "target": "sm_90a",
    "ptx": "kernels.ptx",
    "kernels": [
        {
            "name": "vector_add",
            "block": [128, 1, 1],
            "dynamic_smem": 0,
            "programmatic": False,
        }
    ],
    "entries": [entry],
}
# One list per line, as mx-compile writes them.
text = json.dumps(manifest, indent=2)
for key in ("values", "requires", "steps"):
    rows = ",\n".join(json.dumps(row) for row in entry[key])
    old = json.dumps(entry[key], indent=2).replace("\n", "\n      ")
    text = text.replace(old, f"[{rows}]")
if change:
    before, after = change
    if before not in text:
        sys.exit(f"no {before} in the manifest")
    text = text.replace(before, after)
with open(os.path.join(directory, "manifest.json"), "w") as f:
    f.write(text + "\n")

rng = np.random.default_rng(2)
for name, count in (("x", 300), ("y", 300), ("short", 299)):
    values = rng.standard_normal(count).astype(np.float32)
    np.save(os.path.join(directory, f"{name}.npy"), values)
np.save(os.path.join(directory, "n.npy"), np.int32(300))
np.save(os.path.join(directory, "many.npy"), np.int32(500))
