#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measured programs.

usage: cases.py MX_COMPILE DIRECTORY [CASE...]

A case has a program for each *way*, a given schedule, or the choice of
mx-select-schedule for static sizes or dynamic rows."""

import dataclasses
import pathlib
import re
import subprocess
import sys

import numpy as np

# Timing method of timing.py; results without this field were timed from the host.
LAUNCH = "difference of graphs"
CHIP = "sm_90a"
LAYER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "moe_layer.mlir"
# Maximum number of rows of matmuls that are bound by reading the weights.
FEW_ROWS = 1024
# Schedule of the operation by way. "mx" is the choice of mx. Fused matmuls dequantize in the
# kernel: to f16 where scales allow it, or always to bf16. With a workspace both operands are
# dequantized in advance.
CHOSEN = {"mx": ""}
# Replaces the schedule for dynamic rows.
DYNAMIC = "dynamic"
# Way of the same matmul with bf16 activations and packed weights, if they are quantized to FP8.
W4A16 = "mx, bf16 activations"
# Ways with options of mx-fold-operands: with a limit, and without. The program with a limit also
# runs with operands that contain a wide row in each so many.
UNLIMITED = "mx, no limit"
LIMITED = {"mx": "limit=8", UNLIMITED: ""}
WIDE = {f"mx, a wide row in {rows}": rows for rows in (1024, 32)}
TILE = ("tile = [256, 128, 64], strategy = #mxgpu.wgmma_upcast_b<operand_stages = 4{}>, "
        "staging = 1, raster = group_m(8), epilogue = tma_store")
IN_F16 = TILE.format(", f16_scale_range = true")
FUSED = CHOSEN | {"mx, fused": IN_F16, "mx, fused, bf16": TILE.format("")}

WORKSPACE = "tile = [256, 256, 64], strategy = #mxgpu.wgmma_bf16<ctas = 2>, raster = group_m(8), epilogue = tma_store, workspace = ab"
LARGE_GROUPS = CHOSEN | {"mx, fused": IN_F16, "mx, workspace": WORKSPACE}

PROGRAM = """
!a = tensor<{a_shape}x{a}{a_layout}>
!as = tensor<{as_shape}x{s}, #mx.scale_layout<{as_layout}>>
!w = tensor<{b_shape}x{b}{b_layout}>
!b = tensor<{b_shape}x{b}{packed_layout}{b_layout}>
!bs = tensor<{bs_shape}x{s}, #mx.scale_layout<{bs_layout}>>
!o = tensor<{groups}xi32>
!out = tensor<{out_shape}xbf16>
func.func @main({arguments}) -> !out {{
  {count}%init = tensor.empty({rows}) : !out
  %y = {op} ins({ins} : {ins_types}){offsets} outs(%init : !out)
      {block}{schedule} -> !out
  return %y : !out
}}
"""
# Dynamic number of rows.
COUNT = """%c0 = arith.constant 0 : index
  %rows = tensor.dim %a, %c0 : !a
  """
# Packed weights need 16-bit activations, so MXFP8 activations are dequantized in advance.
DEQUANTIZED = """!x = tensor<{a_shape}xbf16{a_layout}>
func.func @main({arguments}) -> !out {{
  {count}%numbers = tensor.empty({rows}) : !x
  %x = mx.dequantize{ragged} ins(%a, %as : !a, !as){offsets} outs(%numbers : !x) -> !x
  %init = tensor.empty({rows}) : !out
  %y = {op} ins(%x, %b, %bs : !x, !b, !bs){offsets} outs(%init : !out)
      {block}{schedule} -> !out
  return %y : !out
}}
"""
# Quantizes activations, and weights in bf16.
QUANTIZED = """!q = tensor<{a_shape}xf8E4M3FN>
!r = tensor<{b_shape}xf8E4M3FN>
!t = tensor<{n}xf32>
func.func @main({arguments}) -> !out {{
  {count}%e = tensor.empty({rows}) : !q
  %es = tensor.empty({rows}) : !as
  %q:2 = mx.{quantize}{ragged} ins(%a : !a){offsets} outs(%e, %es : !q, !as) {of_a}-> !q, !as{of_b}
  %init = tensor.empty({rows}) : !out
  %y = {op} ins(%q#0, %q#1, {quantized_b}){offsets} outs(%init : !out)
      {block}{schedule} -> !out{epilogue}
  return %y : !out
}}
"""
OF_B = """
  %f = tensor.empty() : !r
  %fs = tensor.empty() : !bs
  %r:2 = mx.quantize ins(%b : !b) outs(%f, %fs : !r, !bs) -> !r, !bs"""
# Multiplies by the factors of B's rows, as normalized weights have them.
FACTORS = """ epilogue {
  ^bb0(%sum: f32, %row: index, %column: index):
    %factor = tensor.extract %t[%column] : !t
    %product = arith.mulf %sum, %factor : f32
    %short = arith.truncf %product : f32 to bf16
    mx.yield %short : bf16
  }"""
PACK = """
func.func @pack(%w: !w) -> !b {
  %init = tensor.empty() : !b
  %p = mx.pack_operand ins(%w : !w) outs(%init : !b) -> !b
  return %p : !b
}
"""


def by(*extents):
    return "x".join(str(extent) for extent in extents)


@dataclasses.dataclass(frozen=True)
class Case:
    """Matmul of M x K by N x K. With `groups`, each group of rows is multiplied by its own B. With
    `gradient`, the groups divide M, the reduction, and each group has an N x K result, as in
    weight gradients."""
    name: str
    m: int
    n: int
    k: int
    a: str = "f8E4M3FN"
    b: str = "f8E4M3FN"
    scale: str = "f8E8M0FNU"
    packed: bool = False
    groups: int = 0
    gradient: bool = False
    # Distribution of rows over groups. "": up to 40 % uneven; "uniform": the group of each row
    # is drawn uniformly; "zipf": the i-th most frequent group has weight 1 / i.
    load: str = ""
    # "wide": scales over 40 binades. "grid": bf16 operands with values representable in MXFP8.
    values: str = ""
    ways: tuple = tuple(CHOSEN.items())
    # Baselines in addition to cuBLAS: "normal", "fp8", "triton".
    peers: tuple = ()
    # Number of products added in reduced precision, and block size of A. B has a scale per row, or
    # blocks too if the case is a weight gradient or if `both`; with f32 scales, otherwise blocks of
    # 128 x 128.
    promote: int = 0
    both: bool = False
    # bf16 A is quantized to FP8 in the program, and B is expanded to FP8.
    expands: bool = False
    # bf16 operands are quantized to MXFP8 in the program, and mx-fold-operands folds both.
    folds: bool = False

    @property
    def blocks(self):
        """Returns the block sizes of A and B, 0 for whole rows."""
        block = 16 if self.scale == "f8E4M3FN" else 32
        if not self.promote:
            return block, block
        if self.expands:
            return self.promote, block
        has_both = self.both or self.gradient or self.scale == "f32"
        return self.promote, self.promote if has_both else 0

    @property
    def quantizes(self):
        return self.expands or self.folds

    @property
    def squares(self):
        """Returns true if 128 rows of B share a scale."""
        return self.scale == "f32" and not self.both and not self.gradient

    @property
    def form(self):
        """Returns the attributes of the operation."""
        if self.promote:
            of_b = "" if self.blocks[1] == self.promote else f"b_block_size = {self.blocks[1] or 'row'} "
            if self.squares:
                of_b = "b_block_size = 128x128 "
            return f"block_size = {self.promote} {of_b}promote = {self.promote} "
        return "block_size = 16 " if self.blocks[0] == 16 else ""

    @property
    def few_rows(self):
        return self.m <= FEW_ROWS

    @property
    def flops(self):
        return 2 * self.m * self.n * self.k

    @property
    def capacity(self):
        """Size of a ragged reduction that suffices for any group sizes."""
        return -(-(self.m + 127 * self.groups) // 128) * 128

    def of(self, way):
        """Returns the case of a way's program."""
        if way != W4A16:
            return self
        return dataclasses.replace(self, promote=0, expands=False, packed=True, ways=((way, ""),))

    def program(self, way):
        ways = [name for name, _ in self.ways]
        index = 0 if way in WIDE else ways.index(way)
        return self.name + (f"@{index}" if index else "")

    def _shapes(self, is_dynamic):
        if self.gradient:
            ragged = f", #mx.ragged<groups = {self.groups}, align = 128>"
            scales = f"sf_128x4, ragged = reduction, groups = {self.groups}"
            if self.scale == "f32":
                scales = "mn_major"
            blocks = self.capacity // self.blocks[0]
            return dict(a_shape=by(self.n, self.capacity), as_shape=by(self.n, blocks),
                        b_shape=by(self.k, self.capacity), bs_shape=by(self.k, blocks),
                        a_layout=ragged, b_layout=ragged, as_layout=scales, bs_layout=scales,
                        out_shape=by(self.groups, self.n, self.k))
        of_a, of_b = (self.k // (block or self.k) for block in self.blocks)
        batch = (self.groups,) if self.groups else ()
        rows = f", ragged = rows, groups = {self.groups}" if self.groups else ""
        layouts = "sf_128x4" + rows, "sf_128x4"
        if self.scale == "f32":
            layouts = "mn_major", "linear" if self.squares else "mn_major"
        scale_rows = -(-self.n // 128) if self.squares else self.n
        m = "?" if is_dynamic else self.m
        return dict(a_shape=by(m, self.k), as_shape=by(m, of_a),
                    b_shape=by(*batch, self.n, self.k), bs_shape=by(*batch, scale_rows, of_b),
                    a_layout="", b_layout="", as_layout=layouts[0], bs_layout=layouts[1],
                    out_shape=by(m, self.n))

    def text(self, way="mx"):
        if self.of(way) != self:
            return self.of(way).text(way)
        body = dict(self.ways)[way]
        is_dynamic = body == DYNAMIC
        body = "" if is_dynamic else body
        schedule = f"{{mxgpu.schedule = #mxgpu.schedule<{body}>}}" if body and not self.folds else ""
        names = [name for name, element in (("a", self.a), ("as", self.a), ("b", self.b),
                                            ("bs", self.b)) if name[1:] != "s" or element != "bf16"]
        offsets = ["o"] if self.groups else []
        op = "mx.matmul"
        if self.groups:
            op = f"mx.grouped_matmul ragged = {'reduction' if self.gradient else 'rows'}"
        text = PROGRAM + (PACK.replace("{", "{{").replace("}", "}}") if self.packed else "")
        if self.packed and self.a != "bf16":
            text = text.replace(PROGRAM[PROGRAM.index("func.func"):], DEQUANTIZED)
        if self.quantizes:
            text = PROGRAM[:PROGRAM.index("func.func")] + QUANTIZED
        both = self.b == "bf16"
        return text.format(
            quantize="fused_quantize" if self.expands else "quantize",
            of_a=f"block_size = {self.promote} " * self.expands, of_b=OF_B * both,
            quantized_b="%r#0, %r#1 : !q, !as, !r, !bs" if both else "%b, %bs : !q, !as, !b, !bs",
            epilogue=FACTORS * self.expands,
            ragged=" ragged = rows" if self.groups else "",
            packed_layout=", #mxgpu.fragment_64x64" if self.packed else "", a=self.a,
            b=self.b, s=self.scale, n=self.n, groups=self.groups, op=op, schedule=schedule,
            arguments=", ".join(f"%{name}: !{name}" for name in names + offsets + ["t"] * self.expands),
            ins=", ".join(f"%{name}" for name in names),
            ins_types=", ".join(f"!{name}" for name in names),
            offsets=" offsets(%o : !o)" if self.groups else "",
            count=COUNT if is_dynamic else "", rows="%rows" if is_dynamic else "",
            block=self.form, **self._shapes(is_dynamic))


@dataclasses.dataclass(frozen=True)
class Layer:
    """examples/moe_layer.mlir in another size, with `top` experts for each token. Sums over a
    token's rows are unordered, or in row order."""
    name: str
    experts: int
    top: int
    tokens: int = 16384
    hidden: int = 7168
    inner: int = 2048
    in_order: bool = False
    ways: tuple = tuple(CHOSEN.items())

    @property
    def flops(self):
        """Operations of three forward matmuls and their gradients."""
        return 2 * 3 * 3 * self.tokens * self.top * self.hidden * self.inner

    def program(self, way):
        return self.name

    def text(self, way="mx"):
        """Returns the program. The example has H = 384, I = 256, 8 experts, and any number of
        tokens."""
        sizes = {"384": self.hidden, "256": self.inner, "512": 2 * self.inner}
        blocks = {"12": self.hidden // 32, "8": self.inner // 32, "16": 2 * self.inner // 32}
        text = LAYER.read_text()
        if not self.in_order:
            text = text.replace(" order = fixed", "")
        # Extents in types: (G x) rows x columns or blocks; then slices.
        text = re.sub(r"(groups = )8\b", rf"\g<1>{self.experts}", text)
        text = re.sub(r"(tensor<)8x", rf"\g<1>{self.experts}x", text)
        text = re.sub(r"x(12|8|16)xf8E8M0FNU", lambda m: f"x{blocks[m[1]]}xf8E8M0FNU", text)
        text = re.sub(r"(?<=[<x])(384|256|512)(?=x)", lambda m: str(sizes[m[1]]), text)
        text = re.sub(r"(\[0, |\[%p, )256\]", rf"\g<1>{self.inner}]", text)
        text = text.replace("constant 1143 ", f"constant {127 * self.experts + 127} ")
        return self._with_static_shapes(text)

    def _with_static_shapes(self, text):
        """Makes all sizes static, because mx-select-schedule needs static sizes for all of its
        schedules."""
        rows = self.tokens * self.top
        capacity = -(-(rows + 127 * self.experts) // 128) * 128
        # Gathered rows, and row results before they are summed for each token.
        gathered = r"(%(?:xp0|dyp0) = .*|%(?:xp0|dyp0) : |ins\(%(?:xp|dyp) : |\} -> )!tokens"
        results = r"(%(?:z0|dx0) = .*|%(?:z0|dx0) : .*|ins\(%(?:z|dxp) : )!sums"
        for name, pattern, element in (("tokens", gathered, "bf16"), ("sums", results, "f32")):
            text = re.sub(pattern, lambda m: m[0].replace(f"!{name}", f"!row_{name}"), text)
            text = text.replace(f"!{name} = tensor<?x", f"!row_{name} = tensor<{rows}x{self.hidden}x{element}>\n"
                                                        f"!{name} = tensor<{self.tokens}x")
        text = text.replace("tensor<?x", f"tensor<{rows}x")
        text = text.replace("x?xf8E4M3FN", f"x{capacity}xf8E4M3FN")
        text = text.replace("x?xf8E8M0FNU", f"x{capacity // 32}xf8E8M0FNU")
        text = re.sub(r"tensor\.empty\(%\w+\)", "tensor.empty()", text)
        return text.replace("[%p, ", f"[{rows}, ")


FP4 = dict(a="f4E2M1FN", b="f4E2M1FN")
PEERS = ("normal", "fp8", "triton")
CASES = [
    Case("mxfp8-4096", 4096, 4096, 4096, peers=("normal", "fp8"), ways=tuple(FUSED.items())),
    Case("mxfp8-8192", 8192, 8192, 8192, peers=PEERS, ways=tuple(FUSED.items())),
    Case("mxfp8-16384x4096x7168", 16384, 4096, 7168, peers=PEERS, ways=tuple(FUSED.items())),
    Case("mxfp8-wide-8192", 8192, 8192, 8192, values="wide", ways=tuple(FUSED.items())),
    Case("grid-8192", 8192, 8192, 8192, a="bf16", b="bf16", values="grid"),
    Case("mxfp8-e5m2-8192", 8192, 8192, 8192, a="f8E5M2"),
    Case("mxfp4-8192", 8192, 8192, 8192, **FP4),
    Case("nvfp4-8192", 8192, 8192, 8192, scale="f8E4M3FN", **FP4),
    Case("mxfp6-8192", 8192, 8192, 8192, a="f6E2M3FN", b="f6E2M3FN"),
    Case("mxfp8xmxfp4-8192", 8192, 8192, 8192, b="f4E2M1FN"),
    Case("bf16xmxfp8-8192", 8192, 8192, 8192, a="bf16"),
    Case("bf16xmxfp4-8192", 8192, 8192, 8192, a="bf16", b="f4E2M1FN"),
    Case("bf16xmxfp4-4096x4096x7168", 4096, 4096, 7168, a="bf16", b="f4E2M1FN"),
    Case("grouped-mxfp8-131072", 131072, 2048, 7168, groups=8, peers=("normal",),
         ways=tuple(LARGE_GROUPS.items())),
    Case("gradient-mxfp8-131072", 131072, 2048, 7168, groups=8, gradient=True, peers=("normal",),
         ways=tuple(LARGE_GROUPS.items())),
    *(Case(f"grouped-mxfp8{'-packed' * packed}-1024", 1024, 2048, 7168, groups=32, packed=packed)
      for packed in (False, True)),
    *(Case(f"grouped-bf16xmxfp4{'-packed' * packed}-1024", 1024, 2048, 7168, a="bf16",
           b="f4E2M1FN", groups=32, packed=packed) for packed in (False, True)),
    *(Case(f"bf16xmxfp4{'-packed' * packed}-{m}x{n}x7168", m, n, 7168, a="bf16", b="f4E2M1FN",
           packed=packed)
      for m, n in ((16, 4096), (64, 4096), (256, 4096), (16, 32768)) for packed in (False, True)),
    *(Case(f"bf16x{name}{'-packed' * packed}-{m}x8192x8192", m, 8192, 8192, a="bf16", b=b,
           scale=scale, packed=packed)
      for name, b, scale in (("mxfp4", "f4E2M1FN", "f8E8M0FNU"), ("nvfp4", "f4E2M1FN", "f8E4M3FN"),
                             ("mxfp8", "f8E4M3FN", "f8E8M0FNU"))
      for m in (1, 16, 64, 256) for packed in (False, True)),
    Layer("layer-top2of8", 8, 2),
    Layer("layer-top8of64", 64, 8),
    Layer("layer-in-order-top2of8", 8, 2, in_order=True),
    Layer("layer-in-order-top8of64", 64, 8, in_order=True),
]


def group_ends(rows, groups, load):
    """Returns the ends of the groups' rows, reproducibly (Case.load)."""
    random = np.random.default_rng(19)
    if load:
        shares = 1 / np.arange(1, groups + 1) ** (load == "zipf")
        sizes = random.multinomial(rows, random.permutation(shares / shares.sum()))
        return [int(end) for end in np.cumsum(sizes)]
    shares = random.uniform(0.6, 1.4, groups)
    return [int(end) for end in np.round(np.cumsum(shares) / shares.sum() * rows)]


def compile_way(mx_compile, case, way, directory, quiet=False):
    """Compiles a program and returns True on success; `quiet` suppresses the compiler's errors."""
    name = case.program(way)
    source, text = directory / f"{name}.mlir", case.text(way)
    if getattr(case, "folds", False):
        mx_opt = pathlib.Path(mx_compile).with_name("mx-opt")
        fold = f"--mx-fold-operands={dict(case.ways)[way]}"
        text = subprocess.run([mx_opt, "-", fold, "--cse", "--mx-fuse-prologues"], input=text,
                              stdout=subprocess.PIPE, text=True, check=True).stdout
    source.write_text(text)
    command = [mx_compile, source, f"--chip={CHIP}", "-o", directory / name]
    return subprocess.run(command, stderr=subprocess.DEVNULL if quiet else None).returncode == 0


def compile_case(mx_compile, case, directory):
    return all([compile_way(mx_compile, case, way, directory) for way, _ in case.ways])


def main():
    mx_compile, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[3:] or [case.name for case in CASES]
    refused = [case.name for case in CASES
               if case.name in wanted and not compile_case(mx_compile, case, directory)]
    if refused:
        sys.exit(f"not compiled: {', '.join(refused)}")


if __name__ == "__main__":
    main()
