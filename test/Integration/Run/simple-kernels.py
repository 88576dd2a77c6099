"""Operations outside of the mx dialect run as simple kernels, unless another kernel fuses them. Programs that contain
such operations and matmuls are compared with numpy in float64.

RUN: env MX_QUIET= %python %s mx-run %t sm_90a mx-compile mx-launch
RUN: env MX_QUIET= %python %s mx-run %t sm_100a mx-compile mx-launch
REQUIRES: compiler, numpy

Each program runs on the simulator, on the CPU path and as a compiled launch plan. Matmul operands are small integers
that block formats represent exactly. Sums in the same order have the same bits on every path.
"""

import ml_dtypes
import numpy as np
from harness import BF16 as bf16
from harness import Harness

test = Harness("mx_run", "folder", "chip", "mx_compile", "mx_launch", seed=20)
rng = test.rng
M, N, K = 40, 24, 256

TYPES = """!m = tensor<40x256xbf16>
!e = tensor<40x256xf8E4M3FN>
!s = tensor<40x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!wm = tensor<24x256xbf16>
!we = tensor<24x256xf8E4M3FN>
!ws = tensor<24x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<40x24xf32>
#id = affine_map<(i, j) -> (i, j)>
#tr = affine_map<(i, j) -> (j, i)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
"""


def matmul(outs="%y0", tail=""):
    """Returns operations for %y, the matmul of %x and %w in MXFP8."""
    return f"""
  %qe0 = tensor.empty() : !e
  %qs0 = tensor.empty() : !s
  %q:2 = mx.quantize ins(%x : !m) outs(%qe0, %qs0 : !e, !s) -> !e, !s
  %pe0 = tensor.empty() : !we
  %ps0 = tensor.empty() : !ws
  %p:2 = mx.quantize ins(%w : !wm) outs(%pe0, %ps0 : !we, !ws) -> !we, !ws
  %y0 = tensor.empty() : !y
  %y = mx.matmul ins(%q#0, %q#1, %p#0, %p#1 : !e, !s, !we, !ws) outs({outs} : !y){tail} -> !y
"""


def relu(source="%y", outs="%z0", sources="#id", old="%old"):
    return f"""
  %z0 = tensor.empty() : !y
  %z = linalg.generic {{indexing_maps = [{sources}, #id], iterator_types = ["parallel", "parallel"]}}
      ins({source} : !y) outs({outs} : !y) {{
  ^bb0(%in: f32, %old: f32):
    %c = arith.constant 0.0 : f32
    %r = arith.maximumf %in, {"%c" if old == "%old" else "%old"} : f32
    linalg.yield %r : f32
  }} -> !y
"""


x = rng.integers(-2, 3, (M, K)).astype(bf16)
w = rng.integers(-2, 3, (N, K)).astype(bf16)
acc = rng.integers(-9, 10, (M, N)).astype(np.float32)
Y = x.astype(np.float64) @ w.astype(np.float64).T
soft = lambda v: np.exp(v - v.max(-1, keepdims=True)) / np.exp(v - v.max(-1, keepdims=True)).sum(-1, keepdims=True)
XW = "%x: !m, %w: !wm"

