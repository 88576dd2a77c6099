// RUN: mx-opt %s --split-input-file --mx-import-scaled=scale-layout=linear --canonicalize --cse | FileCheck %s
// RUN: mx-opt %s --split-input-file --mx-import-scaled --canonicalize --cse | FileCheck %s --check-prefix=TILED

// CHECK-LABEL: func.func @matmul(
// CHECK-SAME:    %[[A:.*]]: tensor<4x8x64xf6E2M3FN>, %[[SA:.*]]: tensor<4x8x2xf8E8M0FNU>, %[[B:.*]]: tensor<4x16x64xf6E2M3FN>, %[[SB:.*]]: tensor<4x16x2xf8E8M0FNU>)
// CHECK:         %[[R:.*]] = mx.matmul ins(%[[A]], %[[SA]], %[[B]], %[[SB]] : {{.*}}) outs(%{{.*}} : tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
// CHECK-NEXT:    return %[[R]]
func.func @matmul(%a: tensor<4x8x64xf6E2M3FN>, %sa: tensor<4x8x2xf8E8M0FNU>, %b: tensor<4x16x64xf6E2M3FN>, %sb: tensor<4x16x2xf8E8M0FNU>) -> tensor<4x8x16xf32> {
  %r = tosa.matmul_t_block_scaled %a, %sa, %b, %sb {block_size = BLOCK_SIZE_32} : (tensor<4x8x64xf6E2M3FN>, tensor<4x8x2xf8E8M0FNU>, tensor<4x16x64xf6E2M3FN>, tensor<4x16x2xf8E8M0FNU>) -> tensor<4x8x16xf32>
  return %r : tensor<4x8x16xf32>
}

// -----

// The whole batch multiplies one matrix, so the batch becomes rows. Static
// sizes are collected from all types.
// CHECK-LABEL: func.func @broadcast(
// CHECK-DAG:     %[[A:.*]] = tensor.collapse_shape %{{.*}} {{\[\[}}0, 1], [2]] : tensor<4x8x64xf4E2M1FN> into tensor<32x64xf4E2M1FN>
// CHECK-DAG:     %[[B:.*]] = tensor.collapse_shape %{{.*}} {{\[\[}}0, 1], [2]] : tensor<1x16x64xf4E2M1FN> into tensor<16x64xf4E2M1FN>
// CHECK:         %[[R:.*]] = mx.matmul ins(%[[A]], %{{.*}}, %[[B]], %{{.*}} : {{.*}}) outs(%{{.*}} : tensor<32x16xf32>)
// CHECK:         tensor.expand_shape %[[R]] {{\[\[}}0, 1], [2]] output_shape [4, 8, 16]
func.func @broadcast(%a: tensor<?x8x64xf4E2M1FN>, %sa: tensor<4x8x2xf8E8M0FNU>, %b: tensor<?x?x64xf4E2M1FN>, %sb: tensor<1x16x2xf8E8M0FNU>) -> tensor<4x8x16xf32> {
  %r = tosa.matmul_t_block_scaled %a, %sa, %b, %sb {block_size = BLOCK_SIZE_32} : (tensor<?x8x64xf4E2M1FN>, tensor<4x8x2xf8E8M0FNU>, tensor<?x?x64xf4E2M1FN>, tensor<1x16x2xf8E8M0FNU>) -> tensor<4x8x16xf32>
  return %r : tensor<4x8x16xf32>
}

// -----

// The relayout of the scales is fused into the quantizer.
// CHECK-LABEL: func.func @quantized(
// CHECK:         mx.quantize ins(%arg0 : tensor<1x8x64xf32>) outs({{.*}}) scale_rounding = fit -> tensor<1x8x64xf8E5M2>, tensor<1x8x2xf8E8M0FNU>
// CHECK:         mx.quantize ins(%arg1 : tensor<1x16x64xbf16>) outs({{.*}}) scale_rounding = fit -> tensor<1x16x64xf8E5M2>, tensor<1x16x2xf8E8M0FNU>
// CHECK:         mx.matmul {{.*}} -> tensor<8x16xf32>
// TILED-LABEL: func.func @quantized(
// TILED:         mx.matmul
func.func @quantized(%a: tensor<1x8x64xf32>, %b: tensor<1x16x64xbf16>) -> tensor<1x8x16xf32> {
  %qa, %sa = tosa.cast_to_block_scaled %a {block_size = BLOCK_SIZE_32} : (tensor<1x8x64xf32>) -> (tensor<1x8x64xf8E5M2>, tensor<1x8x2xf8E8M0FNU>)
  %qb, %sb = tosa.cast_to_block_scaled %b {block_size = BLOCK_SIZE_32} : (tensor<1x16x64xbf16>) -> (tensor<1x16x64xf8E5M2>, tensor<1x16x2xf8E8M0FNU>)
  %r = tosa.matmul_t_block_scaled %qa, %sa, %qb, %sb {block_size = BLOCK_SIZE_32} : (tensor<1x8x64xf8E5M2>, tensor<1x8x2xf8E8M0FNU>, tensor<1x16x64xf8E5M2>, tensor<1x16x2xf8E8M0FNU>) -> tensor<1x8x16xf32>
  return %r : tensor<1x8x16xf32>
}

