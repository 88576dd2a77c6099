// RUN: mx-opt %s -split-input-file --convert-mx-to-cpu --canonicalize --cse | FileCheck %s

// Static sizes need no check at run time.
// CHECK-NOT: @dprintf
// CHECK-LABEL: func.func @axis_1(
// CHECK-SAME:    %[[X:.*]]: memref<4x64xbf16>, %[[Q:.*]]: memref<4x64xf8E4M3FN>, %[[S:.*]]: memref<4x2xf8E8M0FNU>)
// CHECK:         scf.for %[[ROW:[^ ]+]] =
// CHECK:           scf.for %[[BLOCK:[^ ]+]] =
// CHECK:             %[[MAX:.*]] = scf.for %[[K:.*]] = %{{.*}} iter_args(%[[SO_FAR:.*]] = %{{.*}}) -> (i32)
// CHECK:               memref.load %[[X]][%[[ROW]], %[[K]]]
// CHECK:               arith.maxsi %[[SO_FAR]], %{{.*}}
// CHECK:             %[[SCALE:.*]] = func.call @__mx_scale_f8E4M3FN_ceil(%[[MAX]])
// CHECK:             memref.store %{{.*}}, %[[S]][%[[ROW]], %[[BLOCK]]]
// CHECK:             scf.for %[[K2:.*]] =
// CHECK:               func.call @__mx_quantize_f8E4M3FN(%{{.*}}, %[[SCALE]])
// CHECK:               memref.store %{{.*}}, %[[Q]][%[[ROW]], %[[K2]]]

// Helper functions for number formats use no f32 arithmetic, because the
// processor may flush f32 subnormals to zero.
// CHECK-LABEL: func.func private @__mx_scale_f8E4M3FN_ceil(
// CHECK-NOT:     : f32
// CHECK-LABEL: func.func private @__mx_quantize_f8E4M3FN(
// CHECK-NOT:     mulf
func.func @axis_1(%x: memref<4x64xbf16>, %q: memref<4x64xf8E4M3FN>,
                  %s: memref<4x2xf8E8M0FNU>) {
  mx.quantize ins(%x : memref<4x64xbf16>)
      outs(%q, %s : memref<4x64xf8E4M3FN>, memref<4x2xf8E8M0FNU>)
  return
}

// -----

// The result for axis 0 is stored transposed, and the padding of a tiled scale layout is 0.
// CHECK-LABEL: func.func @axis_0_tiled(
// CHECK-SAME:    %[[X:.*]]: memref<64x8xf32>, %[[Q:.*]]: memref<8x64xf8E5M2>, %[[S:.*]]: memref<1x1x32x4x4xf8E8M0FNU>)
// CHECK:         %[[ZERO:.*]] = arith.constant 5.877470e-39 : f8E8M0FNU
// CHECK:         memref.store %[[ZERO]], %[[S]]
// CHECK:         %[[VALUE:.*]] = memref.load %[[X]][%[[K:.*]], %[[LINE:[a-z0-9]+]]]
// CHECK:         call @__mx_scale_f8E5M2_floor
// CHECK:         memref.store %{{.*}}, %[[S]][%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}]
// CHECK:         memref.store %{{.*}}, %[[Q]][%[[LINE]], %{{.*}}]
func.func @axis_0_tiled(%x: memref<64x8xf32>, %q: memref<8x64xf8E5M2>,
                        %s: memref<1x1x32x4x4xf8E8M0FNU>) {
  mx.quantize ins(%x : memref<64x8xf32>)
      outs(%q, %s : memref<8x64xf8E5M2>, memref<1x1x32x4x4xf8E8M0FNU>)
      axes = [0] scale_rounding = floor
  return
}

// -----

// f16 is widened by integer arithmetic instead of a library call.
// CHECK-LABEL: func.func @int8_from_f16(
// CHECK-NOT:     arith.extf
// CHECK:         call @__mx_widen_f16
// CHECK:         call @__mx_scale_i8_even
// CHECK:         call @__mx_quantize_i8
func.func @int8_from_f16(%x: memref<4x32xf16>, %q: memref<4x32xi8>,
                         %s: memref<4x1xf8E8M0FNU>) {
  mx.quantize ins(%x : memref<4x32xf16>)
      outs(%q, %s : memref<4x32xi8>, memref<4x1xf8E8M0FNU>)
      scale_rounding = even
  return
}

