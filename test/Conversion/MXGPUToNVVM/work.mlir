// RUN: mx-opt %s -split-input-file --mxgpu-allocate --convert-mxgpu-to-nvvm --canonicalize --cse | FileCheck %s

// A CTA counts its units in 32 bits without sign: CTA i takes units i, i + CTAs
// and so on. Places in the problem are indices.

// CHECK-LABEL: llvm.func @linear(
// CHECK-DAG:     %[[C127:.*]] = arith.constant 127 : index
// CHECK-DAG:     %[[C128:.*]] = arith.constant 128 : index
// CHECK-DAG:     %[[C191:.*]] = arith.constant 191 : index
// CHECK-DAG:     %[[C192:.*]] = arith.constant 192 : index
// CHECK-DAG:     %[[M:.*]] = arith.index_cast %arg0 : i64 to index
// CHECK-DAG:     %[[N:.*]] = arith.index_cast %arg1 : i64 to index
// CHECK:         %[[M1:.*]] = arith.addi %[[M]], %[[C127]]
// CHECK-NEXT:    %[[M2:.*]] = arith.divui %[[M1]], %[[C128]]
// CHECK-NEXT:    %[[ROWS:.*]] = arith.index_cast %[[M2]] : index to i32
// CHECK-NEXT:    %[[N1:.*]] = arith.addi %[[N]], %[[C191]]
// CHECK-NEXT:    %[[N2:.*]] = arith.divui %[[N1]], %[[C192]]
// CHECK-NEXT:    %[[COLUMNS:.*]] = arith.index_cast %[[N2]] : index to i32
// CHECK-NEXT:    %[[UNITS:.*]] = arith.muli %[[ROWS]], %[[COLUMNS]] : i32
// CHECK-NEXT:    %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK-NEXT:    %[[CTAS:.*]] = nvvm.read.ptx.sreg.nctaid.x
// CHECK:         scf.while (%[[NEXT:.*]] = %[[CTA]]) : (i32) -> i32 {
// CHECK-NEXT:      %[[IS_UNIT:.*]] = arith.cmpi ult, %[[NEXT]], %[[UNITS]] : i32
// CHECK-NEXT:      scf.condition(%[[IS_UNIT]]) %[[NEXT]] : i32
// CHECK-NEXT:    } do {
// CHECK-NEXT:    ^bb0(%[[UNIT:.*]]: i32):
// CHECK-NEXT:      %[[ROW:.*]] = arith.divui %[[UNIT]], %[[COLUMNS]] : i32
// CHECK-NEXT:      %[[BEFORE:.*]] = arith.muli %[[ROW]], %[[COLUMNS]] : i32
// CHECK-NEXT:      %[[COLUMN:.*]] = arith.subi %[[UNIT]], %[[BEFORE]] : i32
// CHECK-NEXT:      %[[ROW64:.*]] = arith.index_castui %[[ROW]] : i32 to index
// CHECK-NEXT:      %[[R:.*]] = arith.muli %[[ROW64]], %[[C128]] : index
// CHECK-NEXT:      %[[COLUMN64:.*]] = arith.index_castui %[[COLUMN]] : i32 to index
// CHECK-NEXT:      %[[C:.*]] = arith.muli %[[COLUMN64]], %[[C192]] : index
// CHECK-NEXT:      %[[SUM:.*]] = arith.addi %[[R]], %[[C]] : index
// CHECK-NEXT:      memref.store %[[SUM]]
// CHECK-NEXT:      %[[AFTER:.*]] = arith.addi %[[UNIT]], %[[CTAS]] : i32
// CHECK-NEXT:      scf.yield %[[AFTER]] : i32
// CHECK-NEXT:    }

// Bands of 8 rows, fewer if there are not so many; the last has what is left.

// CHECK-LABEL: llvm.func @supergroup(
// CHECK-DAG:     %[[C8:.*]] = arith.constant 8 : i32
// CHECK-DAG:     %[[UNITS:.*]] = arith.muli %[[ROWS:.*]], %[[COLUMNS:.*]] : i32
// CHECK:         ^bb0(%[[UNIT:.*]]: i32):
// CHECK-NEXT:      %[[HEIGHT:.*]] = arith.minui %[[ROWS]], %[[C8]] : i32
// CHECK-NEXT:      %[[SIZE:.*]] = arith.muli %[[HEIGHT]], %[[COLUMNS]] : i32
// CHECK-NEXT:      %[[BAND:.*]] = arith.divui %[[UNIT]], %[[SIZE]] : i32
// CHECK-NEXT:      %[[BEFORE:.*]] = arith.muli %[[BAND]], %[[SIZE]] : i32
// CHECK-NEXT:      %[[IN_BAND:.*]] = arith.subi %[[UNIT]], %[[BEFORE]] : i32
// CHECK-NEXT:      %[[FIRST:.*]] = arith.muli %[[BAND]], %[[HEIGHT]] : i32
// CHECK-NEXT:      %[[LEFT:.*]] = arith.subi %[[ROWS]], %[[FIRST]] : i32
// CHECK-NEXT:      %[[HERE:.*]] = arith.minui %[[HEIGHT]], %[[LEFT]] : i32
// CHECK-NEXT:      %[[COLUMN:.*]] = arith.divui %[[IN_BAND]], %[[HERE]] : i32
// CHECK-NEXT:      %[[ABOVE:.*]] = arith.muli %[[COLUMN]], %[[HERE]] : i32
// CHECK-NEXT:      %[[IN_COLUMN:.*]] = arith.subi %[[IN_BAND]], %[[ABOVE]] : i32
// CHECK-NEXT:      %[[ROW:.*]] = arith.addi %[[FIRST]], %[[IN_COLUMN]] : i32

// A loop down to the tile, without divisions.

// CHECK-LABEL: llvm.func @hilbert(
// CHECK:         scf.while
// CHECK:         } do {
// CHECK-NOT:       arith.divui
// CHECK:           scf.while
// CHECK:             scf.condition
// CHECK-COUNT-3:     arith.shrui
// CHECK-NOT:       arith.divui
// CHECK:         llvm.return
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @linear(%m: index, %n: index, %k: index, %out: memref<1xindex>) {
    %c0 = arith.constant 0 : index
    %work = mxgpu.work_source static raster = linear tile [128, 192] of(%m, %n, %k)
    mxgpu.role @only warps(1) {
      mxgpu.for_each_work (%s, %row, %column, %k0, %k1) in %work {
        %sum = arith.addi %row, %column : index
        memref.store %sum, %out[%c0] : memref<1xindex>
      }
    }
  }
  mxgpu.kernel @supergroup(%m: index, %n: index, %k: index, %out: memref<1xindex>) {
    %c0 = arith.constant 0 : index
    %work = mxgpu.work_source static raster = supergroup(8) tile [128, 192] of(%m, %n, %k)
    mxgpu.role @only warps(1) {
      mxgpu.for_each_work (%s, %row, %column, %k0, %k1) in %work {
        %sum = arith.addi %row, %column : index
        memref.store %sum, %out[%c0] : memref<1xindex>
      }
    }
  }
  mxgpu.kernel @hilbert(%m: index, %n: index, %k: index, %out: memref<1xindex>) {
    %c0 = arith.constant 0 : index
    %work = mxgpu.work_source static raster = hilbert tile [128, 192] of(%m, %n, %k)
    mxgpu.role @only warps(1) {
      mxgpu.for_each_work (%s, %row, %column, %k0, %k1) in %work {
        %sum = arith.addi %row, %column : index
        memref.store %sum, %out[%c0] : memref<1xindex>
      }
    }
  }
}
