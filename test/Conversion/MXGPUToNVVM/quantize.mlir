// RUN: mx-opt %s -split-input-file --mxgpu-lower-work --mxgpu-assign-warps --mxgpu-lower-kernels --convert-mxgpu-to-nvvm --canonicalize --cse | FileCheck %s

// Quantizes values in registers. sm_90a has no cvt for scales, so integer operations round the
// scale up. bf16 values are multiplied in pairs.

// CHECK-LABEL: llvm.func @pairs(
// CHECK-SAME:    nvvm.minctasm = 4 : i32
// CHECK-DAG:     %[[I1:.*]] = arith.constant 1 : i32
// CHECK-DAG:     %[[I2:.*]] = arith.constant 2 : i32
// CHECK-DAG:     %[[I4:.*]] = arith.constant 4 : i32
// CHECK-DAG:     %[[ZEROS:.*]] = arith.constant dense<0> : vector<4xi32>
// A block is entirely inside or entirely outside the matrix, so a single condition guards its
// accesses.
// CHECK:         %[[INSIDE:.*]] = arith.andi
// CHECK:         %[[PLACE:.*]] = llvm.getelementptr
// CHECK-NEXT:    scf.if %[[INSIDE]] -> (vector<4xi32>) {
// CHECK:           llvm.load %[[PLACE]] invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK:           scf.yield %[[ZEROS]]
// CHECK:         scf.if %[[INSIDE]]
// CHECK:           llvm.getelementptr %[[PLACE]][16]
// Computes the maximum over the pairs of a thread, then over two lanes, then over both halves of a word.
// CHECK-COUNT-7: llvm.call_intrinsic "llvm.nvvm.fmax.nan.xorsign.abs.bf16x2"
// CHECK-NOT:     llvm.call_intrinsic
// CHECK:         nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[I1]],
// CHECK-COUNT-8: llvm.fmul
// CHECK-NOT:     llvm.fmul
// CHECK-COUNT-8: nvvm.convert.f32x2.to.f8x2 %{{.*}}, %{{.*}} {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
// CHECK:         scf.if
// CHECK:           %[[STORED:.*]] = vector.from_elements {{.*}} : vector<4xi32>
// CHECK:           llvm.store %[[STORED]], %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// Two lanes share a block, and the scales of four blocks form a word. The scale of a block
// outside the matrix is 0. The first of eight lanes stores the word.
// CHECK:         arith.select %{{.*}}, %{{.*}}, %c0_i32
// CHECK:         nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[I2]],
// CHECK:         nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %[[I4]],
// CHECK:         scf.if
// CHECK:           llvm.store %{{.*}}, %{{.*}} : i32, !llvm.ptr<1>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @pairs(%x: memref<?x?xbf16>, %q: memref<?x?xf8E4M3FN>, %s: memref<?x?x32x4x4xf8E8M0FNU>, %n: index, %rows: index)
      min_ctas(4) {
    mxgpu.role @quantize warps(4) {
      %v = mxgpu.load_block %x[%n, %n] : memref<?x?xbf16> -> vector<16xbf16>
      %e, %f = mxgpu.quantize_block %v scale_rounding = ceil lanes(2) : vector<16xbf16> -> vector<16xf8E4M3FN>, f8E8M0FNU
      mxgpu.store_block %e, %q[%n, %n] : vector<16xf8E4M3FN>, memref<?x?xf8E4M3FN>
      mxgpu.store_scales %f into %s[%n, %n] of(%rows, %rows) lanes(2) : f8E8M0FNU into memref<?x?x32x4x4xf8E8M0FNU>
    }
  }
}

// -----

// Sixteen lanes share a block of 256, so a warp holds two scales of a row and stores each as a byte.
// Bytes of the tile past the last scale are 0.

// CHECK-LABEL: llvm.func @long(
// CHECK-COUNT-4: nvvm.shfl.sync bfly
// CHECK-NOT:     nvvm.shfl
// CHECK:         %[[BYTE:.*]] = arith.trunci %{{.*}} : i32 to i8
// CHECK:         %[[STORED:.*]] = arith.select %{{.*}}, %[[BYTE]], %c0_i8
// CHECK-NOT:     nvvm.shfl
// CHECK:         llvm.store %[[STORED]], %{{.*}} : i8, !llvm.ptr<1>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @long(%x: memref<?x?xbf16>, %q: memref<?x?xf8E4M3FN>, %s: memref<?x?x32x4x4xf8E8M0FNU>, %n: index, %rows: index) {
    mxgpu.role @quantize warps(4) {
      %v = mxgpu.load_block %x[%n, %n] : memref<?x?xbf16> -> vector<16xbf16>
      %e, %f = mxgpu.quantize_block %v scale_rounding = floor lanes(16) : vector<16xbf16> -> vector<16xf8E4M3FN>, f8E8M0FNU
      mxgpu.store_block %e, %q[%n, %n] : vector<16xf8E4M3FN>, memref<?x?xf8E4M3FN>
      mxgpu.store_scales %f into %s[%n, %n] of(%rows, %rows) lanes(16) : f8E8M0FNU into memref<?x?x32x4x4xf8E8M0FNU>
    }
  }
}

