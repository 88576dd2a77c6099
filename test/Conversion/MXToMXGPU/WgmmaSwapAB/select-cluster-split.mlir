// RUN: mx-opt %s --mx-select-schedule="chip=sm_90a explain" -o /dev/null 2>&1 | FileCheck %s

// Clusters that divide a reduction are selected only if all clusters run concurrently.

!w = tensor<4608x4608xf4E2M1FN, #mxgpu.fragment_64x64>
!ws = tensor<36x36x32x4x4xf8E8M0FNU>

// For 18 tiles with 256 columns, clusters of 6 would need 108 CTAs, but an H100 runs only
// 102 such CTAs at once. Weights are read once, so they get an L2 hint.
// CHECK-LABEL: mx.matmul in @six:
// CHECK-NEXT:  schedule: #mxgpu.schedule<tile = [16, 128, 128], {{.*}}#mxgpu.wgmma_swap_ab<cluster_split = true>, split_k = 3, {{.*}}l2 = [evict_last, evict_first], pdl>
// CHECK-NOT:   k/6c
// CHECK:       shared memory of a CTA
func.func @six(%x: tensor<3x4608xbf16>, %w: !w, %ws: !ws) -> tensor<3x4608xbf16> {
  %init = tensor.empty() : tensor<3x4608xbf16>
  %y = mx.matmul ins(%x, %w, %ws : tensor<3x4608xbf16>, !w, !ws) outs(%init : tensor<3x4608xbf16>) -> tensor<3x4608xbf16>
  return %y : tensor<3x4608xbf16>
}

// 17 clusters of 6 run concurrently.
// CHECK-LABEL: mx.matmul in @seventeen:
// CHECK:       102 work tiles in 1 wave
// CHECK:       1  16x256x128 s9 swap k/6c
func.func @seventeen(%x: tensor<3x4608xbf16>, %w: tensor<4352x4608xf4E2M1FN, #mxgpu.fragment_64x64>,
                     %ws: tensor<34x36x32x4x4xf8E8M0FNU>) -> tensor<3x4352xbf16> {
  %init = tensor.empty() : tensor<3x4352xbf16>
  %y = mx.matmul ins(%x, %w, %ws : tensor<3x4608xbf16>, tensor<4352x4608xf4E2M1FN, #mxgpu.fragment_64x64>,
      tensor<34x36x32x4x4xf8E8M0FNU>) outs(%init : tensor<3x4352xbf16>) -> tensor<3x4352xbf16>
  return %y : tensor<3x4352xbf16>
}

// A cluster computes one work tile, so each wave begins after the stores of the previous wave. The
// model counts 12 waves (12 x 36 tiles in 3 parts, 108 CTAs at a time). Each wave takes 24288
// cycles for MMAs, 6274 for set-up and stores, and 4986 for the sum.
// CHECK-LABEL: mx.matmul in @waves:
// CHECK:       modelled: 426576 cycles, {{.*}} 1296 work tiles in 12 waves, limited by MMAs
// CHECK:       1  224x128x64 s3 swap k/3c 21504 2784 24072 {{.*}} 6274 4986 426576 MMAs
func.func @waves(%x: tensor<2573x4608xbf16>, %w: !w, %ws: !ws) -> tensor<2573x4608xbf16> {
  %init = tensor.empty() : tensor<2573x4608xbf16>
  %y = mx.matmul ins(%x, %w, %ws : tensor<2573x4608xbf16>, !w, !ws) outs(%init : tensor<2573x4608xbf16>)
    {mxgpu.schedule = #mxgpu.schedule<tile = [224, 128, 64], strategy = #mxgpu.wgmma_swap_ab<cluster_split = true>, split_k = 3>} -> tensor<2573x4608xbf16>
  return %y : tensor<2573x4608xbf16>
}

// Matmuls with an unknown number of rows get no clusters if the clusters would need many waves.
// CHECK-LABEL: mx.matmul in @unknown:
// CHECK:       all others: schedule [[LAST:[0-9]+]],
// CHECK:       m up to 64, for example
// CHECK:       schedule: {{.*}}cluster_split = true
// CHECK:       schedule [[LAST]], {{.*}}for example
// CHECK-NEXT:  mx.matmul
// CHECK-NOT:   cluster_split
// CHECK:       chosen from
func.func @unknown(%x: tensor<?x4608xbf16>, %w: !w, %ws: !ws, %rows: index) -> tensor<?x4608xbf16> {
  %init = tensor.empty(%rows) : tensor<?x4608xbf16>
  %y = mx.matmul ins(%x, %w, %ws : tensor<?x4608xbf16>, !w, !ws) outs(%init : tensor<?x4608xbf16>) -> tensor<?x4608xbf16>
  return %y : tensor<?x4608xbf16>
}
