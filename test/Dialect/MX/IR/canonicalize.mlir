// RUN: mx-opt %s --canonicalize --split-input-file | FileCheck %s

#tiled = #mx.scale_layout<sf_128x4>

// A relayout to the layout of its input is folded.
// CHECK-LABEL: func @identity_relayout(
// CHECK-SAME:      %[[S:[^:]*]]: tensor<256x16xf8E8M0FNU>
// CHECK-NOT:     mx.relayout
// CHECK:         return %[[S]]
func.func @identity_relayout(%s: tensor<256x16xf8E8M0FNU>, %init: tensor<256x16xf8E8M0FNU>)
    -> tensor<256x16xf8E8M0FNU> {
  %0 = mx.relayout ins(%s : tensor<256x16xf8E8M0FNU>) outs(%init : tensor<256x16xf8E8M0FNU>)
      -> tensor<256x16xf8E8M0FNU>
  return %0 : tensor<256x16xf8E8M0FNU>
}

// A relayout of memrefs to the same layout becomes a copy.
// CHECK-LABEL: func @identity_relayout_memref
// CHECK:         mx.relayout
func.func @identity_relayout_memref(%s: memref<256x16xf8E8M0FNU>, %out: memref<256x16xf8E8M0FNU>) {
  mx.relayout ins(%s : memref<256x16xf8E8M0FNU>) outs(%out : memref<256x16xf8E8M0FNU>)
  return
}

