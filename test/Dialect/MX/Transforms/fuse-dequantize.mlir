// RUN: mx-opt %s --split-input-file --mx-fuse-prologues --cse | FileCheck %s

!t = tensor<64x96xbf16>
!e = tensor<64x96xf8E4M3FN>
!s = tensor<64x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!a = tensor<96x64xf8E4M3FN>
!b = tensor<96x2xf8E8M0FNU>

// A tensor quantized again along the other axis is not stored in
// dequantized form. The prologue argument is of the dequantized type.
// CHECK-LABEL: func @other_axis(
// CHECK-SAME:      %[[E:[^:]*]]: tensor<64x96xf8E4M3FN>, %[[S:[^:]*]]: tensor<64x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK-NOT:     mx.dequantize
// CHECK:         mx.fused_quantize ins(%[[E]] : tensor<64x96xf8E4M3FN>)
// CHECK-SAME:      input_scales(%[[S]] : tensor<64x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
// CHECK-SAME:      axes = [0]
// CHECK-SAME:      prologue {
// CHECK-NEXT:    ^bb0(%[[X:.*]]: bf16, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT:      mx.yield %[[X]] : bf16
func.func @other_axis(%e: !e, %s: !s, %a: !a, %b: !b) -> (!a, !b) {
  %i = tensor.empty() : !t
  %d = mx.dequantize ins(%e, %s : !e, !s) outs(%i : !t) -> !t
  %q:2 = mx.quantize ins(%d : !t) outs(%a, %b : !a, !b) axes = [0] -> !a, !b
  return %q#0, %q#1 : !a, !b
}

// -----

!t = tensor<64x96xbf16>
!e = tensor<64x96xf8E4M3FN>
!s = tensor<64x3xf8E8M0FNU>
!f = tensor<64x96xf4E2M1FN>
!n = tensor<64x6xf8E4M3FN>
!a = tensor<96x64xf8E4M3FN>
!b = tensor<96x2xf8E8M0FNU>

// A chain of operations is quantized along both axes. Scales are listed in the
// order of the quantized inputs.
// CHECK-LABEL: func @chain(
// CHECK-SAME:      %[[E:[^:]*]]: tensor<64x96xf8E4M3FN>, %[[S:[^:]*]]: tensor<64x3xf8E8M0FNU>,
// CHECK-SAME:      %[[F:[^:]*]]: tensor<64x96xf4E2M1FN>, %[[N:[^:]*]]: tensor<64x6xf8E4M3FN>, %[[Y:[^:]*]]: tensor<64x96xbf16>
// CHECK-NOT:     {{linalg|dequantize}}
// CHECK:         mx.fused_quantize ins(%[[F]], %[[E]], %[[Y]] : tensor<64x96xf4E2M1FN>, tensor<64x96xf8E4M3FN>, tensor<64x96xbf16>)
// CHECK-SAME:      input_scales(%[[N]], %[[S]] : tensor<64x6xf8E4M3FN>, tensor<64x3xf8E8M0FNU>)
// CHECK-SAME:      axes = [1, 0]
// CHECK:         ^bb0(%[[C:.*]]: bf16, %[[A:.*]]: bf16, %[[B:.*]]: bf16, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT:      %[[P:.*]] = arith.mulf %[[A]], %[[B]] : bf16
// CHECK-NEXT:      %[[Q:.*]] = arith.addf %[[P]], %[[C]] : bf16
// CHECK-NEXT:      mx.yield %[[Q]] : bf16
func.func @chain(%e: !e, %s: !s, %f: !f, %n: !n, %y: !t, %a: !a, %b: !b) -> (!e, !s, !a, !b) {
  %i = tensor.empty() : !t
  %d = mx.dequantize ins(%e, %s : !e, !s) outs(%i : !t) -> !t
  %g = mx.dequantize ins(%f, %n : !f, !n) outs(%i : !t) block_size = 16 -> !t
  %p = linalg.mul ins(%d, %y : !t, !t) outs(%i : !t) -> !t
  %h = linalg.add ins(%p, %g : !t, !t) outs(%i : !t) -> !t
  %q:2 = mx.quantize ins(%h : !t) outs(%e, %s : !e, !s) -> !e, !s
  %r:2 = mx.quantize ins(%h : !t) outs(%a, %b : !a, !b) axes = [0] -> !a, !b
  return %q#0, %q#1, %r#0, %r#1 : !e, !s, !a, !b
}

