// RUN: mx-opt %s --mx-select-schedule="chip=sm_120a explain" 2>%t.txt | FileCheck %s
// RUN: FileCheck %s --check-prefix=MODEL <%t.txt

// Two warps of each tensor core multiply in turn. One buffer of rows to store
// leaves room for a second stage, and is weighed too.
// MODEL-LABEL: mx.matmul in @staged:
// MODEL:       1 128x128x128 s2 c2 {{.*}} MMAs
// MODEL:       128x128x128 s2 tma1 {{.*}} MMAs

!a = tensor<8192x2048xf8E4M3FN>
!as = tensor<8192x64xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<8192x8192xbf16>
// CHECK-LABEL: func.func @staged(
// CHECK:       tile = [128, 128, 128], stages = 2, strategy = #mxgpu.mma_sync_block_scaled<column_warps = 2>,
func.func @staged(%a: !a, %as: !as, %y: !y) -> !y {
  %r = mx.matmul ins(%a, %as, %a, %as : !a, !as, !a, !as) outs(%y : !y) -> !y
  return %r : !y
}

// Quantized results of two matrices of weights have the only tile of 128 rows
// and 128 columns of each.

!x = tensor<4096x2048xbf16>
!w = tensor<8x4096x2048xf4E2M1FN, #mx.weight_layout<fragment_64x64>>
!ws = tensor<8x4096x64xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!q = tensor<4096x2048xf8E4M3FN>
!qs = tensor<4096x64xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 8>>
!o = tensor<8xi32>
// CHECK-LABEL: func.func @gated(
// CHECK:       tile = [128, 256, 64], stages = {{[2-9]}}, strategy = #mxgpu.mma_sync_upcast_b,{{.*}} registers = [232, 40]
func.func @gated(%x: !x, %w: !w, %ws: !ws, %o: !o, %q: !q, %qs: !qs) -> (!q, !qs) {
  %r:2 = mx.grouped_matmul ragged = rows ins(%x, %w, %ws : !x, !w, !ws) offsets(%o : !o)
      outs(%q, %qs : !q, !qs) num_b = 2 -> !q, !qs epilogue {
  ^bb0(%gate: f32, %up: f32, %row: index, %column: index):
    %v = arith.mulf %gate, %up : f32
    mx.yield %v : f32
  }
  return %r#0, %r#1 : !q, !qs
}
