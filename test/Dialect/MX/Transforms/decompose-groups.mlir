// RUN: mx-opt %s -mx-decompose-groups -canonicalize -cse | FileCheck %s
// RUN: mx-opt %s -mx-decompose-groups=in-windows=true -canonicalize -cse | FileCheck %s --check-prefix=IN

mx.group @ep size = 2 tokens = 4

// Ids are padded with -1 up to the maximum number of tokens per rank. Payloads
// are sent without padding.
// CHECK-LABEL: @dispatch
// CHECK-SAME: (%[[IDS:.*]]: tensor<?x2xi32>, %[[X:.*]]: tensor<?x64xf32>)
func.func @dispatch(%ids: tensor<?x2xi32>, %x: tensor<?x64xf32>) -> (tensor<8x2xi32>, tensor<8x64xf32>) {
  %wi = mx.window @ep : tensor<8x2xi32>
  %wx = mx.window @ep : tensor<8x64xf32>
  // CHECK: %[[NONE:.*]] = arith.constant -1 : i32
  // CHECK: %[[T:.*]] = tensor.dim %[[IDS]]
  // CHECK: %[[REST:.*]] = arith.subi %{{.*}}, %[[T]]
  // CHECK: %[[HIGH:.*]] = arith.maxsi %[[REST]]
  // CHECK: %[[PADDED:.*]] = tensor.pad %[[IDS]] low[0, 0] high[%[[HIGH]], 0]
  // CHECK: tensor.yield %[[NONE]]
  // CHECK: mx.all_gather @ep ins(%[[PADDED]] : tensor<?x2xi32>)
  // CHECK: mx.all_gather @ep ins(%[[X]] : tensor<?x64xf32>)
  %w:2 = mx.dispatch @ep experts = 8 ids(%ids : tensor<?x2xi32>) ins(%x : tensor<?x64xf32>)
      outs(%wi, %wx : tensor<8x2xi32>, tensor<8x64xf32>) -> tensor<8x2xi32>, tensor<8x64xf32>
  return %w#0, %w#1 : tensor<8x2xi32>, tensor<8x64xf32>
}