// -----

// CHECK-LABEL: func.func @nvfp4(
// CHECK-SAME:    %{{.*}}, %[[ENC:.*]]: f32,
// CHECK:         %[[BITS:.*]] = arith.bitcast %[[ENC]] : f32 to i32
// CHECK:         %[[SCALE:.*]] = func.call @__mx_nvfp4_scale(%{{.*}}, %[[BITS]])
// CHECK:         %[[INVERSE:.*]] = func.call @__mx_nvfp4_inverse(%[[SCALE]], %[[BITS]])
// CHECK:         func.call @__mx_mul_f32(%{{.*}}, %[[INVERSE]])
func.func @nvfp4(%x: memref<4x32xf32>, %enc: f32, %q: memref<4x32xf4E2M1FN>,
                 %s: memref<4x2xf8E4M3FN>) {
  mx.quantize ins(%x : memref<4x32xf32>) global_scale(%enc)
      outs(%q, %s : memref<4x32xf4E2M1FN>, memref<4x2xf8E4M3FN>)
     
  return
}

// -----

// A ragged group begins at the end of the previous group. Its scale tiles begin
// at tile `begin / 128 + g` for group `g`.
// CHECK-LABEL: func.func @ragged_rows(
// CHECK-SAME:    %{{.*}}, %[[OFFSETS:.*]]: memref<4xi32>,
// CHECK:         scf.for %[[G:.*]] = %{{.*}} iter_args(%[[BEGIN:.*]] = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK:           memref.load %[[OFFSETS]][%[[G]]]
// CHECK:           %[[FIRST:.*]] = arith.divui %[[BEGIN]], %c128
// CHECK:           arith.addi %[[FIRST]], %[[G]]
func.func @ragged_rows(%x: memref<300x64xf32>, %o: memref<4xi32>,
                       %q: memref<300x64xf8E4M3FN>,
                       %s: memref<6x1x32x4x4xf8E8M0FNU>) {
  mx.quantize ragged = rows ins(%x : memref<300x64xf32>)
      offsets(%o : memref<4xi32>)
      outs(%q, %s : memref<300x64xf8E4M3FN>, memref<6x1x32x4x4xf8E8M0FNU>)
  return
}

// -----

// Prologue results are rounded to their own type before they are quantized.
// CHECK-LABEL: func.func @prologue(
// CHECK-SAME:    %[[X:.*]]: memref<4x64xbf16>, %[[Y:.*]]: memref<4x64xf32>,
// CHECK:         %[[VALUES:.*]] = memref.alloc() : memref<4x64xbf16>
// CHECK:         scf.for %[[ROW:[^ ]+]] =
// CHECK:           scf.for %[[COLUMN:[^ ]+]] =
// CHECK-DAG:         memref.load %[[X]][%[[ROW]], %[[COLUMN]]]
// CHECK-DAG:         memref.load %[[Y]][%[[ROW]], %[[COLUMN]]]
// CHECK:             memref.store %{{.*}}, %[[VALUES]][%[[ROW]], %[[COLUMN]]]
// CHECK:         memref.load %[[VALUES]]
func.func @prologue(%x: memref<4x64xbf16>, %y: memref<4x64xf32>, %q: memref<4x64xf8E4M3FN>,
                    %s: memref<4x2xf8E8M0FNU>) {
  mx.fused_quantize ins(%x, %y : memref<4x64xbf16>, memref<4x64xf32>)
      outs(%q, %s : memref<4x64xf8E4M3FN>, memref<4x2xf8E8M0FNU>)
      prologue {
      ^bb0(%a: bf16, %b: f32, %row: index, %col: index):
        %c = arith.truncf %b : f32 to bf16
        %d = arith.mulf %a, %c : bf16
        mx.yield %d : bf16
      }
  return
}

