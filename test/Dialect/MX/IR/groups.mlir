// RUN: mx-opt %s | mx-opt | FileCheck %s
// RUN: mx-opt %s -emit-bytecode | mx-opt | FileCheck %s
// RUN: mx-opt %s -canonicalize -cse | FileCheck %s --check-prefix=KEPT

// CHECK: mx.group @ep size = 2 tokens = 4
mx.group @ep size = 2 tokens = 4

// CHECK-LABEL: @rank
func.func @rank() -> index {
  // CHECK: mx.rank @ep
  %r = mx.rank @ep
  return %r : index
}

// CHECK-LABEL: @layer
func.func @layer(%ids: tensor<?x2xi64>, %x: tensor<?x64xf8E4M3FN>, %z: tensor<?x64xbf16>, %d: tensor<?xf32>,
                 %slots: tensor<?xi32>, %y0: tensor<?x64xf32>, %q0: tensor<?x2xf32>)
    -> (tensor<8x64xf8E4M3FN>, tensor<?x64xf32>, tensor<?x2xf32>) {
  // CHECK: mx.window @ep : tensor<8x2xi64>
  %wi = mx.window @ep : tensor<8x2xi64>
  %wx = mx.window @ep : tensor<8x64xf8E4M3FN>
  // CHECK: mx.dispatch @ep experts = 8 ids(%{{.*}} : tensor<?x2xi64>) ins(%{{.*}} : tensor<?x64xf8E4M3FN>) outs(%{{.*}}, %{{.*}} : tensor<8x2xi64>, tensor<8x64xf8E4M3FN>) -> tensor<8x2xi64>, tensor<8x64xf8E4M3FN>
  %w:2 = mx.dispatch @ep experts = 8 ids(%ids : tensor<?x2xi64>) ins(%x : tensor<?x64xf8E4M3FN>)
      outs(%wi, %wx : tensor<8x2xi64>, tensor<8x64xf8E4M3FN>) -> tensor<8x2xi64>, tensor<8x64xf8E4M3FN>
  // CHECK: mx.collect @ep experts = 8 wire = bf16 ids(%{{.*}} : tensor<?x2xi64>) ins(%{{.*}} : tensor<?x64xbf16>) slots(%{{.*}} : tensor<?xi32>) outs(%{{.*}} : tensor<?x64xf32>) -> tensor<?x64xf32>
  %y = mx.collect @ep experts = 8 wire = bf16 ids(%ids : tensor<?x2xi64>) ins(%z : tensor<?x64xbf16>)
      slots(%slots : tensor<?xi32>) outs(%y0 : tensor<?x64xf32>) -> tensor<?x64xf32>
  // CHECK: mx.collect_pairs @ep experts = 8 ids(%{{.*}} : tensor<?x2xi64>) ins(%{{.*}} : tensor<?xf32>) slots(%{{.*}} : tensor<?xi32>) outs(%{{.*}} : tensor<?x2xf32>) -> tensor<?x2xf32>
  %q = mx.collect_pairs @ep experts = 8 ids(%ids : tensor<?x2xi64>) ins(%d : tensor<?xf32>)
      slots(%slots : tensor<?xi32>) outs(%q0 : tensor<?x2xf32>) -> tensor<?x2xf32>
  return %w#1, %y, %q : tensor<8x64xf8E4M3FN>, tensor<?x64xf32>, tensor<?x2xf32>
}

// Unused collectives are kept in program order because all ranks must call them, and windows are not merged.
// KEPT-LABEL: @unused
// KEPT-COUNT-2: mx.window
// KEPT: mx.all_gather
// KEPT: mx.all_to_all
func.func @unused(%x: tensor<3x64xf32>, %y: tensor<8x64xf32>) {
  %w = mx.window @ep : tensor<8x64xf32>
  %v = mx.window @ep : tensor<8x64xf32>
  // CHECK: mx.all_gather @ep ins(%{{.*}} : tensor<3x64xf32>) outs(%{{.*}} : tensor<8x64xf32>) -> tensor<8x64xf32>
  %a = mx.all_gather @ep ins(%x : tensor<3x64xf32>) outs(%w : tensor<8x64xf32>) -> tensor<8x64xf32>
  // CHECK: mx.all_to_all @ep ins(%{{.*}} : tensor<8x64xf32>) outs(%{{.*}} : tensor<8x64xf32>) -> tensor<8x64xf32>
  %b = mx.all_to_all @ep ins(%y : tensor<8x64xf32>) outs(%v : tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}

// CHECK-LABEL: @on_buffers
func.func @on_buffers(%x: memref<?x64xf32>) {
  // CHECK: %[[W:.*]] = mx.window @ep : memref<8x64xf32>
  %w = mx.window @ep : memref<8x64xf32>
  // CHECK: mx.all_gather @ep ins(%{{.*}} : memref<?x64xf32>) outs(%[[W]] : memref<8x64xf32>){{$}}
  mx.all_gather @ep ins(%x : memref<?x64xf32>) outs(%w : memref<8x64xf32>)
  // CHECK: mx.all_gather @ep outs(%[[W]] : memref<8x64xf32>){{$}}
  mx.all_gather @ep outs(%w : memref<8x64xf32>)
  return
}

// CHECK-LABEL: @peers
// KEPT-LABEL: @peers
// KEPT-COUNT-1: mx.peers
// KEPT-COUNT-2: mx.barrier
// KEPT-NOT: mx.to_peers
func.func @peers(%t: index) -> (index, index) {
  %w = mx.window @ep : memref<8x64xf32>
  // CHECK: mx.peers @ep{{$}}
  %p = mx.peers @ep
  %q = mx.peers @ep
  // CHECK: mx.barrier @ep{{$}}
  mx.barrier @ep
  mx.barrier @ep
  // CHECK: mx.to_peers @ep %{{.*}}[%{{.*}}] : memref<8x64xf32> to memref<?x64xf32>
  %a = mx.to_peers @ep %w[%t] : memref<8x64xf32> to memref<?x64xf32>
  // CHECK: mx.from_peers @ep %{{.*}} : memref<8x64xf32>{{$}}
  %b = mx.from_peers @ep %w : memref<8x64xf32>
  return %p, %q : index, index
}

// CHECK-LABEL: @overwrite
func.func @overwrite(%z: tensor<9x64xf32>, %r: tensor<9xi32>, %o: tensor<3x64xbf16>) -> tensor<3x64xbf16> {
  // CHECK: mx.combine ins({{.*}}) rows({{.*}}) outs({{.*}}) order = {{ *}}fixed overwrite -> tensor<3x64xbf16>
  %y = mx.combine ins(%z : tensor<9x64xf32>) rows(%r : tensor<9xi32>) outs(%o : tensor<3x64xbf16>) order = fixed overwrite -> tensor<3x64xbf16>
  return %y : tensor<3x64xbf16>
}
