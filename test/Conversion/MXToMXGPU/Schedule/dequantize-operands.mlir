// RUN: mx-opt %s -split-input-file --mx-materialize-layouts --mx-dequantize-operands=chip=sm_90a | FileCheck %s
// RUN: mx-opt %s -split-input-file --mx-to-mxgpu=chip=sm_90a -o /dev/null

// The remaining matmul keeps the other fields of the schedule.

!a = tensor<?x512xf8E4M3FN>
!as = tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<256x512xf4E2M1FN>
!bs = tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x256xf32>

// CHECK-LABEL: func @dense(
// CHECK-SAME:    %[[A:.*]]: tensor<?x512xf8E4M3FN>, %[[AS:.*]]: tensor<?x4x32x4x4xf8E8M0FNU>
// CHECK:         %[[ROWS:.*]] = tensor.dim %[[A]], %c0
// CHECK:         %[[EMPTY:.*]] = tensor.empty(%[[ROWS]]) : tensor<?x512xbf16>
// CHECK:         %[[X:.*]] = mx.dequantize ins(%[[A]], %[[AS]] : {{.*}}) outs(%[[EMPTY]] : tensor<?x512xbf16>) -> tensor<?x512xbf16>
// CHECK:         mx.matmul ins(%[[X]], %{{.*}}, %{{.*}} : tensor<?x512xbf16>, tensor<256x512xf4E2M1FN>, tensor<2x4x32x4x4xf8E8M0FNU>)
// CHECK-SAME:      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 128, 64], raster = linear, epilogue = direct>}
func.func @dense(%a: !a, %as: !as, %b: !b, %bs: !bs, %y: !y) -> !y {
  %0 = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 128, 64], workspace = a>} -> !y
  return %0 : !y
}

// -----

// The scales of ragged rows are tiled for each group. The matmul keeps its block size.

!a = tensor<300x64xf4E2M1FN>
!as = tensor<300x4xf8E4M3FN, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
!b = tensor<4x48x64xf4E2M1FN>
!bs = tensor<4x48x4xf8E4M3FN, #mx.scale_layout<sf_128x4>>
!y = tensor<300x48xf32>

// CHECK-LABEL: func @rows(
// CHECK:         %[[X:.*]] = mx.dequantize ragged = rows ins(%{{.*}}, %{{.*}} : tensor<300x64xf4E2M1FN>, tensor<6x1x32x4x4xf8E4M3FN>) offsets(%{{.*}} : tensor<4xi32>) outs(%{{.*}} : tensor<300x64xbf16>) block_size = 16 -> tensor<300x64xbf16>
// CHECK:         mx.grouped_matmul ragged = rows ins(%[[X]], %{{.*}}, %{{.*}} : {{.*}}) offsets{{.*}} block_size = 16 {mxgpu.schedule = #mxgpu.schedule<tile = [16, 128, 64], strategy = #mxgpu.wgmma_swap_ab,
func.func @rows(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: tensor<4xi32>, %y: !y) -> !y {
  %0 = mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs) offsets(%o : tensor<4xi32>)
      outs(%y : !y) block_size = 16 {mxgpu.schedule = #mxgpu.schedule<tile = [16, 128, 64], strategy = #mxgpu.wgmma_swap_ab, workspace = a>} -> !y
  return %0 : !y
}

// -----

// Expert groups with one matrix each form a batch.

!a = tensor<4x100x64xf8E5M2>
!as = tensor<4x100x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<4x48x64xf8E4M3FN>
!bs = tensor<4x48x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<4x100x48xf32>

// CHECK-LABEL: func @masked(
// CHECK:         mx.dequantize ins(%{{.*}}, %{{.*}} : tensor<4x100x64xf8E5M2>, tensor<4x1x1x32x4x4xf8E8M0FNU>) outs(%{{.*}} : tensor<4x100x64xbf16>)
func.func @masked(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: tensor<4xi32>, %y: !y) -> !y {
  %0 = mx.grouped_matmul ragged = rows masked ins(%a, %as, %b, %bs : !a, !as, !b, !bs) offsets(%o : tensor<4xi32>)
      outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64], workspace = a>} -> !y
  return %0 : !y
}

// -----

// The segments of a reduction keep their positions, and unused parts are skipped.

!a = tensor<128x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>
!as = tensor<128x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>
!b = tensor<64x896xf4E2M1FN, #mx.ragged<groups = 4, align = 128>>
!bs = tensor<64x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>
!y = tensor<4x128x64xf32>

// CHECK-LABEL: func @reduction(
// CHECK-SAME:    %[[O:[a-z0-9]*]]: tensor<4xi32>
// CHECK:         %[[X:.*]] = mx.dequantize ragged = reduction padded ins(%{{.*}}, %{{.*}} : tensor<128x896xf8E4M3FN>, tensor<1x7x32x4x4xf8E8M0FNU>) offsets(%[[O]] : tensor<4xi32>) outs(%{{.*}} : tensor<128x896xbf16>)
// CHECK:         %[[W:.*]] = mx.dequantize ragged = reduction padded ins(%{{.*}}, %{{.*}} : tensor<64x896xf4E2M1FN>, tensor<1x7x32x4x4xf8E8M0FNU>) offsets(%[[O]] : tensor<4xi32>) outs(%{{.*}} : tensor<64x896xbf16>)
// CHECK:         mx.grouped_matmul ragged = reduction ins(%[[X]], %[[W]] : tensor<128x896xbf16>, tensor<64x896xbf16>) offsets(%[[O]] : tensor<4xi32>)
func.func @reduction(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: tensor<4xi32>, %y: !y) -> !y {
  %0 = mx.grouped_matmul ragged = reduction ins(%a, %as, %b, %bs : !a, !as, !b, !bs) offsets(%o : tensor<4xi32>)
      outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 64, 64], workspace = ab>} -> !y
  return %0 : !y
}

