// RUN: mx-opt %s --split-input-file --mx-fuse-epilogues --canonicalize --cse | FileCheck %s

!a = tensor<?x256xf8E4M3FN>
!as = tensor<?x8xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 8>>
!b = tensor<8x512x256xf8E4M3FN>
!bs = tensor<8x512x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x512xbf16>
!h = tensor<?x256xbf16>
!o = tensor<8xi32>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// The matmul computes gate and up projections as columns, and their SwiGLU is
// quantized. The epilogue keeps the roundings of the tensor types.
// CHECK-LABEL: func @swiglu(
// CHECK-SAME:      %[[P:[^:]*]]: tensor<?xf32>)
// CHECK-NOT:     mx.fused_quantize
// CHECK:         %[[Y:.*]]:2 = mx.grouped_matmul ragged = rows
// CHECK-SAME:      outs(%{{.*}}, %{{.*}} : tensor<?x256xf8E4M3FN>,
// CHECK-SAME:      num_b = 2 scale_rounding = floor ->
// CHECK-SAME:      epilogue {
// CHECK-NEXT:    ^bb0(%[[G:.*]]: f32, %[[U:.*]]: f32, %[[ROW:.*]]: index, %[[COL:.*]]: index):
// CHECK-DAG:       %[[GATE:.*]] = arith.truncf %[[G]] : f32 to bf16
// CHECK-DAG:       %[[UP:.*]] = arith.truncf %[[U]] : f32 to bf16
// CHECK-DAG:       %[[W:.*]] = tensor.extract %[[P]][%[[ROW]]]
// CHECK:           %[[X:.*]] = arith.mulf %[[GATE]], %[[UP]] : bf16
// CHECK:           %[[F:.*]] = arith.extf %[[X]] : bf16 to f32
// CHECK:           %[[V:.*]] = arith.mulf %[[F]], %[[W]] : f32
// CHECK:           %[[H:.*]] = arith.truncf %[[V]] : f32 to bf16
// CHECK:           mx.yield %[[H]] : bf16
// CHECK-NOT:     linalg
// CHECK:         return %[[Y]]#0, %[[Y]]#1
func.func @swiglu(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: !o, %p: tensor<?xf32>) -> (!a, !as) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %a, %c0 : !a
  %y0 = tensor.empty(%t) : !y
  %y = mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : !o) outs(%y0 : !y) -> !y
  %gate = tensor.extract_slice %y[0, 0] [%t, 256] [1, 1] : !y to !h
  %up = tensor.extract_slice %y[0, 256] [%t, 256] [1, 1] : !y to !h
  %h0 = tensor.empty(%t) : !h
  %h = linalg.generic {indexing_maps = [#id, #id, #row, #id],
                       iterator_types = ["parallel", "parallel"]}
      ins(%gate, %up, %p : !h, !h, tensor<?xf32>) outs(%h0 : !h) {
  ^bb0(%g: bf16, %u: bf16, %w: f32, %out: bf16):
    %x = arith.mulf %g, %u : bf16
    %xf = arith.extf %x : bf16 to f32
    %vf = arith.mulf %xf, %w : f32
    %v = arith.truncf %vf : f32 to bf16
    linalg.yield %v : bf16
  } -> !h
  %e0 = tensor.empty(%t) : !a
  %s0 = tensor.empty(%t) : !as
  %q:2 = mx.fused_quantize ragged = rows ins(%h : !h) offsets(%o : !o)
      outs(%e0, %s0 : !a, !as) scale_rounding = floor -> !a, !as
  return %q#0, %q#1 : !a, !as
}

// Gate and up projections with other uses are stored, so the SwiGLU is not fused.
// CHECK-LABEL: func @saved(
// CHECK:         mx.grouped_matmul
// CHECK-NOT:     num_b
// CHECK:         linalg.generic
func.func @saved(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: !o) -> (!y, !h) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %a, %c0 : !a
  %y0 = tensor.empty(%t) : !y
  %y = mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : !o) outs(%y0 : !y) -> !y
  %gate = tensor.extract_slice %y[0, 0] [%t, 256] [1, 1] : !y to !h
  %up = tensor.extract_slice %y[0, 256] [%t, 256] [1, 1] : !y to !h
  %h0 = tensor.empty(%t) : !h
  %h = linalg.generic {indexing_maps = [#id, #id, #id],
                       iterator_types = ["parallel", "parallel"]}
      ins(%gate, %up : !h, !h) outs(%h0 : !h) {
  ^bb0(%g: bf16, %u: bf16, %out: bf16):
    %x = arith.mulf %g, %u : bf16
    linalg.yield %x : bf16
  } -> !h
  return %y, %h : !y, !h
}

