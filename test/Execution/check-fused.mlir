// --check=cpu also compares a fused program in which a region captures an i1
// value from outside.
//
// REQUIRES: numpy
// RUN: %python %S/Inputs/make_arrays.py %t x:u2:40x64 w:u2:24x64
// RUN: mx-run %s --entry=fused --device=sim --arg %t/x.npy --arg %t/w.npy --check=cpu | FileCheck %s --check-prefix=FUSED
// RUN: %python -c "import numpy as np; np.save(r'%t/n.npy', np.int64(1))"
// RUN: mx-run %s --entry=named --device=sim --arg %t/x.npy --arg %t/w.npy --arg %t/n.npy --check=cpu | FileCheck %s --check-prefix=NAMED

// FUSED:      check: mx.fused_quantize at {{.*}}, result 0: 2560 elements, 0 bytes unequal
// FUSED:      check: mx.matmul at {{.*}}, result 0: 960 elements, largest deviation {{.*}} of the bound
// FUSED-NOT:  not compared
// FUSED:      check: passed, 3 stages

// NAMED:      check: mx.fused_quantize at {{.*}}, result 0: 2560 elements, 0 bytes unequal
// NAMED:      check: mx.matmul at {{.*}}, result 0: 960 elements, largest deviation {{.*}} of the bound
// NAMED-NOT:  not compared
// NAMED:      check: passed, 3 stages

!x = tensor<40x64xbf16>
!xe = tensor<40x64xf8E4M3FN>
!xs = tensor<40x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w = tensor<24x64xbf16>
!we = tensor<24x64xf8E4M3FN>
!ws = tensor<24x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<40x24xf32>
#id = affine_map<(i, j) -> (i, j)>

func.func @fused(%x: !x, %w: !w) -> !y {
  %0 = tensor.empty() : !xe
  %1 = tensor.empty() : !xs
  %xq:2 = mx.quantize ins(%x : !x) outs(%0, %1 : !xe, !xs) -> !xe, !xs
  %2 = tensor.empty() : !we
  %3 = tensor.empty() : !ws
  %wq:2 = mx.quantize ins(%w : !w) outs(%2, %3 : !we, !ws) -> !we, !ws
  %4 = tensor.empty() : !y
  %p = mx.matmul ins(%xq#0, %xq#1, %wq#0, %wq#1 : !xe, !xs, !we, !ws) outs(%4 : !y) -> !y
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p : !y) outs(%4 : !y) {
  ^bb0(%sum: f32, %out: f32):
    %zero = arith.constant 0.0 : f32
    %r = arith.maximumf %sum, %zero : f32
    linalg.yield %r : f32
  } -> !y
  return %y : !y
}

func.func @named(%x: !x, %w: !w, %n: index) -> !y {
  %c0 = arith.constant 0 : index
  %isMore = arith.cmpi sgt, %n, %c0 : index
  %0 = tensor.empty() : !xe
  %1 = tensor.empty() : !xs
  %xq:2 = mx.quantize ins(%x : !x) outs(%0, %1 : !xe, !xs) -> !xe, !xs
  %2 = tensor.empty() : !we
  %3 = tensor.empty() : !ws
  %wq:2 = mx.quantize ins(%w : !w) outs(%2, %3 : !we, !ws) -> !we, !ws
  %4 = tensor.empty() : !y
  %y = mx.matmul ins(%xq#0, %xq#1, %wq#0, %wq#1 : !xe, !xs, !we, !ws) outs(%4 : !y) -> !y epilogue {
  ^bb0(%sum: f32, %row: index, %col: index):
    %zero = arith.constant 0.0 : f32
    %r = arith.select %isMore, %sum, %zero : f32
    mx.yield %r : f32
  }
  return %y : !y
}
