// RUN: mx-opt %s --split-input-file --mx-import-scaled --canonicalize --cse | FileCheck %s

// Scaled values are dequantized if no matmul can read them.
#id = affine_map<(r, k) -> (r, k)>
#floor = affine_map<(r, k) -> (r, k floordiv 32)>
#transposed = affine_map<(r, k) -> (k, r)>
// CHECK-LABEL: func.func @elementwise(
// CHECK-SAME:    %[[A:.*]]: tensor<?x64xf8E4M3FN>, %[[S:.*]]: tensor<?x2xf8E8M0FNU>)
// CHECK:         %[[R:.*]] = mx.dequantize ins(%[[A]], %[[S]] : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) outs(%{{.*}} : tensor<?x64xbf16>) -> tensor<?x64xbf16>
// CHECK-NEXT:    return %[[R]]
func.func @elementwise(%a: tensor<?x64xf8E4M3FN>, %s: tensor<?x2xf8E8M0FNU>) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %a, %c0 : tensor<?x64xf8E4M3FN>
  %e = tensor.empty(%m) : tensor<?x64xbf16>
  %r = linalg.generic {indexing_maps = [#id, #floor, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) outs(%e : tensor<?x64xbf16>) {
  ^bb0(%p: f8E4M3FN, %q: f8E8M0FNU, %o: bf16):
    %v = arith.scaling_extf %p, %q : f8E4M3FN, f8E8M0FNU to f32
    %t = arith.truncf %v : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<?x64xbf16>
  return %r : tensor<?x64xbf16>
}

// The values are dequantized first and transposed afterwards.
// CHECK-LABEL: func.func @transposed(
// CHECK:         %[[N:.*]] = mx.dequantize ins(%arg0, %arg1 : {{.*}}) outs(%{{.*}} : tensor<8x64xf32>)
// CHECK:         linalg.transpose ins(%[[N]] : tensor<8x64xf32>) outs(%{{.*}} : tensor<64x8xf32>) permutation = [1, 0]
func.func @transposed(%a: tensor<8x64xf4E2M1FN>, %s: tensor<8x2xf8E8M0FNU>) -> tensor<64x8xf32> {
  %e = tensor.empty() : tensor<64x8xf32>
  %r = linalg.generic {indexing_maps = [#id, #floor, #transposed], iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<8x64xf4E2M1FN>, tensor<8x2xf8E8M0FNU>) outs(%e : tensor<64x8xf32>) {
  ^bb0(%p: f4E2M1FN, %q: f8E8M0FNU, %o: f32):
    %v = arith.scaling_extf %p, %q : f4E2M1FN, f8E8M0FNU to f32
    linalg.yield %v : f32
  } -> tensor<64x8xf32>
  return %r : tensor<64x8xf32>
}

// CHECK-LABEL: func.func @vector(
// CHECK-DAG:     %[[A:.*]] = tensor.expand_shape %arg0 {{\[\[}}0, 1]] output_shape [1, 64]
// CHECK-DAG:     %[[S:.*]] = tensor.expand_shape %arg1 {{\[\[}}0, 1]] output_shape [1, 2]
// CHECK:         %[[N:.*]] = mx.dequantize ins(%[[A]], %[[S]] : tensor<1x64xf6E3M2FN>, tensor<1x2xf8E8M0FNU>)
// CHECK:         tensor.collapse_shape %[[N]] {{\[\[}}0, 1]]
func.func @vector(%a: tensor<64xf6E3M2FN>, %s: tensor<2xf8E8M0FNU>) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<2x32xf8E8M0FNU>
  %w = linalg.broadcast ins(%s : tensor<2xf8E8M0FNU>) outs(%e : tensor<2x32xf8E8M0FNU>) dimensions = [1]
  %b = tensor.expand_shape %a [[0, 1]] output_shape [2, 32] : tensor<64xf6E3M2FN> into tensor<2x32xf6E3M2FN>
  %x = arith.scaling_extf %b, %w : tensor<2x32xf6E3M2FN>, tensor<2x32xf8E8M0FNU> to tensor<2x32xf32>
  %r = tensor.collapse_shape %x [[0, 1]] : tensor<2x32xf32> into tensor<64xf32>
  return %r : tensor<64xf32>
}

// The scale of a 96-element row is repeated for the three blocks of the row.
// CHECK-LABEL: func.func @rows(
// CHECK:         %[[W:.*]] = linalg.broadcast ins(%{{.*}} : tensor<8x1xf8E8M0FNU>) outs(%{{.*}} : tensor<8x1x3xf8E8M0FNU>) dimensions = [2]
// CHECK:         %[[S:.*]] = tensor.collapse_shape %[[W]] {{\[\[}}0], [1, 2]]
// CHECK:         mx.dequantize ins(%arg0, %[[S]] : tensor<8x96xf8E5M2>, tensor<8x3xf8E8M0FNU>)
func.func @rows(%a: tensor<8x96xf8E5M2>, %s: tensor<8xf8E8M0FNU>) -> tensor<8x96xf32> {
  %e = tensor.empty() : tensor<8x96xf8E8M0FNU>
  %w = linalg.broadcast ins(%s : tensor<8xf8E8M0FNU>) outs(%e : tensor<8x96xf8E8M0FNU>) dimensions = [1]
  %x = arith.scaling_extf %a, %w : tensor<8x96xf8E5M2>, tensor<8x96xf8E8M0FNU> to tensor<8x96xf32>
  return %x : tensor<8x96xf32>
}

// The values are dequantized for their other use, and the matmul still reads the scaled elements.
// CHECK-LABEL: func.func @both(
// CHECK-DAG:     %[[N:.*]] = mx.dequantize ins(%arg0, %arg1 :
// CHECK-DAG:     %[[P:.*]] = mx.matmul ins(%arg2, %arg0,
// CHECK:         return %[[P]], %[[N]]
func.func @both(%a: tensor<8x64xf8E5M2>, %s: tensor<8x2xf8E8M0FNU>, %x: tensor<4x64xbf16>, %c: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x64xbf16>) {
  %e = tensor.empty() : tensor<8x2x32xf8E8M0FNU>
  %w = linalg.broadcast ins(%s : tensor<8x2xf8E8M0FNU>) outs(%e : tensor<8x2x32xf8E8M0FNU>) dimensions = [2]
  %b = tensor.collapse_shape %w [[0], [1, 2]] : tensor<8x2x32xf8E8M0FNU> into tensor<8x64xf8E8M0FNU>
  %y = arith.scaling_extf %a, %b : tensor<8x64xf8E5M2>, tensor<8x64xf8E8M0FNU> to tensor<8x64xbf16>
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %y : tensor<4x64xbf16>, tensor<8x64xbf16>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r, %y : tensor<4x8xf32>, tensor<8x64xbf16>
}