// Quantizers store in the window: the elements, but not the scales, whose rows of a rank begin at 4 * 2 bytes.
// CHECK-LABEL: @quantized
// CHECK-COUNT-2: mx.all_gather @ep ins(
// IN-LABEL: @quantized
// IN: %[[W:.*]] = mx.window @ep : tensor<8x64xf8E4M3FN>
// IN: cf.assert %{{.*}}, "expected at most 4 tokens per rank of group ep"
// IN: %[[FIRST:.*]] = arith.muli
// IN: %[[ROWS:.*]] = tensor.extract_slice %[[W]][%[[FIRST]], 0] [%[[T:.*]], 64] [1, 1]
// IN: %[[Q:.*]]:2 = mx.fused_quantize {{.*}} outs(%[[ROWS]], %{{.*}} :
// IN: mx.all_gather @ep ins(%[[Q]]#1
// IN: %[[OWN:.*]] = tensor.insert_slice %[[Q]]#0 into %[[W]][%[[FIRST]], 0] [%[[T]], 64] [1, 1]
// IN: mx.all_gather @ep outs(%[[OWN]] :
func.func @quantized(%ids: tensor<?x2xi32>, %x: tensor<?x64xbf16>) -> (tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %e = tensor.empty(%t) : tensor<?x64xf8E4M3FN>
  %s = tensor.empty(%t) : tensor<?x2xf8E8M0FNU>
  %q:2 = mx.fused_quantize ins(%x : tensor<?x64xbf16>) outs(%e, %s : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>)
      axes = [1] block_size = 32 -> tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
  %wi = mx.window @ep : tensor<8x2xi32>
  %we = mx.window @ep : tensor<8x64xf8E4M3FN>
  %ws = mx.window @ep : tensor<8x2xf8E8M0FNU>
  %w:3 = mx.dispatch @ep experts = 8 ids(%ids : tensor<?x2xi32>) ins(%q#0, %q#1 : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>)
      outs(%wi, %we, %ws : tensor<8x2xi32>, tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>) -> tensor<8x2xi32>, tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
  return %w#1, %w#2 : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
}

// Ids that nothing reads are not sent.
// CHECK-LABEL: @dispatch_again
// CHECK-SAME: (%[[IDS:.*]]: tensor<?x2xi32>, %[[X:.*]]: tensor<?x64xf32>)
// CHECK-NOT:  tensor.pad
// CHECK:      mx.all_gather @ep ins(%[[X]] : tensor<?x64xf32>)
// CHECK:      return
func.func @dispatch_again(%ids: tensor<?x2xi32>, %x: tensor<?x64xf32>) -> tensor<8x64xf32> {
  %wi = mx.window @ep : tensor<8x2xi32>
  %wx = mx.window @ep : tensor<8x64xf32>
  %w:2 = mx.dispatch @ep experts = 8 ids(%ids : tensor<?x2xi32>) ins(%x : tensor<?x64xf32>)
      outs(%wi, %wx : tensor<8x2xi32>, tensor<8x64xf32>) -> tensor<8x2xi32>, tensor<8x64xf32>
  return %w#1 : tensor<8x64xf32>
}

// CHECK-LABEL: @collect
// CHECK-SAME: (%[[IDS:.*]]: tensor<4x2xi32>, %[[Z:.*]]: tensor<?x64xbf16>, %[[SLOTS:.*]]: tensor<?xi32>, %[[OUT:.*]]: tensor<4x64xf32>)
func.func @collect(%ids: tensor<4x2xi32>, %z: tensor<?x64xbf16>, %slots: tensor<?xi32>, %y0: tensor<4x64xf32>) -> tensor<4x64xf32> {
  // Computes the window row of each slot.
  // CHECK: %[[ROWS:.*]] = linalg.generic {{.*}} ins(%[[SLOTS]]
  // CHECK: arith.floordivsi
  // CHECK: %[[SUMS:.*]] = mx.combine ins(%[[Z]] : tensor<?x64xbf16>) rows(%[[ROWS]] : tensor<?xi32>) outs(%{{.*}} : tensor<8x64xbf16>) order = {{ *}}fixed overwrite
  // CHECK: %[[W:.*]] = mx.window @ep : tensor<8x64xbf16>
  // CHECK: %[[CAME:.*]] = mx.all_to_all @ep ins(%[[SUMS]] : tensor<8x64xbf16>) outs(%[[W]]
  // Only results from ranks that own an expert of the token are combined.
  // CHECK: %[[OWNERS:.*]] = linalg.generic
  // CHECK: arith.cmpi ult
  // CHECK: arith.divui
  // CHECK: %[[TOKENS:.*]] = linalg.generic
  // CHECK: tensor.extract %[[OWNERS]]
  // CHECK: %[[ZERO:.*]] = linalg.fill {{.*}} outs(%[[OUT]]
  // CHECK: mx.combine ins(%[[CAME]] : tensor<8x64xbf16>) rows(%[[TOKENS]] : tensor<8xi32>) outs(%[[ZERO]] : tensor<4x64xf32>) order = {{ *}}fixed ->
  %y = mx.collect @ep experts = 8 wire = bf16 ids(%ids : tensor<4x2xi32>) ins(%z : tensor<?x64xbf16>)
      slots(%slots : tensor<?xi32>) outs(%y0 : tensor<4x64xf32>) -> tensor<4x64xf32>
  return %y : tensor<4x64xf32>
}

// CHECK-LABEL: @pairs
// CHECK: mx.combine ins(%{{.*}} : tensor<?x1xf32>) rows(%{{.*}} : tensor<?xi32>) outs(%{{.*}} : tensor<16x1xf32>) order = {{ *}}fixed overwrite
// CHECK: mx.all_to_all @ep ins(%{{.*}} : tensor<8x2xf32>)
// CHECK: arith.select
func.func @pairs(%ids: tensor<?x2xi32>, %d: tensor<?xf32>, %slots: tensor<?xi32>, %q0: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %q = mx.collect_pairs @ep experts = 8 ids(%ids : tensor<?x2xi32>) ins(%d : tensor<?xf32>)
      slots(%slots : tensor<?xi32>) outs(%q0 : tensor<?x2xf32>) -> tensor<?x2xf32>
  return %q : tensor<?x2xf32>
}

// A collective may be in a loop with constant bounds, because all ranks run the same number of iterations.
// CHECK-LABEL: @rounds
// CHECK: scf.for
// CHECK: mx.all_gather
func.func @rounds(%x: tensor<4x64xf32>) -> tensor<8x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %w = mx.window @ep : tensor<8x64xf32>
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%v = %w) -> tensor<8x64xf32> {
    %z = mx.all_gather @ep ins(%x : tensor<4x64xf32>) outs(%v : tensor<8x64xf32>) -> tensor<8x64xf32>
    scf.yield %z : tensor<8x64xf32>
  }
  return %y : tensor<8x64xf32>
}

