// RUN: mx-opt %s -allow-unregistered-dialect --mxgpu-lower-coordinates --verify-roundtrip | FileCheck %s
// RUN: mx-opt %s -allow-unregistered-dialect --mxgpu-lower-coordinates --mxgpu-lower-coordinates | FileCheck %s

// The row and the column of a thread are modes of the thread number, multiplied by the steps
// of the layout.

!row_per_thread = !mxgpu.fragment<128x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>
// Layout of the fragment D of wgmma.mma_async (PTX ISA): row 16 (t / 32) + (t mod 32) / 4 + 8 i,
// column 2 (t mod 4) + 8 j.
!accumulator = !mxgpu.fragment<64x32xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>>
!by_columns = !mxgpu.fragment<4x256xf32, #mxgpu.fragment_layout<threads = [64: 4 columns, 2: 2 rows], values = [4: 1 column, 2: 1 row]>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%out: memref<?xindex>, %i: index) {
    mxgpu.role @hold warps(4) {
      // CHECK-LABEL: "row_per_thread"
      "row_per_thread"() : () -> ()
      // CHECK:      %[[T:.*]] = mxgpu.thread_id
      %0 = mxgpu.fragment_row 0 of !row_per_thread
      // CHECK:      memref.store %[[T]],
      memref.store %0, %out[%i] : memref<?xindex>
      // CHECK-NOT: arith.divui
      // CHECK: %[[C0:.*]] = arith.constant 0 : index
      %1 = mxgpu.fragment_column 0 of !row_per_thread
      // CHECK:      memref.store %[[C0]],
      memref.store %1, %out[%i] : memref<?xindex>

      // CHECK-LABEL: "wgmma"
      "wgmma"() : () -> ()
      // CHECK:      %[[T:.*]] = mxgpu.thread_id
      // CHECK:      %[[C4:.*]] = arith.constant 4 : index
      // CHECK:      %[[Q:.*]] = arith.divui %[[T]], %[[C4]] : index
      // CHECK:      %[[C8:.*]] = arith.constant 8 : index
      // CHECK:      %[[ROW:.*]] = arith.remui %[[Q]], %[[C8]] : index
      // CHECK:      %[[C32:.*]] = arith.constant 32 : index
      // The most significant digit needs no remainder.
      // CHECK:      %[[WARP:.*]] = arith.divui %[[T]], %[[C32]] : index
      // CHECK:      %[[C16:.*]] = arith.constant 16 : index
      // CHECK:      %[[FIRST:.*]] = arith.muli %[[WARP]], %[[C16]] : index
      // CHECK:      %[[SUM:.*]] = arith.addi %[[ROW]], %[[FIRST]] : index
      // CHECK:      memref.store %[[SUM]],
      %2 = mxgpu.fragment_row 0 of !accumulator
      memref.store %2, %out[%i] : memref<?xindex>
      // CHECK:      %[[SUM:.*]] = arith.addi
      // CHECK:      %[[EIGHT:.*]] = arith.constant 8 : index
      // CHECK:      %[[SECOND:.*]] = arith.addi %[[SUM]], %[[EIGHT]] : index
      // CHECK:      memref.store %[[SECOND]],
      %3 = mxgpu.fragment_row 1 of !accumulator
      memref.store %3, %out[%i] : memref<?xindex>
      // CHECK:      %[[T:.*]] = mxgpu.thread_id
      // CHECK:      %[[C4:.*]] = arith.constant 4 : index
      // CHECK:      %[[R:.*]] = arith.remui %[[T]], %[[C4]] : index
      // CHECK:      %[[C2:.*]] = arith.constant 2 : index
      // CHECK:      %[[COLUMN:.*]] = arith.muli %[[R]], %[[C2]] : index
      // CHECK:      memref.store %[[COLUMN]],
      %4 = mxgpu.fragment_column 0 of !accumulator
      memref.store %4, %out[%i] : memref<?xindex>
      // CHECK:      %[[COLUMN:.*]] = arith.muli
      // CHECK:      %[[C24:.*]] = arith.constant 24 : index
      // CHECK:      %[[LAST:.*]] = arith.addi %[[COLUMN]], %[[C24]] : index
      // CHECK:      memref.store %[[LAST]],
      %5 = mxgpu.fragment_column 3 of !accumulator
      memref.store %5, %out[%i] : memref<?xindex>

      // CHECK-LABEL: "by_columns"
      "by_columns"() : () -> ()
      // CHECK:      %[[C64:.*]] = arith.constant 64 : index
      // CHECK:      %[[HALF:.*]] = arith.divui %{{.*}}, %[[C64]] : index
      // CHECK:      %[[C2:.*]] = arith.constant 2 : index
      // CHECK:      %[[ROW:.*]] = arith.muli %[[HALF]], %[[C2]] : index
      // CHECK:      %[[C1:.*]] = arith.constant 1 : index
      // CHECK:      arith.addi %[[ROW]], %[[C1]] : index
      %6 = mxgpu.fragment_row 1 of !by_columns
      memref.store %6, %out[%i] : memref<?xindex>
      // CHECK:      %[[C64:.*]] = arith.constant 64 : index
      // CHECK:      %[[R:.*]] = arith.remui %{{.*}}, %[[C64]] : index
      // CHECK:      %[[C4:.*]] = arith.constant 4 : index
      // CHECK:      arith.muli %[[R]], %[[C4]] : index
      %7 = mxgpu.fragment_column 0 of !by_columns
      memref.store %7, %out[%i] : memref<?xindex>
      // CHECK-NOT: mxgpu.fragment_
    }
  }
}
