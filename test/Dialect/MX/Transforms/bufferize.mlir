// RUN: mx-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --split-input-file | FileCheck %s

// Destinations are overwritten in place, without allocations or copies.
// CHECK-LABEL: func @in_place(
// CHECK-SAME:      %[[A:[^:]*]]: memref<256x64xf8E4M3FN>, %[[SA:[^:]*]]: memref<2x1x32x4x4xf8E8M0FNU>,
// CHECK-SAME:      %[[C:[^:]*]]: memref<256x256xbf16>
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     memref.copy
// CHECK:         mx.matmul ins(%[[A]], %[[SA]], %[[A]], %[[SA]] : memref<256x64xf8E4M3FN>,
// CHECK-SAME:      outs(%[[C]] : memref<256x256xbf16>){{$}}
// CHECK-NOT:     memref.copy
// CHECK:         return %[[C]]
func.func @in_place(%a: tensor<256x64xf8E4M3FN>, %sa: tensor<2x1x32x4x4xf8E8M0FNU>,
                    %init: tensor<256x256xbf16>) -> tensor<256x256xbf16> {
  %c = mx.matmul ins(%a, %sa, %a, %sa : tensor<256x64xf8E4M3FN>, tensor<2x1x32x4x4xf8E8M0FNU>,
                     tensor<256x64xf8E4M3FN>, tensor<2x1x32x4x4xf8E8M0FNU>)
      outs(%init : tensor<256x256xbf16>) -> tensor<256x256xbf16>
  return %c : tensor<256x256xbf16>
}

// -----

// Bufferizes a matmul with unscaled activations.
// CHECK-LABEL: func @weights(
// CHECK-NOT:     memref.alloc
// CHECK:         mx.matmul ins(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}} : memref<256x64xbf16>, memref<128x64xf8E4M3FN>, memref<1x1x32x4x4xf8E8M0FNU>) outs(%{{.*}} : memref<256x128xbf16>){{$}}
func.func @weights(%x: tensor<256x64xbf16>, %w: tensor<128x64xf8E4M3FN>, %ws: tensor<1x1x32x4x4xf8E8M0FNU>,
                   %init: tensor<256x128xbf16>) -> tensor<256x128xbf16> {
  %y = mx.matmul ins(%x, %w, %ws : tensor<256x64xbf16>, tensor<128x64xf8E4M3FN>, tensor<1x1x32x4x4xf8E8M0FNU>)
      outs(%init : tensor<256x128xbf16>) -> tensor<256x128xbf16>
  return %y : tensor<256x128xbf16>
}

// -----

// Each destination of the quantizers and of the matmul becomes one buffer.
// CHECK-LABEL: func @quantize_and_multiply
// CHECK-COUNT-2: memref.alloc
// CHECK:         mx.quantize ins(%{{.*}} : memref<256x64xbf16>) outs(%{{[^ ,]*}}, %{{[^ ,]*}} : memref<256x64xf8E4M3FN>, memref<2x1x32x4x4xf8E8M0FNU>){{$}}
// CHECK:         memref.alloc
// CHECK-NEXT:    mx.matmul
// CHECK-NOT:     memref.copy
func.func @quantize_and_multiply(%x: tensor<256x64xbf16>) -> tensor<256x256xf32> {
  %e = tensor.empty() : tensor<256x64xf8E4M3FN>
  %f = tensor.empty() : tensor<2x1x32x4x4xf8E8M0FNU>
  %q, %s = mx.quantize ins(%x : tensor<256x64xbf16>)
      outs(%e, %f : tensor<256x64xf8E4M3FN>, tensor<2x1x32x4x4xf8E8M0FNU>)
      -> tensor<256x64xf8E4M3FN>, tensor<2x1x32x4x4xf8E8M0FNU>
  %init = tensor.empty() : tensor<256x256xf32>
  %c = mx.matmul ins(%q, %s, %q, %s : tensor<256x64xf8E4M3FN>, tensor<2x1x32x4x4xf8E8M0FNU>,
                     tensor<256x64xf8E4M3FN>, tensor<2x1x32x4x4xf8E8M0FNU>)
      outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %c : tensor<256x256xf32>
}

// -----