// A quantizer reads a tensor only once, even if the tensor is dequantized twice.
// CHECK-LABEL: func @read_once(
// CHECK:         mx.fused_quantize ins(%{{[^,]*}} : tensor<64x96xf8E4M3FN>)
// CHECK-SAME:      axes = [1, 0]
// CHECK-NOT:     mx.fused_quantize
func.func @read_once(%e: !e, %s: !s, %a: !a, %b: !b) -> (!e, !s, !a, !b) {
  %i = tensor.empty() : !t
  %d = mx.dequantize ins(%e, %s : !e, !s) outs(%i : !t) -> !t
  %q:2 = mx.quantize ins(%d : !t) outs(%e, %s : !e, !s) -> !e, !s
  %g = mx.dequantize ins(%e, %s : !e, !s) outs(%i : !t) -> !t
  %r:2 = mx.quantize ins(%g : !t) outs(%a, %b : !a, !b) axes = [0] -> !a, !b
  return %q#0, %q#1, %r#0, %r#1 : !e, !s, !a, !b
}

!w = tensor<64x96xf32>

// A tensor dequantized to two types becomes two inputs, because the roundings differ.
// CHECK-LABEL: func @two_types(
// CHECK-SAME:      %[[E:[^:]*]]: tensor<64x96xf8E4M3FN>, %[[S:[^:]*]]: tensor<64x3xf8E8M0FNU>
// CHECK:         mx.fused_quantize ins(%[[E]], %[[E]] : tensor<64x96xf8E4M3FN>, tensor<64x96xf8E4M3FN>)
// CHECK-SAME:      input_scales(%[[S]], %[[S]] : tensor<64x3xf8E8M0FNU>, tensor<64x3xf8E8M0FNU>)
// CHECK:         ^bb0(%[[B:.*]]: f32, %[[A:.*]]: bf16, %{{.*}}: index, %{{.*}}: index):
// CHECK:           arith.extf %[[A]]
// CHECK:           arith.subf %{{.*}}, %[[B]] : f32
func.func @two_types(%e: !e, %s: !s) -> (!e, !s) {
  %i = tensor.empty() : !t
  %j = tensor.empty() : !w
  %d = mx.dequantize ins(%e, %s : !e, !s) outs(%i : !t) -> !t
  %g = mx.dequantize ins(%e, %s : !e, !s) outs(%j : !w) -> !w
  %h = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>],
                       iterator_types = ["parallel", "parallel"]} ins(%d, %g : !t, !w) outs(%j : !w) {
  ^bb0(%a: bf16, %b: f32, %o: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.subf %0, %b : f32
    linalg.yield %1 : f32
  } -> !w
  %q:2 = mx.quantize ins(%h : !w) outs(%e, %s : !e, !s) -> !e, !s
  return %q#0, %q#1 : !e, !s
}

// If an NVFP4 tensor is dequantized to f32, the prologue applies the global
// scale, because the element times its block scale is exact in f32.
// CHECK-LABEL: func @factor(
// CHECK-SAME:      %[[G:[^:]*]]: f32
// CHECK:         ^bb0(%[[A:.*]]: f32, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT:      %[[P:.*]] = arith.mulf %[[A]], %[[G]] : f32
// CHECK-NEXT:      mx.yield %[[P]] : f32
func.func @factor(%g: f32, %f: !f, %n: !n, %e: !e, %s: !s) -> (!e, !s) {
  %j = tensor.empty() : !w
  %d = mx.dequantize ins(%f, %n : !f, !n) global_scale(%g) outs(%j : !w) block_size = 16 -> !w
  %q:2 = mx.quantize ins(%d : !w) outs(%e, %s : !e, !s) -> !e, !s
  return %q#0, %q#1 : !e, !s
}

// A bf16 result would be rounded twice, so the dequantization is not fused.
// CHECK-LABEL: func @factor_to_half(
// CHECK:         %[[D:.*]] = mx.dequantize
// CHECK:         mx.fused_quantize ins(%[[D]] :
func.func @factor_to_half(%g: f32, %f: !f, %n: !n, %e: !e, %s: !s) -> (!e, !s) {
  %j = tensor.empty() : !t
  %d = mx.dequantize ins(%f, %n : !f, !n) global_scale(%g) outs(%j : !t) block_size = 16 -> !t
  %q:2 = mx.quantize ins(%d : !t) outs(%e, %s : !e, !s) -> !e, !s
  return %q#0, %q#1 : !e, !s
}

