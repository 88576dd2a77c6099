// RUN: mx-opt %s --mxgpu-join-launches | FileCheck %s

// Joins launches of kernels that do not access each other's results. Keeps launches with dependencies, with large or
// unknown grids, with other numbers of threads, and on both sides of host work.

// CHECK-LABEL: gpu.module @kernels
// CHECK:         mxgpu.kernel @fill({{.*}}) attributes {sym_visibility = "private"}
// CHECK:         mxgpu.kernel @copy({{.*}}) {
// CHECK:         mxgpu.kernel @narrow({{.*}}) {
// CHECK:         mxgpu.kernel @fill_and_fill(%{{.*}}: index, %{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>) joined [@fill, @fill] {
// CHECK:         mxgpu.kernel @fill_and_copy_and_fill({{.*}}) joined [@fill, @copy, @fill] {
gpu.module @kernels {
  mxgpu.kernel @fill(%out: memref<?xf32>) {
    mxgpu.role @store warps(4) {
      %thread = mxgpu.thread_id
      %0 = arith.constant 1.0 : f32
      memref.store %0, %out[%thread] : memref<?xf32>
    }
  }
  mxgpu.kernel @copy(%in: memref<?xf32>, %out: memref<?xf32>) {
    mxgpu.role @store warps(4) {
      %thread = mxgpu.thread_id
      %0 = memref.load %in[%thread] : memref<?xf32>
      memref.store %0, %out[%thread] : memref<?xf32>
    }
  }
  mxgpu.kernel @narrow(%out: memref<?xf32>) {
    mxgpu.role @store warps(2) {
      %thread = mxgpu.thread_id
      %0 = arith.constant 1.0 : f32
      memref.store %0, %out[%thread] : memref<?xf32>
    }
  }
}

// CHECK-LABEL: func.func @independent
// CHECK-SAME:    %[[A:[a-z0-9]+]]: memref<?xf32>, %[[B:[a-z0-9]+]]: memref<?xf32>
// CHECK:         %[[C64:.*]] = arith.constant 64 : index
// CHECK:         %[[N:.*]] = arith.minsi
// CHECK:         %[[GRID:.*]] = arith.addi %[[C64]], %[[N]] : index
// CHECK-NEXT:    mxgpu.launch @kernels::@fill_and_fill grid(%[[GRID]]) args(%[[C64]], %[[A]], %[[B]] : index, memref<?xf32>, memref<?xf32>)
// CHECK-NEXT:    return
func.func @independent(%a: memref<?xf32>, %b: memref<?xf32>) {
  %c64 = arith.constant 64 : index
  mxgpu.launch @kernels::@fill grid(%c64) args(%a : memref<?xf32>)
  %sms = mxgpu.sm_count
  %n = arith.minsi %sms, %c64 : index
  mxgpu.launch @kernels::@fill grid(%n) args(%b : memref<?xf32>)
  return
}

// The same pair uses the same kernel; both may read an array.
// CHECK-LABEL: func.func @again
// CHECK:         mxgpu.launch @kernels::@fill_and_fill
// CHECK-LABEL: func.func @three
// CHECK-SAME:    %[[A:[a-z0-9]+]]: memref<?xf32>, %[[B:[a-z0-9]+]]: memref<?xf32>, %[[C:[a-z0-9]+]]: memref<?xf32>, %[[D:[a-z0-9]+]]: memref<?xf32>
// CHECK:         mxgpu.launch @kernels::@fill_and_copy_and_fill grid(%{{.*}}) args(%[[ONE:.*]], %[[ONE]], %[[A]], %[[B]], %[[C]], %[[D]] :
func.func @again(%a: memref<?xf32>, %b: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  mxgpu.launch @kernels::@fill grid(%c1) args(%b : memref<?xf32>)
  mxgpu.launch @kernels::@fill grid(%c1) args(%a : memref<?xf32>)
  return
}
func.func @three(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %d: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  mxgpu.launch @kernels::@fill grid(%c1) args(%a : memref<?xf32>)
  mxgpu.launch @kernels::@copy grid(%c1) args(%b, %c : memref<?xf32>, memref<?xf32>)
  mxgpu.launch @kernels::@fill grid(%c1) args(%d : memref<?xf32>)
  return
}

// CHECK-LABEL: func.func @dependent
// CHECK-COUNT-2: mxgpu.launch @kernels::@copy
func.func @dependent(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  mxgpu.launch @kernels::@copy grid(%c1) args(%a, %b : memref<?xf32>, memref<?xf32>)
  mxgpu.launch @kernels::@copy grid(%c1) args(%b, %c : memref<?xf32>, memref<?xf32>)
  return
}

// Arguments of a private function may be the same array.
// CHECK-LABEL: func.func private @internal
// CHECK-COUNT-2: mxgpu.launch @kernels::@copy
func.func private @internal(%a: memref<?xf32>, %b: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  mxgpu.launch @kernels::@copy grid(%c1) args(%a, %b : memref<?xf32>, memref<?xf32>)
  mxgpu.launch @kernels::@copy grid(%c1) args(%a, %b : memref<?xf32>, memref<?xf32>)
  return
}

// CHECK-LABEL: func.func @large
// CHECK-COUNT-2: mxgpu.launch @kernels::@copy
// CHECK-LABEL: func.func @unknown
// CHECK-COUNT-2: mxgpu.launch @kernels::@copy
// CHECK-LABEL: func.func @other_threads
// CHECK:         mxgpu.launch @kernels::@copy
// CHECK-NEXT:    mxgpu.launch @kernels::@narrow
// CHECK-LABEL: func.func @host_work
// CHECK:         mxgpu.launch @kernels::@copy
// CHECK-NEXT:    memref.copy
// CHECK-NEXT:    mxgpu.launch @kernels::@copy
func.func @large(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  mxgpu.launch @kernels::@copy grid(%c1) args(%a, %b : memref<?xf32>, memref<?xf32>)
  mxgpu.launch @kernels::@copy grid(%c1024) args(%a, %c : memref<?xf32>, memref<?xf32>)
  return
}
func.func @unknown(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %n: index) {
  mxgpu.launch @kernels::@copy grid(%n) args(%a, %b : memref<?xf32>, memref<?xf32>)
  mxgpu.launch @kernels::@copy grid(%n) args(%a, %c : memref<?xf32>, memref<?xf32>)
  return
}
func.func @other_threads(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  mxgpu.launch @kernels::@copy grid(%c1) args(%a, %b : memref<?xf32>, memref<?xf32>)
  mxgpu.launch @kernels::@narrow grid(%c1) args(%c : memref<?xf32>)
  return
}
func.func @host_work(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %d: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  mxgpu.launch @kernels::@copy grid(%c1) args(%a, %b : memref<?xf32>, memref<?xf32>)
  memref.copy %a, %d : memref<?xf32> to memref<?xf32>
  mxgpu.launch @kernels::@copy grid(%c1) args(%a, %c : memref<?xf32>, memref<?xf32>)
  return
}
