"""Launch files may only name files in their own folder. Other paths are rejected before anything is
read or written, as are outputs that would replace links, pipes or devices. --any-path allows both.

RUN: %python %s mx-sim %t
REQUIRES: numpy
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np

program, work = sys.argv[1], pathlib.Path(sys.argv[2])
shutil.rmtree(work, ignore_errors=True)
here, other = work / "here", work / "other"
for folder in here, other, here / "folder":
    folder.mkdir(parents=True)
(here / "k.ptx").write_text(".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k() { ret; }\n")
shutil.copy(here / "k.ptx", other)
for folder in here, other:
    np.save(folder / "x.npy", np.arange(4, dtype=np.int32))
KEPT = {path: path.read_bytes() for path in other.iterdir()}
LAUNCH = {"kernel": "k", "grid": [1], "block": [1]}
OUTSIDE = ["../other/x.npy", "../new.npy", f"{other}/x.npy", f"{other}/new.npy", "..", ".", "", "folder/x.npy", "./x.npy",
           "folder/../x.npy", "/dev/null", "a\\b", "x.npy/", "x\0.npy"]


def launch(*options, **keys):
    """Returns the exit status and the output."""
    document = dict(LAUNCH, modules=["k.ptx"]) | keys
    if "devices" in document:
        document = {"modules": ["k.ptx"], "devices": [dict(LAUNCH, **d) for d in keys["devices"]]}
    (here / "launch.json").write_text(json.dumps(document))
    done = subprocess.run([program, here / "launch.json", "--quiet", *options], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def refuses(says, **keys):
    status, said = launch(**keys)
    assert status == 2 and said.count("error:") == 1 and says in said, (keys, status, said)
    assert len(said.splitlines()) == 1, said
    assert KEPT == {path: path.read_bytes() for path in other.iterdir()}
    assert sorted(os.listdir(work)) == ["here", "other"], os.listdir(work)


ZEROS = {"y": {"bytes": 16, "fill": "zero"}}
RULE = "expected the name of a file beside the launch file, found "
for name in OUTSIDE:
    refuses("modules[0]: " + RULE, modules=[name])
    refuses("buffers.y.file: " + RULE, buffers={"y": {"file": name}})
    refuses("outputs.y: " + RULE, buffers=ZEROS, outputs={"y": name})
    refuses("outputs.y.file: " + RULE, buffers=ZEROS, outputs={"y": {"file": name, "dtype": "u8"}})
    refuses("devices[1].outputs.y: " + RULE, devices=[{}, {"buffers": ZEROS, "outputs": {"y": name}}])

# The path is rejected even if the document contains other errors.
for faults in {"grid": "none"}, {"modules": 7}, {"buffers": 7}, {"buffers": {"y": 7}}, {"kernel": "other"}:
    status, said = launch(**{"buffers": ZEROS, "outputs": {"y": "../new.npy"}} | faults)
    assert status == 2 and not (work / "new.npy").exists(), said

# An output may only replace a regular file.
os.symlink(other / "x.npy", here / "link.npy")
os.symlink(other / "new.npy", here / "dangling.npy")
os.symlink("/dev/null", here / "null.npy")
os.symlink(other, here / "place")
os.mkfifo(here / "pipe.npy")
for name, kind in {"link.npy": "a symbolic link", "dangling.npy": "a symbolic link", "null.npy": "a symbolic link",
                   "place": "a symbolic link", "folder": "a directory", "pipe.npy": "a device or a pipe"}.items():
    refuses(f"{name}: expected a regular file to replace, or none, found {kind}; mx-sim --any-path allows any",
            buffers=ZEROS, outputs={"y": name})
refuses("place/x.npy'", buffers={"y": {"file": "place/x.npy"}})

# These names are valid. Inputs may be links.
os.symlink(other / "k.ptx", here / "linked.ptx")
for name in "x.npy", "link.npy":
    assert launch(modules=["linked.ptx"], buffers={"y": {"file": name}}, outputs={"y": "..y.npy"})[0] == 0
    assert (np.load(here / "..y.npy") == [0, 1, 2, 3]).all()
assert launch(buffers=ZEROS, outputs={"y": {"file": "..y.npy", "dtype": "u32"}})[0] == 0
assert (np.load(here / "..y.npy") == [0] * 4).all()

# --any-path allows all paths.
assert launch("--any-path", modules=[str(other / "k.ptx")], buffers={"y": {"file": "../other/x.npy"}},
              outputs={"y": "../new.npy"})[0] == 0
assert (np.load(work / "new.npy") == [0, 1, 2, 3]).all()
assert launch("--any-path", buffers=ZEROS, outputs={"y": "link.npy"})[0] == 0
assert not np.load(other / "x.npy").any() and (here / "link.npy").is_symlink()
print("right")
