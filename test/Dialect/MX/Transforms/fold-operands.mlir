// RUN: mx-opt %s --split-input-file --mx-fold-operands --cse | FileCheck %s
// RUN: mx-opt %s --split-input-file --mx-fold-operands="a=row b=row promote=256" --cse | FileCheck %s --check-prefix=ROWS

!x = tensor<?x512xbf16>
!q = tensor<?x512xf8E4M3FN>
!s = tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w = tensor<96x512xf8E5M2>
!ws = tensor<96x16xf8E8M0FNU>
!c = tensor<?x96xbf16>

// A quantizer writes wider blocks. An operand from elsewhere is folded.
// The rest of the matmul stays.
// CHECK-LABEL: func @default(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<?x512xbf16>, %[[W:[^:]*]]: tensor<96x512xf8E5M2>, %[[WS:[^:]*]]: tensor<96x16xf8E8M0FNU>
// CHECK:         %[[SCALES:.*]] = tensor.empty(%{{.*}}) : tensor<?x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK-NEXT:    %[[Q:.*]]:2 = mx.fused_quantize ins(%[[X]] : tensor<?x512xbf16>) outs(%{{.*}}, %[[SCALES]] :
// CHECK-SAME:      block_size = 128 scale_rounding = floor
// CHECK:         %[[R:.*]]:2 = mx.fold ins(%[[W]], %[[WS]] :
// CHECK-SAME:      block_size = row -> tensor<96x512xf8E5M2>, tensor<96x1xf8E8M0FNU>
// CHECK-NEXT:    mx.matmul ins(%[[Q]]#0, %[[Q]]#1, %[[R]]#0, %[[R]]#1 :
// CHECK-SAME:      alpha(%{{.*}}) outs(%{{.*}}) block_size = 128 b_block_size = row promote = 128 accumulate {tag}
// ROWS-LABEL:  func @default(
// ROWS:          mx.fused_quantize
// ROWS-SAME:       block_size = row
// ROWS-SAME:       tensor<?x1xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// ROWS:          mx.matmul
// ROWS-SAME:       outs(%{{.*}}) block_size = row promote = 256 accumulate
func.func @default(%x: !x, %w: !w, %ws: !ws, %c: !c, %alpha: f32) -> !c {
  %zero = arith.constant 0 : index
  %d = tensor.dim %x, %zero : !x
  %e = tensor.empty(%d) : !q
  %f = tensor.empty(%d) : !s
  %q:2 = mx.quantize ins(%x : !x) outs(%e, %f : !q, !s) scale_rounding = floor -> !q, !s
  %y = mx.matmul ins(%q#0, %q#1, %w, %ws : !q, !s, !w, !ws) alpha(%alpha) outs(%c : !c) accumulate {tag} -> !c
  return %y : !c
}

// -----

!x = tensor<256x512xbf16>
!w = tensor<384x512xbf16>
!g = tensor<256x384xbf16>
!xq = tensor<256x512xf8E4M3FN>
!xs = tensor<256x16xf8E8M0FNU>
!xtq = tensor<512x256xf8E4M3FN>
!xts = tensor<512x8xf8E8M0FNU>
!wq = tensor<384x512xf8E4M3FN>
!ws = tensor<384x16xf8E8M0FNU>
!wtq = tensor<512x384xf8E4M3FN>
!wts = tensor<512x12xf8E8M0FNU>
!gq = tensor<256x384xf8E4M3FN>
!gs = tensor<256x12xf8E8M0FNU>
!gtq = tensor<384x256xf8E4M3FN>
!gts = tensor<384x8xf8E8M0FNU>

// Forward pass and both gradients: a quantization along both axes is split if the blocks differ.
// CHECK-LABEL: func @training(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<256x512xbf16>, %[[W:[^:]*]]: tensor<384x512xbf16>, %[[G:[^:]*]]: tensor<256x384xbf16>
// CHECK:         %[[XQ:.*]]:2 = mx.fused_quantize ins(%[[X]] : {{.*}} block_size = 128 ->
// CHECK:         %[[XT:.*]]:2 = mx.fused_quantize ins(%[[X]] : {{.*}} axes = [0] block_size = row ->
// CHECK:         %[[WQ:.*]]:4 = mx.fused_quantize ins(%[[W]] : {{.*}} axes = [1, 0] block_size = row ->
// CHECK:         %[[GQ:.*]]:4 = mx.fused_quantize ins(%[[G]] : {{.*}} axes = [1, 0] block_size = 128 ->
// CHECK-NOT:     mx.fold
// CHECK:         mx.matmul ins(%[[XQ]]#0, %[[XQ]]#1, %[[WQ]]#0, %[[WQ]]#1 :
// CHECK:         mx.matmul ins(%[[GQ]]#0, %[[GQ]]#1, %[[WQ]]#2, %[[WQ]]#3 :
// CHECK:         mx.matmul ins(%[[GQ]]#2, %[[GQ]]#3, %[[XT]]#0, %[[XT]]#1 :
// ROWS-LABEL:  func @training(
// ROWS-COUNT-3:  mx.fused_quantize {{.*}} axes = [1, 0] block_size = row
// ROWS-NOT:      mx.fused_quantize
// ROWS:          return
func.func @training(%x: !x, %w: !w, %g: !g) -> (!g, !x, !w) {
  %0 = tensor.empty() : !xq
  %1 = tensor.empty() : !xs
  %2 = tensor.empty() : !xtq
  %3 = tensor.empty() : !xts
  %4 = tensor.empty() : !wq
  %5 = tensor.empty() : !ws
  %6 = tensor.empty() : !wtq
  %7 = tensor.empty() : !wts
  %8 = tensor.empty() : !gq
  %9 = tensor.empty() : !gs
  %10 = tensor.empty() : !gtq
  %11 = tensor.empty() : !gts
  %xq:4 = mx.quantize ins(%x : !x) outs(%0, %1, %2, %3 : !xq, !xs, !xtq, !xts) axes = [1, 0] -> !xq, !xs, !xtq, !xts
  %wq:4 = mx.quantize ins(%w : !w) outs(%4, %5, %6, %7 : !wq, !ws, !wtq, !wts) axes = [1, 0] -> !wq, !ws, !wtq, !wts
  %gq:4 = mx.quantize ins(%g : !g) outs(%8, %9, %10, %11 : !gq, !gs, !gtq, !gts) axes = [1, 0] -> !gq, !gs, !gtq, !gts
  %12 = tensor.empty() : !g
  %13 = tensor.empty() : !x
  %14 = tensor.empty() : !w
  %y = mx.matmul ins(%xq#0, %xq#1, %wq#0, %wq#1 : !xq, !xs, !wq, !ws) outs(%12 : !g) -> !g
  %dx = mx.matmul ins(%gq#0, %gq#1, %wq#2, %wq#3 : !gq, !gs, !wtq, !wts) outs(%13 : !x) -> !x
  %dw = mx.matmul ins(%gq#2, %gq#3, %xq#2, %xq#3 : !gtq, !gts, !xtq, !xts) outs(%14 : !w) -> !w
  return %y, %dx, %dw : !g, !x, !w
}

// -----

!x = tensor<300x256xf8E4M3FN>
!s = tensor<6x2x32x4x4xf8E8M0FNU>
!w = tensor<4x128x256xf8E4M3FN>
!ws = tensor<4x128x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<300x128xbf16>
!b = tensor<300x256xbf16>
!o = tensor<4xi32>

// Materialized scales of expert groups become logical.
// CHECK-LABEL: func @experts(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<300x256xbf16>, %[[W:[^:]*]]: tensor<4x128x256xf8E4M3FN>
// CHECK:         mx.fused_quantize ragged = rows ins(%[[X]] : {{.*}} offsets(%{{.*}} block_size = 128
// CHECK-SAME:      -> tensor<300x256xf8E4M3FN>, tensor<300x2xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
// CHECK:         mx.fold ins(%[[W]], {{.*}} block_size = row
// CHECK-SAME:      -> tensor<4x128x256xf8E4M3FN>, tensor<4x128x1xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK:         mx.grouped_matmul ragged = rows
// CHECK-SAME:      block_size = 128 b_block_size = row promote = 128
func.func @experts(%b: !b, %w: !w, %ws: !ws, %o: !o) -> !y {
  %0 = tensor.empty() : !x
  %1 = tensor.empty() : !s
  %2 = tensor.empty() : !y
  %q:2 = mx.quantize ragged = rows ins(%b : !b) offsets(%o : !o) outs(%0, %1 : !x, !s) -> !x, !s
  %y = mx.grouped_matmul ragged = rows ins(%q#0, %q#1, %w, %ws : !x, !s, !w, !ws) offsets(%o : !o) outs(%2 : !y) -> !y
  return %y : !y
}

// The rows of an operand keep their expert groups.
// CHECK-LABEL: func @folded_experts(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<300x256xf8E4M3FN>, %[[S:[^:]*]]: tensor<6x2x32x4x4xf8E8M0FNU>
// CHECK:         mx.fold ragged = rows ins(%[[X]], %[[S]] : {{.*}} offsets(%{{.*}} : tensor<4xi32>)
// CHECK-SAME:      block_size = 128 -> tensor<300x256xf8E4M3FN>, tensor<300x2xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
func.func @folded_experts(%x: !x, %s: !s, %w: !w, %ws: !ws, %o: !o) -> !y {
  %0 = tensor.empty() : !y
  %y = mx.grouped_matmul ragged = rows ins(%x, %s, %w, %ws : !x, !s, !w, !ws) offsets(%o : !o) outs(%0 : !y) -> !y
  return %y : !y
}

!m = tensor<4x64x256xf8E4M3FN>
!ms = tensor<4x64x8xf8E8M0FNU>
!my = tensor<4x64x128xbf16>

// Masked matrices are folded without expert groups.
// CHECK-LABEL: func @masked(
// CHECK:         mx.fold ins({{.*}} block_size = 128 -> tensor<4x64x256xf8E4M3FN>, tensor<4x64x2xf8E8M0FNU>
// CHECK:         mx.grouped_matmul ragged = rows masked
// CHECK-SAME:      promote = 128
func.func @masked(%x: !m, %s: !ms, %w: !w, %ws: !ws, %o: !o) -> !my {
  %0 = tensor.empty() : !my
  %y = mx.grouped_matmul ragged = rows masked ins(%x, %s, %w, %ws : !m, !ms, !w, !ws) offsets(%o : !o) outs(%0 : !my) -> !my
  return %y : !my
}

!k = tensor<200x256xf8E4M3FN>
!ks = tensor<200x8xf8E8M0FNU>
!t = tensor<256x896xf8E4M3FN>
!ts = tensor<256x28xf8E8M0FNU>
!r = tensor<300xi32>

// A prologue requantizes rows that were passed on. The other axis is unchanged.
// CHECK-LABEL: func @passed_on(
// CHECK:         mx.fused_quantize ragged = rows ins(%[[K:.*]] : {{.*}} input_scales(%[[KS:[^ ]*]] : {{.*}} gather({{.*}} offsets({{.*}} block_size = 128
// CHECK-SAME:      prologue {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f32, %{{.*}}: index, %{{.*}}: index):
// CHECK-NEXT:      mx.yield %[[A]] : f32
// CHECK:         %[[T:.*]]:2 = mx.fused_quantize ragged = rows ins(%[[K]] : {{.*}} input_scales(%[[KS]] : {{.*}} axes = [0] ->
// CHECK-NOT:     prologue
// CHECK:         return %{{.*}}, %[[T]]#0, %[[T]]#1
func.func @passed_on(%x: !k, %s: !ks, %r: !r, %w: !w, %ws: !ws, %o: !o) -> (!y, !t, !ts) {
  %0 = tensor.empty() : !x
  %1 = tensor.empty() : !s
  %2 = tensor.empty() : !t
  %3 = tensor.empty() : !ts
  %4 = tensor.empty() : !y
  %q:4 = mx.fused_quantize ragged = rows ins(%x : !k) input_scales(%s : !ks) gather(%r : !r) offsets(%o : !o)
      outs(%0, %1, %2, %3 : !x, !s, !t, !ts) axes = [1, 0] -> !x, !s, !t, !ts
  %y = mx.grouped_matmul ragged = rows ins(%q#0, %q#1, %w, %ws : !x, !s, !w, !ws) offsets(%o : !o) outs(%4 : !y) -> !y
  return %y, %q#2, %q#3 : !y, !t, !ts
}

// -----

!x = tensor<64x256xbf16>
!q = tensor<64x256xf8E4M3FN>
!s = tensor<64x8xf8E8M0FNU>
!c = tensor<64x64xf32>
!m = tensor<f32>

// A quantizer with a prologue and an amax. Both operands of the matmul are the same, so only one of them can be written
// in wider blocks.
// CHECK-LABEL: func @both_operands(
// CHECK:         %[[Q:.*]]:3 = mx.fused_quantize ins({{.*}}) amax
// CHECK-SAME:      tensor<64x8xf8E8M0FNU>, tensor<f32> prologue {
// CHECK:           arith.negf
// CHECK:         %[[A:.*]]:2 = mx.fold ins(%[[Q]]#0, %[[Q]]#1 : {{.*}} block_size = 128
// CHECK:         %[[B:.*]]:2 = mx.fold ins(%[[Q]]#0, %[[Q]]#1 : {{.*}} block_size = row
// CHECK:         mx.matmul ins(%[[A]]#0, %[[A]]#1, %[[B]]#0, %[[B]]#1 :
// CHECK:         return %{{.*}}, %[[Q]]#2
// ROWS-LABEL:  func @both_operands(
// ROWS:          %[[Q:.*]]:3 = mx.fused_quantize ins({{.*}}) block_size = row amax
// ROWS-SAME:       tensor<64x1xf8E8M0FNU>, tensor<f32> prologue {
// ROWS:            arith.negf
// ROWS:          mx.matmul ins(%[[Q]]#0, %[[Q]]#1, %[[Q]]#0, %[[Q]]#1 :
// ROWS:          return %{{.*}}, %[[Q]]#2
func.func @both_operands(%x: !x, %c: !c, %m: !m) -> (!c, !m) {
  %0 = tensor.empty() : !q
  %1 = tensor.empty() : !s
  %q:3 = mx.fused_quantize ins(%x : !x) outs(%0, %1, %m : !q, !s, !m) amax -> !q, !s, !m prologue {
  ^bb0(%a: bf16, %row: index, %column: index):
    %2 = arith.negf %a : bf16
    mx.yield %2 : bf16
  }
  %y = mx.matmul ins(%q#0, %q#1, %q#0, %q#1 : !q, !s, !q, !s) outs(%c : !c) -> !c
  return %y, %q#2 : !c, !m
}

// A quantizer with another user, and a quantizer of squares, keep their blocks.
// CHECK-LABEL: func @other_users(
// CHECK:         %[[Q:.*]]:2 = mx.quantize ins(
// CHECK:         %[[S:.*]]:2 = mx.quantize ins({{.*}} square
// CHECK:         mx.fold ins(%[[Q]]#0, %[[Q]]#1 :
// CHECK:         mx.fold ins(%[[S]]#0, %[[S]]#1 :
// CHECK:         mx.matmul {{.*}} promote = 128
// CHECK:         return %{{.*}}, %[[Q]]#1
func.func @other_users(%x: !x, %w: !x, %c: !c) -> (!c, !s) {
  %0 = tensor.empty() : !q
  %1 = tensor.empty() : !s
  %q:2 = mx.quantize ins(%x : !x) outs(%0, %1 : !q, !s) -> !q, !s
  %p:2 = mx.quantize ins(%w : !x) outs(%0, %1 : !q, !s) square -> !q, !s
  %y = mx.matmul ins(%q#0, %q#1, %p#0, %p#1 : !q, !s, !q, !s) outs(%c : !c) -> !c
  return %y, %q#1 : !c, !s
}

// Of a quantization with several values, either all destinations or none are widened.
// CHECK-LABEL: func @values(
// CHECK:         %[[Q:.*]]:4 = mx.fused_quantize ins({{.*}}) -> {{.*}} prologue {
// CHECK:         mx.fold ins(%[[Q]]#0, %[[Q]]#1 :
// CHECK:         mx.fold ins(%[[Q]]#2, %[[Q]]#3 :
// ROWS-LABEL:  func @values(
// ROWS:          %[[Q:.*]]:4 = mx.fused_quantize ins({{.*}}) block_size = row -> {{.*}} prologue {
// ROWS:          mx.matmul ins(%[[Q]]#0, %[[Q]]#1, %[[Q]]#2, %[[Q]]#3 :
func.func @values(%x: !x, %c: !c) -> !c {
  %0 = tensor.empty() : !q
  %1 = tensor.empty() : !s
  %q:4 = mx.fused_quantize ins(%x : !x) outs(%0, %1, %0, %1 : !q, !s, !q, !s) -> !q, !s, !q, !s prologue {
  ^bb0(%a: bf16, %row: index, %column: index):
    %2 = arith.negf %a : bf16
    mx.yield %a, %2 : bf16, bf16
  }
  %y = mx.matmul ins(%q#0, %q#1, %q#2, %q#3 : !q, !s, !q, !s) outs(%c : !c) -> !c
  return %y : !c
}

// A quantization that also writes dequantized values keeps its blocks.
// CHECK-LABEL: func @dequantized(
// CHECK:         %[[Q:.*]]:3 = mx.fused_quantize ins({{.*}}) axes = [1, 0] dequantized = [f8E4M3FN, none] ->
// CHECK-NOT:     mx.fused_quantize
// CHECK:         mx.fold ins(%[[Q]]#1, %[[Q]]#2 :
func.func @dequantized(%x: tensor<128x64xbf16>, %b: tensor<64x128xf8E4M3FN>, %s: tensor<64x4xf8E8M0FNU>, %c: !c) -> (tensor<128x64xbf16>, !c) {
  %0 = tensor.empty() : tensor<64x128xf8E4M3FN>
  %1 = tensor.empty() : tensor<64x4xf8E8M0FNU>
  %q:3 = mx.fused_quantize ins(%x : tensor<128x64xbf16>) outs(%x, %0, %1 : tensor<128x64xbf16>, tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>) axes = [1, 0]
      dequantized = [f8E4M3FN, none] -> tensor<128x64xbf16>, tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>
  %y = mx.matmul ins(%q#1, %q#2, %b, %s : tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>, tensor<64x128xf8E4M3FN>, tensor<64x4xf8E8M0FNU>)
      outs(%c : !c) -> !c
  return %q#0, %y : tensor<128x64xbf16>, !c
}

// Operands with the requested blocks stay.
// CHECK-LABEL: func @folded(
// CHECK-SAME:      %[[Q:[^:]*]]: tensor<64x256xf8E4M3FN>, %[[S:[^:]*]]: tensor<64x8xf8E8M0FNU>, %[[F:[^:]*]]: tensor<64x1xf8E8M0FNU>
// CHECK:         %[[A:.*]]:2 = mx.fold ins(%[[Q]], %[[S]] :
// CHECK-NEXT:    mx.matmul ins(%[[A]]#0, %[[A]]#1, %[[Q]], %[[F]] : {{.*}} block_size = 128 b_block_size = row promote = 128 ->
// ROWS-LABEL:  func @folded(
// ROWS:          %[[A:.*]]:2 = mx.fold
// ROWS-NEXT:     mx.matmul ins(%[[A]]#0, %[[A]]#1, %{{.*}}, %{{.*}} : {{.*}}) outs(%{{.*}}) block_size = row promote = 256 ->
func.func @folded(%q: !q, %s: !s, %f: tensor<64x1xf8E8M0FNU>, %c: !c) -> !c {
  %y = mx.matmul ins(%q, %s, %q, %f : !q, !s, !q, tensor<64x1xf8E8M0FNU>) outs(%c : !c) b_block_size = row -> !c
  return %y : !c
}

// Matmuls that promote or are excluded stay.
// CHECK-LABEL: func @unchanged(
// CHECK-NEXT:    mx.matmul {{.*}} block_size = 256 promote = 256 -> tensor<64x64xf32>
// CHECK-NEXT:    mx.matmul {{.*}} {mx.recipe = "none"} -> tensor<64x64xf32>
// CHECK-NEXT:    return
func.func @unchanged(%q: !q, %s: !s, %f: tensor<64x1xf8E8M0FNU>, %c: !c) -> (!c, !c) {
  %0 = mx.matmul ins(%q, %f, %q, %f : !q, tensor<64x1xf8E8M0FNU>, !q, tensor<64x1xf8E8M0FNU>) outs(%c : !c) block_size = 256 promote = 256 -> !c
  %1 = mx.matmul ins(%q, %s, %q, %s : !q, !s, !q, !s) outs(%c : !c) {mx.recipe = "none"} -> !c
  return %0, %1 : !c, !c
}

// If expert groups divide the reduction, both operands get blocks of 128 with all options.
// CHECK-LABEL: func @reduction(
// CHECK:         %[[Q:.*]]:2 = mx.fused_quantize ragged = rows ins({{.*}}) outs({{.*}} : tensor<64x384xf8E4M3FN>, tensor<64x3xf8E8M0FNU>) axes = [0] block_size = 128 ->
// CHECK:         %[[R:.*]]:2 = mx.fused_quantize ragged = rows ins({{.*}}) outs({{.*}} : tensor<64x384xf8E4M3FN>, tensor<64x3xf8E8M0FNU>) axes = [0] block_size = 128 ->
// CHECK-NEXT:    mx.grouped_matmul ragged = reduction ins(%[[Q]]#0, %[[Q]]#1, %[[R]]#0, %[[R]]#1 : {{.*}} block_size = 128 promote = 128 accumulate ->
// ROWS-LABEL:  func @reduction(
// ROWS:          mx.grouped_matmul {{.*}} block_size = 128 promote = 128 accumulate ->
func.func @reduction(%x: tensor<100x64xbf16>, %y: tensor<100x64xbf16>, %o: tensor<2xi32>, %c: tensor<2x64x64xf32>) -> tensor<2x64x64xf32> {
  %0 = tensor.empty() : tensor<64x384xf8E4M3FN>
  %1 = tensor.empty() : tensor<64x12xf8E8M0FNU>
  %q:2 = mx.quantize ragged = rows ins(%x : tensor<100x64xbf16>) offsets(%o : tensor<2xi32>)
      outs(%0, %1 : tensor<64x384xf8E4M3FN>, tensor<64x12xf8E8M0FNU>) axes = [0] -> tensor<64x384xf8E4M3FN>, tensor<64x12xf8E8M0FNU>
  %r:2 = mx.quantize ragged = rows ins(%y : tensor<100x64xbf16>) offsets(%o : tensor<2xi32>)
      outs(%0, %1 : tensor<64x384xf8E4M3FN>, tensor<64x12xf8E8M0FNU>) axes = [0] -> tensor<64x384xf8E4M3FN>, tensor<64x12xf8E8M0FNU>
  %w = mx.grouped_matmul ragged = reduction ins(%q#0, %q#1, %r#0, %r#1 : tensor<64x384xf8E4M3FN>, tensor<64x12xf8E8M0FNU>, tensor<64x384xf8E4M3FN>, tensor<64x12xf8E8M0FNU>)
      offsets(%o : tensor<2xi32>) outs(%c : tensor<2x64x64xf32>) accumulate -> tensor<2x64x64xf32>
  return %w : tensor<2x64x64xf32>
}