// The dequantization is not fused if its result is also used elsewhere, and stored anyway.
// CHECK-LABEL: func @used(
// CHECK:         %[[D:.*]] = mx.dequantize
// CHECK:         mx.fused_quantize ins(%[[D]] :
func.func @used(%e: !e, %s: !s) -> (!e, !s, !t) {
  %i = tensor.empty() : !t
  %d = mx.dequantize ins(%e, %s : !e, !s) outs(%i : !t) -> !t
  %q:2 = mx.quantize ins(%d : !t) outs(%e, %s : !e, !s) -> !e, !s
  return %q#0, %q#1, %d : !e, !s, !t
}

// The dequantization is not fused if the prologue reads its result at other indices.
// CHECK-LABEL: func @used_inside(
// CHECK:         %[[D:.*]] = mx.dequantize
// CHECK:         mx.fused_quantize ins(%[[D]] :
func.func @used_inside(%e: !e, %s: !s) -> (!e, !s) {
  %i = tensor.empty() : !t
  %d = mx.dequantize ins(%e, %s : !e, !s) outs(%i : !t) -> !t
  %q:2 = mx.fused_quantize ins(%d : !t) outs(%e, %s : !e, !s) -> !e, !s prologue {
  ^bb0(%a: bf16, %row: index, %col: index):
    %c0 = arith.constant 0 : index
    %0 = tensor.extract %d[%c0, %col] : !t
    %1 = arith.mulf %a, %0 : bf16
    mx.yield %1 : bf16
  }
  return %q#0, %q#1 : !e, !s
}

// -----

!t = tensor<128x64xbf16>
!e = tensor<128x64xf8E4M3FN>
!s = tensor<128x2xf8E8M0FNU>
!r = tensor<3x1x32x4x4xf8E8M0FNU>

// Expert groups may divide the rows of a quantized input.
// CHECK-LABEL: func @ragged(
// CHECK-NOT:     mx.dequantize
// CHECK:         mx.fused_quantize ragged = rows ins(%{{.*}} : tensor<128x64xf8E4M3FN>) input_scales(
// CHECK-SAME:      offsets(
// CHECK-SAME:      prologue {
func.func @ragged(%e: !e, %s: !s, %o: tensor<2xi32>, %r: !r) -> (!e, !r) {
  %i = tensor.empty() : !t
  %d = mx.dequantize ins(%e, %s : !e, !s) outs(%i : !t) -> !t
  %q:2 = mx.quantize ragged = rows ins(%d : !t) offsets(%o : tensor<2xi32>) outs(%e, %r : !e, !r) -> !e, !r
  return %q#0, %q#1 : !e, !r
}

// -----

!t = tensor<128x64xbf16>
!e = tensor<128x64xf8E4M3FN>
!s = tensor<3x1x32x4x4xf8E8M0FNU>
!p = tensor<128x2xf8E8M0FNU>

// The dequantization is not fused, because quantized inputs cannot have expert groups.
// CHECK-LABEL: func @ragged_input(
// CHECK:         %[[D:.*]] = mx.dequantize ragged = rows
// CHECK:         mx.fused_quantize ins(%[[D]] :
func.func @ragged_input(%e: !e, %s: !s, %o: tensor<2xi32>, %p: !p) -> (!e, !p) {
  %i = tensor.empty() : !t
  %d = mx.dequantize ragged = rows ins(%e, %s : !e, !s) offsets(%o : tensor<2xi32>) outs(%i : !t) -> !t
  %q:2 = mx.quantize ins(%d : !t) outs(%e, %p : !e, !p) -> !e, !p
  return %q#0, %q#1 : !e, !p
}

// -----

!t = tensor<64x96xbf16>
!e = tensor<64x96xf8E4M3FN>
!s = tensor<64x3xf8E8M0FNU>
!g = tensor<96x96xf8E4M3FN>
!h = tensor<96x3xf8E8M0FNU>

