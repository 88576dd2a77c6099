"""Products by mma.sync whose schedules the compiler chooses: ptxas spills nothing.

usage: mma_sync_spills.py MX_OPT MX_TRANSLATE PTXAS DIRECTORY CHIP [--all]

Shapes from one row to a large layer, known or not: dense, accumulated, groups of
rows. Without --all five pairs of formats stand for the kinds of operands: bytes,
4 bits beside bytes on either side, and 4 bits with either scales. Prints a line
for each kernel that spills or has a stack, and how many there were.
"""

import itertools
import os
import re
import subprocess
import sys

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
ALL = [(a, b, *MX) for a, b in itertools.product(FORMATS, FORMATS)] + [FEW[-1]]
# Rows, columns, elements of the reduction.
SHAPES = [
    (1, 4096, 4096),
    (16, 128, 512),
    (100, 640, 1088),
    (128, 1024, 8192),
    (1024, 2048, 2048),
    (8192, 8192, 8192),
    ("?", "?", "?"),
    ("?", 4096, 4096),
]

DENSE = """
func.func @{name}(%a: tensor<{m}x{k}x{a}>, %as: tensor<{m}x{blocks}x{s}, {tiled}>,
                  %b: tensor<{n}x{k}x{b}>, %bs: tensor<{n}x{blocks}x{s}, {tiled}>,
                  %y: tensor<{m}x{n}x{out}>) -> tensor<{m}x{n}x{out}> {{
  %r = mx.matmul ins(%a, %as, %b, %bs : tensor<{m}x{k}x{a}>, tensor<{m}x{blocks}x{s}, {tiled}>,
      tensor<{n}x{k}x{b}>, tensor<{n}x{blocks}x{s}, {tiled}>) outs(%y : tensor<{m}x{n}x{out}>)
      block_size = {block} {accumulate}-> tensor<{m}x{n}x{out}>
  return %r : tensor<{m}x{n}x{out}>
}}
"""
ROWS = """
func.func @{name}(%a: tensor<{m}x{k}x{a}>, %as: tensor<{m}x{blocks}x{s}, #mx.scale_layout<sf_128x4, ragged = rows, groups = 8>>,
                  %b: tensor<8x{n}x{k}x{b}>, %bs: tensor<8x{n}x{blocks}x{s}, {tiled}>,
                  %ends: tensor<8xi32>, %y: tensor<{m}x{n}xbf16>) -> tensor<{m}x{n}xbf16> {{
  %r = mx.grouped_matmul ragged = rows
      ins(%a, %as, %b, %bs : tensor<{m}x{k}x{a}>, tensor<{m}x{blocks}x{s}, #mx.scale_layout<sf_128x4, ragged = rows, groups = 8>>,
          tensor<8x{n}x{k}x{b}>, tensor<8x{n}x{blocks}x{s}, {tiled}>)
      offsets(%ends : tensor<8xi32>) outs(%y : tensor<{m}x{n}xbf16>) block_size = {block} -> tensor<{m}x{n}xbf16>
  return %r : tensor<{m}x{n}xbf16>
}}
"""


def count_blocks(k, block):
    return "?" if k == "?" else k // block


def make_program(formats):
    """The functions of a pair of formats, by what they compute."""
    a, b, s, block = formats
    common = dict(a=a, b=b, s=s, block=block, tiled="#mx.scale_layout<sf_128x4>")
    text = []
    for number, (m, n, k) in enumerate(SHAPES):
        sizes = dict(common, m=m, n=n, k=k, blocks=count_blocks(k, block))
        out = ("f32", "bf16")[number % 2]
        text.append(DENSE.format(name=f"dense{number}", out=out, accumulate="", **sizes))
    sizes = dict(common, m="?", n=2048, k=2048, blocks=2048 // block)
    text.append(DENSE.format(name="added", out="f32", accumulate="accumulate ", **sizes))
    text.append(ROWS.format(name="rows", **sizes))
    return "".join(text)


def check(log, kernels):
    """The kernels of a log of ptxas -v that spill or have a stack."""
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


def main(mx_opt, mx_translate, ptxas, directory, chip, *more):
    os.makedirs(directory, exist_ok=True)
    total, bad = 0, []
    for formats in ALL if "--all" in more else FEW:
        base = os.path.join(directory, "-".join(map(str, formats)))
        with open(base + ".mlir", "w", encoding="utf-8") as file:
            file.write(make_program(formats))
        lowered = subprocess.run([mx_opt, base + ".mlir", f"--mx-to-nvvm=chip={chip}", "-o", base + ".nvvm.mlir"])
        if lowered.returncode:
            sys.exit(f"{base}.mlir: mx-opt failed")
        subprocess.run([mx_translate, "--mx-to-ptx", base + ".nvvm.mlir", "-o", base + ".ptx"], check=True)
        with open(base + ".ptx", encoding="utf-8") as file:
            ptx = file.read()
        run = subprocess.run(
            [ptxas, f"-arch={chip}", "-v", base + ".ptx", "-o", base + ".cubin"], capture_output=True, text=True
        )
        if run.returncode:
            sys.exit(f"{base}.ptx: ptxas failed: {run.stderr}")
        if "mma.sync" not in ptx:
            sys.exit(f"{base}.ptx: expected products by mma.sync")
        kernels = len(re.findall(r"\.entry\b", ptx))
        total += kernels
        bad += [f"{'-'.join(map(str, formats))}: {line}" for line in check(run.stderr, kernels)]
    print("\n".join(bad + [f"{total} kernels, {len(bad)} that spill"]))


main(*sys.argv[1:])
