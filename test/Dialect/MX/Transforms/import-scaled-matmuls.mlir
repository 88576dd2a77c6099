// RUN: mx-opt %s --split-input-file --mx-import-scaled=scale-layout=linear --canonicalize --cse --verify-diagnostics | FileCheck %s
// RUN: mx-opt %s --split-input-file --mx-import-scaled --canonicalize --cse | FileCheck %s --check-prefix=TILED

// Imports linalg matmuls with block scales. The scales of the first operand are
// broadcast and reshaped. The second operand stores K first and is transposed.
// CHECK-LABEL: func.func @matmul(
// CHECK-SAME:    %[[A:.*]]: tensor<8x64xf8E4M3FN>, %[[SA:.*]]: tensor<8x2xf8E8M0FNU>, %[[B:.*]]: tensor<64x16xf8E5M2>, %[[SB:.*]]: tensor<2x16xf8E8M0FNU>)
// CHECK-NOT:     scaling_extf
// CHECK-DAG:     %[[BT:.*]] = linalg.transpose ins(%[[B]] : tensor<64x16xf8E5M2>)
// CHECK-DAG:     %[[ST:.*]] = linalg.transpose ins(%[[SB]] : tensor<2x16xf8E8M0FNU>)
// CHECK-DAG:     %[[OUT:.*]] = tensor.empty() : tensor<8x16xbf16>
// CHECK:         %[[C:.*]] = mx.matmul ins(%[[A]], %[[SA]], %[[BT]], %[[ST]] : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>, tensor<16x64xf8E5M2>, tensor<16x2xf8E8M0FNU>) outs(%[[OUT]] : tensor<8x16xbf16>) -> tensor<8x16xbf16>
// CHECK-NEXT:    return %[[C]]
// TILED-LABEL: func.func @matmul(
// TILED:         %[[SA:.*]] = mx.relayout ins(%arg1 : tensor<8x2xf8E8M0FNU>) outs(%{{.*}}) -> tensor<8x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// TILED:         mx.matmul ins(%arg0, %[[SA]],
func.func @matmul(%a: tensor<8x64xf8E4M3FN>, %sa: tensor<8x2xf8E8M0FNU>, %b: tensor<64x16xf8E5M2>, %sb: tensor<2x16xf8E8M0FNU>) -> tensor<8x16xbf16> {
  %ea = tensor.empty() : tensor<8x2x32xf8E8M0FNU>
  %wa = linalg.broadcast ins(%sa : tensor<8x2xf8E8M0FNU>) outs(%ea : tensor<8x2x32xf8E8M0FNU>) dimensions = [2]
  %ra = tensor.collapse_shape %wa [[0], [1, 2]] : tensor<8x2x32xf8E8M0FNU> into tensor<8x64xf8E8M0FNU>
  %x = arith.scaling_extf %a, %ra : tensor<8x64xf8E4M3FN>, tensor<8x64xf8E8M0FNU> to tensor<8x64xf32>
  %eb = tensor.empty() : tensor<2x32x16xf8E8M0FNU>
  %wb = linalg.broadcast ins(%sb : tensor<2x16xf8E8M0FNU>) outs(%eb : tensor<2x32x16xf8E8M0FNU>) dimensions = [1]
  %rb = tensor.collapse_shape %wb [[0, 1], [2]] : tensor<2x32x16xf8E8M0FNU> into tensor<64x16xf8E8M0FNU>
  %y = arith.scaling_extf %b, %rb : tensor<64x16xf8E5M2>, tensor<64x16xf8E8M0FNU> to tensor<64x16xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %r = linalg.matmul ins(%x, %y : tensor<8x64xf32>, tensor<64x16xf32>) outs(%init : tensor<8x16xf32>) -> tensor<8x16xf32>
  %t = arith.truncf %r : tensor<8x16xf32> to tensor<8x16xbf16>
  return %t : tensor<8x16xbf16>
}

// -----