// The gather selects rows of both the elements and the scales.
// CHECK-LABEL: func @gathered(
// CHECK-NOT:     mx.dequantize
// CHECK:         mx.fused_quantize ins(%{{.*}} : tensor<64x96xf8E4M3FN>) input_scales(%{{.*}} : tensor<64x3xf8E8M0FNU>) gather(
func.func @gathered(%e: !e, %s: !s, %n: tensor<96xi32>, %g: !g, %h: !h) -> (!g, !h) {
  %i = tensor.empty() : !t
  %d = mx.dequantize ins(%e, %s : !e, !s) outs(%i : !t) -> !t
  %q:2 = mx.fused_quantize ins(%d : !t) gather(%n : tensor<96xi32>) outs(%g, %h : !g, !h) -> !g, !h
  return %q#0, %q#1 : !g, !h
}

// -----

!t = tensor<128x64xbf16>
!e = tensor<128x64xf8E4M3FN>
!s = tensor<128x2xf8E8M0FNU>
!a = tensor<128x384xf8E4M3FN>
!b = tensor<128x12xf8E8M0FNU>

// The dequantization is not fused, because expert groups divide the reduction.
// CHECK-LABEL: func @ragged_reduction(
// CHECK:         %[[D:.*]] = mx.dequantize
// CHECK:         mx.fused_quantize ragged = reduction ins(%[[D]] :
func.func @ragged_reduction(%e: !e, %s: !s, %o: tensor<2xi32>, %a: !a, %b: !b) -> (!a, !b) {
  %i = tensor.empty() : !t
  %d = mx.dequantize ins(%e, %s : !e, !s) outs(%i : !t) -> !t
  %q:2 = mx.quantize ragged = reduction ins(%d : !t) offsets(%o : tensor<2xi32>) outs(%a, %b : !a, !b) -> !a, !b
  return %q#0, %q#1 : !a, !b
}

// -----

!t = tensor<64x256xf32>
!e = tensor<64x256xf8E4M3FN>
!s = tensor<64x8xf8E8M0FNU>
!f = tensor<64x2xf8E8M0FNU>

// A dequantization and a quantization in wider blocks fold an operand.
// CHECK-LABEL: func @folds(
// CHECK-NOT:     mx.dequantize
// CHECK:         mx.fused_quantize ins(%{{.*}} : tensor<64x256xf8E4M3FN>) input_scales(%{{.*}} : tensor<64x8xf8E8M0FNU>)
// CHECK-SAME:      block_size = 128
// CHECK-NEXT:    ^bb0(%[[X:.*]]: f32, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT:      mx.yield %[[X]] : f32
func.func @folds(%e: !e, %s: !s, %f: !f) -> (!e, !f) {
  %i = tensor.empty() : !t
  %d = mx.dequantize ins(%e, %s : !e, !s) outs(%i : !t) -> !t
  %q:2 = mx.fused_quantize ins(%d : !t) outs(%e, %f : !e, !f) block_size = 128 -> !e, !f
  return %q#0, %q#1 : !e, !f
}

// The dequantization is not fused, because blocks of quantized inputs have 32 elements.
// CHECK-LABEL: func @folded(
// CHECK:         %[[D:.*]] = mx.dequantize
// CHECK:         mx.fused_quantize ins(%[[D]] :
func.func @folded(%e: !e, %s: !s, %f: !f) -> (!e, !s) {
  %i = tensor.empty() : !t
  %d = mx.dequantize ins(%e, %f : !e, !f) outs(%i : !t) block_size = 128 -> !t
  %q:2 = mx.quantize ins(%d : !t) outs(%e, %s : !e, !s) -> !e, !s
  return %q#0, %q#1 : !e, !s
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
!t = tensor<64x64xbf16>
!e = tensor<64x64xf8E4M3FN>
!s = tensor<64x2xf8E8M0FNU>

// An operation that computes quantized elements is not fused, because the quantizer applies the scales to its inputs.
// CHECK-LABEL: func @computed_codes(
// CHECK-SAME:      %{{[^:]*}}: tensor<64x64xbf16>, %[[S:[^:]*]]: tensor<64x2xf8E8M0FNU>
// CHECK:         %[[C:.*]] = linalg.generic
// CHECK:         mx.fused_quantize ins(%[[C]] : tensor<64x64xf8E4M3FN>) input_scales(%[[S]] :
func.func @computed_codes(%x: !t, %s: !s, %e: !e, %f: !s) -> (!e, !s) {
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : !t) outs(%e : !e) {
  ^bb0(%a: bf16, %o: f8E4M3FN):
    %0 = arith.truncf %a : bf16 to f8E4M3FN
    linalg.yield %0 : f8E4M3FN
  } -> !e
  %q:2 = mx.fused_quantize ins(%c : !e) input_scales(%s : !s) outs(%e, %f : !e, !s) -> !e, !s prologue {
  ^bb0(%a: bf16, %row: index, %col: index):
    %0 = arith.extf %a : bf16 to f32
    mx.yield %0 : f32
  }
  return %q#0, %q#1 : !e, !s
}

