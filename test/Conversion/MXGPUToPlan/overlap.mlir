// RUN: mx-opt %s -mx-overlap-collectives | FileCheck %s
// RUN: mx-opt %s -mx-overlap-collectives | mx-opt -mx-overlap-collectives | FileCheck %s

mx.group @ep size = 2 tokens = 4
mx.group @tp size = 2 tokens = 4
!map = !mxgpu.tensor_map<64x128xf8E4M3FN, sw128>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @use(%a: memref<64xf32>) {
    mxgpu.role @a warps(1) {
    }
  }
  mxgpu.kernel @map(%a: !map) {
    mxgpu.role @a warps(1) {
    }
  }
  mxgpu.kernel @number(%a: i64) {
    mxgpu.role @a warps(1) {
    }
  }
}

// The launch that reads the window waits, an independent launch does not.
// CHECK-LABEL: @beside
// CHECK: %[[SENT:.*]] = mxplan.all_to_all @ep %{{.*}} to %[[W:.*]] bytes(%{{.*}}) : !mxplan.token
// CHECK-NEXT: mxplan.launch @kernels::@use grid(%{{.*}}) args(%arg0
// CHECK-NEXT: mxplan.wait %[[SENT]]
// CHECK-NEXT: mxplan.launch @kernels::@use grid(%{{.*}}) args(%[[W]]
func.func @beside(%x: !mxplan.buffer, %n: index) {
  %c1 = arith.constant 1 : index
  %a = mxplan.alloc %n
  %w = mxplan.window @ep bytes(512)
  mxplan.all_to_all @ep %a to %w bytes(%n)
  mxplan.launch @kernels::@use grid(%c1) args(%x : !mxplan.buffer)
  mxplan.launch @kernels::@use grid(%c1) args(%w : !mxplan.buffer)
  return
}

// A kernel that overwrites the sent buffer waits. Without a launch before the
// first use, a collective stays on the stream.
// CHECK-LABEL: @sender
// CHECK: mxplan.all_to_all @ep %{{.*}} to %{{.*}} bytes(%{{[a-z0-9]*}})
// CHECK-NEXT: mxplan.fill
// CHECK-NEXT: %[[SENT:.*]] = mxplan.all_to_all
// CHECK-NEXT: mxplan.launch
// CHECK-NEXT: mxplan.wait %[[SENT]]
// CHECK-NEXT: mxplan.fill
// CHECK-NEXT: return
func.func @sender(%x: !mxplan.buffer, %n: index) {
  %c1 = arith.constant 1 : index
  %a = mxplan.alloc %n
  %w = mxplan.window @ep bytes(512)
  mxplan.all_to_all @ep %a to %w bytes(%n)
  mxplan.fill %a, 0 bytes(%n)
  mxplan.all_to_all @ep %a to %w bytes(%n)
  mxplan.launch @kernels::@use grid(%c1) args(%x : !mxplan.buffer)
  mxplan.fill %a, 0 bytes(%n)
  return
}

// Collectives of a group run in order, so the last wait ends all of them.
// Collectives of other groups are independent.
// CHECK-LABEL: @several
// CHECK: mxplan.all_gather @ep {{.*}} : !mxplan.token
// CHECK-NEXT: %[[SECOND:.*]] = mxplan.all_gather @ep {{.*}} : !mxplan.token
// CHECK-NEXT: %[[OTHER:.*]] = mxplan.all_gather @tp {{.*}} : !mxplan.token
// CHECK-NEXT: mxplan.launch
// CHECK-NEXT: mxplan.wait %[[SECOND]]
// CHECK-NEXT: mxplan.launch @kernels::@use grid(%{{.*}}) args(%[[W1:.*]] :
// CHECK-NEXT: mxplan.launch
// CHECK-NEXT: mxplan.wait %[[OTHER]]
// CHECK-NEXT: return
func.func @several(%x: !mxplan.buffer, %n: index) {
  %c1 = arith.constant 1 : index
  %w0 = mxplan.window @ep bytes(512)
  %w1 = mxplan.window @ep bytes(512)
  %w2 = mxplan.window @tp bytes(512)
  mxplan.all_gather @ep %w0 bytes(%n)
  mxplan.all_gather @ep %w1 bytes(%n)
  mxplan.all_gather @tp %w2 bytes(%n)
  mxplan.launch @kernels::@use grid(%c1) args(%x : !mxplan.buffer)
  mxplan.launch @kernels::@use grid(%c1) args(%w1 : !mxplan.buffer)
  mxplan.launch @kernels::@use grid(%c1) args(%w0 : !mxplan.buffer)
  return
}