// Elements are scaled by block and then reshaped. An existing transposition of
// the operand is undone.
// CHECK-LABEL: func.func @blocks(
// CHECK-SAME:    %[[A:.*]]: tensor<?x4x32xf4E2M1FN>, %[[SA:.*]]: tensor<?x4xf8E8M0FNU>, %[[B:.*]]: tensor<16x128xf8E4M3FN>, %[[SB:.*]]: tensor<16x4xf8E8M0FNU>, %[[C:.*]]: tensor<?x16xf32>)
// CHECK-NOT:     linalg.
// CHECK:         %[[K:.*]] = tensor.collapse_shape %[[A]] {{\[\[}}0], [1, 2]] : tensor<?x4x32xf4E2M1FN> into tensor<?x128xf4E2M1FN>
// CHECK:         %[[R:.*]] = mx.matmul ins(%[[K]], %[[SA]], %[[B]], %[[SB]] : {{.*}}) outs(%[[C]] : tensor<?x16xf32>) accumulate -> tensor<?x16xf32>
// CHECK:         return %[[R]]
func.func @blocks(%a: tensor<?x4x32xf4E2M1FN>, %sa: tensor<?x4xf8E8M0FNU>, %b: tensor<16x128xf8E4M3FN>, %sb: tensor<16x4xf8E8M0FNU>, %c: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : tensor<?x4x32xf4E2M1FN>
  %ea = tensor.empty(%m) : tensor<?x4x32xbf16>
  %x3 = linalg.generic {indexing_maps = [affine_map<(m, o, i) -> (m, o, i)>, affine_map<(m, o, i) -> (m, o)>, affine_map<(m, o, i) -> (m, o, i)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%a, %sa : tensor<?x4x32xf4E2M1FN>, tensor<?x4xf8E8M0FNU>) outs(%ea : tensor<?x4x32xbf16>) {
  ^bb0(%p: f4E2M1FN, %s: f8E8M0FNU, %o: bf16):
    %v = arith.scaling_extf %p, %s : f4E2M1FN, f8E8M0FNU to bf16
    linalg.yield %v : bf16
  } -> tensor<?x4x32xbf16>
  %x = tensor.collapse_shape %x3 [[0], [1, 2]] : tensor<?x4x32xbf16> into tensor<?x128xbf16>
  %ey = tensor.empty() : tensor<16x128xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(n, k) -> (n, k)>, affine_map<(n, k) -> (n, k floordiv 32)>, affine_map<(n, k) -> (n, k)>],
      iterator_types = ["parallel", "parallel"]} ins(%b, %sb : tensor<16x128xf8E4M3FN>, tensor<16x4xf8E8M0FNU>) outs(%ey : tensor<16x128xbf16>) {
  ^bb0(%p: f8E4M3FN, %s: f8E8M0FNU, %o: bf16):
    %v = arith.scaling_extf %p, %s : f8E4M3FN, f8E8M0FNU to bf16
    linalg.yield %v : bf16
  } -> tensor<16x128xbf16>
  %et = tensor.empty() : tensor<128x16xbf16>
  %t = linalg.transpose ins(%y : tensor<16x128xbf16>) outs(%et : tensor<128x16xbf16>) permutation = [1, 0]
  %r = linalg.matmul ins(%x, %t : tensor<?x128xbf16>, tensor<128x16xbf16>) outs(%c : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %r : tensor<?x16xf32>
}

// -----