// -----

!t = tensor<64x96xbf16>
!e = tensor<64x96xf8E4M3FN>
!s = tensor<64x3xf8E8M0FNU>

// The explicit prologue makes the quantizer dequantize its input and quantize
// it again, even to the same format.
// CHECK-LABEL: func @same_format(
// CHECK:         mx.fused_quantize ins(%{{.*}} : tensor<64x96xf8E4M3FN>) input_scales(
// CHECK-SAME:      prologue {
// CHECK-NEXT:    ^bb0(%[[X:.*]]: bf16, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT:      mx.yield %[[X]] : bf16
func.func @same_format(%e: !e, %s: !s, %a: !e, %b: !s) -> (!e, !s) {
  %i = tensor.empty() : !t
  %d = mx.dequantize ins(%e, %s : !e, !s) outs(%i : !t) -> !t
  %q:2 = mx.quantize ins(%d : !t) outs(%a, %b : !e, !s) -> !e, !s
  return %q#0, %q#1 : !e, !s
}

!a = tensor<96x64xf8E4M3FN>
!b = tensor<96x2xf8E8M0FNU>

// Without a prologue, rows are forwarded unchanged. The columns of the same
// tensor are quantized in the same operation.
// CHECK-LABEL: func @passed_on(
// CHECK-SAME:      %[[E:[^:]*]]: tensor<64x96xf8E4M3FN>, %[[S:[^:]*]]: tensor<64x3xf8E8M0FNU>,
// CHECK-NEXT:    %[[Q:.*]]:4 = mx.fused_quantize ins(%[[E]] : tensor<64x96xf8E4M3FN>) input_scales(%[[S]] : tensor<64x3xf8E8M0FNU>)
// CHECK-SAME:      axes = [1, 0]
// CHECK-NOT:     prologue
// CHECK-NEXT:    return %[[Q]]#0, %[[Q]]#1, %[[Q]]#2, %[[Q]]#3
func.func @passed_on(%e: !e, %s: !s, %f: !e, %t: !s, %a: !a, %b: !b) -> (!e, !s, !a, !b) {
  %q:2 = mx.fused_quantize ins(%e : !e) input_scales(%s : !s) outs(%f, %t : !e, !s) -> !e, !s
  %r:2 = mx.fused_quantize ins(%e : !e) input_scales(%s : !s) outs(%a, %b : !a, !b) axes = [0] -> !a, !b
  return %q#0, %q#1, %r#0, %r#1 : !e, !s, !a, !b
}

// A quantizer that forwards rows is not merged with a quantizer that computes values.
// CHECK-LABEL: func @passed_on_and_computed(
// CHECK:         mx.fused_quantize ins(%{{.*}} : tensor<64x96xf8E4M3FN>) input_scales(%{{.*}}) outs({{.*}}) -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
// CHECK-NEXT:    mx.fused_quantize
// CHECK-SAME:      prologue
func.func @passed_on_and_computed(%e: !e, %s: !s, %f: !e, %t: !s) -> (!e, !s, !e, !s) {
  %q:2 = mx.fused_quantize ins(%e : !e) input_scales(%s : !s) outs(%f, %t : !e, !s) -> !e, !s
  %r:2 = mx.fused_quantize ins(%e : !e) input_scales(%s : !s) outs(%f, %t : !e, !s) -> !e, !s prologue {
  ^bb0(%a: bf16, %row: index, %col: index):
    %0 = arith.negf %a : bf16
    mx.yield %0 : bf16
  }
  return %q#0, %q#1, %r#0, %r#1 : !e, !s, !e, !s
}
