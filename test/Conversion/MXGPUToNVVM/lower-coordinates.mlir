// RUN: mx-opt %s -allow-unregistered-dialect --mxgpu-lower-coordinates --verify-roundtrip | FileCheck %s
// RUN: mx-opt %s -allow-unregistered-dialect --mxgpu-lower-coordinates --mxgpu-lower-coordinates | FileCheck %s

// Rows and columns that a thread holds: modes of its number, each times its step.

!row_per_thread = !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
// PTX ISA, wgmma.mma_async, the fragment D: row 16 (t / 32) + (t mod 32) / 4 + 8 i, column 2 (t mod 4) + 8 j.
!accumulator = !mxgpu.fragment<64x32xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>>
!by_columns = !mxgpu.fragment<4x256xf32, #mxgpu.fragment_layout<threads = [64: 4 columns, 2: 2 rows], values = [4: 1 column, 2: 1 row]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%out: memref<?xindex>, %i: index) {
    mxgpu.role @hold warps(4) {
      // CHECK-LABEL: "row_per_thread"
      "row_per_thread"() : () -> ()
      // CHECK-NEXT: %[[T:.*]] = mxgpu.thread_id
      %0 = mxgpu.fragment_row 0 of !row_per_thread
      // CHECK-NEXT: memref.store %[[T]],
      memref.store %0, %out[%i] : memref<?xindex>
      // CHECK-NOT: arith.divui
      // CHECK: %[[C0:.*]] = arith.constant 0 : index
      %1 = mxgpu.fragment_column 0 of !row_per_thread
      // CHECK-NEXT: memref.store %[[C0]],
      memref.store %1, %out[%i] : memref<?xindex>

      // CHECK-LABEL: "wgmma"
      "wgmma"() : () -> ()
      // CHECK:      %[[T:.*]] = mxgpu.thread_id
      // CHECK-NEXT: %[[C4:.*]] = arith.constant 4 : index
      // CHECK-NEXT: %[[Q:.*]] = arith.divui %[[T]], %[[C4]] : index
      // CHECK-NEXT: %[[C8:.*]] = arith.constant 8 : index
      // CHECK-NEXT: %[[ROW:.*]] = arith.remui %[[Q]], %[[C8]] : index
      // CHECK-NEXT: %[[C32:.*]] = arith.constant 32 : index
      // The highest mode is what is left.
      // CHECK-NEXT: %[[WARP:.*]] = arith.divui %[[T]], %[[C32]] : index
      // CHECK-NEXT: %[[C16:.*]] = arith.constant 16 : index
      // CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[WARP]], %[[C16]] : index
      // CHECK-NEXT: %[[SUM:.*]] = arith.addi %[[ROW]], %[[FIRST]] : index
      // CHECK-NEXT: memref.store %[[SUM]],
      %2 = mxgpu.fragment_row 0 of !accumulator
      memref.store %2, %out[%i] : memref<?xindex>
      // CHECK:      %[[SUM:.*]] = arith.addi
      // CHECK:      %[[EIGHT:.*]] = arith.constant 8 : index
      // CHECK-NEXT: %[[SECOND:.*]] = arith.addi %[[SUM]], %[[EIGHT]] : index
      // CHECK-NEXT: memref.store %[[SECOND]],
      %3 = mxgpu.fragment_row 1 of !accumulator
      memref.store %3, %out[%i] : memref<?xindex>
      // CHECK-NEXT: %[[T:.*]] = mxgpu.thread_id
      // CHECK-NEXT: %[[C4:.*]] = arith.constant 4 : index
      // CHECK-NEXT: %[[R:.*]] = arith.remui %[[T]], %[[C4]] : index
      // CHECK-NEXT: %[[C2:.*]] = arith.constant 2 : index
      // CHECK-NEXT: %[[COLUMN:.*]] = arith.muli %[[R]], %[[C2]] : index
      // CHECK-NEXT: memref.store %[[COLUMN]],
      %4 = mxgpu.fragment_column 0 of !accumulator
      memref.store %4, %out[%i] : memref<?xindex>
      // CHECK:      %[[COLUMN:.*]] = arith.muli
      // CHECK-NEXT: %[[C24:.*]] = arith.constant 24 : index
      // CHECK-NEXT: %[[LAST:.*]] = arith.addi %[[COLUMN]], %[[C24]] : index
      // CHECK-NEXT: memref.store %[[LAST]],
      %5 = mxgpu.fragment_column 3 of !accumulator
      memref.store %5, %out[%i] : memref<?xindex>

      // CHECK-LABEL: "by_columns"
      "by_columns"() : () -> ()
      // CHECK:      %[[C64:.*]] = arith.constant 64 : index
      // CHECK-NEXT: %[[HALF:.*]] = arith.divui %{{.*}}, %[[C64]] : index
      // CHECK-NEXT: %[[C2:.*]] = arith.constant 2 : index
      // CHECK-NEXT: %[[ROW:.*]] = arith.muli %[[HALF]], %[[C2]] : index
      // CHECK-NEXT: %[[C1:.*]] = arith.constant 1 : index
      // CHECK-NEXT: arith.addi %[[ROW]], %[[C1]] : index
      %6 = mxgpu.fragment_row 1 of !by_columns
      memref.store %6, %out[%i] : memref<?xindex>
      // CHECK:      %[[C64:.*]] = arith.constant 64 : index
      // CHECK-NEXT: %[[R:.*]] = arith.remui %{{.*}}, %[[C64]] : index
      // CHECK-NEXT: %[[C4:.*]] = arith.constant 4 : index
      // CHECK-NEXT: arith.muli %[[R]], %[[C4]] : index
      %7 = mxgpu.fragment_column 0 of !by_columns
      memref.store %7, %out[%i] : memref<?xindex>
      // CHECK-NOT: mxgpu.fragment_
    }
  }
}
