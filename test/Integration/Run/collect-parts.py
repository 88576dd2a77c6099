"""Tests `parts` of mx.collect on 2 and 4 ranks, which are threads of mx-run. The parts of the columns do not change a bit
of the sums, on the reference path and on simulated devices, with blocks of 32 and, on sm_90a, blocks of 128 x 128.
Columns fill no whole tile. The plan copies nothing more.

RUN: env MX_CUDA_DRIVER=none %python %s mx-run mx-opt %t
REQUIRES: compiler, numpy
"""

import re

import numpy as np
from harness import CHIPS, Harness, to_array

test = Harness("mx_run", "mx_opt", "folder", seed=1)
random = test.rng
CHOICES, OWN, TOKENS = 2, 2, 24

PROGRAM = """
mx.group @ep size = {ranks} tokens = 24{slots}
!ids = tensor<?x2xi32>
!wi = tensor<{window}x2xi32>
!list = tensor<?xi32>
!as = tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 2>>
!ws = tensor<2x{rows}x2xf8E8M0FNU{layout}>
!z = tensor<?x{columns}x{type}>
!y = tensor<?x{columns}xf32>
func.func @main(%ids: !ids, %a: tensor<?x{k}xbf16>, %w: tensor<2x{columns}x{k}xbf16>) -> !y {{
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %t = tensor.dim %ids, %c0 : !ids
  %p = tensor.dim %a, %c0 : tensor<?x{k}xbf16>
  %wi0 = mx.window @ep : !wi
  %wi = mx.dispatch @ep experts = {experts} ids(%ids : !ids) ins() outs(%wi0 : !wi) -> !wi
  %rank = mx.rank @ep
  %first = arith.muli %rank, %c2 : index
  %r = tensor.empty(%p) : !list
  %s = tensor.empty(%p) : !list
  %e = tensor.empty() : tensor<2xi32>
  %n = tensor.empty() : tensor<i32>
  %g:4 = mx.group_rows ins(%wi : !wi) first(%first) outs(%r, %s, %e, %n : !list, !list, tensor<2xi32>, tensor<i32>)
      -> !list, !list, tensor<2xi32>, tensor<i32>
  %ae = tensor.empty(%p) : tensor<?x{k}xf8E4M3FN>
  %as = tensor.empty(%p) : !as
  %qa:2 = mx.quantize ragged = rows ins(%a : tensor<?x{k}xbf16>) offsets(%g#2 : tensor<2xi32>)
      outs(%ae, %as : tensor<?x{k}xf8E4M3FN>, !as) axes = [1]{of_a} -> tensor<?x{k}xf8E4M3FN>, !as
  %we = tensor.empty() : tensor<2x{columns}x{k}xf8E4M3FN>
  %ws = tensor.empty() : !ws
  %qw:2 = mx.quantize ins(%w : tensor<2x{columns}x{k}xbf16>) outs(%we, %ws : tensor<2x{columns}x{k}xf8E4M3FN>, !ws)
      axes = [1]{of_w} -> tensor<2x{columns}x{k}xf8E4M3FN>, !ws
  %z0 = tensor.empty(%p) : !z
  %z = mx.grouped_matmul ragged = rows
      ins(%qa#0, %qa#1, %qw#0, %qw#1 : tensor<?x{k}xf8E4M3FN>, !as, tensor<2x{columns}x{k}xf8E4M3FN>, !ws)
      offsets(%g#2 : tensor<2xi32>) outs(%z0 : !z){of_z} -> !z
  %y0 = tensor.empty(%t) : !y
  %y = mx.collect @ep experts = {experts} wire = {wire} parts = {parts} ids(%ids : !ids) ins(%z : !z)
      slots(%g#1 : !list) outs(%y0 : !y) -> !y
  return %y : !y
}}
"""


def check(ranks, columns, slots, kind, wire, paths, block=32):
    is_square, k = block == 128, 2 * block
    blocks = dict(rows=-(-columns // block) if is_square else columns,
                  layout="" if is_square else ", #mx.scale_layout<sf_128x4>",
                  of_a=" block_size = 128" * is_square, of_w=" block_size = 128x128" * is_square,
                  of_z=" block_size = 128 b_block_size = 128x128 promote = 128" * is_square)
    counts = [TOKENS, *random.integers(0, TOKENS + 1, ranks - 1)]
    ids = [random.integers(-1, OWN * ranks, (count, CHOICES)).astype(np.int32) for count in counts]
    a = [to_array(random.standard_normal((ranks * TOKENS * CHOICES, k)), "bf16")[0] for _ in range(ranks)]
    # Scales differ between blocks of columns.
    factors = 2.0 ** np.repeat(random.integers(-9, 9, (ranks, OWN, -(-columns // 32), 1)), 32, 2)[:, :, :columns]
    w = [to_array(random.standard_normal((OWN, columns, k)) * own, "bf16")[0] for own in factors]

    def text(parts):
        return PROGRAM.format(ranks=ranks, slots=f" slots = {slots}" if slots else "", window=ranks * (slots or TOKENS),
                              columns=columns, experts=OWN * ranks, wire=wire, type=kind, parts=parts, k=k,
                              **blocks)

    for path in paths:
        expected = None
        for parts in 1, 2, 3:
            found = test.run_ranks(ranks, text(parts), [ids, a, w], 1, "--quiet", chip=path)
            expected = expected or found
            for own, (y,), (whole,) in zip(counts, found, expected):
                assert own == 0 or np.isfinite(y).all() and y.any(), path
                test.expect(f"{parts} parts of {columns} columns, {ranks} ranks, {slots} slots on {path}", y, whole)
    # Each part adds two sums, a matmul and an exchange; operands and lists of rows are shared.
    for chip in () if is_square else CHIPS:
        steps = [re.findall(r"mxplan\.(copy|fill|all_to_all) |mxplan\.launch @kernels::@main_([a-z_]+)", test.rewrite(
            text(parts), f"--mx-to-plan=chip={chip}")) for parts in (2, 3)]
        steps = [sorted((a or b).rstrip("_") for a, b in one) for one in steps]
        assert steps[1] == sorted(steps[0] + ["all_to_all", "combine", "combine", "grouped_matmul"]), (chip, steps)


check(2, 584, None, "bf16", "bf16", ("cpu", *CHIPS))
check(4, 702, 20, "f32", "f32", ("cpu", "sm_100a"))
check(2, 584, None, "bf16", "bf16", ("cpu", "sm_90a"), block=128)
test.finish(least=10000)