// -----

// sm_90a has no cvt to 4 bits. For each pair of values, the code computes three sums with E2M1
// codes in their low bits, and uses the smallest sum. Four lanes share a block. One lane stores
// the scale if the block is inside the matrix.

// CHECK-LABEL: llvm.func @narrow(
// CHECK-NOT:     nvvm.minctasm
// CHECK-DAG:     %[[CODES:.*]] = arith.constant 458759 : i32
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK-NOT:     nvvm.shfl
// CHECK-COUNT-4: llvm.fmul
// CHECK:         %[[Y:.*]] = llvm.bitcast %{{.*}} : i32 to vector<2xbf16>
// CHECK:         %[[THIRD:.*]] = llvm.intr.fma(%[[Y]],
// CHECK:         %[[LEAST3:.*]] = llvm.intr.minnum(%[[THIRD]],
// CHECK:         %[[SECOND:.*]] = llvm.intr.fma(%[[Y]],
// CHECK:         %[[LEAST2:.*]] = llvm.intr.minnum(%[[SECOND]], %[[LEAST3]])
// CHECK:         %[[FIRST:.*]] = llvm.intr.fma(%[[Y]],
// CHECK:         %[[LEAST:.*]] = llvm.intr.minnum(%[[FIRST]], %[[LEAST2]])
// CHECK:         %[[BITS:.*]] = llvm.bitcast %[[LEAST]]
// CHECK:         arith.andi %[[BITS]], %[[CODES]]
// CHECK-NOT:     nvvm.convert
// CHECK:         llvm.store %{{.*}} {alignment = 4 : i64} : vector<1xi32>
// CHECK-NOT:     nvvm.shfl
// CHECK:         llvm.store %{{.*}} : i8, !llvm.ptr<1>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @narrow(%x: memref<?x?xbf16>, %q: memref<?x?xi8>, %s: memref<?x?xf8E8M0FNU>, %n: index, %rows: index) {
    mxgpu.role @quantize warps(4) {
      %v = mxgpu.load_block %x[%n, %n] : memref<?x?xbf16> -> vector<8xbf16>
      %e, %f = mxgpu.quantize_block %v scale_rounding = floor lanes(4) : vector<8xbf16> -> vector<8xf4E2M1FN>, f8E8M0FNU
      mxgpu.store_block %e, %q[%n, %n] : vector<8xf4E2M1FN>, memref<?x?xi8>
      mxgpu.store_scales %f into %s[%n, %n] of(%rows, %rows) lanes(4) : f8E8M0FNU into memref<?x?xf8E8M0FNU>
    }
  }
}

// -----

// sm_100a converts scales and 4-bit elements with cvt.

// CHECK-LABEL: llvm.func @target(
// CHECK-DAG:     %[[SIXTH:.*]] = arith.constant 0.166666672 : f32
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK:         %[[QUOTIENT:.*]] = arith.mulf %{{.*}}, %[[SIXTH]]
// CHECK:         nvvm.convert.f32x2.to.f8x2 %{{.*}}, %[[QUOTIENT]] {rnd = #nvvm.fp_rnd_mode<rp>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E8M0FNU)
// CHECK-COUNT-4: llvm.fmul %{{.*}} : vector<2xf32>
// CHECK:         llvm.inline_asm {{.*}}cvt.rn.satfinite.e2m1x2.f32 pair0, $2, $1;{{.*}} mov.b32 $0, {pair0, pair1, pair2, pair3};

// With scale_rounding = even, half a unit of the element's mantissa is added before the exponent is
// extracted.
// CHECK-LABEL: llvm.func @even(
// CHECK-DAG:     %[[HALF:.*]] = arith.constant 524288 : i32
// CHECK:         %[[ROUNDED:.*]] = arith.addi %{{.*}}, %[[HALF]]
// CHECK:         arith.shrui %[[ROUNDED]]