// Only kernels beside a collective leave a multiprocessor to it.
// CHECK-LABEL: @reserve
// CHECK: %[[COUNT:.*]] = mxgpu.sm_count
// CHECK-NEXT: %[[GRID:.*]] = arith.divui %[[COUNT]], %{{.*}}
// CHECK-NEXT: mxplan.launch @kernels::@use grid(%[[GRID]])
// CHECK-NEXT: mxplan.all_gather
// CHECK-NEXT: scf.if
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1
// CHECK-NEXT: %[[REST:.*]] = arith.subi %[[COUNT]], %[[ONE]]
// CHECK-NEXT: %[[LESS:.*]] = arith.maxsi %[[REST]], %[[ONE]]
// CHECK-NEXT: %[[GRID2:.*]] = arith.divui %[[LESS]], %{{.*}}
// CHECK-NEXT: mxplan.launch @kernels::@use grid(%[[GRID2]])
// CHECK: mxplan.wait
// CHECK-NEXT: mxplan.launch @kernels::@use grid(%[[GRID]])
func.func @reserve(%x: !mxplan.buffer, %n: index, %c: i1) {
  %w = mxplan.window @ep bytes(512)
  %count = mxgpu.sm_count
  %grid = arith.divui %count, %n : index
  mxplan.launch @kernels::@use grid(%grid) args(%x : !mxplan.buffer)
  mxplan.all_gather @ep %w bytes(%n)
  scf.if %c {
    mxplan.launch @kernels::@use grid(%grid) args(%x : !mxplan.buffer)
  }
  mxplan.launch @kernels::@use grid(%grid) args(%w : !mxplan.buffer)
  return
}

// A barrier follows all collectives of its group.
// CHECK-LABEL: @barrier
// CHECK: %[[SENT:.*]] = mxplan.all_gather
// CHECK-NEXT: mxplan.launch
// CHECK-NEXT: mxplan.wait %[[SENT]]
// CHECK-NEXT: mxplan.barrier @ep
func.func @barrier(%x: !mxplan.buffer, %n: index) {
  %c1 = arith.constant 1 : index
  %w = mxplan.window @ep bytes(512)
  mxplan.all_gather @ep %w bytes(%n)
  mxplan.launch @kernels::@use grid(%c1) args(%x : !mxplan.buffer)
  mxplan.barrier @ep
  mxplan.launch @kernels::@use grid(%c1) args(%x : !mxplan.buffer)
  return
}

// Tensor maps, slices, and addresses that kernels receive as numbers, are uses.
// CHECK-LABEL: @hidden
// CHECK: mxplan.all_gather @ep %{{[0-9]+}} bytes(%{{[a-z0-9]*}})
// CHECK-NEXT: mxplan.launch
// CHECK: mxplan.all_gather @ep %{{[0-9]+}} bytes(%{{[a-z0-9]*}})
// CHECK-NEXT: mxplan.launch
// CHECK: mxplan.all_gather @ep %{{[0-9]+}} bytes(%{{[a-z0-9]*}})
// CHECK-NEXT: mxplan.launch
func.func @hidden(%n: index) {
  %c1 = arith.constant 1 : index
  %w0 = mxplan.window @ep bytes(512)
  %map = mxplan.encode_tensor_map %w0 offset(%c1) dims(%n, %n) strides(%n)
      : !map
  mxplan.all_gather @ep %w0 bytes(%n)
  mxplan.launch @kernels::@map grid(%c1) args(%map : !map)
  %w1 = mxplan.window @ep bytes(512)
  %part = mxplan.slice %w1 from %n
  mxplan.all_gather @ep %w1 bytes(%n)
  mxplan.launch @kernels::@use grid(%c1) args(%part : !mxplan.buffer)
  %w2 = mxplan.window @ep bytes(512)
  %address = mxplan.address %w2
  %number = arith.index_cast %address : index to i64
  mxplan.all_gather @ep %w2 bytes(%n)
  mxplan.launch @kernels::@number grid(%c1) args(%number : i64)
  return
}

// A buffer that a loop carries may be any buffer. A block waits for all of its
// collectives, and for those before a loop with collectives.
// CHECK-LABEL: @loop
// CHECK: mxplan.all_gather @ep %[[W:.*]] bytes(%{{[a-z0-9]*}}){{$}}
// CHECK-NEXT: scf.for
// CHECK: %[[SENT:.*]] = mxplan.all_gather @ep %[[W]]
// CHECK-NEXT: scf.for
// CHECK: }
// CHECK-NEXT: mxplan.wait %[[SENT]]
// CHECK-NEXT: scf.for
// CHECK: %[[INNER:.*]] = mxplan.all_gather @ep
// CHECK-NEXT: mxplan.launch
// CHECK-NEXT: mxplan.wait %[[INNER]]
// CHECK-NEXT: }
func.func @loop(%x: !mxplan.buffer, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = mxplan.window @ep bytes(512)
  %v = mxplan.window @ep bytes(512)
  mxplan.all_gather @ep %w bytes(%n)
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%some = %x) -> !mxplan.buffer {
    mxplan.launch @kernels::@use grid(%c1) args(%some : !mxplan.buffer)
    scf.yield %some : !mxplan.buffer
  }
  mxplan.all_gather @ep %w bytes(%n)
  scf.for %i = %c0 to %n step %c1 {
    mxplan.launch @kernels::@use grid(%c1) args(%x : !mxplan.buffer)
  }
  scf.for %i = %c0 to %n step %c1 {
    mxplan.all_gather @ep %v bytes(%n)
    mxplan.launch @kernels::@use grid(%c1) args(%x : !mxplan.buffer)
  }
  return
}
