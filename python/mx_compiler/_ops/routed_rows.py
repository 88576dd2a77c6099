# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of tokens for experts that are divided among ranks, and sums of what the experts
make of them: the two exchanges of a layer without its matmuls, in bf16."""

from .._compile.compile import compile
from .routed_moe_layer import GROUP, most_rows, on_device_of
from .row_counts import RowCounts


class RoutedRows:
    """Exchanges of rows of `hidden` values for `experts` of all ranks of `group`, None for
    one rank, of which a token chooses `choices`; `tokens` are the most of a rank.
    Collective, as its methods are.

    P is the capacity: rows that have room. slots[p] says which choice of a token row p is:
    (s * tokens + t) * choices + j for choice j of token t of rank s, -1 of no row. Rows are
    sorted by expert, and those of the expert g of this rank end at ends[g]."""

    def __init__(self, experts, hidden, choices, group, *, tokens):
        ranks = 1 if group is None else group.size
        self.group, self.most = group, most_rows(ranks, tokens, choices)
        self._counts = RowCounts(0 if group is None else group.rank, group)
        with on_device_of(group):
            self._program = compile(_text(ranks, tokens, experts, hidden, choices))
            if ranks > 1:
                self._program.bind(GROUP, group)

    def dispatch(self, x, ids, weights, capacity):
        """Rows (bf16, [P, H]), their weights (f32, [P]), slots (i32, [P]), ends (i32) and
        their number (i32, without dimensions), of x (bf16, [T, H]), ids (i32, [T, k]) and
        weights (f32, [T, k]). Rows that are none are zeros."""
        self._counts.look()
        found = self._program["dispatch"].call((x, ids, weights, capacity), None, None)
        if capacity < self.most:  # else no row lacks room
            self._counts.add(found[4], capacity)
        return found

    def dispatch_again(self, x, ids, slots):
        """The rows alone, for slots that are known."""
        return self._program["dispatch_again"](x, ids, slots)[0]

    def collect(self, z, slots, ids):
        """y (f32, [T, H]): the sums of the rows of each token, of z (bf16, [P, H]). Each rank
        rounds its part of a sum to bf16."""
        return self._program["collect"](z, slots, ids)[0]

    def collect_with_weights(self, z, probs, slots, ids):
        """The same, and values of rows (f32, [P]) where their choices stand (f32, [T, k])."""
        return self._program["collect_with_weights"](z, probs, slots, ids)

    def check(self):
        self._counts.check()

    def close(self):
        self._program.close()


def _text(ranks, tokens, experts, hidden, choices):
    window, own = ranks * tokens, experts // ranks
    return f"""
mx.group @ep size = {ranks} tokens = {tokens}
!x = tensor<?x{hidden}xbf16>
!y = tensor<?x{hidden}xf32>
!ids = tensor<?x{choices}xi32>
!pairs = tensor<?x{choices}xf32>
!list = tensor<?xi32>
!probs = tensor<?xf32>
!ends = tensor<{own}xi32>
!count = tensor<i32>
!wi = tensor<{window}x{choices}xi32>
!wx = tensor<{window}x{hidden}xbf16>
!wp = tensor<{window}x{choices}xf32>
#row = affine_map<(p, i) -> (p)>
#id = affine_map<(p, i) -> (p, i)>
#list = affine_map<(p) -> (p)>

func.func private @gather(%w: !wx, %slots: !list) -> !x {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %none = arith.constant 0.0 : bf16
  %k = arith.constant {choices} : i32
  %p = tensor.dim %slots, %c0 : !list
  %e = tensor.empty(%p) : !x
  %r = linalg.generic {{indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%slots : !list) outs(%e : !x) {{
  ^bb0(%slot: i32, %out: bf16):
    %i = linalg.index 1 : index
    %is = arith.cmpi sge, %slot, %zero : i32
    %safe = arith.select %is, %slot, %zero : i32
    %row = arith.divsi %safe, %k : i32
    %at = arith.index_cast %row : i32 to index
    %v = tensor.extract %w[%at, %i] : !wx
    %z = arith.select %is, %v, %none : bf16
    linalg.yield %z : bf16
  }} -> !x
  return %r : !x
}}