// For a transposed result the operands are swapped.
#nk = affine_map<(m, n, k) -> (n, k)>
#mk = affine_map<(m, n, k) -> (m, k)>
#nm = affine_map<(m, n, k) -> (n, m)>
// CHECK-LABEL: func.func @swapped(
// CHECK-SAME:    %[[A:.*]]: tensor<8x64xf6E2M3FN>, %[[SA:.*]]: tensor<8x2xf8E8M0FNU>, %[[B:.*]]: tensor<16x64xf6E3M2FN>, %[[SB:.*]]: tensor<16x2xf8E8M0FNU>, %[[C:.*]]: tensor<16x8xf32>)
// CHECK-NEXT:    %[[R:.*]] = mx.matmul ins(%[[B]], %[[SB]], %[[A]], %[[SA]] : {{.*}}) outs(%[[C]] : tensor<16x8xf32>) accumulate
func.func @swapped(%a: tensor<8x64xf6E2M3FN>, %sa: tensor<8x2xf8E8M0FNU>, %b: tensor<16x64xf6E3M2FN>, %sb: tensor<16x2xf8E8M0FNU>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %ea = tensor.empty() : tensor<8x2x32xf8E8M0FNU>
  %wa = linalg.broadcast ins(%sa : tensor<8x2xf8E8M0FNU>) outs(%ea : tensor<8x2x32xf8E8M0FNU>) dimensions = [2]
  %ra = tensor.collapse_shape %wa [[0], [1, 2]] : tensor<8x2x32xf8E8M0FNU> into tensor<8x64xf8E8M0FNU>
  %x = arith.scaling_extf %a, %ra : tensor<8x64xf6E2M3FN>, tensor<8x64xf8E8M0FNU> to tensor<8x64xf32>
  %eb = tensor.empty() : tensor<16x2x32xf8E8M0FNU>
  %wb = linalg.broadcast ins(%sb : tensor<16x2xf8E8M0FNU>) outs(%eb : tensor<16x2x32xf8E8M0FNU>) dimensions = [2]
  %rb = tensor.collapse_shape %wb [[0], [1, 2]] : tensor<16x2x32xf8E8M0FNU> into tensor<16x64xf8E8M0FNU>
  %y = arith.scaling_extf %b, %rb : tensor<16x64xf6E3M2FN>, tensor<16x64xf8E8M0FNU> to tensor<16x64xf32>
  %r = linalg.contract indexing_maps = [#mk, #nk, #nm] ins(%x, %y : tensor<8x64xf32>, tensor<16x64xf32>) outs(%c : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}

// -----

// The batch dimension is kept.
// CHECK-LABEL: func.func @batch_matmul(
// CHECK-SAME:    %[[A:.*]]: tensor<?x8x64xf8E4M3FN>, %[[SA:.*]]: tensor<?x8x2xf8E8M0FNU>, %[[B:.*]]: tensor<?x64x16xf8E4M3FN>, %[[SB:.*]]: tensor<?x2x16xf8E8M0FNU>
// CHECK:         linalg.transpose ins(%[[B]] : {{.*}}) outs({{.*}}) permutation = [0, 2, 1]
// CHECK:         mx.matmul ins(%[[A]], %[[SA]], {{.*}} : tensor<?x8x64xf8E4M3FN>, tensor<?x8x2xf8E8M0FNU>, tensor<?x16x64xf8E4M3FN>, tensor<?x16x2xf8E8M0FNU>)
func.func @batch_matmul(%a: tensor<?x8x64xf8E4M3FN>, %sa: tensor<?x8x2xf8E8M0FNU>, %b: tensor<?x64x16xf8E4M3FN>, %sb: tensor<?x2x16xf8E8M0FNU>, %g: index, %c: tensor<?x8x16xf32>) -> tensor<?x8x16xf32> {
  %ea = tensor.empty(%g) : tensor<?x8x2x32xf8E8M0FNU>
  %wa = linalg.broadcast ins(%sa : tensor<?x8x2xf8E8M0FNU>) outs(%ea : tensor<?x8x2x32xf8E8M0FNU>) dimensions = [3]
  %ra = tensor.collapse_shape %wa [[0], [1], [2, 3]] : tensor<?x8x2x32xf8E8M0FNU> into tensor<?x8x64xf8E8M0FNU>
  %x = arith.scaling_extf %a, %ra : tensor<?x8x64xf8E4M3FN>, tensor<?x8x64xf8E8M0FNU> to tensor<?x8x64xf32>
  %eb = tensor.empty(%g) : tensor<?x2x32x16xf8E8M0FNU>
  %wb = linalg.broadcast ins(%sb : tensor<?x2x16xf8E8M0FNU>) outs(%eb : tensor<?x2x32x16xf8E8M0FNU>) dimensions = [2]
  %rb = tensor.collapse_shape %wb [[0], [1, 2], [3]] : tensor<?x2x32x16xf8E8M0FNU> into tensor<?x64x16xf8E8M0FNU>
  %y = arith.scaling_extf %b, %rb : tensor<?x64x16xf8E4M3FN>, tensor<?x64x16xf8E8M0FNU> to tensor<?x64x16xf32>
  %r = linalg.batch_matmul ins(%x, %y : tensor<?x8x64xf32>, tensor<?x64x16xf32>) outs(%c : tensor<?x8x16xf32>) -> tensor<?x8x16xf32>
  return %r : tensor<?x8x16xf32>
}

// -----

// Separate loops run over blocks and within a block. The batch dimension of the first operand becomes rows.
#a = affine_map<(b, m, n, o, i) -> (b, m, o, i)>
#b = affine_map<(b, m, n, o, i) -> (n, o, i)>
#sa = affine_map<(b, m, n, o, i) -> (b, m, o)>
#sb = affine_map<(b, m, n, o, i) -> (n, o)>
#c = affine_map<(b, m, n, o, i) -> (b, m, n)>
// CHECK-LABEL: func.func @four_operands(
// CHECK-DAG:     %[[A:.*]] = tensor.collapse_shape %arg0 {{\[\[}}0, 1], [2, 3]] : tensor<?x8x?x32xf4E2M1FN> into tensor<?x?xf4E2M1FN>
// CHECK-DAG:     %[[SA:.*]] = tensor.collapse_shape %arg2 {{\[\[}}0, 1], [2]] : tensor<?x8x?xf8E8M0FNU> into tensor<?x?xf8E8M0FNU>
// CHECK-DAG:     %[[B:.*]] = tensor.collapse_shape %arg1 {{\[\[}}0], [1, 2]]
// CHECK-DAG:     %[[C:.*]] = tensor.collapse_shape %arg4 {{\[\[}}0, 1], [2]]
// CHECK:         %[[R:.*]] = mx.matmul ins(%[[A]], %[[SA]], %[[B]], %arg3 : {{.*}}) outs(%[[C]] : tensor<?x16xf32>) accumulate
// CHECK:         %[[E:.*]] = tensor.expand_shape %[[R]] {{\[\[}}0, 1], [2]] output_shape [%{{.*}}, 8, 16]
// CHECK:         return %[[E]] : tensor<?x8x16xf32>
func.func @four_operands(%a: tensor<?x8x?x32xf4E2M1FN>, %b: tensor<16x?x32xf4E2M1FN>, %sa: tensor<?x8x?xf8E8M0FNU>, %sb: tensor<16x?xf8E8M0FNU>, %c: tensor<?x8x16xf32>) -> tensor<?x8x16xf32> {
  %r = linalg.generic {indexing_maps = [#a, #b, #sa, #sb, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b, %sa, %sb : tensor<?x8x?x32xf4E2M1FN>, tensor<16x?x32xf4E2M1FN>, tensor<?x8x?xf8E8M0FNU>, tensor<16x?xf8E8M0FNU>) outs(%c : tensor<?x8x16xf32>) {
  ^bb0(%p: f4E2M1FN, %q: f4E2M1FN, %sp: f8E8M0FNU, %sq: f8E8M0FNU, %o: f32):
    %x = arith.scaling_extf %p, %sp : f4E2M1FN, f8E8M0FNU to f32
    %y = arith.scaling_extf %q, %sq : f4E2M1FN, f8E8M0FNU to f32
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<?x8x16xf32>
  return %r : tensor<?x8x16xf32>
}

// -----

// Two dynamic dimensions are collapsed to rows, so their sizes are compared
// with the sizes of the scales and of the result.
#a = affine_map<(b, m, n, o, i) -> (b, m, o, i)>
#b = affine_map<(b, m, n, o, i) -> (n, o, i)>
#sa = affine_map<(b, m, n, o, i) -> (b, m, o)>
#sb = affine_map<(b, m, n, o, i) -> (n, o)>
#c = affine_map<(b, m, n, o, i) -> (b, m, n)>
// CHECK-LABEL: func.func @rows_of_two(
// CHECK-DAG:     mxgpu.require %{{.*}}, "expected dimension 0 of the scales of the left operand to be %lld, found %lld"
// CHECK-DAG:     mxgpu.require %{{.*}}, "expected dimension 1 of the scales of the left operand to be %lld, found %lld"
// CHECK-DAG:     mxgpu.require %{{.*}}, "expected dimension 0 of the result to be %lld, found %lld"
// CHECK-DAG:     mxgpu.require %{{.*}}, "expected dimension 1 of the result to be %lld, found %lld"
// CHECK-NOT:     mxgpu.require
// CHECK:         mx.matmul
func.func @rows_of_two(%a: tensor<?x?x?x32xf4E2M1FN>, %b: tensor<16x?x32xf4E2M1FN>, %sa: tensor<?x?x?xf8E8M0FNU>, %sb: tensor<16x?xf8E8M0FNU>, %c: tensor<?x?x16xf32>) -> tensor<?x?x16xf32> {
  %r = linalg.generic {indexing_maps = [#a, #b, #sa, #sb, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b, %sa, %sb : tensor<?x?x?x32xf4E2M1FN>, tensor<16x?x32xf4E2M1FN>, tensor<?x?x?xf8E8M0FNU>, tensor<16x?xf8E8M0FNU>) outs(%c : tensor<?x?x16xf32>) {
  ^bb0(%p: f4E2M1FN, %q: f4E2M1FN, %sp: f8E8M0FNU, %sq: f8E8M0FNU, %o: f32):
    %x = arith.scaling_extf %p, %sp : f4E2M1FN, f8E8M0FNU to f32
    %y = arith.scaling_extf %q, %sq : f4E2M1FN, f8E8M0FNU to f32
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<?x?x16xf32>
  return %r : tensor<?x?x16xf32>
}

// -----

// Two loops run over blocks. The scales of the second operand cover 64 elements and are repeated.
#a = affine_map<(m, n, o, h, i) -> (m, o, h, i)>
#b = affine_map<(m, n, o, h, i) -> (n, o, h, i)>
#sa = affine_map<(m, n, o, h, i) -> (m, o, h)>
#sb = affine_map<(m, n, o, h, i) -> (n, o)>
#c = affine_map<(m, n, o, h, i) -> (m, n)>
// CHECK-LABEL: func.func @repeated(
// CHECK-DAG:     %[[SA:.*]] = tensor.collapse_shape %arg2 {{\[\[}}0], [1, 2]] : tensor<8x4x2xf8E8M0FNU> into tensor<8x8xf8E8M0FNU>
// CHECK-DAG:     %[[W:.*]] = linalg.broadcast ins(%arg3 : tensor<16x4xf8E8M0FNU>) outs(%{{.*}} : tensor<16x4x2xf8E8M0FNU>) dimensions = [2]
// CHECK-DAG:     %[[SB:.*]] = tensor.collapse_shape %[[W]] {{\[\[}}0], [1, 2]] : tensor<16x4x2xf8E8M0FNU> into tensor<16x8xf8E8M0FNU>
// CHECK:         mx.matmul ins(%{{.*}}, %[[SA]], %{{.*}}, %[[SB]] : tensor<8x256xf4E2M1FN>, tensor<8x8xf8E8M0FNU>, tensor<16x256xf4E2M1FN>, tensor<16x8xf8E8M0FNU>)
func.func @repeated(%a: tensor<8x4x2x32xf4E2M1FN>, %b: tensor<16x4x2x32xf4E2M1FN>, %sa: tensor<8x4x2xf8E8M0FNU>, %sb: tensor<16x4xf8E8M0FNU>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %r = linalg.generic {indexing_maps = [#a, #b, #sa, #sb, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%a, %b, %sa, %sb : tensor<8x4x2x32xf4E2M1FN>, tensor<16x4x2x32xf4E2M1FN>, tensor<8x4x2xf8E8M0FNU>, tensor<16x4xf8E8M0FNU>) outs(%c : tensor<8x16xf32>) {
  ^bb0(%p: f4E2M1FN, %q: f4E2M1FN, %sp: f8E8M0FNU, %sq: f8E8M0FNU, %o: f32):
    %x = arith.scaling_extf %p, %sp : f4E2M1FN, f8E8M0FNU to f32
    %y = arith.scaling_extf %q, %sq : f4E2M1FN, f8E8M0FNU to f32
    %m = arith.mulf %y, %x : f32
    %s = arith.addf %m, %o : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// -----

// If only one operand is scaled, the bf16 operand becomes the first operand. If
// the bf16 operand provides the columns, the result is computed transposed.
#floor = affine_map<(r, k) -> (r, k floordiv 32)>
#id = affine_map<(r, k) -> (r, k)>
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func @weights(
// CHECK-SAME:    %[[X:.*]]: tensor<?x64xbf16>, %[[W:.*]]: tensor<16x64xf4E2M1FN>, %[[SW:.*]]: tensor<16x2xf8E8M0FNU>, %[[C:.*]]: tensor<?x16xf32>, %[[D:.*]]: tensor<16x?xf32>)
// CHECK:         mx.matmul ins(%[[X]], %[[W]], %[[SW]] : tensor<?x64xbf16>, tensor<16x64xf4E2M1FN>, tensor<16x2xf8E8M0FNU>) outs(%[[C]] : tensor<?x16xf32>) accumulate
// CHECK:         %[[T:.*]] = linalg.transpose ins(%[[D]] : tensor<16x?xf32>)
// CHECK:         %[[R:.*]] = mx.matmul ins(%[[X]], %[[W]], %[[SW]] : {{.*}}) outs(%[[T]] : tensor<?x16xf32>) accumulate
// CHECK:         linalg.transpose ins(%[[R]] : tensor<?x16xf32>)
func.func @weights(%x: tensor<?x64xbf16>, %w: tensor<16x64xf4E2M1FN>, %s: tensor<16x2xf8E8M0FNU>, %c: tensor<?x16xf32>, %d: tensor<16x?xf32>) -> (tensor<?x16xf32>, tensor<16x?xf32>) {
  %e = tensor.empty() : tensor<16x64xbf16>
  %y = linalg.generic {indexing_maps = [#id, #floor, #id], iterator_types = ["parallel", "parallel"]} ins(%w, %s : tensor<16x64xf4E2M1FN>, tensor<16x2xf8E8M0FNU>) outs(%e : tensor<16x64xbf16>) {
  ^bb0(%p: f4E2M1FN, %q: f8E8M0FNU, %o: bf16):
    %v = arith.scaling_extf %p, %q : f4E2M1FN, f8E8M0FNU to bf16
    linalg.yield %v : bf16
  } -> tensor<16x64xbf16>
  %r = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %y : tensor<?x64xbf16>, tensor<16x64xbf16>) outs(%c : tensor<?x16xf32>) -> tensor<?x16xf32>
  %t = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%y, %x : tensor<16x64xbf16>, tensor<?x64xbf16>) outs(%d : tensor<16x?xf32>) -> tensor<16x?xf32>
  return %r, %t : tensor<?x16xf32>, tensor<16x?xf32>
}

// -----

// An NVFP4 operand is a multiplication of two conversions, and the scales are converted to f32 first.
// A vector becomes a matrix with one row.
// CHECK-LABEL: func.func @nvfp4(
// CHECK-SAME:    %[[A:.*]]: tensor<64xbf16>, %[[B:.*]]: tensor<16x64xf4E2M1FN>, %[[SB:.*]]: tensor<16x4xf8E4M3FN>, %[[C:.*]]: tensor<16xf32>)
// CHECK-DAG:     %[[ROW:.*]] = tensor.expand_shape %[[A]] {{\[\[}}0, 1]] output_shape [1, 64]
// CHECK-DAG:     %[[OUT:.*]] = tensor.expand_shape %[[C]] {{\[\[}}0, 1]] output_shape [1, 16]
// CHECK:         %[[R:.*]] = mx.matmul ins(%[[ROW]], %[[B]], %[[SB]] : tensor<1x64xbf16>, tensor<16x64xf4E2M1FN>, tensor<16x4xf8E4M3FN>) outs(%[[OUT]] : tensor<1x16xf32>) block_size = 16 accumulate
// CHECK:         tensor.collapse_shape %[[R]] {{\[\[}}0, 1]]
func.func @nvfp4(%a: tensor<64xbf16>, %b: tensor<16x64xf4E2M1FN>, %sb: tensor<16x4xf8E4M3FN>, %c: tensor<16xf32>) -> tensor<16xf32> {
  %s = arith.extf %sb : tensor<16x4xf8E4M3FN> to tensor<16x4xf32>
  %e = tensor.empty() : tensor<16x4x16xf32>
  %w = linalg.broadcast ins(%s : tensor<16x4xf32>) outs(%e : tensor<16x4x16xf32>) dimensions = [2]
  %r = tensor.collapse_shape %w [[0], [1, 2]] : tensor<16x4x16xf32> into tensor<16x64xf32>
  %x = arith.extf %b : tensor<16x64xf4E2M1FN> to tensor<16x64xf32>
  %y = arith.mulf %r, %x : tensor<16x64xf32>
  %f = arith.extf %a : tensor<64xbf16> to tensor<64xf32>
  %z = linalg.matvec ins(%y, %f : tensor<16x64xf32>, tensor<64xf32>) outs(%c : tensor<16xf32>) -> tensor<16xf32>
  return %z : tensor<16xf32>
}
