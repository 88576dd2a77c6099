// RUN: mx-opt %s -split-input-file --mx-select-schedule="chip=sm_90a explain" -o /dev/null 2>&1 | FileCheck %s

// Expert groups with separate matrices of 256 rows fill their tiles, so 16 groups take 16 row
// tiles and 8 column tiles. Expert groups that divide the rows of one matrix leave tiles partly
// empty, so they take more work tiles.

!a = tensor<16x256x4096xf8E4M3FN>
!as = tensor<16x256x128xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!r = tensor<4096x4096xf8E4M3FN>
!rs = tensor<4096x128xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 16>>
!b = tensor<16x1024x4096xf8E4M3FN>
!bs = tensor<16x1024x128xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!o = tensor<16xi32>
!y = tensor<16x256x1024xbf16>
!z = tensor<4096x1024xbf16>
#schedule = #mxgpu.schedule<tile = [256, 128, 64], strategy = #mxgpu.wgmma_upcast_b>

// CHECK-LABEL: mx.grouped_matmul in @masked:
// CHECK:         128 work tiles in 1 wave
func.func @masked(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: !o, %y: !y) -> !y {
  %0 = mx.grouped_matmul ragged = rows masked ins(%a, %as, %b, %bs : !a, !as, !b, !bs) offsets(%o : !o)
      outs(%y : !y) {mxgpu.schedule = #schedule} -> !y
  return %0 : !y
}

// CHECK-LABEL: mx.grouped_matmul in @rows:
// CHECK:         {{1[5-9][0-9]|2[0-2][0-9]}} work tiles in 2 waves
func.func @rows(%r: !r, %rs: !rs, %b: !b, %bs: !bs, %o: !o, %z: !z) -> !z {
  %0 = mx.grouped_matmul ragged = rows ins(%r, %rs, %b, %bs : !r, !rs, !b, !bs) offsets(%o : !o)
      outs(%z : !z) {mxgpu.schedule = #schedule} -> !z
  return %0 : !z
}

// -----

// With 64 rows, most of a million expert groups are empty. The model does not enumerate them.

!a = tensor<64x128xf8E4M3FN>
!as = tensor<64x4xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 1000000>>
!b = tensor<1000000x128x128xf8E4M3FN>
!bs = tensor<1000000x128x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!o = tensor<1000000xi32>
!y = tensor<64x128xbf16>

// CHECK-LABEL: mx.grouped_matmul in @empty:
// CHECK:         {{[0-9]?[0-9]?[0-9]}} work tiles in 1 wave
func.func @empty(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: !o, %y: !y) -> !y {
  %0 = mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs) offsets(%o : !o)
      outs(%y : !y) -> !y
  return %0 : !y
}
