// Each element type accepts arrays of a single dtype. The function returns its arguments.
//
// REQUIRES: numpy
// RUN: %python %S/Inputs/make_arrays.py %t f32:f4:3x4 f64:f8:3x4 f16:f2:3x4 \
// RUN:   bf16:u2:3x4 i8:i1:3x4 i16:i2:3x4 i32:i4:3x4 i64:i8:3x4 e4m3:u1:3x4 \
// RUN:   e5m2:u1:3x4 e3m2:u1:3x4 e2m3:u1:3x4 e2m1:u1:3x2 tiled:u1:2x1x32x4x4 \
// RUN:   ragged:u1:4x1x32x4x4
// RUN: mx-run %s --device=cpu --arg %t/f32.npy --arg %t/f64.npy --arg %t/f16.npy \
// RUN:   --arg %t/bf16.npy --arg %t/i8.npy --arg %t/i16.npy --arg %t/i32.npy --arg %t/i64.npy \
// RUN:   --arg %t/e4m3.npy --arg %t/e5m2.npy --arg %t/e3m2.npy --arg %t/e2m3.npy \
// RUN:   --arg %t/e2m1.npy --arg %t/tiled.npy --arg %t/ragged.npy \
// RUN:   --result %t/r0.npy --result %t/r1.npy --result %t/r2.npy \
// RUN:   --result %t/r3.npy --result %t/r4.npy --result %t/r5.npy --result %t/r6.npy \
// RUN:   --result %t/r7.npy --result %t/r8.npy --result %t/r9.npy --result %t/r10.npy \
// RUN:   --result %t/r11.npy --result %t/r12.npy --result %t/r13.npy --result %t/r14.npy
// RUN: cmp %t/f32.npy %t/r0.npy
// RUN: cmp %t/f64.npy %t/r1.npy
// RUN: cmp %t/f16.npy %t/r2.npy
// RUN: cmp %t/bf16.npy %t/r3.npy
// RUN: cmp %t/i8.npy %t/r4.npy
// RUN: cmp %t/i16.npy %t/r5.npy
// RUN: cmp %t/i32.npy %t/r6.npy
// RUN: cmp %t/i64.npy %t/r7.npy
// RUN: cmp %t/e4m3.npy %t/r8.npy
// RUN: cmp %t/e5m2.npy %t/r9.npy
// RUN: cmp %t/e3m2.npy %t/r10.npy
// RUN: cmp %t/e2m3.npy %t/r11.npy
// RUN: cmp %t/e2m1.npy %t/r12.npy
// RUN: cmp %t/tiled.npy %t/r13.npy
// RUN: cmp %t/ragged.npy %t/r14.npy

!tiled = tensor<130x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!ragged = tensor<300x3xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 2>>

func.func @main(%0: tensor<3x4xf32>, %1: tensor<3x4xf64>, %2: tensor<?x4xf16>,
    %3: tensor<?x?xbf16>, %4: tensor<3x4xi8>, %5: tensor<3x4xi16>,
    %6: tensor<3x4xi32>, %7: tensor<3x4xi64>, %8: tensor<?x4xf8E4M3FN>,
    %9: tensor<3x4xf8E5M2>, %10: tensor<3x4xf6E3M2FN>, %11: tensor<3x4xf6E2M3FN>,
    %12: tensor<3x4xf4E2M1FN>, %13: !tiled, %14: !ragged)
    -> (tensor<3x4xf32>, tensor<3x4xf64>, tensor<?x4xf16>, tensor<?x?xbf16>,
    tensor<3x4xi8>, tensor<3x4xi16>, tensor<3x4xi32>, tensor<3x4xi64>,
    tensor<?x4xf8E4M3FN>, tensor<3x4xf8E5M2>, tensor<3x4xf6E3M2FN>,
    tensor<3x4xf6E2M3FN>, tensor<3x4xf4E2M1FN>, !tiled, !ragged) {
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14
    : tensor<3x4xf32>, tensor<3x4xf64>, tensor<?x4xf16>, tensor<?x?xbf16>,
    tensor<3x4xi8>, tensor<3x4xi16>, tensor<3x4xi32>, tensor<3x4xi64>,
    tensor<?x4xf8E4M3FN>, tensor<3x4xf8E5M2>, tensor<3x4xf6E3M2FN>,
    tensor<3x4xf6E2M3FN>, tensor<3x4xf4E2M1FN>, !tiled, !ragged
}