// Two operations write one destination. Without `accumulate` the second
// operation needs a new buffer, but not a copy of the contents.
// CHECK-LABEL: func @two_writers
// CHECK:         memref.alloc
// CHECK-NOT:     memref.copy
// CHECK:         return
func.func @two_writers(%s: tensor<256x16xf8E8M0FNU>, %r: tensor<256x16xf8E8M0FNU>,
                       %init: tensor<2x4x32x4x4xf8E8M0FNU>)
    -> (tensor<2x4x32x4x4xf8E8M0FNU>, tensor<2x4x32x4x4xf8E8M0FNU>) {
  %0 = mx.relayout ins(%s : tensor<256x16xf8E8M0FNU>) outs(%init : tensor<2x4x32x4x4xf8E8M0FNU>)
      -> tensor<2x4x32x4x4xf8E8M0FNU>
  %1 = mx.relayout ins(%r : tensor<256x16xf8E8M0FNU>) outs(%init : tensor<2x4x32x4x4xf8E8M0FNU>)
      -> tensor<2x4x32x4x4xf8E8M0FNU>
  return %0, %1 : tensor<2x4x32x4x4xf8E8M0FNU>, tensor<2x4x32x4x4xf8E8M0FNU>
}

// -----

// Packing overwrites the whole destination.
// CHECK-LABEL: func @pack_weights
// CHECK:         mx.pack_operand order = #mxgpu.fragment_64x64 ins(%{{.*}} : memref<100x96xf4E2M1FN{{.*}}>) outs(%{{.*}} : memref<2x2x128x32xf4E2M1FN{{.*}}>){{$}}
// CHECK-NOT:     memref.copy
func.func @pack_weights(%w: tensor<100x96xf4E2M1FN>) -> tensor<2x2x128x32xf4E2M1FN> {
  %e = tensor.empty() : tensor<2x2x128x32xf4E2M1FN>
  %p = mx.pack_operand order = #mxgpu.fragment_64x64 ins(%w : tensor<100x96xf4E2M1FN>) outs(%e : tensor<2x2x128x32xf4E2M1FN>)
      -> tensor<2x2x128x32xf4E2M1FN>
  return %p : tensor<2x2x128x32xf4E2M1FN>
}

// -----

