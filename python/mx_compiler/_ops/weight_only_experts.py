# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts with quantized weights, for the tokens of a router and without gradients, as one program."""

from . import checks as check
from . import matmuls
from .mlir_text import tensor
from .specialize import find_entry, find_plan


def weight_only_experts(x, ids, weights, gate_up, down, biases, factors, clamp, dtype, *, stream=None):
    """Computes

        y[t] = sum over j, in order:  weights[t, j] (down[e] h + bias),  e = ids[t, j]
        gate, up = gate_up[e] x[t] + bias

    x        bf16, [T, H]
    ids      i32 or i64, [T, k], k at least 1; ids outside [0, E) add nothing
    weights  f32, bf16 or f16, [T, k]
    gate_up, down  Quantized, [E, 2 I, H] and [E, H, I], without global scales
    biases   f32, bf16 or f16, [E, 2 I] and [E, H], or ()
    factors  f32, [E, 2] (of gate and of up) and [E, 1], factors of gate_up x and down h, or ()
    clamp    (): h = silu(gate) * up, with all rows of gate before the rows of up; or
             (alpha, limit): h = gate * sigmoid(alpha * gate) * (up + 1) with both clamped, as in
             gpt-oss, with rows of gate and up in turn
    dtype    element type of the result: f32, bf16 or f16

    Matmuls are computed by `grouped_matmul` with results in bf16. Other arithmetic is in f32, and h is
    rounded to bf16. Callers check the arguments. Returns [T, H]."""
    given = [x, ids, weights, *gate_up[:2], *down[:2], *biases, *factors, *clamp]
    has = bool(factors), bool(clamp)
    entry, signature = find_plan(_plan, (dtype, *has, gate_up.about, down.about), given,
                                 (ids, (ids, weights, *biases), gate_up, down, *has, dtype))
    return entry.call(given, signature, stream)[0]


def _plan(ids, arrays, gate_up, down, has_factors, is_clamped, dtype):
    elements = tuple(check.operand("array", x)[0].mlir for x in arrays)
    operands = matmuls.operand_types("gate_up", gate_up), matmuls.operand_types("down", down)
    to = check.element("dtype", dtype, check.MATRICES).mlir
    return find_entry(_text, ids.shape[1], elements, has_factors, is_clamped, to, tuple(down.shape),
                      down.format.block, *operands)


# %h of %gate and %up, which are f32. Without factors they are values of bf16, and PyTorch rounds the
# result of silu to bf16.
_SILU = """
    %minus = arith.negf %gate : f32
    %exp = math.exp %minus : f32
    %d = arith.addf %one, %exp : f32
    %silu = arith.divf %gate, %d : f32"""
_ROUNDED = """
    %s = arith.truncf %silu : f32 to bf16
    %h = arith.mulf %s, %u : bf16"""
_UNROUNDED = """
    %product = arith.mulf %silu, %up : f32
    %h = arith.truncf %product : f32 to bf16"""
_CLAMPED = """
    %least = arith.negf %limit : f32
    %gm = arith.minimumf %gate, %limit : f32
    %um = arith.maximumf %up, %least : f32
    %uc = arith.minimumf %um, %limit : f32
    %scaled = arith.mulf %gm, %alpha : f32
    %minus = arith.negf %scaled : f32
    %exp = math.exp %minus : f32
    %d = arith.addf %one, %exp : f32
    %sigmoid = arith.divf %one, %d : f32
    %glu = arith.mulf %gm, %sigmoid : f32
    %product = arith.mulf %glu, %uc : f32
    %sum = arith.addf %glu, %product : f32
    %h = arith.truncf %sum : f32 to bf16"""


