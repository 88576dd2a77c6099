// RUN: mx-opt %s --split-input-file --mx-fuse-prologues --cse | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>
#one = affine_map<(d0, d1) -> ()>
!t = tensor<64x64xbf16>
!e = tensor<64x64xf8E4M3FN>
!s = tensor<64x2xf8E8M0FNU>

// An elementwise operation quantized along two axes becomes the
// prologue of one quantizer. The sum is rounded to bf16 as it was in the
// tensor. Row and column operands, flags and scalars are read in place.
// CHECK-LABEL: func @both_axes(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<64x64xbf16>, %[[Y:[^:]*]]: tensor<64x64xf32>, %[[R:[^:]*]]: tensor<64xf32>,
// CHECK-SAME:      %[[C:[^:]*]]: tensor<64xbf16>, %[[S:[^:]*]]: tensor<f32>, %[[M:[^:]*]]: tensor<64x64xi1>, %[[N:[^:]*]]: f32
// CHECK-NOT:     linalg
// CHECK:         mx.fused_quantize ins(%[[X]], %[[Y]] : tensor<64x64xbf16>, tensor<64x64xf32>)
// CHECK-SAME:      axes = [1, 0]
// CHECK-SAME:      prologue {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: bf16, %[[B:.*]]: f32, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-DAG:       %[[R1:.*]] = tensor.extract %[[R]][%[[I]]]
// CHECK-DAG:       %[[C1:.*]] = tensor.extract %[[C]][%[[J]]]
// CHECK-DAG:       %[[S1:.*]] = tensor.extract %[[S]][]
// CHECK-DAG:       %[[M1:.*]] = tensor.extract %[[M]][%[[I]], %[[J]]]
// CHECK:           arith.extf %[[A]]
// CHECK:           arith.addf %{{.*}}, %[[B]]
// CHECK:           arith.mulf %{{.*}}, %[[R1]]
// CHECK:           arith.extf %[[C1]]
// CHECK:           arith.mulf %{{.*}}, %[[S1]]
// CHECK:           arith.mulf %{{.*}}, %[[N]]
// CHECK:           %[[WIDE:.*]] = arith.select %[[M1]]
// CHECK:           arith.index_cast %[[J]]
// CHECK:           %[[H:.*]] = arith.truncf %[[WIDE]] : f32 to bf16
// CHECK:           %[[SUM:.*]] = arith.addf %[[H]], %{{.*}} : bf16
// CHECK:           mx.yield %[[SUM]] : bf16
func.func @both_axes(%x: !t, %y: tensor<64x64xf32>, %r: tensor<64xf32>, %c: tensor<64xbf16>, %s: tensor<f32>,
                     %m: tensor<64x64xi1>, %n: f32, %e: !e, %f: !s) -> (!e, !s, !e, !s) {
  %init = tensor.empty() : !t
  %h = linalg.generic {indexing_maps = [#id, #id, #row, #column, #one, #id, #one, #id],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x, %y, %r, %c, %s, %m, %n : !t, tensor<64x64xf32>, tensor<64xf32>, tensor<64xbf16>, tensor<f32>, tensor<64x64xi1>, f32)
      outs(%init : !t) {
  ^bb0(%a: bf16, %b: f32, %r1: f32, %c1: bf16, %s1: f32, %m1: i1, %n1: f32, %o: bf16):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.addf %0, %b : f32
    %2 = arith.mulf %1, %r1 : f32
    %3 = arith.extf %c1 : bf16 to f32
    %4 = arith.addf %2, %3 : f32
    %5 = arith.mulf %4, %s1 : f32
    %6 = arith.mulf %5, %n1 : f32
    %7 = arith.select %m1, %6, %4 : f32
    %j = linalg.index 1 : index
    %j64 = arith.index_cast %j : index to i64
    %8 = arith.sitofp %j64 : i64 to f32
    %9 = arith.truncf %7 : f32 to bf16
    %10 = arith.truncf %8 : f32 to bf16
    %11 = arith.addf %9, %10 : bf16
    linalg.yield %11 : bf16
  } -> !t
  %q:2 = mx.quantize ins(%h : !t) outs(%e, %f : !e, !s) -> !e, !s
  %p:2 = mx.quantize ins(%h : !t) outs(%e, %f : !e, !s) axes = [0] -> !e, !s
  return %q#0, %q#1, %p#0, %p#1 : !e, !s, !e, !s
}

// Fuses a chain of elementwise operations, starting from the end. A value with
// two uses becomes one input.
// CHECK-LABEL: func @chain(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<64x64xbf16>, %[[Y:[^:]*]]: tensor<64x64xbf16>
// CHECK-NOT:     linalg
// CHECK:         mx.fused_quantize ins(%[[X]], %[[Y]] : tensor<64x64xbf16>, tensor<64x64xbf16>)
// CHECK:         ^bb0(%[[A:.*]]: bf16, %[[B:.*]]: bf16, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT:      %[[C:.*]] = arith.mulf %[[A]], %[[B]] : bf16
// CHECK-NEXT:      %[[D:.*]] = arith.addf %[[C]], %[[A]] : bf16
// CHECK-NEXT:      %[[E:.*]] = math.absf %[[D]] : bf16
// CHECK-NEXT:      mx.yield %[[E]] : bf16
func.func @chain(%x: !t, %y: !t, %e: !e, %f: !s) -> (!e, !s) {
  %init = tensor.empty() : !t
  %0 = linalg.mul ins(%x, %y : !t, !t) outs(%init : !t) -> !t
  %1 = linalg.elementwise kind = #linalg.elementwise_kind<add> ins(%0, %x : !t, !t) outs(%init : !t) -> !t
  %2 = linalg.abs ins(%1 : !t) outs(%init : !t) -> !t
  %q:2 = mx.quantize ins(%2 : !t) outs(%e, %f : !e, !s) -> !e, !s
  return %q#0, %q#1 : !e, !s
}

// An operation with two results, each quantized along both axes, becomes the
// prologue of one quantizer with two values. Destinations are grouped by value.
// CHECK-LABEL: func @two_values(
// CHECK:         %[[Q:.*]]:8 = mx.fused_quantize ins(%{{.*}}, %{{.*}} : tensor<64x64xbf16>, tensor<64x64xbf16>)
// CHECK-SAME:      outs(%[[E1:[^,]*]], %[[F1:[^,]*]], %[[E2:[^,]*]], %[[F1]], %[[E3:[^,]*]], %[[F1]], %[[E4:[^,]*]], %[[F1]] :
// CHECK-SAME:      axes = [1, 0]
// CHECK:           %[[U:.*]] = arith.mulf
// CHECK:           %[[V:.*]] = arith.addf
// CHECK:           mx.yield %[[U]], %[[V]] : bf16, bf16
// CHECK:         return %[[Q]]#0, %[[Q]]#1, %[[Q]]#2, %[[Q]]#3, %[[Q]]#4, %[[Q]]#5, %[[Q]]#6, %[[Q]]#7
func.func @two_values(%x: !t, %y: !t, %e1: !e, %e2: !e, %e3: !e, %e4: !e, %f: !s)
    -> (!e, !s, !e, !s, !e, !s, !e, !s) {
  %init = tensor.empty() : !t
  %h:2 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : !t, !t) outs(%init, %init : !t, !t) {
  ^bb0(%a: bf16, %b: bf16, %o: bf16, %p: bf16):
    %0 = arith.mulf %a, %b : bf16
    %1 = arith.addf %a, %b : bf16
    linalg.yield %0, %1 : bf16, bf16
  } -> (!t, !t)
  %q:2 = mx.quantize ins(%h#0 : !t) outs(%e1, %f : !e, !s) -> !e, !s
  %r:2 = mx.quantize ins(%h#0 : !t) outs(%e2, %f : !e, !s) axes = [0] -> !e, !s
  %s:2 = mx.quantize ins(%h#1 : !t) outs(%e3, %f : !e, !s) -> !e, !s
  %t:2 = mx.quantize ins(%h#1 : !t) outs(%e4, %f : !e, !s) axes = [0] -> !e, !s
  return %q#0, %q#1, %r#0, %r#1, %s#0, %s#1, %t#0, %t#1 : !e, !s, !e, !s, !e, !s, !e, !s
}

// Separate operations that share an input are also fused, so the input is read once.
// CHECK-LABEL: func @related(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<64x64xbf16>, %[[Y:[^:]*]]: tensor<64x64xbf16>
// CHECK:         mx.fused_quantize ins(%[[X]], %[[Y]] :
// CHECK:           mx.yield %{{.*}}, %{{.*}} : bf16, bf16
// CHECK-NOT:     mx.fused_quantize
func.func @related(%x: !t, %y: !t, %e: !e, %f: !s) -> (!e, !s, !e, !s) {
  %init = tensor.empty() : !t
  %0 = linalg.mul ins(%x, %y : !t, !t) outs(%init : !t) -> !t
  %q:2 = mx.quantize ins(%0 : !t) outs(%e, %f : !e, !s) -> !e, !s
  %1 = linalg.negf ins(%y : !t) outs(%init : !t) -> !t
  %r:2 = mx.quantize ins(%1 : !t) outs(%e, %f : !e, !s) -> !e, !s
  return %q#0, %q#1, %r#0, %r#1 : !e, !s, !e, !s
}

// The first result is used between the quantizers, so the operands of the second quantizer move up.
// CHECK-LABEL: func @use_between(
// CHECK:         %[[F:.*]] = tensor.empty() : tensor<64x2xf8E8M0FNU>
// CHECK:         %[[Q:.*]]:4 = mx.fused_quantize {{.*}} axes = [0, 1]
// CHECK:         mx.dequantize ins(%[[Q]]#0, %[[Q]]#1
// CHECK:         return %{{.*}}, %[[Q]]#2, %[[Q]]#3
func.func @use_between(%x: !t, %e: !e, %f: !s) -> (!t, !e, !s) {
  %init = tensor.empty() : !t
  %q:2 = mx.quantize ins(%x : !t) outs(%e, %f : !e, !s) axes = [0] -> !e, !s
  %y = mx.dequantize ins(%q#0, %q#1 : !e, !s) outs(%init : !t) -> !t
  %e2 = tensor.empty() : !e
  %f2 = tensor.empty() : !s
  %r:2 = mx.quantize ins(%x : !t) outs(%e2, %f2 : !e, !s) -> !e, !s
  return %y, %r#0, %r#1 : !t, !e, !s
}

#transposed = affine_map<(d0, d1) -> (d1, d0)>

// An operation is not fused if its result is also used elsewhere, and stored anyway.
// CHECK-LABEL: func @other_use
// CHECK:         linalg.abs
// CHECK:         mx.fused_quantize
// CHECK-NOT:     prologue
func.func @other_use(%x: !t, %e: !e, %f: !s) -> (!e, !s, !t) {
  %init = tensor.empty() : !t
  %0 = linalg.abs ins(%x : !t) outs(%init : !t) -> !t
  %q:2 = mx.quantize ins(%0 : !t) outs(%e, %f : !e, !s) -> !e, !s
  return %q#0, %q#1, %0 : !e, !s, !t
}

!f = tensor<64x1xf8E8M0FNU>
!d = tensor<64x1xi8>
!dt = tensor<1x64xi8>

// Destinations with spreads are merged with each other.
// CHECK-LABEL: func @spreads(
// CHECK:         %[[R:.*]]:6 = mx.fused_quantize {{.*}} axes = [1, 0] block_size = row spreads ->
// CHECK:         mx.fused_quantize {{.*}} axes = [0] block_size = row ->
// CHECK:         return %[[R]]#2, %[[R]]#5
func.func @spreads(%x: !t, %e: !e, %f: !f, %d: !d, %dt: !dt) -> (!d, !dt, !e) {
  %q:3 = mx.fused_quantize ins(%x : !t) outs(%e, %f, %d : !e, !f, !d) block_size = row spreads -> !e, !f, !d
  %p:2 = mx.fused_quantize ins(%x : !t) outs(%e, %f : !e, !f) axes = [0] block_size = row -> !e, !f
  %r:3 = mx.fused_quantize ins(%x : !t) outs(%e, %f, %dt : !e, !f, !dt) axes = [0] block_size = row spreads -> !e, !f, !dt
  return %q#2, %r#2, %p#0 : !d, !dt, !e
}

// Quantizers with different recipes are not merged, and they read a stored tensor.
// CHECK-LABEL: func @other_recipe
// CHECK:         linalg.abs
// CHECK:         mx.fused_quantize {{.*}} -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>{{$}}
// CHECK:         mx.fused_quantize {{.*}} scale_rounding = floor
func.func @other_recipe(%x: !t, %e: !e, %f: !s) -> (!e, !s, !e, !s) {
  %init = tensor.empty() : !t
  %0 = linalg.abs ins(%x : !t) outs(%init : !t) -> !t
  %q:2 = mx.quantize ins(%0 : !t) outs(%e, %f : !e, !s) -> !e, !s
  %r:2 = mx.quantize ins(%0 : !t) outs(%e, %f : !e, !s) axes = [0] scale_rounding = floor -> !e, !s
  return %q#0, %q#1, %r#0, %r#1 : !e, !s, !e, !s
}

// CHECK-LABEL: func @permuted
// CHECK:         linalg.generic
// CHECK:         mx.fused_quantize ins(%{{.*}} : tensor<64x64xbf16>)
func.func @permuted(%x: !t, %e: !e, %f: !s) -> (!e, !s) {
  %init = tensor.empty() : !t
  %0 = linalg.generic {indexing_maps = [#transposed, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : !t) outs(%init : !t) {
  ^bb0(%a: bf16, %o: bf16):
    %1 = arith.negf %a : bf16
    linalg.yield %1 : bf16
  } -> !t
  %q:2 = mx.quantize ins(%0 : !t) outs(%e, %f : !e, !s) -> !e, !s
  return %q#0, %q#1 : !e, !s
}

// An operation that reads its destination is a reduction and is not fused.
// Calls are not inlined.
// CHECK-LABEL: func @reads_destination
// CHECK:         linalg.generic
// CHECK:         linalg.generic
// CHECK-NOT:     prologue
func.func private @f(bf16) -> bf16
func.func @reads_destination(%x: !t, %init: !t, %e: !e, %f: !s) -> (!e, !s, !e, !s) {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : !t) outs(%init : !t) {
  ^bb0(%a: bf16, %o: bf16):
    %1 = arith.addf %a, %o : bf16
    linalg.yield %1 : bf16
  } -> !t
  %q:2 = mx.quantize ins(%0 : !t) outs(%e, %f : !e, !s) -> !e, !s
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : !t) outs(%init : !t) {
  ^bb0(%a: bf16, %o: bf16):
    %3 = func.call @f(%a) : (bf16) -> bf16
    linalg.yield %3 : bf16
  } -> !t
  %r:2 = mx.quantize ins(%2 : !t) outs(%e, %f : !e, !s) -> !e, !s
  return %q#0, %q#1, %r#0, %r#1 : !e, !s, !e, !s
}

// -----

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#batch = affine_map<(d0, d1, d2) -> (d0)>
#last = affine_map<(d0, d1, d2) -> (d2)>
!t = tensor<2x64x64xbf16>
!e = tensor<2x64x64xf8E4M3FN>
!s = tensor<2x64x2xf8E8M0FNU>

// Prologues have no batch index, so operations on batches are not fused.
// CHECK-LABEL: func @batch(
// CHECK-COUNT-2: linalg.generic
// CHECK:         mx.fused_quantize ins(%{{.*}} : tensor<2x64x64xbf16>) outs(%{{[^)]*}}) -> tensor<2x64x64xf8E4M3FN>
func.func @batch(%x: !t, %b: tensor<2xbf16>, %c: tensor<64xbf16>, %e: !e, %f: !s) -> (!e, !s) {
  %init = tensor.empty() : !t
  %0 = linalg.generic {indexing_maps = [#id, #batch, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %b : !t, tensor<2xbf16>) outs(%init : !t) {
  ^bb0(%a: bf16, %n: bf16, %o: bf16):
    %1 = arith.mulf %a, %n : bf16
    linalg.yield %1 : bf16
  } -> !t
  %2 = linalg.generic {indexing_maps = [#id, #last, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%0, %c : !t, tensor<64xbf16>) outs(%init : !t) {
  ^bb0(%a: bf16, %n: bf16, %o: bf16):
    %1 = arith.mulf %a, %n : bf16
    linalg.yield %1 : bf16
  } -> !t
  %q:2 = mx.quantize ins(%2 : !t) outs(%e, %f : !e, !s) -> !e, !s
  return %q#0, %q#1 : !e, !s
}

// -----

!t = tensor<64x64xbf16>
!e = tensor<64x64xf8E4M3FN>
!s = tensor<64x2xf8E8M0FNU>
!m = tensor<f32>

// An amax before or after a quantizer is fused with the quantizer, and the
// users of the amax move below.
// CHECK-LABEL: func @amax(
// CHECK:         %[[Q:.*]]:5 = mx.fused_quantize ins(%{{.*}} : tensor<64x64xbf16>)
// CHECK-SAME:      axes = [1, 0] amax
// CHECK:         %[[M:.*]] = tensor.extract %[[Q]]#4[]
// CHECK-NOT:     mx.amax
// CHECK:         return %[[M]], %[[Q]]#0, %[[Q]]#1, %[[Q]]#2, %[[Q]]#3
func.func @amax(%x: !t, %f: !s) -> (f32, !e, !s, !e, !s) {
  %init = tensor.empty() : !m
  %a = mx.amax ins(%x : !t) outs(%init : !m) -> !m
  %n = tensor.extract %a[] : !m
  %e = tensor.empty() : !e
  %q:2 = mx.quantize ins(%x : !t) outs(%e, %f : !e, !s) -> !e, !s
  %p:2 = mx.quantize ins(%x : !t) outs(%e, %f : !e, !s) axes = [0] -> !e, !s
  return %n, %q#0, %q#1, %p#0, %p#1 : f32, !e, !s, !e, !s
}

// Each value keeps its amax, which is listed after all elements and scales. A
// value without an amax gets an unused destination.
// CHECK-LABEL: func @amax_of_values(
// CHECK-SAME:      %[[M:[^ :]*]]: tensor<f32>
// CHECK:         %[[NONE:.*]] = tensor.empty() : tensor<f32>
// CHECK:         %[[Q:.*]]:6 = mx.fused_quantize ins
// CHECK-SAME:      outs(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[NONE]], %[[M]] :
// CHECK-SAME:      amax
// CHECK:           mx.yield %{{.*}}, %{{.*}} : bf16, bf16
// CHECK:         return %[[Q]]#0, %[[Q]]#1, %[[Q]]#2, %[[Q]]#3, %[[Q]]#5
func.func @amax_of_values(%m: !m, %x: !t, %y: !t, %e: !e, %f: !s) -> (!e, !s, !e, !s, !m) {
  %init = tensor.empty() : !t
  %h:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>,
                                          affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                         iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : !t, !t) outs(%init, %init : !t, !t) {
  ^bb0(%a: bf16, %b: bf16, %o: bf16, %p: bf16):
    %0 = arith.addf %a, %b : bf16
    %1 = arith.subf %a, %b : bf16
    linalg.yield %0, %1 : bf16, bf16
  } -> (!t, !t)
  %q:2 = mx.quantize ins(%h#0 : !t) outs(%e, %f : !e, !s) -> !e, !s
  %p:3 = mx.fused_quantize ins(%h#1 : !t) outs(%e, %f, %m : !e, !s, !m) amax -> !e, !s, !m
  return %q#0, %q#1, %p#0, %p#1, %p#2 : !e, !s, !e, !s, !m
}

// -----

!t = tensor<64x64xbf16>
!e = tensor<64x64xf4E2M1FN>
!s = tensor<64x4xf8E4M3FN>
!m = tensor<f32>

// The amax is not fused if the global scale depends on the amax.
// CHECK-LABEL: func @amax_is_needed(
// CHECK:         mx.amax
// CHECK:         mx.fused_quantize
// CHECK-NOT:     amax
// CHECK:         return
func.func @amax_is_needed(%x: !t, %m: !m, %e: !e, %f: !s) -> (!e, !s) {
  %a = mx.amax ins(%x : !t) outs(%m : !m) -> !m
  %n = tensor.extract %a[] : !m
  %c = arith.constant 2688.0 : f32
  %g = arith.divf %c, %n : f32
  %q:2 = mx.quantize ins(%x : !t) global_scale(%g) outs(%e, %f : !e, !s) -> !e, !s
  return %q#0, %q#1 : !e, !s
}

// -----

!t = tensor<64x64xbf16>
!g = tensor<96x64xbf16>
!e = tensor<96x64xf8E4M3FN>
!s = tensor<96x2xf8E8M0FNU>
!m = tensor<f32>

// The amax is not fused if the quantizer gathers other rows.
// CHECK-LABEL: func @amax_of_gathered(
// CHECK:         mx.fused_quantize {{.*}} gather
// CHECK:         mx.amax
func.func @amax_of_gathered(%x: !t, %i: tensor<96xi32>, %m: !m, %e: !e, %f: !s) -> (!e, !s, !m) {
  %q:2 = mx.fused_quantize ins(%x : !t) gather(%i : tensor<96xi32>) outs(%e, %f : !e, !s) -> !e, !s
  %a = mx.amax ins(%x : !t) outs(%m : !m) -> !m
  return %q#0, %q#1, %a : !e, !s, !m
}

// -----

!t = tensor<64x64xbf16>
!e = tensor<64x64xf8E4M3FN>
!s = tensor<64x2xf8E8M0FNU>
!m = tensor<f32>

// Two amax operations are merged with the amax of the quantizer.
// CHECK-LABEL: func @amax_twice(
// CHECK-NOT:     mx.amax
// CHECK:         %[[Q:.*]]:3 = mx.fused_quantize {{.*}} amax
// CHECK-NOT:     mx.amax
// CHECK:         return %[[Q]]#0, %[[Q]]#2, %[[Q]]#2, %[[Q]]#2
func.func @amax_twice(%x: !t, %m: !m, %e: !e, %f: !s) -> (!e, !m, !m, !m) {
  %a = mx.amax ins(%x : !t) outs(%m : !m) -> !m
  %q:3 = mx.fused_quantize ins(%x : !t) outs(%e, %f, %m : !e, !s, !m) amax -> !e, !s, !m
  %b = mx.amax ins(%x : !t) outs(%m : !m) -> !m
  return %q#0, %a, %q#2, %b : !e, !m, !m, !m
}

// A prologue that reads no input keeps one input for the shape.
// CHECK-LABEL: func @constant(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<64x64xbf16>
// CHECK:         mx.fused_quantize ins(%[[X]] : tensor<64x64xbf16>) {{.*}} axes = [1, 0]
func.func @constant(%x: !t, %n: bf16, %e: !e, %f: !s) -> (!e, !s, !e, !s) {
  %q:2 = mx.fused_quantize ins(%x : !t) outs(%e, %f : !e, !s) -> !e, !s prologue {
  ^bb0(%a: bf16, %row: index, %col: index):
    mx.yield %n : bf16
  }
  %r:2 = mx.fused_quantize ins(%x : !t) outs(%e, %f : !e, !s) axes = [0] -> !e, !s prologue {
  ^bb0(%a: bf16, %row: index, %col: index):
    mx.yield %n : bf16
  }
  return %q#0, %q#1, %r#0, %r#1 : !e, !s, !e, !s
}

// The quantizers are not merged, because the second uses a value loaded after a store between the two quantizers.
// CHECK-LABEL: func @loaded(
// CHECK:         mx.fused_quantize
// CHECK:         memref.store
// CHECK:         %[[N:.*]] = memref.load
// CHECK:         mx.fused_quantize
// CHECK:           arith.mulf %{{.*}}, %[[N]]
func.func @loaded(%x: !t, %m: memref<bf16>, %v: bf16, %e: !e, %f: !s) -> (!e, !s, !e, !s) {
  %q:2 = mx.quantize ins(%x : !t) outs(%e, %f : !e, !s) -> !e, !s
  memref.store %v, %m[] : memref<bf16>
  %n = memref.load %m[] : memref<bf16>
  %r:2 = mx.fused_quantize ins(%x : !t) outs(%e, %f : !e, !s) -> !e, !s prologue {
  ^bb0(%a: bf16, %row: index, %col: index):
    %0 = arith.mulf %a, %n : bf16
    mx.yield %0 : bf16
  }
  return %q#0, %q#1, %r#0, %r#1 : !e, !s, !e, !s
}

func.func private @next() -> !m

// The order of calls is kept.
// CHECK-LABEL: func @called(
// CHECK:         mx.fused_quantize
// CHECK:         call @next
// CHECK:         %[[M:.*]] = call @next
// CHECK:         mx.amax {{.*}} outs(%[[M]] :
func.func @called(%x: !t, %e: !e, %f: !s) -> (!e, !s, !m, !m) {
  %q:2 = mx.quantize ins(%x : !t) outs(%e, %f : !e, !s) -> !e, !s
  %n = func.call @next() : () -> !m
  %m = func.call @next() : () -> !m
  %a = mx.amax ins(%x : !t) outs(%m : !m) -> !m
  return %q#0, %q#1, %a, %n : !e, !s, !m, !m
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
!x = tensor<?x64xbf16>
!y = tensor<?x128xbf16>
!e = tensor<?x128xf8E4M3FN>
!s = tensor<?x4xf8E8M0FNU>
!et = tensor<128x?xf8E4M3FN>
!st = tensor<128x?xf8E8M0FNU>

// The gradients of two matrices are concatenated and quantized along both axes.
// Neither the gradients nor the concatenation is stored.
// CHECK-LABEL: func @concat(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<?x64xbf16>, %[[Y:[^:]*]]: tensor<?x64xbf16>
// CHECK-NOT:     linalg
// CHECK-NOT:     tensor.concat
// CHECK:         mx.fused_quantize ragged = rows ins(%[[X]], %[[Y]] : tensor<?x64xbf16>, tensor<?x64xbf16>)
// CHECK-SAME:      axes = [1, 0] concat ->
// CHECK-SAME:      prologue {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: bf16, %[[B:.*]]: bf16, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT:      %[[P:.*]] = arith.mulf %[[A]], %[[B]]
// CHECK-NEXT:      %[[S:.*]] = arith.subf %[[A]], %[[B]]
// CHECK-NEXT:      mx.yield %[[P]], %[[S]] : bf16, bf16
func.func @concat(%x: !x, %y: !x, %n: index, %o: tensor<4xi32>, %e: !e, %f: !s, %et: !et, %ft: !st) -> (!e, !s, !et, !st) {
  %init = tensor.empty(%n) : !x
  %d:2 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : !x, !x) outs(%init, %init : !x, !x) {
  ^bb0(%a: bf16, %b: bf16, %c: bf16, %d: bf16):
    %0 = arith.mulf %a, %b : bf16
    %1 = arith.subf %a, %b : bf16
    linalg.yield %0, %1 : bf16, bf16
  } -> (!x, !x)
  %z = tensor.concat dim(1) %d#0, %d#1 : (!x, !x) -> !y
  %q:2 = mx.quantize ragged = rows ins(%z : !y) offsets(%o : tensor<4xi32>) outs(%e, %f : !e, !s) -> !e, !s
  %t:2 = mx.quantize ragged = rows ins(%z : !y) offsets(%o : tensor<4xi32>) outs(%et, %ft : !et, !st) axes = [0] -> !et, !st
  return %q#0, %q#1, %t#0, %t#1 : !e, !s, !et, !st
}

// Insertions into an empty tensor are fused like a concatenation, here with three inputs.
// CHECK-LABEL: func @inserted(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<?x64xbf16>, %[[Y:[^:]*]]: tensor<?x64xbf16>
// CHECK-NOT:     tensor.insert_slice
// CHECK:         mx.fused_quantize ins(%[[X]], %[[Y]] : tensor<?x64xbf16>, tensor<?x64xbf16>)
// CHECK-SAME:      concat ->
// CHECK:           mx.yield %[[A:.*]], %{{.*}}, %[[A]] : bf16, bf16, bf16
func.func @inserted(%x: !x, %y: !x, %n: index, %e: tensor<?x192xf8E4M3FN>, %f: tensor<?x6xf8E8M0FNU>)
    -> (tensor<?x192xf8E4M3FN>, tensor<?x6xf8E8M0FNU>) {
  %init = tensor.empty(%n) : tensor<?x192xbf16>
  %0 = tensor.insert_slice %x into %init[0, 0] [%n, 64] [1, 1] : !x into tensor<?x192xbf16>
  %1 = tensor.insert_slice %y into %0[0, 64] [%n, 64] [1, 1] : !x into tensor<?x192xbf16>
  %2 = tensor.insert_slice %x into %1[0, 128] [%n, 64] [1, 1] : !x into tensor<?x192xbf16>
  %q:2 = mx.quantize ins(%2 : tensor<?x192xbf16>) outs(%e, %f : tensor<?x192xf8E4M3FN>, tensor<?x6xf8E8M0FNU>)
      -> tensor<?x192xf8E4M3FN>, tensor<?x6xf8E8M0FNU>
  return %q#0, %q#1 : tensor<?x192xf8E4M3FN>, tensor<?x6xf8E8M0FNU>
}

// Insertions are not fused unless they fill an empty tensor completely and in order.
// CHECK-LABEL: func @inserted_elsewhere(
// CHECK-NOT:     concat
// CHECK:         return
func.func @inserted_elsewhere(%x: !x, %y: !x, %n: index, %m: index, %full: !y, %e: !e, %f: !s) -> (!e, !e, !e, !e) {
  %init = tensor.empty(%n) : !y
  %0 = tensor.insert_slice %x into %init[0, 32] [%n, 64] [1, 1] : !x into !y
  %1 = tensor.insert_slice %y into %0[0, 64] [%n, 64] [1, 1] : !x into !y
  %q:2 = mx.quantize ins(%1 : !y) outs(%e, %f : !e, !s) -> !e, !s
  %2 = tensor.insert_slice %x into %full[0, 0] [%n, 64] [1, 1] : !x into !y
  %3 = tensor.insert_slice %y into %2[0, 64] [%n, 64] [1, 1] : !x into !y
  %r:2 = mx.quantize ins(%3 : !y) outs(%e, %f : !e, !s) -> !e, !s
  %4 = tensor.insert_slice %x into %init[0, 0] [%m, 64] [1, 1] : !x into !y
  %5 = tensor.insert_slice %y into %4[0, 64] [%m, 64] [1, 1] : !x into !y
  %s:2 = mx.quantize ins(%5 : !y) outs(%e, %f : !e, !s) -> !e, !s
  %6 = tensor.insert_slice %x into %init[0, 64] [%n, 64] [1, 1] : !x into !y
  %t:2 = mx.quantize ins(%6 : !y) outs(%e, %f : !e, !s) -> !e, !s
  return %q#0, %r#0, %s#0, %t#0 : !e, !e, !e, !e
}

// A concatenation is not fused if it is vertical, if its parts differ in width or
// cut a block, if it has another use, or if the quantizer already has a prologue.
// CHECK-LABEL: func @no_concat(
// CHECK-COUNT-4: tensor.concat
// CHECK-NOT:     concat ->
// CHECK:         return
func.func @no_concat(%x: tensor<32x128xbf16>, %y: tensor<64x96xbf16>, %z: tensor<64x32xbf16>, %u: tensor<64x16xbf16>, %v: tensor<64x64xbf16>,
                     %e: tensor<64x128xf8E4M3FN>, %f: tensor<64x4xf8E8M0FNU>, %e1: tensor<64x32xf8E4M3FN>, %f1: tensor<64x1xf8E8M0FNU>)
    -> (tensor<64x128xf8E4M3FN>, tensor<64x128xf8E4M3FN>, tensor<64x32xf8E4M3FN>, tensor<64x128xf8E4M3FN>, tensor<64x128xbf16>, tensor<64x128xf8E4M3FN>) {
  %0 = tensor.concat dim(0) %x, %x : (tensor<32x128xbf16>, tensor<32x128xbf16>) -> tensor<64x128xbf16>
  %q:2 = mx.quantize ins(%0 : tensor<64x128xbf16>) outs(%e, %f : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>) -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  %1 = tensor.concat dim(1) %y, %z : (tensor<64x96xbf16>, tensor<64x32xbf16>) -> tensor<64x128xbf16>
  %r:2 = mx.quantize ins(%1 : tensor<64x128xbf16>) outs(%e, %f : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>) -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  %2 = tensor.concat dim(1) %u, %u : (tensor<64x16xbf16>, tensor<64x16xbf16>) -> tensor<64x32xbf16>
  %s:2 = mx.quantize ins(%2 : tensor<64x32xbf16>) outs(%e1, %f1 : tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>) -> tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
  %3 = tensor.concat dim(1) %v, %v : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x128xbf16>
  %t:2 = mx.quantize ins(%3 : tensor<64x128xbf16>) outs(%e, %f : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>) -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  %4 = tensor.concat dim(1) %v, %v : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x128xbf16>
  %w:2 = mx.fused_quantize ins(%4 : tensor<64x128xbf16>) outs(%e, %f : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>) -> tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU> prologue {
  ^bb0(%a: bf16, %i: index, %j: index):
    %b = arith.negf %a : bf16
    mx.yield %b : bf16
  }
  return %q#0, %r#0, %s#0, %t#0, %3, %w#0 : tensor<64x128xf8E4M3FN>, tensor<64x128xf8E4M3FN>, tensor<64x32xf8E4M3FN>, tensor<64x128xf8E4M3FN>, tensor<64x128xbf16>, tensor<64x128xf8E4M3FN>
}