func.func @dispatch(%x: !x, %ids: !ids, %weights: !pairs, %capacity: index)
    -> (!x, !probs, !list, !ends, !count) {{
  %c0 = arith.constant 0 : index
  %own = arith.constant {own} : index
  %zero = arith.constant 0 : i32
  %none = arith.constant 0.0 : f32
  %p = arith.addi %capacity, %c0 : index
  %wi0 = mx.window @ep : !wi
  %wx0 = mx.window @ep : !wx
  %wp0 = mx.window @ep : !wp
  %w:3 = mx.dispatch @ep experts = {experts} ids(%ids : !ids)
      ins(%x, %weights : !x, !pairs) outs(%wi0, %wx0, %wp0 : !wi, !wx, !wp) -> !wi, !wx, !wp
  %rank = mx.rank @ep
  %first = arith.muli %rank, %own : index
  %r0 = tensor.empty(%p) : !list
  %s0 = tensor.empty(%p) : !list
  %e0 = tensor.empty() : !ends
  %n0 = tensor.empty() : !count
  %g:4 = mx.group_rows ins(%w#0 : !wi) first(%first)
      outs(%r0, %s0, %e0, %n0 : !list, !list, !ends, !count) -> !list, !list, !ends, !count
  %list = tensor.collapse_shape %w#2 [[0, 1]] : !wp into tensor<{window * choices}xf32>
  %p0 = tensor.empty(%p) : !probs
  %probs = linalg.generic {{indexing_maps = [#list, #list], iterator_types = ["parallel"]}}
      ins(%g#1 : !list) outs(%p0 : !probs) {{
  ^bb0(%slot: i32, %out: f32):
    %is = arith.cmpi sge, %slot, %zero : i32
    %safe = arith.select %is, %slot, %zero : i32
    %at = arith.index_cast %safe : i32 to index
    %v = tensor.extract %list[%at] : tensor<{window * choices}xf32>
    %prob = arith.select %is, %v, %none : f32
    linalg.yield %prob : f32
  }} -> !probs
  %rows = func.call @gather(%w#1, %g#1) : (!wx, !list) -> !x
  return %rows, %probs, %g#1, %g#2, %g#3 : !x, !probs, !list, !ends, !count
}}

func.func @dispatch_again(%x: !x, %ids: !ids, %slots: !list) -> !x {{
  %wi0 = mx.window @ep : !wi
  %wx0 = mx.window @ep : !wx
  %w:2 = mx.dispatch @ep experts = {experts} ids(%ids : !ids)
      ins(%x : !x) outs(%wi0, %wx0 : !wi, !wx) -> !wi, !wx
  %rows = func.call @gather(%w#1, %slots) : (!wx, !list) -> !x
  return %rows : !x
}}

func.func @collect(%z: !x, %slots: !list, %ids: !ids) -> !y {{
  %c0 = arith.constant 0 : index
  %t = tensor.dim %ids, %c0 : !ids
  %y0 = tensor.empty(%t) : !y
  %y = mx.collect @ep experts = {experts} wire = bf16 ids(%ids : !ids)
      ins(%z : !x) slots(%slots : !list) outs(%y0 : !y) -> !y
  return %y : !y
}}

func.func @collect_with_weights(%z: !x, %probs: !probs, %slots: !list, %ids: !ids)
    -> (!y, !pairs) {{
  %c0 = arith.constant 0 : index
  %t = tensor.dim %ids, %c0 : !ids
  %y0 = tensor.empty(%t) : !y
  %y = mx.collect @ep experts = {experts} wire = bf16 ids(%ids : !ids)
      ins(%z : !x) slots(%slots : !list) outs(%y0 : !y) -> !y
  %w0 = tensor.empty(%t) : !pairs
  %w = mx.collect_pairs @ep experts = {experts} ids(%ids : !ids)
      ins(%probs : !probs) slots(%slots : !list) outs(%w0 : !pairs) -> !pairs
  return %y, %w : !y, !pairs
}}
"""