// A relayout is folded with its inverse.
// CHECK-LABEL: func @relayout_pair(
// CHECK-SAME:      %[[S:[^:]*]]: tensor<?x16xf8E8M0FNU>
// CHECK-NOT:     mx.relayout
// CHECK:         return %[[S]]
func.func @relayout_pair(%s: tensor<?x16xf8E8M0FNU>, %t: tensor<?x16xf8E8M0FNU, #tiled>,
                         %l: tensor<?x16xf8E8M0FNU>) -> tensor<?x16xf8E8M0FNU> {
  %0 = mx.relayout ins(%s : tensor<?x16xf8E8M0FNU>) outs(%t : tensor<?x16xf8E8M0FNU, #tiled>)
      -> tensor<?x16xf8E8M0FNU, #tiled>
  %1 = mx.relayout ins(%0 : tensor<?x16xf8E8M0FNU, #tiled>) outs(%l : tensor<?x16xf8E8M0FNU>)
      -> tensor<?x16xf8E8M0FNU>
  return %1 : tensor<?x16xf8E8M0FNU>
}

// The pair is also folded on physical tensors and with expert groups.
// CHECK-LABEL: func @relayout_pair_ragged(
// CHECK-SAME:      %[[S:[^:]*]]: tensor<300x2xf8E8M0FNU>
// CHECK-NOT:     mx.relayout
// CHECK:         return %[[S]]
func.func @relayout_pair_ragged(%s: tensor<300x2xf8E8M0FNU>, %o: tensor<4xi32>,
                                %t: tensor<6x1x32x4x4xf8E8M0FNU>,
                                %l: tensor<300x2xf8E8M0FNU>) -> tensor<300x2xf8E8M0FNU> {
  %0 = mx.relayout ragged = rows ins(%s : tensor<300x2xf8E8M0FNU>) offsets(%o : tensor<4xi32>)
      outs(%t : tensor<6x1x32x4x4xf8E8M0FNU>) -> tensor<6x1x32x4x4xf8E8M0FNU>
  %1 = mx.relayout ragged = rows ins(%0 : tensor<6x1x32x4x4xf8E8M0FNU>) offsets(%o : tensor<4xi32>)
      outs(%l : tensor<300x2xf8E8M0FNU>) -> tensor<300x2xf8E8M0FNU>
  return %1 : tensor<300x2xf8E8M0FNU>
}

// The pair is kept if the expert groups differ.
// CHECK-LABEL: func @relayout_pair_other_groups
// CHECK-COUNT-2: mx.relayout
func.func @relayout_pair_other_groups(%s: tensor<300x2xf8E8M0FNU>, %o: tensor<4xi32>, %p: tensor<4xi32>,
                                      %t: tensor<6x1x32x4x4xf8E8M0FNU>,
                                      %l: tensor<300x2xf8E8M0FNU>) -> tensor<300x2xf8E8M0FNU> {
  %0 = mx.relayout ragged = rows ins(%s : tensor<300x2xf8E8M0FNU>) offsets(%o : tensor<4xi32>)
      outs(%t : tensor<6x1x32x4x4xf8E8M0FNU>) -> tensor<6x1x32x4x4xf8E8M0FNU>
  %1 = mx.relayout ragged = rows ins(%0 : tensor<6x1x32x4x4xf8E8M0FNU>) offsets(%p : tensor<4xi32>)
      outs(%l : tensor<300x2xf8E8M0FNU>) -> tensor<300x2xf8E8M0FNU>
  return %1 : tensor<300x2xf8E8M0FNU>
}

// Two relayouts become one relayout, which only drops the explicit encoding `linear`.
// CHECK-LABEL: func @relayout_chain(
// CHECK-SAME:      %[[S:[^:]*]]: tensor<256x16xf8E8M0FNU, #{{[a-z_0-9.<>]+}}>
// CHECK:         %[[R:.*]] = mx.relayout ins(%[[S]] :
// CHECK-NOT:     mx.relayout
// CHECK:         return %[[R]]
func.func @relayout_chain(%s: tensor<256x16xf8E8M0FNU, #mx.scale_layout<linear>>,
                          %t: tensor<256x16xf8E8M0FNU, #tiled>,
                          %l: tensor<256x16xf8E8M0FNU>) -> tensor<256x16xf8E8M0FNU> {
  %0 = mx.relayout ins(%s : tensor<256x16xf8E8M0FNU, #mx.scale_layout<linear>>)
      outs(%t : tensor<256x16xf8E8M0FNU, #tiled>) -> tensor<256x16xf8E8M0FNU, #tiled>
  %1 = mx.relayout ins(%0 : tensor<256x16xf8E8M0FNU, #tiled>) outs(%l : tensor<256x16xf8E8M0FNU>)
      -> tensor<256x16xf8E8M0FNU>
  return %1 : tensor<256x16xf8E8M0FNU>
}

// -----

#tiled = #mx.scale_layout<sf_128x4>

// The quantizer writes the final layout directly.
// CHECK-LABEL: func @relayout_into_quantize(
// CHECK:         %[[INIT:.*]] = tensor.empty() : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK:         %[[Q:.*]]:2 = mx.quantize
// CHECK-SAME:      outs(%{{[^,]*}}, %[[INIT]] :
// CHECK-NOT:     mx.relayout
// CHECK:         return %[[Q]]#0, %[[Q]]#1
func.func @relayout_into_quantize(%x: tensor<256x512xbf16>)
    -> (tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #tiled>) {
  %e = tensor.empty() : tensor<256x512xf8E4M3FN>
  %f = tensor.empty() : tensor<256x16xf8E8M0FNU>
  %q, %s = mx.quantize ins(%x : tensor<256x512xbf16>)
      outs(%e, %f : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>)
      -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  %init = tensor.empty() : tensor<256x16xf8E8M0FNU, #tiled>
  %t = mx.relayout ins(%s : tensor<256x16xf8E8M0FNU>)
      outs(%init : tensor<256x16xf8E8M0FNU, #tiled>) -> tensor<256x16xf8E8M0FNU, #tiled>
  return %q, %t : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #tiled>
}

// -----

// Sizes computed after the quantizer equal the sizes of its scales, so the relayout is folded.
// CHECK-LABEL: func @relayout_into_quantize_dynamic(
// CHECK-SAME:      %{{[^:]*}}: tensor<?x512xbf16>, %[[M:[^:]*]]: index
// CHECK:         tensor.empty(%[[M]]) : tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK:         mx.quantize
// CHECK-NOT:     mx.relayout
func.func @relayout_into_quantize_dynamic(%x: tensor<?x512xbf16>, %m: index)
    -> tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>> {
  %e = tensor.empty(%m) : tensor<?x512xf8E4M3FN>
  %f = tensor.empty(%m) : tensor<?x16xf8E8M0FNU>
  %q, %s = mx.quantize ins(%x : tensor<?x512xbf16>)
      outs(%e, %f : tensor<?x512xf8E4M3FN>, tensor<?x16xf8E8M0FNU>)
      -> tensor<?x512xf8E4M3FN>, tensor<?x16xf8E8M0FNU>
  %c0 = arith.constant 0 : index
  %d = tensor.dim %s, %c0 : tensor<?x16xf8E8M0FNU>
  %init = tensor.empty(%m) : tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  %t = mx.relayout ins(%s : tensor<?x16xf8E8M0FNU>)
      outs(%init : tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
      -> tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  return %t : tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
}

// -----

#rows = #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>

// A quantizer with the same expert groups writes the tiled layout of ragged rows directly.
// CHECK-LABEL: func @relayout_into_ragged_quantize
// CHECK:         mx.quantize ragged = rows
// CHECK-SAME:      tensor<300x2xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
// CHECK-NOT:     mx.relayout
func.func @relayout_into_ragged_quantize(%x: tensor<300x64xbf16>, %o: tensor<4xi32>,
                                         %e: tensor<300x64xf8E4M3FN>, %f: tensor<300x2xf8E8M0FNU>,
                                         %init: tensor<300x2xf8E8M0FNU, #rows>)
    -> tensor<300x2xf8E8M0FNU, #rows> {
  %q, %s = mx.quantize ragged = rows ins(%x : tensor<300x64xbf16>) offsets(%o : tensor<4xi32>)
      outs(%e, %f : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>)
      -> tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>
  %t = mx.relayout ragged = rows ins(%s : tensor<300x2xf8E8M0FNU>) offsets(%o : tensor<4xi32>)
      outs(%init : tensor<300x2xf8E8M0FNU, #rows>) -> tensor<300x2xf8E8M0FNU, #rows>
  return %t : tensor<300x2xf8E8M0FNU, #rows>
}

// The relayout stays if only the relayout, not the quantizer, has expert groups.
// CHECK-LABEL: func @relayout_not_into_plain_quantize
// CHECK:         mx.quantize ins
// CHECK:         mx.relayout ragged = rows
func.func @relayout_not_into_plain_quantize(%x: tensor<300x64xbf16>, %o: tensor<4xi32>,
                                            %e: tensor<300x64xf8E4M3FN>, %f: tensor<300x2xf8E8M0FNU>,
                                            %init: tensor<300x2xf8E8M0FNU, #rows>)
    -> tensor<300x2xf8E8M0FNU, #rows> {
  %q, %s = mx.quantize ins(%x : tensor<300x64xbf16>)
      outs(%e, %f : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>)
      -> tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>
  %t = mx.relayout ragged = rows ins(%s : tensor<300x2xf8E8M0FNU>) offsets(%o : tensor<4xi32>)
      outs(%init : tensor<300x2xf8E8M0FNU, #rows>) -> tensor<300x2xf8E8M0FNU, #rows>
  return %t : tensor<300x2xf8E8M0FNU, #rows>
}

// -----

#tiled = #mx.scale_layout<sf_128x4>

// The relayout stays because the linear scales have another use.
// CHECK-LABEL: func @relayout_of_shared_scales
// CHECK:         mx.quantize
// CHECK:         mx.relayout
func.func @relayout_of_shared_scales(%x: tensor<256x512xbf16>, %e: tensor<256x512xf8E4M3FN>,
                                     %f: tensor<256x16xf8E8M0FNU>,
                                     %init: tensor<256x16xf8E8M0FNU, #tiled>)
    -> (tensor<256x16xf8E8M0FNU>, tensor<256x16xf8E8M0FNU, #tiled>) {
  %q, %s = mx.quantize ins(%x : tensor<256x512xbf16>)
      outs(%e, %f : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>)
      -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  %t = mx.relayout ins(%s : tensor<256x16xf8E8M0FNU>)
      outs(%init : tensor<256x16xf8E8M0FNU, #tiled>) -> tensor<256x16xf8E8M0FNU, #tiled>
  return %s, %t : tensor<256x16xf8E8M0FNU>, tensor<256x16xf8E8M0FNU, #tiled>
}

// The relayout stays because its destination is computed from a result of the quantizer.
// CHECK-LABEL: func @relayout_to_late_destination
// CHECK:         mx.quantize
// CHECK:         call @make
// CHECK:         mx.relayout
func.func @relayout_to_late_destination(%x: tensor<256x512xbf16>, %e: tensor<256x512xf8E4M3FN>,
                                        %f: tensor<256x16xf8E8M0FNU>)
    -> tensor<256x16xf8E8M0FNU, #tiled> {
  %q, %s = mx.quantize ins(%x : tensor<256x512xbf16>)
      outs(%e, %f : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>)
      -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  %init = call @make(%q) : (tensor<256x512xf8E4M3FN>) -> tensor<256x16xf8E8M0FNU, #tiled>
  %t = mx.relayout ins(%s : tensor<256x16xf8E8M0FNU>)
      outs(%init : tensor<256x16xf8E8M0FNU, #tiled>) -> tensor<256x16xf8E8M0FNU, #tiled>
  return %t : tensor<256x16xf8E8M0FNU, #tiled>
}
func.func private @make(tensor<256x512xf8E4M3FN>) -> tensor<256x16xf8E8M0FNU, #tiled>

// -----

// Quantization rounds, so dequantizing its result does not restore the input.
// CHECK-LABEL: func @dequantize_of_quantize
// CHECK:         %[[Q:.*]]:2 = mx.quantize
// CHECK:         %[[X:.*]] = mx.dequantize ins(%[[Q]]#0, %[[Q]]#1
// CHECK:         return %[[X]]
func.func @dequantize_of_quantize(%x: tensor<256x512xbf16>, %e: tensor<256x512xf8E4M3FN>,
                                  %f: tensor<256x16xf8E8M0FNU>,
                                  %init: tensor<256x512xbf16>) -> tensor<256x512xbf16> {
  %q, %s = mx.quantize ins(%x : tensor<256x512xbf16>)
      outs(%e, %f : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>)
      -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  %y = mx.dequantize ins(%q, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>)
      outs(%init : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  return %y : tensor<256x512xbf16>
}

// -----

// An operation on tensors without users is erased.
// CHECK-LABEL: func @dead
// CHECK-NEXT:    return
func.func @dead(%x: tensor<256x512xbf16>, %e: tensor<256x512xf8E4M3FN>, %f: tensor<256x16xf8E8M0FNU>) {
  %q, %s = mx.quantize ins(%x : tensor<256x512xbf16>)
      outs(%e, %f : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>)
      -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return
}

// An operation that writes memrefs is kept.
// CHECK-LABEL: func @not_dead
// CHECK-NEXT:    mx.quantize
func.func @not_dead(%x: memref<256x512xbf16>, %e: memref<256x512xf8E4M3FN>, %f: memref<256x16xf8E8M0FNU>) {
  mx.quantize ins(%x : memref<256x512xbf16>)
      outs(%e, %f : memref<256x512xf8E4M3FN>, memref<256x16xf8E8M0FNU>)
  return
}

// An epilogue with a side effect keeps its operation.
// CHECK-LABEL: func @not_dead_epilogue
// CHECK:         mx.matmul
// CHECK:           memref.store
func.func @not_dead_epilogue(%a: tensor<8x32xf8E4M3FN>, %s: tensor<8x1xf8E8M0FNU>,
                             %init: tensor<8x8xf32>, %log: memref<8x8xf32>) {
  %c = mx.matmul ins(%a, %s, %a, %s : tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>,
                     tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU>)
      outs(%init : tensor<8x8xf32>) -> tensor<8x8xf32>
      epilogue {
      ^bb0(%acc: f32, %row: index, %col: index):
        memref.store %acc, %log[%row, %col] : memref<8x8xf32>
        mx.yield %acc : f32
      }
  return
}

// -----

// An axis without users is dropped.
// CHECK-LABEL: func @unused_axis
// CHECK:         %[[Q:.*]]:2 = mx.quantize {{.*}} axes = [0] scale_rounding = even
// CHECK:         return %[[Q]]#1
func.func @unused_axis(%x: tensor<64x64xf32>, %e: tensor<64x64xf8E4M3FN>, %f: tensor<64x2xf8E8M0FNU>,
                       %g: tensor<64x64xf8E5M2>, %h: tensor<64x2xf8E8M0FNU>) -> tensor<64x2xf8E8M0FNU> {
  %r:4 = mx.quantize ins(%x : tensor<64x64xf32>)
      outs(%e, %f, %g, %h : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>,
           tensor<64x64xf8E5M2>, tensor<64x2xf8E8M0FNU>)
      axes = [1, 0] scale_rounding = even
      -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E5M2>, tensor<64x2xf8E8M0FNU>
  return %r#3 : tensor<64x2xf8E8M0FNU>
}

// An axis is kept if its elements or its scales are used.
// CHECK-LABEL: func @used_axes
// CHECK:         mx.quantize {{.*}} axes = [1, 0]
func.func @used_axes(%x: tensor<64x64xf32>, %e: tensor<64x64xf8E4M3FN>, %f: tensor<64x2xf8E8M0FNU>,
                     %g: tensor<64x64xf8E5M2>, %h: tensor<64x2xf8E8M0FNU>)
    -> (tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) {
  %r:4 = mx.quantize ins(%x : tensor<64x64xf32>)
      outs(%e, %f, %g, %h : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>,
           tensor<64x64xf8E5M2>, tensor<64x2xf8E8M0FNU>)
      axes = [1, 0]
      -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E5M2>, tensor<64x2xf8E8M0FNU>
  return %r#0, %r#3 : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
}

// -----

// Static sizes from the source of a cast are used.
// CHECK-LABEL: func @fold_cast
// CHECK:         mx.matmul ins({{[^:]*}} : tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>,
// CHECK-SAME:      outs(%{{[^:]*}} : tensor<16x8xf32>) -> tensor<16x8xf32>
func.func @fold_cast(%a: tensor<16x64xf8E4M3FN>, %sa: tensor<16x2xf8E8M0FNU>, %b: tensor<8x64xf8E4M3FN>,
                     %sb: tensor<8x2xf8E8M0FNU>, %init: tensor<16x8xf32>) -> tensor<?x8xf32> {
  %da = tensor.cast %a : tensor<16x64xf8E4M3FN> to tensor<?x64xf8E4M3FN>
  %ds = tensor.cast %sa : tensor<16x2xf8E8M0FNU> to tensor<?x2xf8E8M0FNU>
  %di = tensor.cast %init : tensor<16x8xf32> to tensor<?x8xf32>
  %c = mx.matmul ins(%da, %ds, %b, %sb : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>,
                     tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>)
      outs(%di : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %c : tensor<?x8xf32>
}

// A cast that drops a layout is kept.
// CHECK-LABEL: func @cast_of_layout
// CHECK:         tensor.cast
// CHECK:         mx.dequantize {{.*}}tensor<256x16xf8E8M0FNU>)
func.func @cast_of_layout(%q: tensor<256x512xf8E4M3FN>, %t: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>,
                          %init: tensor<256x512xf32>) -> tensor<256x512xf32> {
  %l = tensor.cast %t : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>> to tensor<256x16xf8E8M0FNU>
  %x = mx.dequantize ins(%q, %l : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>)
      outs(%init : tensor<256x512xf32>) -> tensor<256x512xf32>
  return %x : tensor<256x512xf32>
}

// -----

// A matmul without `accumulate` does not read its init, so the operations that
// fill the init are dropped.
// CHECK-LABEL: func @skip_unread_init
// CHECK-SAME:      %[[INIT:[a-z0-9]+]]: tensor<16x8xf32>, %{{[a-z0-9]+}}: f32
// CHECK-NOT:     linalg.fill
// CHECK:         mx.matmul {{.*}} outs(%[[INIT]] : tensor<16x8xf32>)
func.func @skip_unread_init(%a: tensor<16x64xf8E4M3FN>, %sa: tensor<16x2xf8E8M0FNU>, %b: tensor<8x64xf8E4M3FN>,
                            %sb: tensor<8x2xf8E8M0FNU>, %init: tensor<16x8xf32>, %zero: f32) -> tensor<16x8xf32> {
  %fill = linalg.fill ins(%zero : f32) outs(%init : tensor<16x8xf32>) -> tensor<16x8xf32>
  %c = mx.matmul ins(%a, %sa, %b, %sb : tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>,
                     tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>)
      outs(%fill : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %c : tensor<16x8xf32>
}

// A matmul with `accumulate` keeps its init.
// CHECK-LABEL: func @keep_accumulated_init
// CHECK:         %[[FILL:.*]] = linalg.fill
// CHECK:         mx.matmul {{.*}} outs(%[[FILL]] : tensor<16x8xf32>) accumulate
func.func @keep_accumulated_init(%a: tensor<16x64xf8E4M3FN>, %sa: tensor<16x2xf8E8M0FNU>, %b: tensor<8x64xf8E4M3FN>,
                                 %sb: tensor<8x2xf8E8M0FNU>, %init: tensor<16x8xf32>, %zero: f32) -> tensor<16x8xf32> {
  %fill = linalg.fill ins(%zero : f32) outs(%init : tensor<16x8xf32>) -> tensor<16x8xf32>
  %c = mx.matmul ins(%a, %sa, %b, %sb : tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>,
                     tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>)
      outs(%fill : tensor<16x8xf32>) accumulate -> tensor<16x8xf32>
  return %c : tensor<16x8xf32>
}

// -----

// Unused outputs are dropped, in this case the outputs of the first value and of axis 0.
// CHECK-LABEL: func @unused_value_and_axis(
// CHECK-SAME:      %{{[^:]*}}: tensor<64x64xbf16>, %[[Y:[^:]*]]: tensor<64x64xbf16>
// CHECK:         mx.fused_quantize ins(%[[Y]] : tensor<64x64xbf16>)
// CHECK-SAME:      -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU> prologue {
// CHECK-NEXT:    ^bb0(%[[B:.*]]: bf16, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT:      %[[V:.*]] = arith.negf %[[B]]
// CHECK-NEXT:      mx.yield %[[V]] : bf16
func.func @unused_value_and_axis(%x: tensor<64x64xbf16>, %y: tensor<64x64xbf16>,
                                 %e: tensor<64x64xf8E4M3FN>, %f: tensor<64x2xf8E8M0FNU>)
    -> (tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) {
  %r:8 = mx.fused_quantize ins(%x, %y : tensor<64x64xbf16>, tensor<64x64xbf16>)
      outs(%e, %f, %e, %f, %e, %f, %e, %f
           : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>,
             tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>)
      axes = [0, 1]
      -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>,
         tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
      prologue {
      ^bb0(%a: bf16, %b: bf16, %row: index, %col: index):
        %v = arith.negf %b : bf16
        mx.yield %a, %v : bf16, bf16
      }
  return %r#6, %r#7 : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
}

// -----

// Concatenated inputs form one value, so an axis can be dropped but a single
// input cannot.
// CHECK-LABEL: func @unused_axis_of_concat(
// CHECK:         %[[R:.*]]:2 = mx.fused_quantize
// CHECK-SAME:      axes = [0] concat -> tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU> prologue {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: bf16, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT:      mx.yield %[[A]], %[[A]] : bf16, bf16
func.func @unused_axis_of_concat(%x: tensor<64x64xbf16>, %e: tensor<64x128xf8E4M3FN>, %f: tensor<64x4xf8E8M0FNU>,
                                 %et: tensor<128x64xf8E4M3FN>, %ft: tensor<128x2xf8E8M0FNU>) -> tensor<128x64xf8E4M3FN> {
  %r:4 = mx.fused_quantize ins(%x : tensor<64x64xbf16>)
      outs(%e, %f, %et, %ft : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>, tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>)
      axes = [1, 0] concat
      -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>, tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>
      prologue {
      ^bb0(%a: bf16, %row: index, %col: index):
        mx.yield %a, %a : bf16, bf16
      }
  return %r#2 : tensor<128x64xf8E4M3FN>
}

// -----

// The remaining values keep their amax.
// CHECK-LABEL: func @unused_value_with_amax(
// CHECK:         %[[R:.*]]:3 = mx.fused_quantize
// CHECK-SAME:      amax -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<f32> prologue {
// CHECK-NEXT:    ^bb0(%[[B:.*]]: bf16, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT:      %[[V:.*]] = arith.negf %[[B]]
// CHECK-NEXT:      mx.yield %[[V]] : bf16
// CHECK:         return %[[R]]#0, %[[R]]#2
func.func @unused_value_with_amax(%x: tensor<64x64xbf16>, %e: tensor<64x64xf8E4M3FN>, %f: tensor<64x2xf8E8M0FNU>,
                                  %m: tensor<f32>) -> (tensor<64x64xf8E4M3FN>, tensor<f32>) {
  %r:6 = mx.fused_quantize ins(%x : tensor<64x64xbf16>)
      outs(%e, %f, %e, %f, %m, %m
           : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>,
             tensor<f32>, tensor<f32>)
      amax
      -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>,
         tensor<f32>, tensor<f32>
      prologue {
      ^bb0(%a: bf16, %row: index, %col: index):
        %v = arith.negf %a : bf16
        mx.yield %a, %v : bf16, bf16
      }
  return %r#2, %r#5 : tensor<64x64xf8E4M3FN>, tensor<f32>
}

// -----

// CHECK-LABEL: func @unused_amax
// CHECK:         mx.fused_quantize
// CHECK-NOT:     amax
// CHECK:         return
func.func @unused_amax(%x: tensor<64x64xbf16>, %e: tensor<64x64xf8E4M3FN>, %f: tensor<64x2xf8E8M0FNU>, %m: tensor<f32>)
    -> tensor<64x64xf8E4M3FN> {
  %r:3 = mx.fused_quantize ins(%x : tensor<64x64xbf16>) outs(%e, %f, %m : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<f32>)
      amax -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<f32>
  return %r#0 : tensor<64x64xf8E4M3FN>
}

// -----

// The remaining destinations stay dequantized or quantized.
// CHECK-LABEL: func @unused_dequantized
// CHECK-SAME:    %{{.*}}: tensor<64x64xf32>, %{{.*}}: f32, %[[D:.*]]: f32, %[[F:.*]]: f32
// CHECK:         %[[Y:.*]] = mx.fused_quantize {{.*}} decode_factors(%[[F]]) outs(%{{.*}} : tensor<64x64xbf16>) axes = [0] block_size = 16 dequantized = [f4E2M1FN]
// CHECK:         return %[[Y]]
func.func @unused_dequantized(%x: tensor<64x64xf32>, %e: f32, %d: f32, %f: f32, %y: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
  %r:2 = mx.fused_quantize ins(%x : tensor<64x64xf32>) global_scale(%e) decode_factors(%d, %f)
      outs(%y, %y : tensor<64x64xbf16>, tensor<64x64xbf16>) axes = [1, 0] block_size = 16
      dequantized = [f4E2M1FN, f4E2M1FN] -> tensor<64x64xbf16>, tensor<64x64xbf16>
  return %r#1 : tensor<64x64xbf16>
}

// CHECK-LABEL: func @no_dequantized_left
// CHECK:         mx.fused_quantize
// CHECK-NOT:     dequantized
// CHECK:         return
func.func @no_dequantized_left(%x: tensor<64x64xf32>, %y: tensor<64x64xbf16>, %e: tensor<64x64xf8E4M3FN>, %f: tensor<64x2xf8E8M0FNU>) -> tensor<64x64xf8E4M3FN> {
  %r:3 = mx.fused_quantize ins(%x : tensor<64x64xf32>) outs(%y, %e, %f : tensor<64x64xbf16>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>)
      axes = [1, 0] dequantized = [f8E4M3FN, none] -> tensor<64x64xbf16>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  return %r#1 : tensor<64x64xf8E4M3FN>
}

// -----

// One axis is kept if only the amax is used.
// CHECK-LABEL: func @only_amax
// CHECK:         %[[R:.*]]:3 = mx.fused_quantize {{.*}} axes = [0] amax -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<f32>
// CHECK:         return %[[R]]#2
func.func @only_amax(%x: tensor<64x64xbf16>, %e: tensor<64x64xf8E4M3FN>, %f: tensor<64x2xf8E8M0FNU>, %m: tensor<f32>)
    -> tensor<f32> {
  %r:5 = mx.fused_quantize ins(%x : tensor<64x64xbf16>)
      outs(%e, %f, %e, %f, %m : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E4M3FN>,
                                tensor<64x2xf8E8M0FNU>, tensor<f32>)
      axes = [0, 1] amax
      -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<f32>
  return %r#4 : tensor<f32>
}

// -----

// CHECK-LABEL: func @identity_prologue
// CHECK:         mx.fused_quantize
// CHECK-NOT:     prologue
// CHECK:         return
func.func @identity_prologue(%x: tensor<64x64xbf16>, %e: tensor<64x64xf8E4M3FN>, %f: tensor<64x2xf8E8M0FNU>)
    -> (tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) {
  %r:2 = mx.fused_quantize ins(%x : tensor<64x64xbf16>) outs(%e, %f : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>)
      -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
      prologue {
      ^bb0(%a: bf16, %row: index, %col: index):
        mx.yield %a : bf16
      }
  return %r#0, %r#1 : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
}

// -----

// A prologue that yields an input unchanged dequantizes that input. Unused
// inputs are dropped together with their scales.
// CHECK-LABEL: func @dequantizing_prologue
// CHECK-SAME:      %[[S1:[^:]*]]: tensor<64x2xf8E8M0FNU>, %[[S2:[^:]*]]: tensor<64x4xf8E4M3FN>
// CHECK:         mx.fused_quantize ins(%{{[^,]*}} : tensor<64x64xf4E2M1FN>) input_scales(%[[S2]] : tensor<64x4xf8E4M3FN>)
// CHECK:         ^bb0(%[[A:.*]]: bf16, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT:      mx.yield %[[A]]
func.func @dequantizing_prologue(%s1: tensor<64x2xf8E8M0FNU>, %s2: tensor<64x4xf8E4M3FN>, %x: tensor<64x64xi8>,
                                 %y: tensor<64x64xf4E2M1FN>, %e: tensor<64x64xf8E4M3FN>, %f: tensor<64x2xf8E8M0FNU>)
    -> (tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) {
  %q:2 = mx.fused_quantize ins(%x, %y : tensor<64x64xi8>, tensor<64x64xf4E2M1FN>)
      input_scales(%s1, %s2 : tensor<64x2xf8E8M0FNU>, tensor<64x4xf8E4M3FN>)
      outs(%e, %f : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
      prologue {
      ^bb0(%a: f32, %b: bf16, %row: index, %col: index):
        mx.yield %b : bf16
      }
  return %q#0, %q#1 : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
}

// -----

// The last input is kept because it defines the shape of the result.
// CHECK-LABEL: func @last_input(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<64x64xbf16>
// CHECK:         mx.fused_quantize ins(%[[X]] : tensor<64x64xbf16>)
// CHECK:         ^bb0(%{{.*}}: bf16, %{{.*}}: index, %{{.*}}: index):
func.func @last_input(%x: tensor<64x64xbf16>, %y: tensor<64x64xbf16>, %one: f32,
                      %e: tensor<64x64xf8E4M3FN>, %f: tensor<64x2xf8E8M0FNU>)
    -> (tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) {
  %r:2 = mx.fused_quantize ins(%x, %y : tensor<64x64xbf16>, tensor<64x64xbf16>)
      outs(%e, %f : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>)
      -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
      prologue {
      ^bb0(%a: bf16, %b: bf16, %row: index, %col: index):
        mx.yield %one : f32
      }
  return %r#0, %r#1 : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
}

// -----

// The quantizer also writes the scales of its second value in the final layout.
// CHECK-LABEL: func @relayout_of_second_value
// CHECK:         mx.fused_quantize
// CHECK-SAME:      -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK-NOT:     mx.relayout
func.func @relayout_of_second_value(%x: tensor<64x64xbf16>, %e: tensor<64x64xf8E4M3FN>,
                                    %f: tensor<64x2xf8E8M0FNU>, %t: tensor<64x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
    -> (tensor<64x2xf8E8M0FNU>, tensor<64x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) {
  %r:4 = mx.fused_quantize ins(%x : tensor<64x64xbf16>)
      outs(%e, %f, %e, %f : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>)
      -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
      prologue {
      ^bb0(%a: bf16, %row: index, %col: index):
        %v = arith.negf %a : bf16
        mx.yield %a, %v : bf16, bf16
      }
  %y = mx.relayout ins(%r#3 : tensor<64x2xf8E8M0FNU>) outs(%t : tensor<64x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
      -> tensor<64x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  return %r#1, %y : tensor<64x2xf8E8M0FNU>, tensor<64x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
}

// -----

// Packing overwrites its destination, so the previous contents are not used.
// CHECK-LABEL: func @pack_over_packed(
// CHECK-SAME:      %{{[^:]*}}: tensor<64x64xf4E2M1FN>, %[[V:[^:]*]]: tensor<64x64xf4E2M1FN>, %[[INIT:[^:]*]]:
// CHECK-NEXT:    %[[P:.*]] = mx.pack_operand ins(%[[V]] : {{.*}}) outs(%[[INIT]]
// CHECK-NEXT:    return %[[P]]
func.func @pack_over_packed(%w: tensor<64x64xf4E2M1FN>, %v: tensor<64x64xf4E2M1FN>,
                            %init: tensor<64x64xf4E2M1FN, #mxgpu.fragment_64x64>)
    -> tensor<64x64xf4E2M1FN, #mxgpu.fragment_64x64> {
  %0 = mx.pack_operand ins(%w : tensor<64x64xf4E2M1FN>) outs(%init : tensor<64x64xf4E2M1FN, #mxgpu.fragment_64x64>)
      -> tensor<64x64xf4E2M1FN, #mxgpu.fragment_64x64>
  %1 = mx.pack_operand ins(%v : tensor<64x64xf4E2M1FN>) outs(%0 : tensor<64x64xf4E2M1FN, #mxgpu.fragment_64x64>)
      -> tensor<64x64xf4E2M1FN, #mxgpu.fragment_64x64>
  return %1 : tensor<64x64xf4E2M1FN, #mxgpu.fragment_64x64>
}
