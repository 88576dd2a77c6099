// RUN: mx-opt %s --mx-materialize-layouts --split-input-file | FileCheck %s
// RUN: mx-opt %s --mx-materialize-layouts --mx-materialize-layouts --split-input-file | FileCheck %s

#tiled = #mx.scale_layout<sf_128x4>

// CHECK-LABEL: func @static(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<300x192xbf16>) -> (tensor<300x192xf8E4M3FN>, tensor<3x2x32x4x4xf8E8M0FNU>)
// CHECK:         %[[E:.*]] = tensor.empty() : tensor<300x192xf8E4M3FN>
// CHECK:         %[[F:.*]] = tensor.empty() : tensor<3x2x32x4x4xf8E8M0FNU>
// CHECK:         %[[Q:.*]]:2 = mx.fused_quantize ins(%[[X]] : tensor<300x192xbf16>)
// CHECK-SAME:      outs(%[[E]], %[[F]] : tensor<300x192xf8E4M3FN>, tensor<3x2x32x4x4xf8E8M0FNU>)
// CHECK-SAME:      scale_rounding = even
// CHECK:         return %[[Q]]#0, %[[Q]]#1
func.func @static(%x: tensor<300x192xbf16>) -> (tensor<300x192xf8E4M3FN>, tensor<300x6xf8E8M0FNU, #tiled>) {
  %e = tensor.empty() : tensor<300x192xf8E4M3FN>
  %f = tensor.empty() : tensor<300x6xf8E8M0FNU, #tiled>
  %q, %s = mx.fused_quantize ins(%x : tensor<300x192xbf16>)
      outs(%e, %f : tensor<300x192xf8E4M3FN>, tensor<300x6xf8E8M0FNU, #tiled>) scale_rounding = even
      -> tensor<300x192xf8E4M3FN>, tensor<300x6xf8E8M0FNU, #tiled>
  return %q, %s : tensor<300x192xf8E4M3FN>, tensor<300x6xf8E8M0FNU, #tiled>
}

// Calls and declarations are converted together with the functions.
// CHECK-LABEL: func @caller
// CHECK:         call @static(%{{.*}}) : (tensor<300x192xbf16>) -> (tensor<300x192xf8E4M3FN>, tensor<3x2x32x4x4xf8E8M0FNU>)
// CHECK:         call @external(%{{.*}}) : (tensor<3x2x32x4x4xf8E8M0FNU>) -> ()
// CHECK:       func private @external(tensor<3x2x32x4x4xf8E8M0FNU>)
func.func @caller(%x: tensor<300x192xbf16>) {
  %q, %s = call @static(%x) : (tensor<300x192xbf16>) -> (tensor<300x192xf8E4M3FN>, tensor<300x6xf8E8M0FNU, #tiled>)
  call @external(%s) : (tensor<300x6xf8E8M0FNU, #tiled>) -> ()
  return
}
func.func private @external(tensor<300x6xf8E8M0FNU, #tiled>)

// -----

// Linear layouts and the encoding of a ragged reduction do not change the shape.
// CHECK-LABEL: func @shape_kept(
// CHECK-SAME:      tensor<300x6xf8E8M0FNU>, %{{[^:]*}}: tensor<64x896xf8E4M3FN>,
// CHECK-SAME:      %{{[^:]*}}: tensor<1x7x32x4x4xf8E8M0FNU>, %{{[^:]*}}: tensor<64x28xf8E8M0FNU>)
func.func @shape_kept(%l: tensor<300x6xf8E8M0FNU, #mx.scale_layout<linear>>,
                      %e: tensor<64x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>,
                      %f: tensor<64x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>,
                      %g: tensor<64x28xf8E8M0FNU, #mx.scale_layout<linear, ragged = reduction, groups = 4>>) {
  return
}

// -----

// The operation keeps the attribute `ragged = rows`.
// CHECK-LABEL: func @ragged_rows
// CHECK:         mx.fused_quantize ragged = rows
// CHECK-SAME:      outs(%{{[^ ,]*}}, %{{[^ ,]*}} : tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>)
// CHECK:         mx.grouped_matmul ragged = rows
// CHECK-SAME:      tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x1x1x32x4x4xf8E8M0FNU>
func.func @ragged_rows(%x: tensor<300x64xbf16>, %o: tensor<4xi32>, %b: tensor<4x48x64xf8E4M3FN>,
                       %sb: tensor<4x48x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<300x48xbf16> {
  %e = tensor.empty() : tensor<300x64xf8E4M3FN>
  %f = tensor.empty() : tensor<300x2xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
  %q, %s = mx.fused_quantize ragged = rows ins(%x : tensor<300x64xbf16>) offsets(%o : tensor<4xi32>)
      outs(%e, %f : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>)
      -> tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
  %init = tensor.empty() : tensor<300x48xbf16>
  %c = mx.grouped_matmul ragged = rows
      ins(%q, %s, %b, %sb : tensor<300x64xf8E4M3FN>,
          tensor<300x2xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>,
          tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
      offsets(%o : tensor<4xi32>) outs(%init : tensor<300x48xbf16>) -> tensor<300x48xbf16>
  return %c : tensor<300x48xbf16>
}

// -----

#tiled = #mx.scale_layout<sf_128x4>

// CHECK-LABEL: func @control_flow(
// CHECK-SAME:      %[[S:[^:]*]]: tensor<2x4x32x4x4xf8E8M0FNU>
// CHECK:         scf.for {{.*}} -> (tensor<2x4x32x4x4xf8E8M0FNU>)
// CHECK:           scf.yield %{{.*}} : tensor<2x4x32x4x4xf8E8M0FNU>
// CHECK:         scf.if {{.*}} -> (tensor<2x4x32x4x4xf8E8M0FNU>)
// CHECK:         scf.while ({{.*}}) : (tensor<2x4x32x4x4xf8E8M0FNU>) -> tensor<2x4x32x4x4xf8E8M0FNU>
// CHECK:         arith.select %{{.*}} : tensor<2x4x32x4x4xf8E8M0FNU>
func.func @control_flow(%s: tensor<256x16xf8E8M0FNU, #tiled>, %l: tensor<256x16xf8E8M0FNU>, %n: index, %p: i1)
    -> tensor<256x16xf8E8M0FNU, #tiled> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%it = %s) -> tensor<256x16xf8E8M0FNU, #tiled> {
    %r = mx.relayout ins(%l : tensor<256x16xf8E8M0FNU>) outs(%it : tensor<256x16xf8E8M0FNU, #tiled>)
        -> tensor<256x16xf8E8M0FNU, #tiled>
    scf.yield %r : tensor<256x16xf8E8M0FNU, #tiled>
  }
  %1 = scf.if %p -> tensor<256x16xf8E8M0FNU, #tiled> {
    scf.yield %0 : tensor<256x16xf8E8M0FNU, #tiled>
  } else {
    scf.yield %s : tensor<256x16xf8E8M0FNU, #tiled>
  }
  %2 = scf.while (%it = %1) : (tensor<256x16xf8E8M0FNU, #tiled>) -> tensor<256x16xf8E8M0FNU, #tiled> {
    scf.condition(%p) %it : tensor<256x16xf8E8M0FNU, #tiled>
  } do {
  ^bb0(%it: tensor<256x16xf8E8M0FNU, #tiled>):
    scf.yield %it : tensor<256x16xf8E8M0FNU, #tiled>
  }
  %3 = arith.select %p, %2, %s : tensor<256x16xf8E8M0FNU, #tiled>
  return %3 : tensor<256x16xf8E8M0FNU, #tiled>
}

// -----

// Physical sizes are computed from logical sizes.
// CHECK-LABEL: func @dynamic_empty(
// CHECK-SAME:      %[[B:[^:]*]]: index, %[[R:[^:]*]]: index, %[[C:[^:]*]]: index)
// CHECK-DAG:     %[[TR:.*]] = arith.ceildivui %[[R]], %[[C128:.*]] : index
// CHECK-DAG:     %[[TC:.*]] = arith.ceildivui %[[C]], %[[C4:.*]] : index
// CHECK-DAG:     %[[C128]] = arith.constant 128
// CHECK-DAG:     %[[C4]] = arith.constant 4
// CHECK:         tensor.empty(%[[B]], %[[TR]], %[[TC]]) : tensor<?x?x?x32x4x4xf8E8M0FNU>
// CHECK:         %[[FLOOR:.*]] = arith.divui %[[R]], %{{.*}} : index
// CHECK:         %[[TILES:.*]] = arith.addi %[[FLOOR]], %[[C3:.*]] : index
// CHECK:         tensor.empty(%[[TILES]]) : tensor<?x2x32x4x4xf8E8M0FNU>
func.func @dynamic_empty(%b: index, %r: index, %c: index)
    -> (tensor<?x?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>,
        tensor<?x5xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>) {
  %0 = tensor.empty(%b, %r, %c) : tensor<?x?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  %1 = tensor.empty(%r) : tensor<?x5xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>
  return %0, %1 : tensor<?x?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>,
                  tensor<?x5xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>
}

// -----

#tiled = #mx.scale_layout<sf_128x4>

// tensor.dim returns the logical size, which may be a constant, an operand of
// tensor.empty or a dimension of the physical tensor.
// CHECK-LABEL: func @dim(
// CHECK-SAME:      %[[R:[^:]*]]: index, %[[S:[^:]*]]: tensor<?x3x2x32x4x4xf8E8M0FNU>)
// CHECK-DAG:     %[[C300:.*]] = arith.constant 300 : index
// CHECK-DAG:     %[[BATCH:.*]] = tensor.dim %[[S]], %{{.*}} : tensor<?x3x2x32x4x4xf8E8M0FNU>
// CHECK:         return %[[C300]], %[[R]], %[[BATCH]]
func.func @dim(%r: index, %s: tensor<?x300x6xf8E8M0FNU, #tiled>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %s, %c1 : tensor<?x300x6xf8E8M0FNU, #tiled>
  %e = tensor.empty(%r) : tensor<?x6xf8E8M0FNU, #tiled>
  %dynamic = tensor.dim %e, %c0 : tensor<?x6xf8E8M0FNU, #tiled>
  %batch = tensor.dim %s, %c0 : tensor<?x300x6xf8E8M0FNU, #tiled>
  return %rows, %dynamic, %batch : index, index, index
}

// The logical size may also be computed from the elements that belong to the scales.
// CHECK-LABEL: func @dim_of_elements(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<?x?xbf16>, %[[E:[^:]*]]: tensor<?x?xf8E4M3FN>
// CHECK:         %[[ROWS:.*]] = tensor.dim %[[E]], %{{.*}} : tensor<?x?xf8E4M3FN>
// CHECK:         %[[K:.*]] = tensor.dim %[[E]], %{{.*}} : tensor<?x?xf8E4M3FN>
// CHECK:         %[[BLOCKS:.*]] = arith.divui %[[K]], %{{.*}} : index
// CHECK:         return %[[ROWS]], %[[BLOCKS]]
func.func @dim_of_elements(%x: tensor<?x?xbf16>, %e: tensor<?x?xf8E4M3FN>, %f: tensor<?x?xf8E8M0FNU, #tiled>)
    -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q, %s = mx.fused_quantize ins(%x : tensor<?x?xbf16>)
      outs(%e, %f : tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU, #tiled>)
      -> tensor<?x?xf8E4M3FN>, tensor<?x?xf8E8M0FNU, #tiled>
  %rows = tensor.dim %s, %c0 : tensor<?x?xf8E8M0FNU, #tiled>
  %blocks = tensor.dim %s, %c1 : tensor<?x?xf8E8M0FNU, #tiled>
  return %rows, %blocks : index, index
}

// The size of an argument is computed from an operation with the argument as an operand.
// CHECK-LABEL: func @dim_of_argument(
// CHECK-SAME:      %[[Q:[^:]*]]: tensor<?x64xf8E4M3FN>
// CHECK:         %[[ROWS:.*]] = tensor.dim %[[Q]], %{{.*}} : tensor<?x64xf8E4M3FN>
// CHECK:         tensor.empty(%[[ROWS]]) : tensor<?x64xf32>
func.func @dim_of_argument(%q: tensor<?x64xf8E4M3FN>, %s: tensor<?x2xf8E8M0FNU, #tiled>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %s, %c0 : tensor<?x2xf8E8M0FNU, #tiled>
  %init = tensor.empty(%rows) : tensor<?x64xf32>
  %x = mx.dequantize ins(%q, %s : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU, #tiled>)
      outs(%init : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %x : tensor<?x64xf32>
}

// The size is the size of the relayout's input.
// CHECK-LABEL: func @dim_of_relayout(
// CHECK-SAME:      %[[L:[^:]*]]: tensor<?x2xf8E8M0FNU>
// CHECK:         tensor.dim %[[L]], %{{.*}} : tensor<?x2xf8E8M0FNU>
func.func @dim_of_relayout(%l: tensor<?x2xf8E8M0FNU>, %t: tensor<?x2xf8E8M0FNU, #tiled>) -> index {
  %c0 = arith.constant 0 : index
  %s = mx.relayout ins(%l : tensor<?x2xf8E8M0FNU>) outs(%t : tensor<?x2xf8E8M0FNU, #tiled>)
      -> tensor<?x2xf8E8M0FNU, #tiled>
  %rows = tensor.dim %s, %c0 : tensor<?x2xf8E8M0FNU, #tiled>
  return %rows : index
}

// -----

// Attributes, epilogues and memrefs are kept.
// CHECK-LABEL: func @epilogue
// CHECK:         mx.matmul {{.*}} accumulate {mark = 7 : i64} -> tensor<8x8xf32> epilogue {
// CHECK-NEXT:    ^bb0(%[[ACC:.*]]: f32, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT:      mx.yield %[[ACC]] : f32
func.func @epilogue(%a: tensor<8x32xf8E4M3FN>, %s: tensor<8x1xf8E8M0FNU, #mx.scale_layout<sf_128x4>>,
                    %init: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %c = mx.matmul ins(%a, %s, %a, %s : tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU, #mx.scale_layout<sf_128x4>>,
                     tensor<8x32xf8E4M3FN>, tensor<8x1xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
      outs(%init : tensor<8x8xf32>) accumulate {mark = 7} -> tensor<8x8xf32>
      epilogue {
      ^bb0(%acc: f32, %row: index, %col: index):
        mx.yield %acc : f32
      }
  return %c : tensor<8x8xf32>
}

// -----

// The scales of each prologue value are materialized. The logical size of the last scales is computed.
// CHECK-LABEL: func @prologue(
// CHECK:         %[[R:.*]]:4 = mx.fused_quantize
// CHECK-SAME:      -> tensor<?x64xf8E4M3FN>, tensor<?x1x32x4x4xf8E8M0FNU>, tensor<?x64xf8E4M3FN>, tensor<?x1x32x4x4xf8E8M0FNU> prologue {
// CHECK:           mx.yield
// CHECK:         %[[D:.*]] = tensor.dim %{{.*}}, %{{.*}} : tensor<?x64xf8E4M3FN>
// CHECK:         return %[[R]]#3, %[[D]]
func.func @prologue(%x: tensor<?x64xbf16>, %e: tensor<?x64xf8E4M3FN>,
                    %f: tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
    -> (tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, index) {
  %c0 = arith.constant 0 : index
  %r:4 = mx.fused_quantize ins(%x : tensor<?x64xbf16>)
      outs(%e, %f, %e, %f : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>,
                            tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
      -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>,
         tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
      prologue {
      ^bb0(%a: bf16, %row: index, %col: index):
        %b = arith.negf %a : bf16
        mx.yield %a, %b : bf16, bf16
      }
  %d = tensor.dim %r#3, %c0 : tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  return %r#3, %d : tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, index
}

// -----

#tiled = #mx.scale_layout<sf_128x4>

// Input scales are materialized, and their sizes are computed from the elements.
// CHECK-LABEL: func @input_scales(
// CHECK-SAME:      %[[Q:[^:]*]]: tensor<?x64xf4E2M1FN>, %[[S:[^:]*]]: tensor<?x1x32x4x4xf8E4M3FN>
// CHECK:         mx.fused_quantize ins(%[[Q]] : tensor<?x64xf4E2M1FN>) input_scales(%[[S]] : tensor<?x1x32x4x4xf8E4M3FN>)
// CHECK:         %[[D:.*]] = tensor.dim %[[Q]], %{{.*}} : tensor<?x64xf4E2M1FN>
// CHECK:         return %{{.*}}, %[[D]]
func.func @input_scales(%q: tensor<?x64xf4E2M1FN>, %s: tensor<?x4xf8E4M3FN, #tiled>, %e: tensor<?x64xi8>,
                        %f: tensor<?x2xf8E8M0FNU>) -> (tensor<?x64xi8>, index) {
  %c0 = arith.constant 0 : index
  %r:2 = mx.fused_quantize ins(%q : tensor<?x64xf4E2M1FN>) input_scales(%s : tensor<?x4xf8E4M3FN, #tiled>)
      outs(%e, %f : tensor<?x64xi8>, tensor<?x2xf8E8M0FNU>) -> tensor<?x64xi8>, tensor<?x2xf8E8M0FNU> prologue {
      ^bb0(%a: bf16, %row: index, %col: index):
        mx.yield %a : bf16
      }
  %d = tensor.dim %s, %c0 : tensor<?x4xf8E4M3FN, #tiled>
  return %r#0, %d : tensor<?x64xi8>, index
}

// -----

#packed = #mxgpu.fragment_64x64
#tiled = #mx.scale_layout<sf_128x4>

// Packed weights are materialized with static and dynamic sizes.
// CHECK-LABEL: func @pack(
// CHECK-SAME:      %[[W:[^:]*]]: tensor<4x100x96xf4E2M1FN>) -> tensor<4x2x2x128x32xf4E2M1FN>
// CHECK:         %[[P:.*]] = tensor.empty() : tensor<4x2x2x128x32xf4E2M1FN>
// CHECK:         mx.pack_operand order = #mxgpu.fragment_64x64 ins(%[[W]] : tensor<4x100x96xf4E2M1FN>) outs(%[[P]] : tensor<4x2x2x128x32xf4E2M1FN>) -> tensor<4x2x2x128x32xf4E2M1FN>
func.func @pack(%w: tensor<4x100x96xf4E2M1FN>) -> tensor<4x100x96xf4E2M1FN, #packed> {
  %e = tensor.empty() : tensor<4x100x96xf4E2M1FN, #packed>
  %p = mx.pack_operand ins(%w : tensor<4x100x96xf4E2M1FN>) outs(%e : tensor<4x100x96xf4E2M1FN, #packed>)
      -> tensor<4x100x96xf4E2M1FN, #packed>
  return %p : tensor<4x100x96xf4E2M1FN, #packed>
}

// CHECK-LABEL: func @empty_of_weights(
// CHECK-SAME:      %[[N:[^:]*]]: index, %[[K:[^:]*]]: index
// CHECK-DAG:     %[[TN:.*]] = arith.ceildivui %[[N]], %[[C64:.*]] : index
// CHECK-DAG:     %[[TK:.*]] = arith.ceildivui %[[K]], %[[C64K:.*]] : index
// CHECK-DAG:     %[[C64]] = arith.constant 64
// CHECK:         tensor.empty(%[[TN]], %[[TK]]) : tensor<?x?x128x32xf8E4M3FN>
func.func @empty_of_weights(%n: index, %k: index) -> tensor<?x?xf8E4M3FN, #packed> {
  %0 = tensor.empty(%n, %k) : tensor<?x?xf8E4M3FN, #packed>
  return %0 : tensor<?x?xf8E4M3FN, #packed>
}

// The sizes of packed weights are the sizes of the unpacked tensor.
// CHECK-LABEL: func @dim_of_packed(
// CHECK-SAME:      %[[W:[^:]*]]: tensor<?x?xf8E4M3FN>
// CHECK:         %[[K:.*]] = tensor.dim %[[W]], %{{.*}} : tensor<?x?xf8E4M3FN>
// CHECK-NEXT:    return %[[K]]
func.func @dim_of_packed(%w: tensor<?x?xf8E4M3FN>, %e: tensor<?x?xf8E4M3FN, #packed>) -> index {
  %c1 = arith.constant 1 : index
  %p = mx.pack_operand ins(%w : tensor<?x?xf8E4M3FN>) outs(%e : tensor<?x?xf8E4M3FN, #packed>)
      -> tensor<?x?xf8E4M3FN, #packed>
  %k = tensor.dim %p, %c1 : tensor<?x?xf8E4M3FN, #packed>
  return %k : index
}

// The sizes of packed weights, and of their scales, are also computed from a matmul.
// CHECK-LABEL: func @dim_of_operand(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<?x?xbf16>, %{{[^:]*}}: tensor<4x?x?x128x32xf8E4M3FN>, %{{[^:]*}}: tensor<4x?x?x32x4x4xf8E8M0FNU>, %[[Y:[^:]*]]: tensor<?x?xf32>
// CHECK:         %[[COLUMNS:.*]] = tensor.dim %[[Y]], %{{.*}} : tensor<?x?xf32>
// CHECK:         %[[N:.*]] = arith.muli %[[COLUMNS]], %{{.*}} : index
// CHECK:         %[[K:.*]] = tensor.dim %[[X]], %{{.*}} : tensor<?x?xbf16>
// CHECK:         %[[SAME:.*]] = tensor.dim %[[X]], %{{.*}} : tensor<?x?xbf16>
// CHECK:         %[[BLOCKS:.*]] = arith.divui %[[SAME]], %{{.*}} : index
// CHECK:         return %[[N]], %[[K]], %[[BLOCKS]]
func.func @dim_of_operand(%x: tensor<?x?xbf16>, %w: tensor<4x?x?xf8E4M3FN, #packed>,
                          %s: tensor<4x?x?xf8E8M0FNU, #tiled>, %y: tensor<?x?xf32>,
                          %o: tensor<4xi32>) -> (index, index, index, tensor<?x?xf32>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %w, %c1 : tensor<4x?x?xf8E4M3FN, #packed>
  %k = tensor.dim %w, %c2 : tensor<4x?x?xf8E4M3FN, #packed>
  %blocks = tensor.dim %s, %c2 : tensor<4x?x?xf8E8M0FNU, #tiled>
  %r = mx.grouped_matmul ragged = rows ins(%x, %w, %s : tensor<?x?xbf16>, tensor<4x?x?xf8E4M3FN, #packed>,
          tensor<4x?x?xf8E8M0FNU, #tiled>) offsets(%o : tensor<4xi32>) outs(%y : tensor<?x?xf32>) num_b = 2
      -> tensor<?x?xf32> epilogue {
      ^bb0(%a: f32, %b: f32, %row: index, %col: index):
        %v = arith.mulf %a, %b : f32
        mx.yield %v : f32
      }
  return %n, %k, %blocks, %r : index, index, index, tensor<?x?xf32>
}