// -----

// With permuted_a, the reduction of A is permuted, for scaled elements and for bf16. Expert groups
// do not affect the permutation of bf16.

!a = tensor<?x512xf8E4M3FN>
!as = tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<256x512xf4E2M1FN>
!bs = tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x256xf32>

// CHECK-LABEL: func @permuted(
// CHECK:         %[[X:.*]] = mx.pack_operand order = #mxgpu.k_order<64> ins(%{{.*}} : tensor<?x512xf8E4M3FN>) scales(%{{.*}} : tensor<?x4x32x4x4xf8E8M0FNU>) outs(%{{.*}} : tensor<?x512xbf16>)
// CHECK:         mx.matmul ins(%[[X]], %{{.*}}, %{{.*}} : tensor<?x512xbf16>, {{.*}}) {{.*}} a_order = #mxgpu.k_order<64> {{.*}} strategy = #mxgpu.wgmma_swap_ab<permuted_a = true>
func.func @permuted(%a: !a, %as: !as, %b: !b, %bs: !bs, %y: !y) -> !y {
  %0 = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 128, 64], workspace = a, strategy = #mxgpu.wgmma_swap_ab<permuted_a = true>>} -> !y
  return %0 : !y
}

// -----

!a = tensor<300x96xbf16>
!b = tensor<4x48x96xf4E2M1FN>
!bs = tensor<4x48x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<300x48xf32>

// CHECK-LABEL: func @permuted_rows(
// CHECK:         %[[X:.*]] = mx.pack_operand order = #mxgpu.k_order<32> ins(%{{.*}} : tensor<300x96xbf16>) outs(%{{.*}} : tensor<300x96xbf16>) -> tensor<300x96xbf16>
// CHECK:         mx.grouped_matmul ragged = rows ins(%[[X]], %{{.*}}, %{{.*}} : {{.*}}) offsets
func.func @permuted_rows(%a: !a, %b: !b, %bs: !bs, %o: tensor<4xi32>, %y: !y) -> !y {
  %0 = mx.grouped_matmul ragged = rows ins(%a, %b, %bs : !a, !b, !bs) offsets(%o : tensor<4xi32>)
      outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [16, 128, 64], workspace = a, strategy = #mxgpu.wgmma_swap_ab<permuted_a = true>>} -> !y
  return %0 : !y
}

// -----

// Each folded operand keeps its own block size, and the matmul of bf16 loses both.

!a = tensor<256x512xf8E4M3FN>
!as = tensor<256x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!bs = tensor<256x1xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<256x256xf32>

// CHECK-LABEL: func @folded(
// CHECK:         mx.dequantize ins(%{{.*}}, %{{.*}} : tensor<256x512xf8E4M3FN>, tensor<2x1x32x4x4xf8E8M0FNU>) outs({{.*}}) block_size = 128 ->
// CHECK:         mx.dequantize ins(%{{.*}}, %{{.*}} : tensor<256x512xf8E4M3FN>, tensor<2x1x32x4x4xf8E8M0FNU>) outs({{.*}}) block_size = row ->
// CHECK:         mx.matmul ins(%{{.*}}, %{{.*}} : tensor<256x512xbf16>, tensor<256x512xbf16>)
// CHECK-NOT:       block_size
// CHECK:         return
func.func @folded(%a: !a, %as: !as, %bs: !bs, %y: !y) -> !y {
  %0 = mx.matmul ins(%a, %as, %a, %bs : !a, !as, !a, !bs) outs(%y : !y) block_size = 128 b_block_size = row
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 128, 64], workspace = ab>} -> !y
  return %0 : !y
}

// -----

// MXFP4 weights become f8E4M3FN, with scales of 1 per row.

!a = tensor<?x512xf8E4M3FN>
!as = tensor<?x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<200x512xf4E2M1FN>
!bs = tensor<200x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x200xf32>

// CHECK-LABEL: func @expanded(
// CHECK:         %[[X:.*]] = mx.dequantize ins(%{{.*}}, %{{.*}} : tensor<200x512xf4E2M1FN>, tensor<2x4x32x4x4xf8E8M0FNU>) outs(%{{.*}} : tensor<200x512xf8E4M3FN>) -> tensor<200x512xf8E4M3FN>
// CHECK:         %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<2x1x32x4x4xf8E8M0FNU>
// CHECK:         mx.matmul ins(%{{.*}}, %{{.*}}, %[[X]], %[[ONES]] : {{.*}}) outs(%{{.*}}) block_size = 128 b_block_size = row promote = 128 {mxgpu.schedule
func.func @expanded(%a: !a, %as: !as, %b: !b, %bs: !bs, %y: !y) -> !y {
  %0 = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y : !y) block_size = 128 b_block_size = 32 promote = 128
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], strategy = #mxgpu.wgmma_fp8, workspace = b>} -> !y
  return %0 : !y
}