// The factor of an NVFP4 tensor is divided by the E4M3 scale of a block.
// CHECK-LABEL: llvm.func @nvfp4(
// CHECK-SAME:    %[[G:[a-z0-9]*]]: f32
// CHECK:         %[[TARGET:.*]] = arith.mulf %{{.*}}, %[[G]]
// CHECK:         %[[PAIR:.*]] = nvvm.convert.f32x2.to.f8x2 %{{.*}}, %[[TARGET]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
// CHECK:         %[[SCALE:.*]] = llvm.fpext %{{.*}} : f16 to f32
// CHECK:         scf.if %{{.*}} -> (f32) {
// CHECK:           %[[INVERSE:.*]] = nvvm.rcp.approx.ftz.f %[[SCALE]]
// CHECK-COUNT-4:   llvm.intr.fma
// CHECK:         } else {
// CHECK:           arith.divf %[[G]], %[[SCALE]]
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  mxgpu.kernel @target(%x: memref<?x?xf32>, %q: memref<?x?xi8>, %s: memref<?x?xf8E8M0FNU>, %n: index) {
    mxgpu.role @quantize warps(4) {
      %v = mxgpu.load_block %x[%n, %n] : memref<?x?xf32> -> vector<8xf32>
      %e, %f = mxgpu.quantize_block %v scale_rounding = ceil lanes(4) : vector<8xf32> -> vector<8xf4E2M1FN>, f8E8M0FNU
      mxgpu.store_block %e, %q[%n, %n] : vector<8xf4E2M1FN>, memref<?x?xi8>
    }
  }
  mxgpu.kernel @even(%x: memref<?x?xf32>, %q: memref<?x?xf8E4M3FN>, %n: index) {
    mxgpu.role @quantize warps(4) {
      %v = mxgpu.load_block %x[%n, %n] : memref<?x?xf32> -> vector<8xf32>
      %e, %f = mxgpu.quantize_block %v scale_rounding = even lanes(4) : vector<8xf32> -> vector<8xf8E4M3FN>, f8E8M0FNU
      mxgpu.store_block %e, %q[%n, %n] : vector<8xf8E4M3FN>, memref<?x?xf8E4M3FN>
    }
  }
  mxgpu.kernel @nvfp4(%x: memref<?x?xf32>, %q: memref<?x?xi8>, %g: f32, %n: index) {
    mxgpu.role @quantize warps(4) {
      %v = mxgpu.load_block %x[%n, %n] : memref<?x?xf32> -> vector<8xf32>
      %e, %f = mxgpu.quantize_block %v encode(%g) scale_rounding = ceil lanes(2) : vector<8xf32> -> vector<8xf4E2M1FN>, f8E4M3FN
      mxgpu.store_block %e, %q[%n, %n] : vector<8xf4E2M1FN>, memref<?x?xi8>
    }
  }
}

// -----

// An access known to be in bounds is not guarded.
// CHECK-LABEL: llvm.func @in_bounds(
// CHECK:           memref.dim
// CHECK-NOT:       cmpi
// CHECK-NOT:       scf.if
// CHECK:           llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @in_bounds(%x: memref<?x?xbf16>, %n: index, %to: memref<8xbf16>) {
    mxgpu.role @only warps(1) {
      %v = mxgpu.load_block %x[%n, %n] in_bounds : memref<?x?xbf16> -> vector<8xbf16>
      vector.store %v, %to[%n] : memref<8xbf16>, vector<8xbf16>
    }
  }
}

// -----

// Interpreted as unsigned integers, magnitudes keep their order, and NaN is the largest. One lane
// of a warp raises the value in memory if the new value is larger.