# Name, arguments, result types, body, arrays, expected results, and the error bound of floats relative to the largest.
CASES = [
    ("weight_only", XW, "!y", """
  %e0 = tensor.empty() : !we
  %s0 = tensor.empty() : !ws
  %q:2 = mx.quantize ins(%w : !wm) outs(%e0, %s0 : !we, !ws) -> !we, !ws
  %d0 = tensor.empty() : !wm
  %d = mx.dequantize ins(%q#0, %q#1 : !we, !ws) outs(%d0 : !wm) -> !wm
  %c = arith.constant 0.0 : f32
  %y0 = tensor.empty() : !y
  %y1 = linalg.fill ins(%c : f32) outs(%y0 : !y) -> !y
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
      affine_map<(m, n, k) -> (m, n)>] ins(%x, %d : !m, !wm) outs(%y1 : !y) -> !y
  return %y : !y""", [x, w], [Y], 0),
    ("second_use", XW, "!y, !y", matmul() + relu() + "  return %y, %z : !y, !y", [x, w], [Y, np.maximum(Y, 0)], 0),
    ("accumulate", XW + ", %acc: !y", "!y", matmul("%acc", " accumulate") + relu() + "  return %z : !y",
     [x, w, acc], [np.maximum(Y + acc, 0)], 0),
    ("reads_outs", XW + ", %acc: !y", "!y", matmul() + relu(outs="%acc", old="") + "  return %z : !y",
     [x, w, acc], [np.maximum(Y, acc)], 0),
    ("transposed", XW, "tensor<24x40xf32>", matmul() + """
  %z0 = tensor.empty() : tensor<24x40xf32>
  %z = linalg.transpose ins(%y : !y) outs(%z0 : tensor<24x40xf32>) permutation = [1, 0]
  return %z : tensor<24x40xf32>""", [x, w], [Y.T], 0),
    ("dequantize_scale", "%w: !wm", "!wm", """
  %e0 = tensor.empty() : !we
  %s0 = tensor.empty() : !ws
  %q:2 = mx.quantize ins(%w : !wm) outs(%e0, %s0 : !we, !ws) -> !we, !ws
  %d0 = tensor.empty() : !wm
  %d = mx.dequantize ins(%q#0, %q#1 : !we, !ws) outs(%d0 : !wm) -> !wm
  %two = arith.constant dense<2.0> : !wm
  %z = arith.mulf %d, %two : !wm
  return %z : !wm""", [w], [2 * w.astype(np.float64)], 0),
    ("alone", "%x: !m, %v: !m", "!m", "  %z = arith.maximumf %x, %v : !m\n  return %z : !m", [x, -x],
     [np.abs(x.astype(np.float64))], 0),
    ("add", XW + ", %acc: !y", "!y, !y", matmul() + "  %z = arith.addf %y, %acc : !y\n  return %z, %y : !y, !y",
     [x, w, acc], [Y + acc, Y], 0),
    ("broadcast", XW + ", %b: tensor<24xf32>", "!y, !y", matmul() + """
  %b0 = tensor.empty() : !y
  %bb = linalg.broadcast ins(%b : tensor<24xf32>) outs(%b0 : !y) dimensions = [0]
  %z = arith.subf %bb, %y : !y
  return %z, %bb : !y, !y""", [x, w, acc[0]], [acc[0] - Y, np.broadcast_to(acc[0], (M, N))], 0),
    ("pad", "%x: tensor<30x256xbf16>, %w: !wm", "!y", """
  %zero = arith.constant 0.0 : bf16
  %x40 = tensor.pad %x low[3, 0] high[7, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : bf16
  } : tensor<30x256xbf16> to !m""" + matmul().replace("%x :", "%x40 :") + "  return %y : !y", [x[:30], w],
     [np.pad(Y[:30], ((3, 7), (0, 0)))], 0),
    ("fill", XW, "!y", """
  %one = arith.constant 1.0 : f32
  %a0 = tensor.empty() : !y
  %a = linalg.fill ins(%one : f32) outs(%a0 : !y) -> !y""" + matmul("%a", " accumulate") + "  return %y : !y", [x, w],
     [Y + 1], 0),
    ("slice", XW, "tensor<40x10xf32>", matmul() + """
  %z = tensor.extract_slice %y[0, 4] [40, 10] [1, 2] : !y to tensor<40x10xf32>
  return %z : tensor<40x10xf32>""", [x, w], [Y[:, 4:24:2]], 0),
    ("insert", XW + ", %wide: tensor<40x64xf32>", "tensor<40x64xf32>", matmul() + """
  %z = tensor.insert_slice %y into %wide[0, 17] [40, 24] [1, 1] : !y into tensor<40x64xf32>
  return %z : tensor<40x64xf32>""", [x, w, np.pad(acc, ((0, 0), (0, 40)))],
     [np.concatenate([np.pad(acc, ((0, 0), (0, 40)))[:, :17], Y, np.zeros((M, 23))], 1)], 0),
    ("concat", XW + ", %acc: !y", "tensor<40x48xf32>", matmul() + """
  %z = tensor.concat dim(1) %y, %acc : (!y, !y) -> tensor<40x48xf32>
  return %z : tensor<40x48xf32>""", [x, w, acc], [np.concatenate([Y, acc], 1)], 0),
    ("softmax", XW, "!y, !y", matmul() + """
  %r = arith.constant dense<0.0625> : !y
  %t = arith.mulf %y, %r : !y
  %z0 = tensor.empty() : !y
  %z = linalg.softmax dimension(1) ins(%t : !y) outs(%z0 : !y) -> !y
  %c = linalg.softmax dimension(0) ins(%t : !y) outs(%z0 : !y) -> !y
  return %z, %c : !y, !y""", [x, w], [soft(Y / 16), soft(Y.T / 16).T], 1e-6),
    ("bits", XW + ", %mask: tensor<40x24xi1>", "tensor<40x24xi1>, !y", matmul() + """
  %zero = arith.constant dense<0.0> : !y
  %above = arith.cmpf ogt, %y, %zero : !y
  %both = arith.andi %above, %mask : tensor<40x24xi1>
  %z = arith.select %both, %y, %zero : tensor<40x24xi1>, !y
  return %both, %z : tensor<40x24xi1>, !y""", [x, w, acc > 0],
     [(Y > 0) & (acc > 0), np.where((Y > 0) & (acc > 0), Y, 0)], 0),
    ("layer_norm", XW, "!y", matmul() + """
  %v0 = tensor.empty() : tensor<40xf32>
  %c = arith.constant 0.0 : f32
  %v1 = linalg.fill ins(%c : f32) outs(%v0 : tensor<40xf32>) -> tensor<40xf32>
  %sum:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%y : !y) outs(%v1, %v1 : tensor<40xf32>, tensor<40xf32>) {
  ^bb0(%a: f32, %s: f32, %t: f32):
    %s1 = arith.addf %s, %a : f32
    %aa = arith.mulf %a, %a : f32
    %t1 = arith.addf %t, %aa : f32
    linalg.yield %s1, %t1 : f32, f32
  } -> (tensor<40xf32>, tensor<40xf32>)
  %z0 = tensor.empty() : !y
  %z = linalg.generic {indexing_maps = [#id, #row, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %sum#0, %sum#1 : !y, tensor<40xf32>, tensor<40xf32>) outs(%z0 : !y) {
  ^bb0(%a: f32, %s: f32, %t: f32, %o: f32):
    %n = arith.constant 24.0 : f32
    %mean = arith.divf %s, %n : f32
    %square = arith.divf %t, %n : f32
    %mm = arith.mulf %mean, %mean : f32
    %var = arith.subf %square, %mm : f32
    %d = arith.subf %a, %mean : f32
    %root = math.sqrt %var : f32
    %r = arith.divf %d, %root : f32
    linalg.yield %r : f32
  } -> !y
  return %z : !y""", [x, w], [(Y - Y.mean(1, keepdims=True)) / Y.std(1, keepdims=True)], 1e-5),
    ("attention", "%q: tensor<3x7x16xbf16>, %k: tensor<3x11x16xbf16>, %v: tensor<3x11x16xbf16>", "tensor<3x7x16xf32>", """
  %c = arith.constant 0.0 : f32
  %s0 = tensor.empty() : tensor<3x7x11xf32>
  %s1 = linalg.fill ins(%c : f32) outs(%s0 : tensor<3x7x11xf32>) -> tensor<3x7x11xf32>
  %s = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>,
      affine_map<(b, m, n, k) -> (b, m, n)>] ins(%q, %k : tensor<3x7x16xbf16>, tensor<3x11x16xbf16>)
      outs(%s1 : tensor<3x7x11xf32>) -> tensor<3x7x11xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<3x7x11xf32>) outs(%s0 : tensor<3x7x11xf32>) -> tensor<3x7x11xf32>
  %pb = arith.truncf %p : tensor<3x7x11xf32> to tensor<3x7x11xbf16>
  %o0 = tensor.empty() : tensor<3x7x16xf32>
  %o1 = linalg.fill ins(%c : f32) outs(%o0 : tensor<3x7x16xf32>) -> tensor<3x7x16xf32>
  %o = linalg.batch_matmul ins(%pb, %v : tensor<3x7x11xbf16>, tensor<3x11x16xbf16>) outs(%o1 : tensor<3x7x16xf32>)
      -> tensor<3x7x16xf32>
  return %o : tensor<3x7x16xf32>""",
     [a := rng.standard_normal((3, 7, 16)).astype(bf16), b := rng.standard_normal((3, 11, 16)).astype(bf16),
      v := rng.standard_normal((3, 11, 16)).astype(bf16)],
     [soft(a.astype(np.float64) @ b.astype(np.float64).transpose(0, 2, 1)) @ v.astype(np.float64)], 2.0**-7),
    ("gather", "%table: tensor<9x5xf32>, %ids: tensor<?xi32>", "tensor<?x5xf32>", """
  %c0 = arith.constant 0 : index
  %n = tensor.dim %ids, %c0 : tensor<?xi32>
  %z0 = tensor.empty(%n) : tensor<?x5xf32>
  %z = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<?xi32>) outs(%z0 : tensor<?x5xf32>) {
  ^bb0(%id: i32, %o: f32):
    %i = arith.index_cast %id : i32 to index
    %j = linalg.index 1 : index
    %r = tensor.extract %table[%i, %j] : tensor<9x5xf32>
    linalg.yield %r : f32
  } -> tensor<?x5xf32>
  return %z : tensor<?x5xf32>""", [acc[:9, :5].copy(), np.array([8, 0, 3, 3], np.int32)], [acc[[8, 0, 3, 3], :5]], 0),
    ("elements", "%n: f32, %t: tensor<4xf32>", "tensor<4xf32>, tensor<2xf32>, tensor<3x2xi32>", """
  %c1 = arith.constant 1 : index
  %a = tensor.insert %n into %t[%c1] : tensor<4xf32>
  %b = tensor.from_elements %n, %n : tensor<2xf32>
  %g = tensor.generate {
  ^bb0(%i: index, %j: index):
    %s = arith.addi %i, %j : index
    %r = arith.index_cast %s : index to i32
    tensor.yield %r : i32
  } : tensor<3x2xi32>
  return %a, %b, %g : tensor<4xf32>, tensor<2xf32>, tensor<3x2xi32>""", [np.float32(7), acc[0, :4].copy()],
     [np.array([acc[0, 0], 7, acc[0, 2], acc[0, 3]]), np.array([7, 7]), np.add.outer(np.arange(3), np.arange(2))], 0),
    ("pack", "%x: tensor<10x7xf32>", "tensor<3x2x4x4xf32>, tensor<10x7xf32>", """
  %c = arith.constant 0.0 : f32
  %p0 = tensor.empty() : tensor<3x2x4x4xf32>
  %p = linalg.pack %x padding_value(%c : f32) inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %p0
      : tensor<10x7xf32> -> tensor<3x2x4x4xf32>
  %u0 = tensor.empty() : tensor<10x7xf32>
  %u = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %u0
      : tensor<3x2x4x4xf32> -> tensor<10x7xf32>
  return %p, %u : tensor<3x2x4x4xf32>, tensor<10x7xf32>""", [acc[:10, :7].copy()],
     [np.pad(acc[:10, :7], ((0, 2), (0, 1))).reshape(3, 4, 2, 4).transpose(0, 2, 1, 3), acc[:10, :7]], 0),
    ("narrow", "%x: tensor<6x4xf8E4M3FN>, %y: tensor<6x4xf6E3M2FN>", "tensor<4x6xf8E4M3FN>, tensor<3x4xf6E3M2FN>", """
  %z0 = tensor.empty() : tensor<4x6xf8E4M3FN>
  %z = linalg.transpose ins(%x : tensor<6x4xf8E4M3FN>) outs(%z0 : tensor<4x6xf8E4M3FN>) permutation = [1, 0]
  %s = tensor.extract_slice %y[1, 0] [3, 4] [2, 1] : tensor<6x4xf6E3M2FN> to tensor<3x4xf6E3M2FN>
  return %z, %s : tensor<4x6xf8E4M3FN>, tensor<3x4xf6E3M2FN>""",
     [codes := np.arange(24, dtype=np.uint8).reshape(6, 4), codes], [codes.T, codes[1::2]], 0),
    ("narrow_constants", "%e: !we", "!wm, tensor<24x3xf8E4M3FN>", """
  %s = arith.constant dense<4.0> : tensor<24x8xf8E8M0FNU>
  %d0 = tensor.empty() : !wm
  %d = mx.dequantize ins(%e, %s : !we, tensor<24x8xf8E8M0FNU>) outs(%d0 : !wm) -> !wm
  %c = arith.constant dense<1.5> : tensor<24x1xf8E4M3FN>
  %part = tensor.extract_slice %e[0, 1] [24, 2] [1, 31] : !we to tensor<24x2xf8E4M3FN>
  %k = tensor.concat dim(1) %c, %part : (tensor<24x1xf8E4M3FN>, tensor<24x2xf8E4M3FN>) -> tensor<24x3xf8E4M3FN>
  return %d, %k : !wm, tensor<24x3xf8E4M3FN>""",
     [few := w.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)],
     [4 * w.astype(np.float64), np.concatenate([np.full((N, 1), 0x3C), few[:, [1, 32]]], 1)], 0),
    ("empty", "%x: tensor<?x5xf32>, %v: tensor<?x5xf32>", "tensor<?x5xf32>, tensor<f32>", """
  %z = arith.addf %x, %v : tensor<?x5xf32>
  %c = arith.constant 3.0 : f32
  %s0 = tensor.empty() : tensor<f32>
  %s1 = linalg.fill ins(%c : f32) outs(%s0 : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%z : tensor<?x5xf32>) outs(%s1 : tensor<f32>) dimensions = [0, 1]
  return %z, %s : tensor<?x5xf32>, tensor<f32>""", [acc[:0, :5].copy(), acc[:0, :5].copy()],
     [np.zeros((0, 5)), np.float64(3)], 0),
]

for name, parameters, types, body, arrays, expected, limit in CASES:
    if test.only not in name:
        continue
    test.case, count, found = name, len(expected), {}
    text = f"{TYPES}\nfunc.func @main({parameters}) -> ({types}) {{\n{body}\n}}\n"
    for way in ["sim", "cpu"]:
        done, outs = test.call(text, arrays, count, device=way, chip=test.chip)
        if ("runs as a simple kernel" in done.stderr) != (way == "sim"):
            test.fail(f"expected a remark only on the simulator, found another result on {way}\n{done.stderr}")
        found[way] = [np.load(out) for out in outs]
    found["plan"] = test.launch(text, arrays, count, test.chip)
    for i, right in enumerate(expected):
        for way, results in found.items():
            test.expect_numbers(f"result {i} on {way}", results[i], right, limit * np.max(np.abs(right), initial=0))
        test.expect(f"result {i} of a launch plan", found["plan"][i], found["sim"][i])
test.case = ""
test.finish(least=10000)
