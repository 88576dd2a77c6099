// RUN: mx-opt %s -convert-mxgpu-host-to-plan -canonicalize -split-input-file | FileCheck %s
// RUN: mx-opt %s -convert-mxgpu-host-to-plan -canonicalize -split-input-file | mx-opt -split-input-file | FileCheck %s

mx.group @ep size = 2 tokens = 4

// CHECK-LABEL: @gather
// CHECK-SAME: (%[[X:.*]]: !mxplan.buffer, %[[T:.*]]: index)
func.func @gather(%x: memref<?x64xf32>) -> (memref<8x64xf32>, index) {
  // CHECK-DAG: %[[C4:.*]] = arith.constant 4 : index
  // CHECK-DAG: %[[ROW:.*]] = arith.constant 256 : index
  // CHECK-DAG: %[[PART:.*]] = arith.constant 1024 : index
  // CHECK-DAG: %[[W:.*]] = mxplan.window @ep bytes(2048)
  %w = mx.window @ep : memref<8x64xf32>
  // CHECK: %[[FITS:.*]] = arith.cmpi ule, %[[T]], %[[C4]]
  // CHECK: mxgpu.require %[[FITS]], "{{.*}}expected at most %lld tokens per rank of group ep, found %lld"
  // CHECK: %[[BYTES:.*]] = arith.muli %[[T]], %[[ROW]]
  // CHECK: %[[RANK:.*]] = mxplan.rank @ep
  // CHECK: %[[AT:.*]] = arith.muli %[[RANK]], %[[PART]]
  // CHECK: mxplan.copy %[[X]] to %[[W]][%[[AT]]] bytes(%[[BYTES]])
  // CHECK: mxplan.all_gather @ep %[[W]] bytes(%[[PART]])
  mx.all_gather @ep ins(%x : memref<?x64xf32>) outs(%w : memref<8x64xf32>)
  // CHECK: mxplan.all_gather @ep %[[W]] bytes(%[[PART]])
  mx.all_gather @ep outs(%w : memref<8x64xf32>)
  %r = mx.rank @ep
  return %w, %r : memref<8x64xf32>, index
}

// CHECK-LABEL: @exchange
// CHECK-SAME: (%[[X:.*]]: !mxplan.buffer)
func.func @exchange(%x: memref<8x64xbf16>) {
  // CHECK: %[[W:.*]] = mxplan.window @ep bytes(1024)
  %w = mx.window @ep : memref<8x64xbf16>
  // CHECK: mxplan.all_to_all @ep %[[X]] to %[[W]] bytes(%{{.*}})
  mx.all_to_all @ep ins(%x : memref<8x64xbf16>) outs(%w : memref<8x64xbf16>)
  return
}

// CHECK-LABEL: @peers
func.func @peers(%w: memref<8x64xf32>, %t: index, %n: index) -> index {
  // CHECK: %[[P:.*]] = mxplan.peers @ep
  %p = mx.peers @ep
  // CHECK: mxplan.barrier @ep
  mx.barrier @ep
  // CHECK: mxgpu.require %{{.*}}, "{{.*}}expected at most %lld tokens per rank of group ep, found %lld"
  // CHECK: %[[RANK:.*]] = mxplan.rank @ep
  // CHECK: %[[AT:.*]] = arith.muli %[[RANK]], %c1024
  // CHECK: %[[V:.*]] = mxplan.slice %[[W:.*]] from %[[AT]]
  %v = mx.to_peers @ep %w[%t] : memref<8x64xf32> to memref<?x64xf32>
  %u = mx.from_peers @ep %w : memref<8x64xf32>
  // CHECK: mxplan.launch @kernels::@kernel grid(%{{.*}}) args(%[[V]], %{{.*}}, %[[W]] : !mxplan.buffer, i64, !mxplan.buffer)
  mxgpu.launch @kernels::@kernel grid(%n) args(%v, %u : memref<?x64xf32>, memref<8x64xf32>)
  return %p : index
}
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @kernel(%v: memref<?x64xf32>, %u: memref<8x64xf32>) {
    mxgpu.role @nothing warps(1) {
    }
  }
}

// -----

// A group of one rank needs no exchange, so its window is ordinary memory.
mx.group @ep size = 1 tokens = 4

// CHECK-LABEL: @alone
// CHECK-SAME: (%[[X:.*]]: !mxplan.buffer, %[[T:.*]]: index)
// CHECK: %[[W:.*]] = mxplan.alloc
// CHECK: mxplan.copy %[[X]] to %[[W]] bytes
// CHECK-NOT: mxplan.all
// CHECK-NOT: mxplan.barrier
// CHECK: %[[V:.*]] = mxplan.alloc
// CHECK: mxplan.copy %[[W]] to %[[V]] bytes
// CHECK: return %[[V]], %c0
func.func @alone(%x: memref<?x64xf32>) -> (memref<4x64xf32>, index) {
  %w = mx.window @ep : memref<4x64xf32>
  mx.all_gather @ep ins(%x : memref<?x64xf32>) outs(%w : memref<4x64xf32>)
  %v = mx.window @ep : memref<4x64xf32>
  mx.all_to_all @ep ins(%w : memref<4x64xf32>) outs(%v : memref<4x64xf32>)
  %r = mx.rank @ep
  mx.barrier @ep
  return %v, %r : memref<4x64xf32>, index
}