// -----

// CHECK-LABEL: func.func @casts(
// CHECK:         mx.quantize ins(%arg0 : tensor<3x?x64xf32>) {{.*}} scale_rounding = fit -> tensor<3x?x64xf8E4M3FN>, tensor<3x?x2xf8E8M0FNU>
// CHECK:         mx.dequantize {{.*}} -> tensor<3x?x64xbf16>
// CHECK:         %[[V:.*]] = tensor.expand_shape %arg1 {{\[\[}}0, 1]] output_shape [1, 64]
// CHECK:         %[[Q:.*]]:2 = mx.quantize ins(%[[V]] : tensor<1x64xf32>) {{.*}} scale_rounding = fit
// CHECK:         tensor.collapse_shape %[[Q]]#0 {{\[\[}}0, 1]]
func.func @casts(%a: tensor<3x?x64xf32>, %b: tensor<64xf32>) -> (tensor<3x?x64xbf16>, tensor<64xf4E2M1FN>, tensor<2xf8E8M0FNU>) {
  %q, %s = tosa.cast_to_block_scaled %a {block_size = BLOCK_SIZE_32} : (tensor<3x?x64xf32>) -> (tensor<3x?x64xf8E4M3FN>, tensor<3x?x2xf8E8M0FNU>)
  %r = tosa.cast_from_block_scaled %q, %s {block_size = BLOCK_SIZE_32} : (tensor<3x?x64xf8E4M3FN>, tensor<3x?x2xf8E8M0FNU>) -> tensor<3x?x64xbf16>
  %p, %t = tosa.cast_to_block_scaled %b {block_size = BLOCK_SIZE_32} : (tensor<64xf32>) -> (tensor<64xf4E2M1FN>, tensor<2xf8E8M0FNU>)
  return %r, %p, %t : tensor<3x?x64xbf16>, tensor<64xf4E2M1FN>, tensor<2xf8E8M0FNU>
}

// -----

// MXINT8 becomes i8, including in functions and calls, and is multiplied as bf16.
// CHECK-LABEL: func.func private @inner(
// CHECK-SAME:    %[[A:.*]]: tensor<2x8x64xi8>, %{{.*}}: tensor<2x8x2xf8E8M0FNU>, %{{.*}}: tensor<2x16x64xf32>) -> (tensor<2x8x16xf32>, tensor<2x16x64xi8>)
// CHECK:         %[[Q:.*]]:2 = mx.quantize ins(%{{.*}}) outs(%{{.*}}) scale_rounding = fit -> tensor<2x16x64xi8>
// CHECK:         %[[X:.*]] = mx.dequantize ins(%[[A]], {{.*}} -> tensor<2x8x64xbf16>
// CHECK:         %[[Y:.*]] = mx.dequantize ins(%[[Q]]#0, {{.*}} -> tensor<2x16x64xbf16>
// CHECK:         %[[R:.*]] = mx.matmul ins(%[[X]], %[[Y]] : tensor<2x8x64xbf16>, tensor<2x16x64xbf16>)
// CHECK:         return %[[R]], %[[Q]]#0
func.func private @inner(%a: tensor<2x8x64x!tosa.mxint8>, %sa: tensor<2x8x2xf8E8M0FNU>, %b: tensor<2x16x64xf32>) -> (tensor<2x8x16xf32>, tensor<2x16x64x!tosa.mxint8>) {
  %q, %s = tosa.cast_to_block_scaled %b {block_size = BLOCK_SIZE_32} : (tensor<2x16x64xf32>) -> (tensor<2x16x64x!tosa.mxint8>, tensor<2x16x2xf8E8M0FNU>)
  %r = tosa.matmul_t_block_scaled %a, %sa, %q, %s {block_size = BLOCK_SIZE_32} : (tensor<2x8x64x!tosa.mxint8>, tensor<2x8x2xf8E8M0FNU>, tensor<2x16x64x!tosa.mxint8>, tensor<2x16x2xf8E8M0FNU>) -> tensor<2x8x16xf32>
  return %r, %q : tensor<2x8x16xf32>, tensor<2x16x64x!tosa.mxint8>
}
// CHECK-LABEL: func.func @outer(
// CHECK-SAME:    %[[A:.*]]: tensor<2x8x64xi8>
// CHECK-NEXT:    %[[R:.*]]:2 = call @inner(%[[A]],
// CHECK-NEXT:    return %[[R]]#1 : tensor<2x16x64xi8>
func.func @outer(%a: tensor<2x8x64x!tosa.mxint8>, %sa: tensor<2x8x2xf8E8M0FNU>, %b: tensor<2x16x64xf32>) -> tensor<2x16x64x!tosa.mxint8> {
  %r:2 = call @inner(%a, %sa, %b) : (tensor<2x8x64x!tosa.mxint8>, tensor<2x8x2xf8E8M0FNU>, tensor<2x16x64xf32>) -> (tensor<2x8x16xf32>, tensor<2x16x64x!tosa.mxint8>)
  return %r#1 : tensor<2x16x64x!tosa.mxint8>
}