// -----

// Inputs of unknown size are checked at run time to have the same shape.
// CHECK:       expected dimension 0 of input to be %ld, found %ld
// CHECK-LABEL: func.func @prologue_of_unknown_sizes(
// CHECK-SAME:    %{{.*}}, %[[Y:.*]]: memref<?x64xbf16>, %{{.*}}, %{{.*}})
// CHECK:         %[[SIZE:.*]] = memref.dim %[[Y]]
// CHECK:         %[[WRONG:.*]] = arith.cmpi ne, %[[SIZE]]
// CHECK:         scf.if %[[WRONG]]
func.func @prologue_of_unknown_sizes(%x: memref<4x64xbf16>, %y: memref<?x64xbf16>, %q: memref<4x64xf8E4M3FN>,
                                     %s: memref<4x2xf8E8M0FNU>) {
  mx.fused_quantize ins(%x, %y : memref<4x64xbf16>, memref<?x64xbf16>)
      outs(%q, %s : memref<4x64xf8E4M3FN>, memref<4x2xf8E8M0FNU>)
      prologue {
      ^bb0(%a: bf16, %b: bf16, %row: index, %col: index):
        %d = arith.mulf %a, %b : bf16
        mx.yield %d : bf16
      }
  return
}

// -----

// All elements of a square block share one maximum, and the scale is stored once for each line of the square.
// CHECK-LABEL: func.func @square(
// CHECK-SAME:    %[[X:.*]]: memref<40x64xbf16>, %{{.*}}, %[[S:.*]]: memref<40x2xf8E8M0FNU>)
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG:     %[[C40:.*]] = arith.constant 40 : index
// CHECK:         scf.for %[[FIRST:[^ ]+]] = %{{.*}} to %[[C40]] step %[[C32]]
// CHECK:           %[[MAX:.*]] = scf.for %[[LINE:[^ ]+]] =
// CHECK:             scf.for %[[K:[^ ]+]] =
// CHECK:               memref.load %[[X]][%[[LINE]], %[[K]]]
// CHECK:           %[[SCALE:.*]] = func.call @__mx_scale_f8E4M3FN_ceil(%[[MAX]])
// CHECK:           scf.for %[[LINE:[^ ]+]] =
// CHECK:             memref.store %{{.*}}, %[[S]][%[[LINE]],
func.func @square(%x: memref<40x64xbf16>, %q: memref<40x64xf8E4M3FN>, %s: memref<40x2xf8E8M0FNU>) {
  mx.quantize ins(%x : memref<40x64xbf16>) outs(%q, %s : memref<40x64xf8E4M3FN>, memref<40x2xf8E8M0FNU>) square
  return
}

// -----

// Row index -1 selects a row of zeros, whatever the prologue computes.
// CHECK-LABEL: func.func @gather(
// CHECK-SAME:    %[[X:.*]]: memref<7x64xbf16>, %[[N:.*]]: memref<5xi32>,
// CHECK:         %[[ROWS:.*]] = memref.alloc() : memref<5x64xf32>
// CHECK:         scf.for %[[I:[^ ]+]] =
// CHECK:           memref.load %[[N]][%[[I]]]
// CHECK:           scf.if
// CHECK:             memref.load %[[X]]
// CHECK:             memref.store %{{.*}}, %[[ROWS]][%[[I]],
// CHECK:           } else {
// CHECK:             memref.store %{{.*}}, %[[ROWS]][%[[I]],
func.func @gather(%x: memref<7x64xbf16>, %n: memref<5xi32>, %q: memref<5x64xf8E4M3FN>, %s: memref<5x2xf8E8M0FNU>) {
  mx.fused_quantize ins(%x : memref<7x64xbf16>) gather(%n : memref<5xi32>)
      outs(%q, %s : memref<5x64xf8E4M3FN>, memref<5x2xf8E8M0FNU>)
      prologue {
      ^bb0(%a: bf16, %row: index, %col: index):
        %b = arith.extf %a : bf16 to f32
        %c = math.cos %b : f32
        mx.yield %c : f32
      }
  return
}