// CHECK-LABEL: llvm.func @raise(
// CHECK-DAG:     %[[INF:.*]] = arith.constant 2139095040 : i32
// CHECK-DAG:     %[[NAN:.*]] = arith.constant 2147483647 : i32
// CHECK:         %[[SO_FAR:.*]] = llvm.load %{{.*}} atomic syncscope("device") monotonic {alignment = 4 : i64}
// CHECK-COUNT-3: llvm.call_intrinsic "llvm.nvvm.fmax.nan.xorsign.abs.f"
// CHECK:         %[[BITS:.*]] = arith.andi %{{.*}} : i32
// CHECK:         %[[IS_NAN:.*]] = arith.cmpi ugt, %[[BITS]], %[[INF]]
// CHECK:         %[[VALUE:.*]] = arith.select %[[IS_NAN]], %[[NAN]], %[[BITS]]
// CHECK:         %[[LARGEST:.*]] = nvvm.redux.sync umax %{{.*}}
// CHECK:         %[[HIGHER:.*]] = arith.cmpi ult, %[[SO_FAR]], %[[LARGEST]]
// CHECK:         %[[RAISE:.*]] = arith.andi %{{.*}}, %[[HIGHER]]
// CHECK-NEXT:    scf.if %[[RAISE]] {
// CHECK:           llvm.atomicrmw umax %{{.*}}, %[[LARGEST]] syncscope("device") monotonic
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @raise(%x: memref<?x?xf32>, %n: index, %m: memref<f32>) {
    mxgpu.role @quantize warps(4) {
      %known = mxgpu.load_relaxed %m : memref<f32>
      %v = mxgpu.load_block %x[%n, %n] : memref<?x?xf32> -> vector<4xf32>
      %largest = mxgpu.thread_amax %v : vector<4xf32>
      mxgpu.atomic_max %largest above %known into %m : memref<f32>
    }
  }
}

// -----

// Atomic additions are relaxed.
// CHECK-LABEL: llvm.func @add(
// CHECK:         %[[BEFORE:.*]] = llvm.atomicrmw add %{{.*}}, %{{.*}} syncscope("device") monotonic : !llvm.ptr<1>, i32
// CHECK:         memref.store %[[BEFORE]]
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @add(%counts: memref<?xi32>, %value: i32) {
    mxgpu.role @count warps(4) {
      %thread = mxgpu.thread_id
      %before = memref.atomic_rmw addi %value, %counts[%thread] : (i32, memref<?xi32>) -> i32
      memref.store %before, %counts[%thread] : memref<?xi32>
    }
  }
}

// -----

// A slice is passed as its base address and its dynamic sizes, strides and offset.

// CHECK-LABEL: llvm.func @slice(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: !llvm.ptr, %[[ROWS:[a-z0-9]+]]: i64, %[[STRIDE:[a-z0-9]+]]: i64, %[[OFFSET:[a-z0-9]+]]: i64, %[[ROW:[a-z0-9]+]]: i64, %[[COLUMN:[a-z0-9]+]]: i64)
// CHECK-DAG:     %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG:     %[[R:.*]] = arith.index_cast %[[ROW]] : i64 to index
// CHECK-DAG:     %[[C:.*]] = arith.index_cast %[[COLUMN]] : i64 to index
// CHECK:         %[[BASE:.*]], %[[O:.*]], %{{.*}}:2, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata
// CHECK:         %[[START:.*]] = arith.addi %[[C]], %[[O]] : index
// CHECK:         %[[FIRST:.*]] = arith.muli %[[R]], %[[STRIDES]]#0 : index
// CHECK:         %[[ELEMENT:.*]] = arith.addi %[[FIRST]], %[[START]] : index
// CHECK:         %[[BYTES:.*]] = arith.muli %[[ELEMENT]], %[[C2]] : index
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @slice(%x: memref<?x64xbf16, strided<[?, 1], offset: ?>>, %row: index, %column: index) {
    mxgpu.role @quantize warps(4) {
      %v = mxgpu.load_block %x[%row, %column] : memref<?x64xbf16, strided<[?, 1], offset: ?>> -> vector<8xbf16>
      %e, %f = mxgpu.quantize_block %v scale_rounding = floor lanes(4) : vector<8xbf16> -> vector<8xf8E4M3FN>, f8E8M0FNU
    }
  }
}

// -----

// The maximum of column 1 is the high half of a word of maxima.

// CHECK-LABEL: llvm.func @column(
// CHECK-DAG:     %[[HIGH:.*]] = arith.constant -65536 : i32
// CHECK:         "llvm.nvvm.fmax.nan.xorsign.abs.bf16x2"
// CHECK-NOT:     "llvm.nvvm.fmax.nan.xorsign.abs.bf16x2"
// CHECK:         arith.andi %{{.*}}, %[[HIGH]] : i32
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @column(%x: memref<?x?xbf16>, %n: index, %m: memref<f32>) {
    mxgpu.role @quantize warps(4) {
      %v = mxgpu.load_block %x[%n, %n] : memref<?x?xbf16> -> vector<4xbf16>
      %rows = vector.shape_cast %v : vector<4xbf16> to vector<2x2xbf16>
      %largest = mxgpu.thread_amax %rows column(1) : vector<2x2xbf16>
      memref.store %largest, %m[] : memref<f32>
    }
  }
}
