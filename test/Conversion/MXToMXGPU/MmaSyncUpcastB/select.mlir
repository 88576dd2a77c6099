// RUN: mx-opt %s --mx-select-schedule="chip=sm_120a" | FileCheck %s

// For quantized results of two weight matrices, the only legal tile has 128 rows and 128 columns
// of each matrix.

!x = tensor<4096x2048xbf16>
!w = tensor<8x4096x2048xf4E2M1FN, #mxgpu.fragment_64x64>
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
