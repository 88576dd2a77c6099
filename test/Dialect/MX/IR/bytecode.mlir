// RUN: mx-opt %s --emit-bytecode -o %t.mlirbc
// RUN: mx-opt %t.mlirbc | FileCheck %s
// RUN: %python %S/Inputs/change-version.py %t.mlirbc 7 %t.later.mlirbc
// RUN: not mx-opt %t.later.mlirbc 2>&1 | FileCheck %s --check-prefix=LATER
// RUN: %python %S/Inputs/change-version.py %t.mlirbc 5 %t.former.mlirbc
// RUN: not mx-opt %t.former.mlirbc 2>&1 | FileCheck %s --check-prefix=FORMER

// Properties, layouts, regions and optional operands round-trip through bytecode.
// The error for a file of another version names both versions.

// LATER: error: expected mx bytecode of version 6, found 7
// FORMER: error: expected mx bytecode of version 6, found 5

// CHECK-LABEL: func @f
// CHECK:         mx.quantize ragged = rows
// CHECK-SAME:      #mx.ragged<groups = 4, align = 128>
// CHECK-SAME:      #mx.scale_layout<linear, ragged = reduction, groups = 4>
// CHECK-SAME:      axes = [0] scale_rounding = even {mark = "kept"}
// CHECK:         mx.matmul
// CHECK-SAME:      alpha(%{{.*}}) outs(%{{.*}} : tensor<8x8xf16>) accumulate -> tensor<8x8xf16> epilogue {
// CHECK:           mx.yield %{{.*}} : f16
func.func @f(%x: tensor<300x64xbf16>, %o: tensor<4xi32>,
             %g: tensor<64x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>,
             %h: tensor<64x28xf8E8M0FNU, #mx.scale_layout<linear, ragged = reduction, groups = 4>>,
             %a: tensor<8x32xf6E2M3FN>, %s: tensor<8x1xf8E8M0FNU>, %alpha: f32,
             %init: tensor<8x8xf16>) -> tensor<8x8xf16> {
  %q, %t = mx.quantize ragged = rows ins(%x : tensor<300x64xbf16>) offsets(%o : tensor<4xi32>)
      outs(%g, %h : tensor<64x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>,
                    tensor<64x28xf8E8M0FNU, #mx.scale_layout<linear, ragged = reduction, groups = 4>>)
      axes = [0] scale_rounding = even {mark = "kept"}
      -> tensor<64x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>,
         tensor<64x28xf8E8M0FNU, #mx.scale_layout<linear, ragged = reduction, groups = 4>>
  %c = mx.matmul ins(%a, %s, %a, %s : tensor<8x32xf6E2M3FN>, tensor<8x1xf8E8M0FNU>,
                     tensor<8x32xf6E2M3FN>, tensor<8x1xf8E8M0FNU>)
      alpha(%alpha) outs(%init : tensor<8x8xf16>) accumulate -> tensor<8x8xf16>
      epilogue {
      ^bb0(%acc: f32, %row: index, %col: index):
        %y = arith.truncf %acc : f32 to f16
        mx.yield %y : f16
      }
  return %c : tensor<8x8xf16>
}