// A matmul with `accumulate` reads its destination, so the contents are copied.
// CHECK-LABEL: func @two_accumulators
// CHECK:         memref.alloc
// CHECK:         memref.copy
// CHECK:         return
func.func @two_accumulators(%a: tensor<8x32xf8E4M3FN>, %s: tensor<8x1xf8E8M0FNU>, %init: tensor<8x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = mx.matmul ins(%a, %s, %a, %s : tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>,
                     tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>)
      outs(%init : tensor<8x8xf32>) accumulate -> tensor<8x8xf32>
  %alpha = arith.constant 2.0 : f32
  %1 = mx.matmul ins(%a, %s, %a, %s : tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>,
                     tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>)
      alpha(%alpha) outs(%init : tensor<8x8xf32>) accumulate -> tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Tensors captured by the epilogue become buffers.
// CHECK-LABEL: func @epilogue(
// CHECK-SAME:      %[[BIAS:[^:]*]]: memref<8xf32>
// CHECK:         mx.matmul
// CHECK:         ^bb0(%[[ACC:.*]]: f32, %{{.*}}: index, %[[COL:.*]]: index):
// CHECK:           %[[B:.*]] = memref.load %[[BIAS]][%[[COL]]]
// CHECK:           %[[Y:.*]] = arith.addf %[[ACC]], %[[B]]
// CHECK:           mx.yield %[[Y]] : f32
func.func @epilogue(%bias: tensor<8xf32>, %a: tensor<8x32xf8E4M3FN>, %s: tensor<8x1xf8E8M0FNU>,
                    %init: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %c = mx.matmul ins(%a, %s, %a, %s : tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>,
                     tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>)
      outs(%init : tensor<8x8xf32>) -> tensor<8x8xf32>
      epilogue {
      ^bb0(%acc: f32, %row: index, %col: index):
        %b = tensor.extract %bias[%col] : tensor<8xf32>
        %y = arith.addf %acc, %b : f32
        mx.yield %y : f32
      }
  return %c : tensor<8x8xf32>
}

// -----

// An epilogue that reads the old contents of the destination forces a copy.
// CHECK-LABEL: func @epilogue_reads_destination(
// CHECK-SAME:      %[[OLD:[^:]*]]: memref<8x8xf32>
// CHECK:         %[[NEW:.*]] = memref.alloc
// CHECK:         mx.matmul {{.*}} outs(%[[NEW]] :
// CHECK:           memref.load %[[OLD]]
func.func @epilogue_reads_destination(%old: tensor<8x8xf32>, %a: tensor<8x32xf8E4M3FN>,
                                      %s: tensor<8x1xf8E8M0FNU>) -> tensor<8x8xf32> {
  %c = mx.matmul ins(%a, %s, %a, %s : tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>,
                     tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>)
      outs(%old : tensor<8x8xf32>) -> tensor<8x8xf32>
      epilogue {
      ^bb0(%acc: f32, %row: index, %col: index):
        %o = tensor.extract %old[%col, %row] : tensor<8x8xf32>
        %y = arith.addf %acc, %o : f32
        mx.yield %y : f32
      }
  return %c : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: func @grouped
// CHECK-NOT:     memref.alloc
// CHECK:         mx.quantize ragged = rows ins(%{{.*}} : memref<300x64xbf16>) offsets(%{{.*}} : memref<4xi32>)
// CHECK:         mx.grouped_matmul ragged = rows
// CHECK:         mx.dequantize ragged = rows
func.func @grouped(%x: tensor<300x64xbf16>, %o: tensor<4xi32>, %e: tensor<300x64xf8E4M3FN>,
                   %f: tensor<6x1x32x4x4xf8E8M0FNU>, %b: tensor<4x48x64xf8E4M3FN>,
                   %sb: tensor<4x48x2xf8E8M0FNU>, %init: tensor<300x48xbf16>, %y: tensor<300x64xf32>)
    -> (tensor<300x48xbf16>, tensor<300x64xf32>) {
  %q, %s = mx.quantize ragged = rows ins(%x : tensor<300x64xbf16>) offsets(%o : tensor<4xi32>)
      outs(%e, %f : tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>)
      -> tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>
  %c = mx.grouped_matmul ragged = rows
      ins(%q, %s, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>,
          tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%o : tensor<4xi32>)
      outs(%init : tensor<300x48xbf16>) -> tensor<300x48xbf16>
  %d = mx.dequantize ragged = rows ins(%q, %s : tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>)
      offsets(%o : tensor<4xi32>) outs(%y : tensor<300x64xf32>) -> tensor<300x64xf32>
  return %c, %d : tensor<300x48xbf16>, tensor<300x64xf32>
}

// -----

// Tensors captured by the prologue become buffers, and inputs are not copied.
// CHECK-LABEL: func @prologue(
// CHECK-SAME:      %[[X:[^:]*]]: memref<8x64xbf16>, %[[P:[^:]*]]: memref<8xbf16>
// CHECK-NOT:     memref.copy
// CHECK:         mx.fused_quantize ins(%[[X]] : memref<8x64xbf16>) {{.*}} prologue {
// CHECK:           memref.load %[[P]]
// CHECK-NOT:     memref.copy
// CHECK:         return
func.func @prologue(%x: tensor<8x64xbf16>, %p: tensor<8xbf16>, %e: tensor<8x64xf8E4M3FN>, %f: tensor<8x2xf8E8M0FNU>)
    -> (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>) {
  %r:2 = mx.fused_quantize ins(%x : tensor<8x64xbf16>) outs(%e, %f : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>)
      -> tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
      prologue {
      ^bb0(%a: bf16, %row: index, %col: index):
        %b = tensor.extract %p[%row] : tensor<8xbf16>
        %c = arith.mulf %a, %b : bf16
        mx.yield %c : bf16
      }
  return %r#0, %r#1 : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
}

// -----

// Elements and scales of quantized inputs are not copied.
// CHECK-LABEL: func @quantized_input(
// CHECK-SAME:      %[[X:[^:]*]]: memref<8x64xi8>, %[[S:[^:]*]]: memref<8x2xf8E8M0FNU>
// CHECK-NOT:     memref.copy
// CHECK:         mx.fused_quantize ins(%[[X]] : memref<8x64xi8>) input_scales(%[[S]] : memref<8x2xf8E8M0FNU>) {{.*}} prologue {
// CHECK-NOT:     memref.copy
// CHECK:         return
func.func @quantized_input(%x: tensor<8x64xi8>, %s: tensor<8x2xf8E8M0FNU>, %e: tensor<8x64xf8E4M3FN>,
                           %f: tensor<8x2xf8E8M0FNU>) -> (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>) {
  %r:2 = mx.fused_quantize ins(%x : tensor<8x64xi8>) input_scales(%s : tensor<8x2xf8E8M0FNU>)
      outs(%e, %f : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>) -> tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
      prologue {
      ^bb0(%a: f16, %row: index, %col: index):
        mx.yield %a : f16
      }
  return %r#0, %r#1 : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
}
