// RUN: split-file %s %t
// RUN: mx-opt %t/four.mlir --mx-to-nvvm="chip=sm_120a" -o /dev/null
// RUN: not mx-opt %t/five.mlir --mx-to-nvvm="chip=sm_120a" 2>&1 | FileCheck %s

// A quantizer along columns keeps the tiles of all its values in shared memory.
// Four values with 8-bit elements fill 99 KiB completely; for five values, the
// message lists how the memory is used.

// CHECK: five.mlir:5:11: error: 'mxgpu.kernel' op expected at most 101376 bytes of shared memory on sm_120a, found {{[0-9]+}}: use a smaller tile, fewer stages, or fewer values at a time
// CHECK: note: in.x4: 8192
// CHECK: note: columns.columns4: 16384
// CHECK: note: columns.columns4_scales: 512

//--- four.mlir
!x = tensor<256x512xbf16>
!e = tensor<512x256xf8E4M3FN>
!s = tensor<512x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @values(%x: !x, %e: !e, %s: !s) -> (!e, !s, !e, !s, !e, !s, !e, !s) {
  %q:8 = mx.fused_quantize ins(%x : !x)
      outs(%e, %s, %e, %s, %e, %s, %e, %s : !e, !s, !e, !s, !e, !s, !e, !s)
      axes = [0] -> !e, !s, !e, !s, !e, !s, !e, !s prologue {
  ^bb0(%a: bf16, %row: index, %column: index):
    mx.yield %a, %a, %a, %a : bf16, bf16, bf16, bf16
  }
  return %q#0, %q#1, %q#2, %q#3, %q#4, %q#5, %q#6, %q#7
      : !e, !s, !e, !s, !e, !s, !e, !s
}

//--- five.mlir
!x = tensor<256x512xbf16>
!e = tensor<512x256xf8E4M3FN>
!s = tensor<512x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @values(%x: !x, %e: !e, %s: !s) -> (!e, !s, !e, !s, !e, !s, !e, !s, !e, !s) {
  %q:10 = mx.fused_quantize ins(%x : !x)
      outs(%e, %s, %e, %s, %e, %s, %e, %s, %e, %s : !e, !s, !e, !s, !e, !s, !e, !s, !e, !s)
      axes = [0] -> !e, !s, !e, !s, !e, !s, !e, !s, !e, !s prologue {
  ^bb0(%a: bf16, %row: index, %column: index):
    mx.yield %a, %a, %a, %a, %a : bf16, bf16, bf16, bf16, bf16
  }
  return %q#0, %q#1, %q#2, %q#3, %q#4, %q#5, %q#6, %q#7, %q#8, %q#9
      : !e, !s, !e, !s, !e, !s, !e, !s, !e, !s
}
