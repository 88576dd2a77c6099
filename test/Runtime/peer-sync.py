"""Runs the kernel with which ranks of a group meet (PeerSync.ptx) on simulated devices: the stores of a device into
windows of its peers, before the kernel in the same stream, are complete after it. Mutants of the kernel are found.

RUN: %python %s %mx_src/runtime/lib/group/PeerSync.ptx %t
REQUIRES: numpy
"""

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np

KERNEL, DIRECTORY = sys.argv[1:]
LINE, WORDS = 128, 64
# Thread t copies word t to `count` rows.
STEPS = """.version 6.0
.target sm_70
.address_size 64
.visible .entry put(.param .u64 rows, .param .u64 input, .param .u32 count)
{
  .reg .pred %p; .reg .b32 %count, %t, %word; .reg .b64 %rows, %input, %at, %row;
  ld.param.u64 %rows, [rows]; ld.param.u64 %input, [input]; ld.param.u32 %count, [count];
  mov.u32 %t, %tid.x; mul.wide.u32 %at, %t, 4; add.u64 %input, %input, %at;
  ld.global.u32 %word, [%input];
NEXT:
  ld.global.u64 %row, [%rows]; add.u64 %row, %row, %at;
  st.global.u32 [%row], %word;
  add.u64 %rows, %rows, 8; sub.u32 %count, %count, 1;
  setp.ne.u32 %p, %count, 0;
  @%p bra NEXT;
  ret;
}
"""


def values(rank, epoch):
    return np.random.default_rng([rank, epoch]).integers(0, 1 << 31, WORDS, np.uint32)


def device(rank, devices, epochs, lanes, tag, stop):
    def pointers(name, stride, at=0):
        return [{"offset": at + 8 * d, "buffer": name, "device": d, "buffer_offset": rank * stride}
                for d in range(devices)]

    lines = (devices + 1) * LINE
    buffers = {"window": {"bytes": devices * WORDS * 4, "fill": "ff", "window": True},
               "rows": {"bytes": 8 * devices, "patch": pointers("window", WORDS * 4)},
               "block": {"bytes": lines + 8 * devices, "fill": "zero", "align": LINE, "window": True,
                         # An epoch that wraps around, as in the lines of the ranks.
                         "patch": [{"offset": LINE * d, "i32": -2} for d in range(devices + 1)]
                         + pointers("block", LINE, lines)},
               "host": {"bytes": 8, "fill": "zero", "patch": [{"offset": 0, "i32": stop}]}}
    meet = {"kernel": "mx_peer_sync", "grid": [1], "block": [lanes],
            "args": [{"buffer": "block"}, {"buffer": "host"}, {"u32": devices}, {"u32": tag}]}
    launches, outputs = [], {"host": {"file": f"host{rank}.npy", "dtype": "u32"}}
    for e in range(epochs):
        np.save(f"{DIRECTORY}/in{rank}.{e}.npy", values(rank, e))
        buffers |= {f"in{e}": {"file": f"in{rank}.{e}.npy"}, f"out{e}": {"bytes": devices * WORDS * 4},
                    f"to{e}": {"bytes": 8, "patch": [{"offset": 0, "buffer": f"out{e}"}]}}
        outputs[f"out{e}"] = {"file": f"out{rank}.{e}.npy", "dtype": "u32"}
        launches += [{"kernel": "put", "grid": [1], "block": [WORDS],
                      "args": [{"buffer": "rows"}, {"buffer": f"in{e}"}, {"u32": devices}]}, meet,
                     {"kernel": "put", "grid": [1], "block": [devices * WORDS],
                      "args": [{"buffer": f"to{e}"}, {"buffer": "window"}, {"u32": 1}]}, meet]
    return {"buffers": buffers, "launches": launches, "outputs": outputs}


def run(edit, devices, epochs, seed, lanes=32, tags=(7, 7, 7, 7), stop=0, running=4):
    """Returns the status, the text, and whether all devices have read the right words."""
    with open(KERNEL) as file, open(f"{DIRECTORY}/sync.ptx", "w") as out:
        text = file.read()
        out.write(text if edit is None else text.replace(*edit))
        assert edit is None or text.count(edit[0]) == 1, edit
    ranks = [device(r, devices, epochs if r < running else 0, lanes, tags[r], stop) for r in range(devices)]
    with open(f"{DIRECTORY}/launch.json", "w") as out:
        json.dump({"sm_count": 4, "limits": {"instructions": 1e6}, "modules": ["steps.ptx"], "devices": ranks}, out)
    done = subprocess.run(["mx-sim", f"{DIRECTORY}/sync.ptx", f"{DIRECTORY}/launch.json", f"--seed={seed}"],
                          capture_output=True, text=True, timeout=120)
    expected = [np.concatenate([values(r, e) for r in range(devices)]) for e in range(epochs)]
    right = all((np.load(f"{DIRECTORY}/out{r}.{e}.npy") == expected[e]).all()
                for r in range(min(devices, running)) for e in range(epochs))
    return done.returncode, done.stderr, right


NARROW = r"race: .* has a narrower scope than \.sys"
RACE = r"race: .* of buffer 'window' "
MUTANTS = {
    "release of the device": (("st.release.sys", "st.release.gpu"), NARROW),
    "no release": (("st.release.sys", "st.relaxed.sys"), RACE),
    "acquire of the device": (("ld.acquire.sys", "ld.acquire.gpu"), NARROW),
    "no acquire": (("ld.acquire.sys", "ld.relaxed.sys"), RACE),
    "epoch too early": (("%its_epoch, 0;\n  @%p bra ARR", "%its_epoch, -1;\n  @%p bra ARR"), RACE),
    "epoch too late": (("%its_epoch, 0;\n  @%p bra ARR", "%its_epoch, 1;\n  @%p bra ARR"), "deadlock: |instruction-limit"),
    "epoch of the last kernel": (("st.global.u32 [%counter], %epoch;", ""), RACE),
}

os.makedirs(DIRECTORY, exist_ok=True)
with open(f"{DIRECTORY}/steps.ptx", "w") as out:
    out.write(STEPS)
for seed in range(6):
    for devices, lanes in ((2, 32), (3, 2), (4, 32)):
        status, text, right = run(None, devices, 3, seed, lanes)
        assert status == 0 and right, (devices, seed, text)
    for name, (edit, pattern) in MUTANTS.items():
        status, text, _ = run(edit, 3, 2, seed)
        assert status and re.search(pattern, text), (name, seed, text)
# A rank with another tag is reported, and keeps all ranks waiting.
status, text, _ = run(None, 2, 1, 0, tags=(7, 8))
hosts = [np.load(f"{DIRECTORY}/host{r}.npy").tolist() for r in range(2)]
assert status and hosts == [[0, 2], [0, 1]], (hosts, text)
# The host ends kernels that wait for an absent rank.
status, text, _ = run(None, 2, 2, 0, stop=1, running=1)
assert status == 0, text
if shutil.which("ptxas"):
    done = subprocess.run(["ptxas", "-arch=sm_90", "-v", KERNEL, "-o", f"{DIRECTORY}/sync.cubin"],
                          capture_output=True, text=True)
    registers = re.search(r"Used (\d+) registers", done.stderr)
    # Beside a kernel with 63 K of the 64 K registers of an SM.
    assert registers and int(registers[1]) <= 32 and "smem" not in done.stderr, done.stderr
