// Bodies as --arith-expand leaves them: shifts and bitcasts.
// RUN: mx-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),arith-expand{include-f8e8m0=true include-f4e2m1=true},func.func(linalg-fuse-elementwise-ops))' | FileCheck %s --check-prefix=EXPANDED
// RUN: mx-opt %s --pass-pipeline='builtin.module(func.func(convert-elementwise-to-linalg),arith-expand{include-f8e8m0=true include-f4e2m1=true},func.func(linalg-fuse-elementwise-ops),mx-import-scaled{scale-layout=linear},canonicalize)' | FileCheck %s

#a = affine_map<(m, n, o, i) -> (m, o, i)>
#b = affine_map<(m, n, o, i) -> (n, o, i)>
#sa = affine_map<(m, n, o, i) -> (m, o)>
#sb = affine_map<(m, n, o, i) -> (n, o)>
#c = affine_map<(m, n, o, i) -> (m, n)>
// EXPANDED-LABEL: func.func @matmul(
// EXPANDED-NOT:     scaling_extf
// EXPANDED:         arith.shli
// CHECK-LABEL: func.func @matmul(
// CHECK-NOT:     linalg.generic
// CHECK:         mx.matmul ins({{.*}} : tensor<8x128xf4E2M1FN>, tensor<8x4xf8E8M0FNU>, tensor<16x128xf8E5M2>, tensor<16x4xf8E8M0FNU>) outs(%arg4 : tensor<8x16xf32>) accumulate
func.func @matmul(%a: tensor<8x4x32xf4E2M1FN>, %b: tensor<16x4x32xf8E5M2>, %sa: tensor<8x4xf8E8M0FNU>, %sb: tensor<16x4xf8E8M0FNU>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %r = linalg.generic {indexing_maps = [#a, #b, #sa, #sb, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b, %sa, %sb : tensor<8x4x32xf4E2M1FN>, tensor<16x4x32xf8E5M2>, tensor<8x4xf8E8M0FNU>, tensor<16x4xf8E8M0FNU>) outs(%c : tensor<8x16xf32>) {
  ^bb0(%p: f4E2M1FN, %q: f8E5M2, %sp: f8E8M0FNU, %sq: f8E8M0FNU, %o: f32):
    %x = arith.scaling_extf %p, %sp : f4E2M1FN, f8E8M0FNU to f32
    %y = arith.scaling_extf %q, %sq : f8E5M2, f8E8M0FNU to f32
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @numbers(
// CHECK:         %[[R:.*]] = mx.dequantize ins(%arg0, %arg1 : tensor<8x64xf6E3M2FN>, tensor<8x2xf8E8M0FNU>) outs(%{{.*}} : tensor<8x64xbf16>)
// CHECK-NEXT:    return %[[R]]
func.func @numbers(%a: tensor<8x64xf6E3M2FN>, %s: tensor<8x2xf8E8M0FNU>) -> tensor<8x64xbf16> {
  %e = tensor.empty() : tensor<8x2x32xf8E8M0FNU>
  %w = linalg.broadcast ins(%s : tensor<8x2xf8E8M0FNU>) outs(%e : tensor<8x2x32xf8E8M0FNU>) dimensions = [2]
  %r = tensor.collapse_shape %w [[0], [1, 2]] : tensor<8x2x32xf8E8M0FNU> into tensor<8x64xf8E8M0FNU>
  %x = arith.scaling_extf %a, %r : tensor<8x64xf6E3M2FN>, tensor<8x64xf8E8M0FNU> to tensor<8x64xbf16>
  return %x : tensor<8x64xbf16>
}

// Scales as integer bytes, without NaN.
// CHECK-LABEL: func.func @bytes(
// CHECK:         linalg.generic {{.*}} ins(%arg1 : tensor<8x2xi8>) outs(%{{.*}} : tensor<8x2xf8E8M0FNU>)
// CHECK:           arith.bitcast %{{.*}} : i8 to f8E8M0FNU
// CHECK:         mx.dequantize ins(%arg0, %{{.*}} : tensor<8x64xf4E2M1FN>, tensor<8x2xf8E8M0FNU>)
func.func @bytes(%a: tensor<8x64xf4E2M1FN>, %s: tensor<8x2xi8>) -> tensor<8x64xf32> {
  %e = tensor.empty() : tensor<8x64xf32>
  %all = arith.constant 255 : i8
  %nan = arith.constant 2143289344 : i32
  %width = arith.constant 23 : i32
  %r = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k floordiv 32)>, affine_map<(m, k) -> (m, k)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %s : tensor<8x64xf4E2M1FN>, tensor<8x2xi8>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%p: f4E2M1FN, %q: i8, %o: f32):
    %x = arith.extf %p : f4E2M1FN to f32
    %wide = arith.extui %q : i8 to i32
    %up = arith.shli %wide, %width : i32
    %is = arith.cmpi eq, %q, %all : i8
    %chosen = arith.select %is, %nan, %up : i32
    %scale = arith.bitcast %chosen : i32 to f32
    %v = arith.mulf %scale, %x : f32
    linalg.yield %v : f32
  } -> tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}

// Without the NaN case the format differs: byte 255 would be infinity.
// CHECK-LABEL: func.func @no_nan(
// CHECK-NOT:     mx.
// CHECK:         return
func.func @no_nan(%a: tensor<8x64xf4E2M1FN>, %s: tensor<8x2xi8>) -> tensor<8x64xf32> {
  %e = tensor.empty() : tensor<8x64xf32>
  %width = arith.constant 23 : i32
  %r = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m, k floordiv 32)>, affine_map<(m, k) -> (m, k)>], iterator_types = ["parallel", "parallel"]}
      ins(%a, %s : tensor<8x64xf4E2M1FN>, tensor<8x2xi8>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%p: f4E2M1FN, %q: i8, %o: f32):
    %x = arith.extf %p : f4E2M1FN to f32
    %wide = arith.extui %q : i8 to i32
    %up = arith.shli %wide, %width : i32
    %scale = arith.bitcast %up : i32 to f32
    %v = arith.mulf %scale, %x : f32
    linalg.yield %v : f32
  } -> tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}