// The epilogue adds each row to the row of its token.
// CHECK-LABEL: func @combine(
// CHECK-SAME:      %[[ROWS:[^:]*]]: tensor<?xi32>, %[[OUT:[^:]*]]: tensor<?x512xf32>)
// CHECK:         mx.grouped_matmul
// CHECK-SAME:      scatter(%[[ROWS]] : tensor<?xi32>) outs(%[[OUT]] :
// CHECK:         ^bb0(%[[SUM:.*]]: f32, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT:      %[[HALF:.*]] = arith.truncf %[[SUM]] : f32 to bf16
// CHECK-NEXT:      %[[TERM:.*]] = arith.extf %[[HALF]] : bf16 to f32
// CHECK-NEXT:      mx.yield %[[TERM]] : f32
// CHECK-NOT:     mx.combine
func.func @combine(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: !o, %rows: tensor<?xi32>,
                   %out: tensor<?x512xf32>) -> tensor<?x512xf32> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %a, %c0 : !a
  %y0 = tensor.empty(%t) : !y
  %y = mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : !o) outs(%y0 : !y) -> !y
  %z = mx.combine ins(%y : !y) rows(%rows : tensor<?xi32>) offsets(%o : !o)
      outs(%out : tensor<?x512xf32>) -> tensor<?x512xf32>
  return %z : tensor<?x512xf32>
}

// A combine with a fixed order is not fused, because a matmul computes rows in any order.
// CHECK-LABEL: func @combine_in_order(
// CHECK:         mx.grouped_matmul
// CHECK-NOT:     scatter
// CHECK:         mx.combine
// CHECK-SAME:      order = fixed
func.func @combine_in_order(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: !o, %rows: tensor<?xi32>,
                            %out: tensor<?x512xf32>) -> tensor<?x512xf32> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %a, %c0 : !a
  %y0 = tensor.empty(%t) : !y
  %y = mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : !o) outs(%y0 : !y) -> !y
  %z = mx.combine ins(%y : !y) rows(%rows : tensor<?xi32>) offsets(%o : !o)
      outs(%out : tensor<?x512xf32>) order = fixed -> tensor<?x512xf32>
  return %z : tensor<?x512xf32>
}

// Does not fuse a combine with other expert groups, a quantizer along the other axis, or a matmul that accumulates.
// CHECK-LABEL: func @others(
// CHECK:         mx.grouped_matmul
// CHECK-NOT:     scatter
// CHECK:         mx.combine
// CHECK:         mx.grouped_matmul
// CHECK:         mx.fused_quantize
// CHECK:         mx.grouped_matmul
// CHECK-SAME:      accumulate
// CHECK:         linalg.generic
func.func @others(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: !o, %other: !o, %rows: tensor<?xi32>,
                  %out: tensor<?x512xf32>, %y0: !y) -> (tensor<?x512xf32>, tensor<512x?xf8E4M3FN>, tensor<512x?xf8E8M0FNU>, !y) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %t = tensor.dim %a, %c0 : !a
  %blocks = arith.divui %t, %c32 : index
  %y1 = tensor.empty(%t) : !y
  %y = mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : !o) outs(%y1 : !y) -> !y
  %z = mx.combine ins(%y : !y) rows(%rows : tensor<?xi32>) offsets(%other : !o)
      outs(%out : tensor<?x512xf32>) -> tensor<?x512xf32>
  %w = mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%other : !o) outs(%y1 : !y) -> !y
  %e0 = tensor.empty(%t) : tensor<512x?xf8E4M3FN>
  %s0 = tensor.empty(%blocks) : tensor<512x?xf8E8M0FNU>
  %q:2 = mx.fused_quantize ins(%w : !y) outs(%e0, %s0 : tensor<512x?xf8E4M3FN>, tensor<512x?xf8E8M0FNU>)
      axes = [0] -> tensor<512x?xf8E4M3FN>, tensor<512x?xf8E8M0FNU>
  %v = mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : !o) outs(%y0 : !y) accumulate -> !y
  %u = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v : !y) outs(%y1 : !y) {
  ^bb0(%x: bf16, %o1: bf16):
    %d = arith.addf %x, %x : bf16
    linalg.yield %d : bf16
  } -> !y
  return %z, %q#0, %q#1, %u : tensor<?x512xf32>, tensor<512x?xf8E4M3FN>, tensor<512x?xf8E8M0FNU>, !y
}

