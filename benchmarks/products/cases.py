#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The products that are timed, as programs.

usage: cases.py MX_COMPILE DIRECTORY [CASE...]"""

import dataclasses
import pathlib
import subprocess
import sys

CHIP = "sm_90a"
PROGRAM = """
!a = tensor<{m}x{k}x{a}>
!w = tensor<{n}x{k}x{b}>
!b = tensor<{n}x{k}x{b}{layout}>
!as = tensor<{m}x{blocks}x{s}, #mx.scale_layout<sf_128x4>>
!bs = tensor<{n}x{blocks}x{s}, #mx.scale_layout<sf_128x4>>
!out = tensor<{m}x{n}xbf16>
func.func @main(%a: !a, {as_argument}%b: !b, %bs: !bs) -> !out {{
  %init = tensor.empty() : !out
  %y = mx.matmul ins(%a, {as_}%b, %bs : !a, {as_type}!b, !bs) outs(%init : !out)
      {block}{schedule} -> !out
  return %y : !out
}}
"""
PACK = """
func.func @pack(%w: !w) -> !b {
  %init = tensor.empty() : !b
  %p = mx.pack_weights ins(%w : !w) outs(%init : !b) -> !b
  return %p : !b
}
"""
# Products whose time is that of reading the weights.
FEW_ROWS = 1024


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    m: int
    n: int
    k: int
    a: str = "f8E4M3FN"
    b: str = "f8E4M3FN"
    scale: str = "f8E8M0FNU"
    schedule: str = ""
    packed: bool = False

    @property
    def block(self):
        return 16 if self.scale == "f8E4M3FN" else 32

    @property
    def has_scales_of_a(self):
        return self.a != "bf16"

    @property
    def flops(self):
        return 2 * self.m * self.n * self.k

    def text(self):
        schedule = f"{{mxgpu.schedule = #mxgpu.schedule<{self.schedule}>}}" if self.schedule else ""
        text = PROGRAM + PACK.replace("{", "{{").replace("}", "}}") if self.packed else PROGRAM
        return text.format(layout=", #mx.weight_layout<fragment_64x64>" if self.packed else "",
                              m=self.m, n=self.n, k=self.k, a=self.a, b=self.b, s=self.scale,
                              blocks=self.k // self.block, schedule=schedule,
                              as_argument="%as: !as, " if self.has_scales_of_a else "",
                              as_="%as, " if self.has_scales_of_a else "",
                              as_type="!as, " if self.has_scales_of_a else "",
                              block="block_size = 16 " if self.block == 16 else "")


# Operands dequantized in the kernel, and before it, where the model may choose.
FUSED = "tile = [256, 128, 64], raster = group_m(8), epilogue = tma_store"
BEFORE = "tile = [256, 256, 64], cta_pair, workspace = ab, raster = group_m(8), epilogue = tma_store"
LARGE = {"4096": (4096,) * 3, "8192": (8192,) * 3, "16384x4096x7168": (16384, 4096, 7168)}
FP4 = dict(a="f4E2M1FN", b="f4E2M1FN")
CASES = [
    Case("mxfp8-4096", 4096, 4096, 4096),
    Case("mxfp8-8192", 8192, 8192, 8192),
    Case("mxfp8-16384x4096x7168", 16384, 4096, 7168),
    *(Case(f"mxfp8-{name}-{way}", *size, schedule=schedule) for name, size in LARGE.items()
      for way, schedule in (("fused", FUSED), ("workspace", BEFORE))),
    Case("mxfp8-e5m2-8192", 8192, 8192, 8192, a="f8E5M2"),
    Case("mxfp4-8192", 8192, 8192, 8192, **FP4),
    Case("nvfp4-8192", 8192, 8192, 8192, scale="f8E4M3FN", **FP4),
    Case("mxfp6-8192", 8192, 8192, 8192, a="f6E2M3FN", b="f6E2M3FN"),
    Case("mxfp8xmxfp4-8192", 8192, 8192, 8192, b="f4E2M1FN"),
    Case("bf16xmxfp8-8192", 8192, 8192, 8192, a="bf16"),
    Case("bf16xmxfp4-8192", 8192, 8192, 8192, a="bf16", b="f4E2M1FN"),
    *(Case(f"bf16x{name}{'-packed' * packed}-{m}x8192x8192", m, 8192, 8192, a="bf16", b=b,
           scale=scale, packed=packed)
      for name, b, scale in (("mxfp4", "f4E2M1FN", "f8E8M0FNU"), ("nvfp4", "f4E2M1FN", "f8E4M3FN"),
                             ("mxfp8", "f8E4M3FN", "f8E8M0FNU"))
      for m in (1, 16, 64, 256) for packed in (False, True)),
]


def compile_case(mx_compile, case, directory):
    target = directory / case.name
    source = directory / f"{case.name}.mlir"
    source.write_text(case.text())
    subprocess.run([mx_compile, source, f"--chip={CHIP}", "-o", target], check=True)


def main():
    mx_compile, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[3:]
    for case in CASES:
        if not wanted or case.name in wanted:
            compile_case(mx_compile, case, directory)


if __name__ == "__main__":
    main()
