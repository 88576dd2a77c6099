#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cost of the limit of mx-fold-operands: operands are quantized (weights of expert groups: folded) and
multiplied in a call.

usage: limit.py build MX_OPT MX_COMPILE DIRECTORY   # needs no GPU
       limit.py run DIRECTORY [SECONDS]             # needs mx_compiler and PyTorch

If all rows are narrow, results with and without a limit must have the same bits. Prints the times
for such operands and, with a limit, for operands with a wide row in each 1024 or 32."""

import dataclasses
import pathlib
import subprocess
import sys

LIMIT, CHIP = 8, "sm_90a"
OPTIONS = {"none": "--mx-fold-operands", "limit": f"--mx-fold-operands=limit={LIMIT}"}
SHAPES = [(4096, 4096, 4096, 0), (8192, 8192, 8192, 0), (16384, 4096, 7168, 0), (131072, 2048, 7168, 8)]
QUANTIZER = """
  %g = tensor.empty() : !wq
  %h = tensor.empty() : !ws
  %r:2 = mx.quantize ins(%w : !w) outs(%g, %h : !wq, !ws) -> !wq, !ws"""
PROGRAM = """
!x = tensor<{m}x{k}xbf16>
!w = tensor<{n}x{k}xbf16>
!xq = tensor<{m}x{k}xf8E4M3FN>
!xs = tensor<{m}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4{ragged}>>
!wq = tensor<{batch}{n}x{k}xf8E4M3FN>
!ws = tensor<{batch}{n}x{blocks}xf8E8M0FNU{layout}>
!y = tensor<{m}x{n}xbf16>
func.func @main(%x: !x, {weights}) -> !y {{
  %e = tensor.empty() : !xq
  %f = tensor.empty() : !xs
  %o = tensor.empty() : !y{quantizer}
  %q:2 = mx.quantize {rows} ins(%x : !x) {offsets} outs(%e, %f : !xq, !xs) -> !xq, !xs
  %y = {op} {rows} ins(%q#0, %q#1, {b} : !xq, !xs, !wq, !ws) {offsets} outs(%o : !y) -> !y
  return %y : !y
}}
"""


@dataclasses.dataclass
class Case:
    m: int
    n: int
    k: int
    groups: int

    @property
    def name(self):
        return f"{self.m}x{self.n}x{self.k}" + f"-{self.groups}" * bool(self.groups)

    def program(self, way):
        return f"{self.name}-{way}"

    def of(self, way):
        return self

    def text(self):
        grouped = bool(self.groups)
        return PROGRAM.format(
            m=self.m, n=self.n, k=self.k, blocks=self.k // 32, batch=f"{self.groups}x" * grouped,
            ragged=f", ragged = rows, groups = {self.groups}" * grouped, rows="ragged = rows" * grouped,
            layout="" if grouped else ", #mx.scale_layout<sf_128x4>", quantizer="" if grouped else QUANTIZER,
            weights=f"%w: !wq, %s: !ws, %ends: tensor<{self.groups}xi32>" if grouped else "%w: !w",
            b="%w, %s" if grouped else "%r#0, %r#1",
            offsets=f"offsets(%ends : tensor<{self.groups}xi32>)" * grouped,
            op="mx.grouped_matmul" if grouped else "mx.matmul")


def build(mx_opt, mx_compile, directory):
    directory.mkdir(parents=True, exist_ok=True)
    for case in (Case(*shape) for shape in SHAPES):
        for way, fold in OPTIONS.items():
            path = directory / f"{case.program(way)}.mlir"
            path.write_text(subprocess.run([mx_opt, "-", fold, "--cse", "--mx-fuse-prologues"], input=case.text(),
                                           capture_output=True, text=True, check=True).stdout)
            subprocess.run([mx_compile, path, f"--chip={CHIP}", "-o", directory / case.program(way)], check=True)


def run(directory, seconds):
    import implementations
    import timing
    import torch

    class Problem:
        """Operands of a case, with a wide row in each `interval` rows of A, or none."""

        def __init__(self, case, interval):
            generator = torch.Generator("cuda").manual_seed(1)
            draw = lambda *shape: torch.randn(*shape, device="cuda", dtype=torch.bfloat16, generator=generator)
            self.operands = [draw(case.m, case.k)]
            if interval:
                self.operands[0][::interval, :32] *= 2.0**14
            if not case.groups:
                self.operands.append(draw(case.n, case.k))
            else:
                shape = case.groups, case.n, case.k
                codes = draw(*shape).clamp(-4, 4).mul(100).to(torch.float8_e4m3fn).view(torch.uint8)
                scales = torch.full((*shape[:2], case.k // 32), 120, dtype=torch.uint8, device="cuda")
                self.operands += [codes, scales]
                ends = torch.arange(1, case.groups + 1, device="cuda") * (case.m // case.groups)
                self.operands.append(ends.int())
            self.out_shape = case.m, case.n

        def arguments(self, _):
            return [self.operands, self.operands]

    for case in (Case(*shape) for shape in SHAPES):
        found, results = [], []
        for way, interval in (("none", 0), ("limit", 0), ("limit", 1024), ("limit", 32)):
            one = implementations.MxProgram(way, case, directory, Problem(case, interval))
            one.name = f"{way}, 1 / {interval} wide" if interval else way
            one.launch(0)
            torch.cuda.synchronize()
            results.append(one.out.view(torch.int16).clone())
            found.append(one)
        if not torch.equal(*results[:2]):
            sys.exit(f"{case.name}: expected the same bits with and without a limit, found others")
        times = timing.measure_graphs(found, seconds)
        base = times["none"]["sustained_us"]
        print(case.name, *(f"{name}: {of_it['sustained_us']:.1f} us ({base / of_it['sustained_us']:.3f})"
                           for name, of_it in times.items()), sep="; ", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["build"] and len(sys.argv) == 5:
        build(sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4]))
    elif sys.argv[1:2] == ["run"] and len(sys.argv) in (3, 4):
        run(pathlib.Path(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) == 4 else 0.5)
    else:
        sys.exit(__doc__)
