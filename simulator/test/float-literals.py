#!/usr/bin/env python3
"""Compares decimal floating-point literals of PTX with Python's values, and with ptxas
if it is installed. The literals are immediates, vector elements and initial values.

RUN: %python %s %t
REQUIRES: numpy
"""

import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys

import numpy as np

RIGHT = """0. 1. 00. 01.5 08.5 .5 .0 .00e-0 1.e3 1.E+3 1e5 1E5 1e+5 1e05 1e0005 09e1 0e0 0.e0 .5e1 .5E-2 1.5e-3 -1. -.5 +.5 +1.
 --1.5 -+.5 +-2. (1.) -(1.5) 1.+.5 -(1.+2.)*.5 1./3. 0d3ff0000000000000-3. -0d4008000000000000 1e-300 1e300 0e400 12345678901234567890123.5 123456789012345678901234567890.
 0.1000000000000000055511151231257827021181583404541015625
 0.00000000000000000000000000000000000000000000000000000000000000000000000000012""".split()
WRONG = "1e 1.e 1.e+ .e3 . 1.f 1.5F .5f 1.U 1e5U 1e5x 1..5 1.5.2 1e5.5 .5.5 0x1.8p3 1e400 -1e400 1e-400 4.9e-324 -0f3f800000 !1. ~1. 1.+1 1+1. 1.&1. 1./0.".split()

HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"


def value(literal):
    literal = re.sub("0d([0-9a-f]{16})", lambda m: repr(struct.unpack(">d", bytes.fromhex(m[1]))[0]), literal)
    return float(eval(re.sub(r"(?<![\w.])0+(?=\d)", "", literal)))


def kernel(literals):
    values = ", ".join(literals)
    body = "".join(
        f"mov.f32 %f, {l}; mov.f64 %d, {l}; st.global.f32 [%o+{12 * i}], %f; st.global.f32 [%q+{8 * i}], {l};\n"
        f"st.global.v2.f32 [%t+{8 * i}], {{{l},{l}}}; st.global.f64 [%p+{8 * i}], %d;\n"
        f"ld.global.f32 %f, [g+{4 * i}]; ld.global.f64 %d, [h+{8 * i}];\n"
        f"st.global.f32 [%q+{8 * i + 4}], %f; st.global.f64 [%r+{8 * i}], %d;\n"
        for i, l in enumerate(literals)
    )
    n = len(literals)
    return f"""{HEADER}.global .f32 g[{n}] = {{{values}}};
.global .f64 h[{n}] = {{{values}}};
.visible .entry k(.param .u64 o, .param .u64 p, .param .u64 q, .param .u64 r, .param .u64 t) {{
.reg .f32 %f; .reg .f64 %d; .reg .u64 %o, %p, %q, %r, %t;
ld.param.u64 %o, [o]; ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; ld.param.u64 %r, [r]; ld.param.u64 %t, [t];
{body}ret;
}}
"""


def assembles(path):
    command = ["ptxas", "-arch=sm_90a", path, "-o", "/dev/null"]
    return subprocess.run(command, capture_output=True).returncode == 0


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    ptx = out / "k.ptx"
    ptx.write_text(kernel(RIGHT))
    n = len(RIGHT)
    sizes = {"o": 12 * n, "p": 8 * n, "q": 8 * n, "r": 8 * n, "t": 8 * n}
    kinds = {"o": "f32", "p": "f64", "q": "f32", "r": "f64", "t": "f32"}
    launch = {
        "kernel": "k", "grid": [1], "block": [1],
        "buffers": {b: {"bytes": s, "fill": "zero"} for b, s in sizes.items()},
        "args": [{"buffer": b} for b in sizes],
        "outputs": {b: {"file": f"{b}.npy", "dtype": k, "shape": [sizes[b] // (4 if k == "f32" else 8)]}
                    for b, k in kinds.items()},
    }  # fmt: skip
    (out / "k.json").write_text(json.dumps(launch))
    subprocess.run(["mx-sim", ptx, out / "k.json", "--quiet"], check=True)
    doubles = np.array([value(l) for l in RIGHT])
    with np.errstate(over="ignore"):
        singles = doubles.astype(np.float32)
    found = {b: np.load(out / f"{b}.npy") for b in sizes}
    wrong = 0
    for name, got, want in [
        ("mov.f32", found["o"][::3], singles),
        ("mov.f64", found["p"], doubles),
        ("st.f32", found["q"][::2], singles),
        (".f32 initial", found["q"][1::2], singles),
        (".f64 initial", found["r"], doubles),
        ("vector", found["t"][::2], singles),
        ("vector", found["t"][1::2], singles),
    ]:
        for literal, a, b in zip(RIGHT, got, want):
            if a.tobytes() != b.tobytes():
                print(f"{name} of {literal}: {a}, expected {b}")
                wrong += 1
    ptxas = shutil.which("ptxas")
    if ptxas and not assembles(ptx):
        print("ptxas rejects a literal in RIGHT")
        wrong += 1
    for literal in WRONG:
        ptx.write_text(kernel([literal]))
        done = subprocess.run(["mx-sim", "--list", ptx], capture_output=True, text=True)
        if done.returncode != 2 or "k.ptx:4:" not in done.stderr:
            print(f"{literal}: status {done.returncode}: {done.stderr}")
            wrong += 1
        if ptxas and assembles(ptx):
            print(f"{literal}: ptxas accepts the literal")
            wrong += 1
    print(f"{len(RIGHT)} right and {len(WRONG)} wrong literals, {wrong} differences")
    return wrong != 0


sys.exit(main())