def _text(k, elements, has_factors, is_clamped, to, shape, block, gate_up, down):
    index, weight, *of_biases = elements
    experts, hidden, inner = shape
    bias_types = [tensor((experts, n), element) for n, element in zip((2 * inner, hidden), of_biases)]
    factor_types = tensor((experts, 2), "f32"), tensor((experts, 1), "f32")
    arguments = ", ".join(f"%{name}: {type}" for name, type in (
        ("x", "!x"), ("ids", "!ids"), ("weights", "!weights"), *gate_up, *down,
        *zip(("gate_up_bias", "down_bias"), bias_types),
        *list(zip(("gate_up_factor", "down_factor"), factor_types)) * has_factors,
        *[("alpha", "f32"), ("limit", "f32")] * is_clamped))

    def widen(result, value, element):
        return f"{result} = arith.{'bitcast' if element == 'f32' else 'extf'} {value} : {element} to f32"

    def finish(result, value, number, column, section="%c0"):
        """Multiplies a bf16 sum by its factor and adds its bias, in f32."""
        name, loads, steps = ("gate_up", "down")[number], [], ["extf {} : bf16 to f32"]
        if has_factors:
            loads.append(f"%f{column} = tensor.extract %{name}_factor[%expert, {section}] : {factor_types[number]}")
            steps.append(f"mulf {{}}, %f{column} : f32")
        if of_biases:
            loads += [f"%b{column} = tensor.extract %{name}_bias[%expert, %{column}] : {bias_types[number]}",
                      widen(f"%w{column}", f"%b{column}", of_biases[number])]
            steps.append(f"addf {{}}, %w{column} : f32")
        names = [value, *[f"%s{i}{column}" for i in range(1, len(steps))], result]
        return "\n    ".join(loads + [f"{new} = arith.{step.format(old)}"
                                      for old, new, step in zip(names, names[1:], steps)])

    def matmul(x, x_type, weights, result, type):
        names, types = (", ".join(part) for part in zip(*((f"%{name}", of) for name, of in weights)))
        return f"""%{result}_init = tensor.empty(%pairs) : {type}
  %{result} = mx.grouped_matmul ragged = rows ins(%{x}, {names} : {x_type}, {types})
      offsets(%g#2 : !ends) outs(%{result}_init : {type}) block_size = {block} -> {type}"""

    return f"""
!x = {tensor((None, hidden), "bf16")}
!ids = {tensor((None, k), index)}
!weights = {tensor((None, k), weight)}
!list = tensor<?xi32>
!ends = tensor<{experts}xi32>
!count = tensor<i32>
!places = tensor<?x{k}xi32>
!gu = {tensor((None, 2 * inner), "bf16")}
!hs = {tensor((None, inner), "bf16")}
!y = {tensor((None, hidden), to)}
#id = affine_map<(r, c) -> (r, c)>
#rows = {{indexing_maps = [affine_map<(r, c) -> (r)>, #id], iterator_types = ["parallel", "parallel"]}}
#elements = {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
#result = {{indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}}
func.func @main({arguments}) -> !y {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = arith.constant {k} : index
  %stride = arith.constant {2 if is_clamped else 1} : index
  %offset = arith.constant {1 if is_clamped else inner} : index
  %experts = arith.constant {experts} : index
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  %tokens = tensor.dim %ids, %c0 : !ids
  %pairs = arith.muli %tokens, %k : index
  %g0 = tensor.empty(%pairs) : !list
  %g1 = tensor.empty(%pairs) : !list
  %g2 = tensor.empty() : !ends
  %g3 = tensor.empty() : !count
  %g:4 = mx.group_rows ins(%ids : !ids) outs(%g0, %g1, %g2, %g3 : !list, !list, !ends, !count) -> !list, !list, !ends, !count

  // Rows without an expert read any token.
  %rows_init = tensor.empty(%pairs) : !x
  %rows = linalg.generic #rows ins(%g#0 : !list) outs(%rows_init : !x) {{
  ^bb0(%token: i32, %out: bf16):
    %t = arith.index_cast %token : i32 to index
    %column = linalg.index 1 : index
    %value = tensor.extract %x[%t, %column] : !x
    linalg.yield %value : bf16
  }} -> !x
  {matmul("rows", "!x", gate_up, "gu", "!gu")}

  %hs_init = tensor.empty(%pairs) : !hs
  %hs = linalg.generic #rows ins(%g#1 : !list) outs(%hs_init : !hs) {{
  ^bb0(%slot: i32, %out: bf16):
    %p = linalg.index 0 : index
    %column = linalg.index 1 : index
    %pair = arith.index_cast %slot : i32 to index
    %t = arith.divsi %pair, %k : index
    %j = arith.remsi %pair, %k : index
    %id = tensor.extract %ids[%t, %j] : !ids
    %expert = arith.index_cast %id : {index} to index
    %even = arith.muli %column, %stride : index
    %odd = arith.addi %even, %offset : index
    %v = tensor.extract %gu[%p, %even] : !gu
    %u = tensor.extract %gu[%p, %odd] : !gu
    {finish("%gate", "%v", 0, "even")}
    {finish("%up", "%u", 0, "odd", "%c1")}{_CLAMPED if is_clamped else _SILU + (_UNROUNDED if has_factors else _ROUNDED)}
    linalg.yield %h : bf16
  }} -> !hs
  {matmul("hs", "!hs", down, "z", "!x")}

  // The row of each pair, found among the ascending slots of its expert, or -1.
  %places_init = tensor.empty(%tokens) : !places
  %places = linalg.generic #elements ins(%ids : !ids) outs(%places_init : !places) {{
  ^bb0(%id: {index}, %out: i32):
    %t = linalg.index 0 : index
    %j = linalg.index 1 : index
    %first = arith.muli %t, %k : index
    %pair = arith.addi %first, %j : index
    %slot = arith.index_cast %pair : index to i32
    %expert = arith.index_cast %id : {index} to index
    %before = arith.subi %expert, %c1 : index
    %b = tensor.extract %g#2[%before] : !ends
    %f = tensor.extract %g#2[%expert] : !ends
    %has_begin = arith.cmpi sgt, %expert, %c0 : index
    %lb = arith.index_cast %b : i32 to index
    %begin = arith.select %has_begin, %lb, %c0 : index
    %end = arith.index_cast %f : i32 to index
    %found:2 = scf.while (%l = %begin, %h = %end) : (index, index) -> (index, index) {{
      %more = arith.cmpi slt, %l, %h : index
      scf.condition(%more) %l, %h : index, index
    }} do {{
    ^bb0(%l: index, %h: index):
      %sum = arith.addi %l, %h : index
      %m = arith.shrui %sum, %c1 : index
      %at = tensor.extract %g#1[%m] : !list
      %is_before = arith.cmpi slt, %at, %slot : i32
      %next = arith.addi %m, %c1 : index
      %l1 = arith.select %is_before, %next, %l : index
      %h1 = arith.select %is_before, %h, %m : index
      scf.yield %l1, %h1 : index, index
    }}
    %none = arith.constant -1 : index
    %exists = arith.cmpi ult, %expert, %experts : index
    %place = arith.select %exists, %found#0, %none : index
    %y = arith.index_cast %place : index to i32
    linalg.yield %y : i32
  }} -> !places

  %y_init = tensor.empty(%tokens) : !y
  %y = linalg.generic #result outs(%y_init : !y) {{
  ^bb0(%out: {to}):
    %t = linalg.index 0 : index
    %column = linalg.index 1 : index
    %sum = scf.for %j = %c0 to %k step %c1 iter_args(%old = %zero) -> (f32) {{
      %place = tensor.extract %places[%t, %j] : !places
      %p = arith.index_cast %place : i32 to index
      %exists = arith.cmpi sge, %p, %c0 : index
      %id = tensor.extract %ids[%t, %j] : !ids
      %expert = arith.index_cast %id : {index} to index
      %v = tensor.extract %z[%p, %column] : !x
      {finish("%a", "%v", 1, "column")}
      %weight = tensor.extract %weights[%t, %j] : !weights
      {widen("%factor", "%weight", weight)}
      %kept = arith.select %exists, %a, %zero : f32
      %term = arith.mulf %kept, %factor : f32
      %new = arith.addf %old, %term : f32
      scf.yield %new : f32
    }}
    %stored = arith.{"bitcast" if to == "f32" else "truncf"} %sum : f32 to {to}
    linalg.yield %stored : {to}
  }} -> !y
  return %y : !y
}}
"""
