"""Checks that ptxas spills nothing in mma.sync matmuls with schedules selected by the compiler.

usage: mma_sync_spills.py MX_OPT MX_TRANSLATE PTXAS DIRECTORY CHIP [--shapes=few|all]
                          [--pairs=two|few|all|weights] [--packed] [--forms=PATTERN]

Compiles each form in mma_sync_forms.py for shapes from one row to a large layer, static or dynamic.
--pairs=few selects one pair per operand kind: 8-bit by 8-bit, 8-bit by 4-bit, 4-bit by 8-bit, and
4-bit by 4-bit elements with either scale type. --pairs=weights multiplies bf16 by quantized weights,
which --packed packs. Prints each kernel with spills or stack, and the number of kernels.
"""

import argparse
import itertools
import os
import re
import subprocess
import sys

from mma_sync_forms import FORMS, make_program

FORMATS = ["f8E4M3FN", "f8E5M2", "f6E3M2FN", "f6E2M3FN", "f4E2M1FN"]
MX = ("f8E8M0FNU", 32)
NV = ("f8E4M3FN", 16)
FEW = [
    ("f8E4M3FN", "f8E4M3FN", *MX),
    ("f8E4M3FN", "f4E2M1FN", *MX),
    ("f4E2M1FN", "f8E5M2", *MX),
    ("f4E2M1FN", "f4E2M1FN", *MX),
    ("f4E2M1FN", "f4E2M1FN", *NV),
]
PAIRS = {
    "two": [FEW[0], FEW[-1]],
    "few": FEW,
    "all": [(a, b, *MX) for a, b in itertools.product(FORMATS, FORMATS)] + [FEW[-1]],
    "weights": [("bf16", weights, *MX) for weights in FORMATS] + [("bf16", "f4E2M1FN", *NV)],
}
# Each shape lists rows, columns and reduction elements.
FEW_SHAPES = [(1, 4096, 4096), (8192, 8192, 8192), ("?", "?", "?")]
SHAPES = FEW_SHAPES + [
    (16, 128, 512),
    (100, 637, 1088),
    (100, 640, 1152),
    (128, 1024, 8192),
    (1024, 2048, 2048),
    ("?", 4096, 4096),
    ("?", 2048, "?"),
]


def check(log, kernels):
    """Returns the kernels that spill or use stack according to a log of ptxas -v."""
    bad, name, seen = [], None, 0
    for line in log.splitlines():
        found = re.search(r"Compiling entry function '([^']*)'", line)
        name = found[1] if found else name
        found = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+)", line)
        if found:
            seen += 1
            if found.groups() != ("0", "0", "0"):
                bad.append(f"{name}: {line.strip()}")
    if seen != kernels:
        sys.exit(f"expected ptxas to report {kernels} kernels, found {seen}")
    return bad


def compile_program(args, text, base):
    """Compiles a program. Returns the number of kernels and the kernels that spill."""
    with open(base + ".mlir", "w", encoding="utf-8") as file:
        file.write(text)
    lowering = [args.mx_opt, base + ".mlir", f"--mx-to-nvvm=chip={args.chip}", "-o", base + ".nvvm.mlir"]
    lowered = subprocess.run(lowering, capture_output=True, text=True)
    if lowered.returncode:
        sys.exit(f"{base}.mlir: mx-opt failed: {lowered.stderr}")
    subprocess.run([args.mx_translate, "--mx-to-ptx", base + ".nvvm.mlir", "-o", base + ".ptx"], check=True)
    with open(base + ".ptx", encoding="utf-8") as file:
        ptx = file.read()
    run = subprocess.run(
        [args.ptxas, f"-arch={args.chip}", "-v", base + ".ptx", "-o", base + ".cubin"],
        capture_output=True, text=True,
    )
    if run.returncode:
        sys.exit(f"{base}.ptx: ptxas failed: {run.stderr}")
    if "mma.sync" not in ptx:
        sys.exit(f"{base}.ptx: expected mma.sync instructions, found none")
    kernels = len(re.findall(r"\.entry\b", ptx))
    return kernels, check(run.stderr, kernels)


def main():
    parser = argparse.ArgumentParser()
    for name in ("mx_opt", "mx_translate", "ptxas", "directory", "chip"):
        parser.add_argument(name)
    parser.add_argument("--pairs", choices=PAIRS, default="few")
    parser.add_argument("--shapes", choices=["few", "all"], default="all")
    parser.add_argument("--forms", default="")
    parser.add_argument("--packed", action="store_true")
    args = parser.parse_args()
    os.makedirs(args.directory, exist_ok=True)
    forms = [form for form in FORMS if re.fullmatch(args.forms or ".*", form.name)]
    total, bad = 0, []
    for formats in PAIRS[args.pairs]:
        name = "-".join(map(str, formats))
        for form in forms:
            text = make_program([form], formats, FEW_SHAPES if args.shapes == "few" else SHAPES, args.packed)
            if not text:
                continue
            kernels, found = compile_program(args, text, os.path.join(args.directory, f"{name}-{form.name}"))
            total += kernels
            bad += [f"{name}: {line}" for line in found]
    print("\n".join(bad + [f"{total} kernels, {len(bad)} that spill"]))


main()