// In a group with slots, rows are sent to the ranks of their experts, and the
// sums come back to the same slots.
mx.group @far size = 2 tokens = 4 slots = 3

// CHECK-LABEL: @dispatch_to_slots
// CHECK-SAME: (%[[IDS:.*]]: tensor<?x2xi32>, %[[X:.*]]: tensor<?x64xf8E4M3FN>)
func.func @dispatch_to_slots(%ids: tensor<?x2xi32>, %x: tensor<?x64xf8E4M3FN>)
    -> (tensor<6x2xi32>, tensor<6x64xf8E4M3FN>, tensor<i32>) {
  %wi = mx.window @far : tensor<6x2xi32>
  %wx = mx.window @far : tensor<6x64xf8E4M3FN>
  %n = tensor.empty() : tensor<i32>
  // CHECK: %[[SORTED:.*]]:4 = mx.group_rows ins(%{{.*}} : tensor<?x2xi32>) outs({{.*}} : tensor<?xi32>, tensor<?xi32>, tensor<2xi32>, tensor<i32>)
  // CHECK: %[[TOKENS:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<6xi32>)
  // CHECK: tensor.extract %[[SORTED]]#0
  // CHECK: %[[NONE:.*]] = linalg.fill ins(%{{.*}} : i32) outs(%{{.*}} : tensor<6x2xi32>)
  // CHECK: %[[SENT:.*]] = mx.gather_rows ins(%[[IDS]] : tensor<?x2xi32>) rows(%[[TOKENS]] : tensor<6xi32>) outs(%[[NONE]]
  // CHECK: mx.all_to_all @far ins(%[[SENT]] : tensor<6x2xi32>)
  // CHECK: %[[ROWS:.*]] = mx.gather_rows ins(%[[X]] : tensor<?x64xf8E4M3FN>) rows(%[[TOKENS]]
  // CHECK: mx.all_to_all @far ins(%[[ROWS]] : tensor<6x64xf8E4M3FN>)
  // CHECK: linalg.generic {{.*}}"reduction"{{.*}} ins(%[[SORTED]]#2
  %w:3 = mx.dispatch @far experts = 8 ids(%ids : tensor<?x2xi32>) ins(%x : tensor<?x64xf8E4M3FN>)
      outs(%wi, %wx, %n : tensor<6x2xi32>, tensor<6x64xf8E4M3FN>, tensor<i32>)
      -> tensor<6x2xi32>, tensor<6x64xf8E4M3FN>, tensor<i32>
  return %w#0, %w#1, %w#2 : tensor<6x2xi32>, tensor<6x64xf8E4M3FN>, tensor<i32>
}

// CHECK-LABEL: @collect_from_slots
func.func @collect_from_slots(%ids: tensor<?x2xi32>, %z: tensor<?x64xbf16>, %slots: tensor<?xi32>, %y0: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK: %[[CAME:.*]] = mx.all_to_all @far ins(%{{.*}} : tensor<6x64xbf16>)
  // CHECK: mx.group_rows
  // CHECK: %[[TOKENS:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<6xi32>)
  // CHECK: mx.combine ins(%[[CAME]] : tensor<6x64xbf16>) rows(%[[TOKENS]] : tensor<6xi32>)
  %y = mx.collect @far experts = 8 wire = bf16 ids(%ids : tensor<?x2xi32>) ins(%z : tensor<?x64xbf16>)
      slots(%slots : tensor<?xi32>) outs(%y0 : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// CHECK-LABEL: @pairs_from_slots
// CHECK: mx.all_to_all @far ins(%{{.*}} : tensor<6x2xf32>)
// CHECK: %[[PAIRS:.*]] = tensor.collapse_shape %{{.*}} : tensor<6x2xi32> into tensor<12xi32>
// CHECK: mx.combine ins(%{{.*}} : tensor<12x1xf32>) rows(%[[PAIRS]] : tensor<12xi32>) outs(%{{.*}} : tensor<?x1xf32>) order = {{ *}}fixed overwrite
func.func @pairs_from_slots(%ids: tensor<?x2xi32>, %d: tensor<?xf32>, %slots: tensor<?xi32>, %q0: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %q = mx.collect_pairs @far experts = 8 ids(%ids : tensor<?x2xi32>) ins(%d : tensor<?xf32>)
      slots(%slots : tensor<?xi32>) outs(%q0 : tensor<?x2xf32>) -> tensor<?x2xf32>
  return %q : tensor<?x2xf32>
}