// -----

// The result is cast back to an unranked tensor.
// CHECK-LABEL: func.func @unranked_results(
// CHECK:         %[[X:.*]] = mx.dequantize {{.*}} -> tensor<4x64xf32>
// CHECK:         tensor.cast %[[X]] : tensor<4x64xf32> to tensor<*xf32>
// CHECK:         %[[Q:.*]]:2 = mx.quantize
// CHECK:         tensor.cast %[[Q]]#0 : tensor<4x64xf6E2M3FN> to tensor<*xf6E2M3FN>
// CHECK:         tensor.cast %[[Q]]#1 : tensor<4x2xf8E8M0FNU> to tensor<*xf8E8M0FNU>
func.func @unranked_results(%q: tensor<4x64xf6E2M3FN>, %s: tensor<4x2xf8E8M0FNU>, %x: tensor<4x64xf32>) -> (tensor<*xf32>, tensor<*xf6E2M3FN>, tensor<*xf8E8M0FNU>) {
  %r = tosa.cast_from_block_scaled %q, %s {block_size = BLOCK_SIZE_32} : (tensor<4x64xf6E2M3FN>, tensor<4x2xf8E8M0FNU>) -> tensor<*xf32>
  %p, %t = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32} : (tensor<4x64xf32>) -> (tensor<*xf6E2M3FN>, tensor<*xf8E8M0FNU>)
  return %r, %p, %t : tensor<*xf32>, tensor<*xf6E2M3FN>, tensor<*xf8E8M0FNU>
}

// -----

// CHECK-LABEL: func.func @unranked_matmul(
// CHECK:         mx.matmul {{.*}} -> tensor<4x8x16xf32>
// CHECK:         tensor.cast %{{.*}} : tensor<4x8x16xf32> to tensor<*xf32>
func.func @unranked_matmul(%a: tensor<4x8x64xf6E2M3FN>, %sa: tensor<4x8x2xf8E8M0FNU>, %b: tensor<4x16x64xf6E2M3FN>, %sb: tensor<4x16x2xf8E8M0FNU>) -> tensor<*xf32> {
  %r = tosa.matmul_t_block_scaled %a, %sa, %b, %sb {block_size = BLOCK_SIZE_32} : (tensor<4x8x64xf6E2M3FN>, tensor<4x8x2xf8E8M0FNU>, tensor<4x16x64xf6E2M3FN>, tensor<4x16x2xf8E8M0FNU>) -> tensor<*xf32>
  return %r : tensor<*xf32>
}

// -----

// MXINT8 vectors remain i8 throughout.
// CHECK-LABEL: func.func @vector_of_int8(
// CHECK-SAME:    -> (tensor<64xi8>, tensor<2xf8E8M0FNU>)
// CHECK-NOT:     unrealized_conversion_cast
// CHECK:         return
func.func @vector_of_int8(%x: tensor<64xf32>) -> (tensor<64x!tosa.mxint8>, tensor<2xf8E8M0FNU>) {
  %q, %s = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32} : (tensor<64xf32>) -> (tensor<64x!tosa.mxint8>, tensor<2xf8E8M0FNU>)
  return %q, %s : tensor<64x!tosa.mxint8>, tensor<2xf8E8M0FNU>
}