// Does not fuse a combine that adds a tensor to itself, or a combine that also
// reads rows outside of the expert groups.
// CHECK-LABEL: func @combined_with_itself(
// CHECK-NOT:     scatter
// CHECK:         mx.combine
// CHECK-NOT:     scatter
// CHECK:         mx.combine
func.func @combined_with_itself(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: !o, %rows: tensor<?xi32>,
                                %y0: tensor<?x512xf32>, %out: tensor<?x512xf32>) -> (tensor<?x512xf32>, tensor<?x512xf32>) {
  %y = mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : !o) outs(%y0 : tensor<?x512xf32>) -> tensor<?x512xf32>
  %z = mx.combine ins(%y : tensor<?x512xf32>) rows(%rows : tensor<?xi32>) offsets(%o : !o)
      outs(%y : tensor<?x512xf32>) -> tensor<?x512xf32>
  %v = mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : !o) outs(%y0 : tensor<?x512xf32>) -> tensor<?x512xf32>
  %w = mx.combine ins(%v : tensor<?x512xf32>) rows(%rows : tensor<?xi32>)
      outs(%out : tensor<?x512xf32>) -> tensor<?x512xf32>
  return %z, %w : tensor<?x512xf32>, tensor<?x512xf32>
}

// A matmul with a schedule is not fused, because the schedule was chosen for the unfused matmul.
// CHECK-LABEL: func @scheduled(
// CHECK:         mx.grouped_matmul
// CHECK-SAME:      {schedule = "mine"}
// CHECK:         mx.fused_quantize
func.func @scheduled(%a: !a, %as: !as, %b: tensor<8x256x256xf8E4M3FN>,
                     %bs: tensor<8x256x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %o: !o) -> (!a, !as) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %a, %c0 : !a
  %h0 = tensor.empty(%t) : !h
  %h = mx.grouped_matmul ragged = rows
      ins(%a, %as, %b, %bs : !a, !as, tensor<8x256x256xf8E4M3FN>, tensor<8x256x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
      offsets(%o : !o) outs(%h0 : !h) {schedule = "mine"} -> !h
  %e0 = tensor.empty(%t) : !a
  %s0 = tensor.empty(%t) : !as
  %q:2 = mx.fused_quantize ragged = rows ins(%h : !h) offsets(%o : !o)
      outs(%e0, %s0 : !a, !as) -> !a, !as
  return %q#0, %q#1 : !a, !as
}

// Kernels of matmuls write no wide blocks.
// CHECK-LABEL: func @wide_blocks(
// CHECK:         mx.grouped_matmul
// CHECK:         mx.fused_quantize {{.*}} block_size = 128 ->
func.func @wide_blocks(%x: !y, %w: tensor<8x512x512xbf16>, %o: !o, %h0: !y, %e: tensor<?x512xf8E4M3FN>,
                       %f: tensor<?x1x32x4x4xf8E8M0FNU>) -> (tensor<?x512xf8E4M3FN>, tensor<?x1x32x4x4xf8E8M0FNU>) {
  %h = mx.grouped_matmul ragged = rows ins(%x, %w : !y, tensor<8x512x512xbf16>) offsets(%o : !o) outs(%h0 : !y) -> !y
  %q:2 = mx.fused_quantize ragged = rows ins(%h : !y) offsets(%o : !o) outs(%e, %f : tensor<?x512xf8E4M3FN>, tensor<?x1x32x4x4xf8E8M0FNU>)
      block_size = 128 -> tensor<?x512xf8E4M3FN>, tensor<?x1x32x4x4xf8E8M0FNU>
  return %q#0, %q#1 : tensor<?x512xf8E4M3FN>, tensor<?x1x32x4x4xf8E8M0FNU>
}

// -----

// Fuses the addition of a bias and the following addition of a residual into one matmul.
#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
!a = tensor<256x512xf8E4M3FN>
!as = tensor<256x16xf8E8M0FNU>
!y = tensor<256x256xf32>
// CHECK-LABEL: func @dense(
// CHECK-SAME:      %[[BIAS:[^:]*]]: tensor<256xf32>, %[[R:[^:]*]]: tensor<256x256xf32>)
// CHECK:         mx.matmul
// CHECK-SAME:      epilogue {
// CHECK-NEXT:    ^bb0(%[[X:.*]]: f32, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK:           %[[B:.*]] = tensor.extract %[[BIAS]][%[[J]]]
// CHECK:           %[[S:.*]] = arith.addf %[[X]], %[[B]]
// CHECK:           %[[E:.*]] = tensor.extract %[[R]][%[[I]], %[[J]]]
// CHECK:           %[[T:.*]] = arith.addf %[[S]], %[[E]]
// CHECK:           mx.yield %[[T]] : f32
// CHECK-NOT:     linalg.generic
func.func @dense(%a: !a, %as: !as, %bias: tensor<256xf32>, %r: !y) -> !y {
  %y0 = tensor.empty() : !y
  %y = mx.matmul ins(%a, %as, %a, %as : !a, !as, !a, !as) outs(%y0 : !y) -> !y
  %z = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y, %bias : !y, tensor<256xf32>) outs(%y0 : !y) {
  ^bb0(%x: f32, %b: f32, %o: f32):
    %s = arith.addf %x, %b : f32
    linalg.yield %s : f32
  } -> !y
  %w = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%z, %r : !y, !y) outs(%y0 : !y) {
  ^bb0(%x: f32, %b: f32, %o: f32):
    %s = arith.addf %x, %b : f32
    linalg.yield %s : f32
  } -> !y
  return %w : !y
}

// -----

!x = tensor<?x256xbf16>
!w = tensor<8x512x256xf4E2M1FN>
!ws = tensor<8x512x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x512xbf16>
!o = tensor<8xi32>
#id = affine_map<(d0, d1) -> (d0, d1)>

// The matmul is not fused with the dequantizer of its unscaled activations or with
// a quantizer that also reads them. The operation that reads the result is fused.
// CHECK-LABEL: func @weights(
// CHECK:         %[[X:.*]] = mx.dequantize
// CHECK:         mx.grouped_matmul ragged = rows ins(%[[X]], %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<?x256xbf16>,
// CHECK-SAME:      epilogue {
// CHECK:         arith.negf
// CHECK:         mx.fused_quantize ins(%[[X]]
func.func @weights(%e: tensor<?x256xf8E4M3FN>, %s: tensor<?x8xf8E8M0FNU>, %w: !w, %ws: !ws, %o: !o)
    -> (!y, tensor<?x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %e, %c0 : tensor<?x256xf8E4M3FN>
  %x0 = tensor.empty(%t) : !x
  %x = mx.dequantize ins(%e, %s : tensor<?x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU>) outs(%x0 : !x) -> !x
  %y0 = tensor.empty(%t) : !y
  %y = mx.grouped_matmul ragged = rows ins(%x, %w, %ws : !x, !w, !ws)
      offsets(%o : !o) outs(%y0 : !y) -> !y
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : !y) outs(%y0 : !y) {
  ^bb0(%v: bf16, %out: bf16):
    %n = arith.negf %v : bf16
    linalg.yield %n : bf16
  } -> !y
  %q0 = tensor.empty(%t) : tensor<?x256xf8E4M3FN>
  %q1 = tensor.empty(%t) : tensor<?x8xf8E8M0FNU>
  %q:2 = mx.fused_quantize ins(%x : !x) outs(%q0, %q1 : tensor<?x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU>)
      -> tensor<?x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU>
  return %z, %q#0, %q#1 : !y, tensor<?x256xf8E4M3FN>, tensor<?x8xf8E8M0FNU>
}
