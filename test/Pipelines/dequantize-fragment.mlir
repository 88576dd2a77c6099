// RUN: mx-opt %s --mx-to-nvvm="chip=sm_90a" | mx-translate --mx-to-ptx | FileCheck %s
// RUN: sed s/sm_90a/sm_100a/ %s | mx-opt --mx-to-nvvm="chip=sm_100a" | mx-translate --mx-to-ptx | FileCheck %s

// For each pair of elements, one instruction moves the bits and another
// multiplies. A single branch detects large scales and NaN.

#layout = #mxgpu.fragment_layout<threads = [4: 16 columns, 8: 1 row, 4: 16 rows], values = [16: 1 column, 2: 8 rows]>
!q = !mxgpu.fragment<64x64xf8E4M3FN, #layout>
!x = !mxgpu.fragment<64x64xbf16, #layout>

// CHECK-LABEL:    .entry kernel(
// CHECK-COUNT-16: mul.rn.bf16x2
// CHECK-NOT:      mul.rn.bf16x2
// CHECK:          and.b32 [[RARE:%r[0-9]+]], %r{{[0-9]+}}, -2139062144;
// CHECK-NEXT:     setp.{{eq|ne}}.b32 [[P:%p[0-9]+]], [[RARE]], 0;
// CHECK-NEXT:     @[[P]] bra
// CHECK-COUNT-16: cvt.rn.f16x2.e4m3x2
// CHECK-COUNT-16: cvt.rn.bf16x2.f32
// CHECK-NOT:      mul.rn.bf16x2
// CHECK:          ret;
gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @kernel(%q: memref<?x?xf8E4M3FN>, %s: memref<?x?xf8E8M0FNU>, %x: memref<?x?xbf16>) {
    mxgpu.role @work warps(4) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %thread = mxgpu.thread_id
      %row0 = arith.muli %thread, %c2 : index
      %row1 = arith.addi %row0, %c1 : index
      %q0 = mxgpu.load_block %q[%row0, %c0] in_bounds : memref<?x?xf8E4M3FN> -> vector<16xf8E4M3FN>
      %q1 = mxgpu.load_block %q[%row1, %c0] in_bounds : memref<?x?xf8E4M3FN> -> vector<16xf8E4M3FN>
      %all = mxgpu.load_block %s[%thread, %c0] in_bounds : memref<?x?xf8E8M0FNU> -> vector<4xf8E8M0FNU>
      %some = vector.extract_strided_slice %all {offsets = [0], sizes = [2], strides = [1]} : vector<4xf8E8M0FNU> to vector<2xf8E8M0FNU>
      %scales = vector.shape_cast %some : vector<2xf8E8M0FNU> to vector<2x1xf8E8M0FNU>
      %f = mxgpu.from_rows %q0, %q1 : vector<16xf8E4M3FN>, vector<16xf8E4M3FN> -> !q
      %d = mxgpu.dequantize_fragment %f by %scales block(32) : !q, vector<2x1xf8E8M0FNU> -> !x
      %y:2 = mxgpu.to_rows %d : !x -> vector<16xbf16>, vector<16xbf16>
      mxgpu.store_block %y#0, %x[%row0, %c0] : vector<16xbf16>, memref<?x?xbf16>
      mxgpu.store_block %y#1, %x[%row1, %c0] : vector<16xbf16>, memref<?x?xbf16>
    }
  }

  // Without NaN and large scales there is no branch. Four elements need eight
  // instructions (two of them multiplications), and a scale needs two.
  // CHECK-LABEL:    .entry finite(
  // CHECK:          sub.s32 [[FIELD:%r[0-9]+]], 247, %r{{[0-9]+}};
  // CHECK-NEXT:     mul.lo.s32 [[OFFSET:%r[0-9]+]], [[FIELD]], 8388736;
  // CHECK:          prmt.b32 [[PAIR:%r[0-9]+]], %r{{[0-9]+}}, 0, 0x9180U;
  // CHECK-NEXT:     shl.b32 [[MOVED:%r[0-9]+]], [[PAIR]], 4;
  // CHECK-NEXT:     and.b32 [[PLACED:%r[0-9]+]], [[MOVED]], -2014279696;
  // CHECK-NEXT:     prmt.b32 [[BYTES:%r[0-9]+]], %r{{[0-9]+}}, 0, 0x4040U;
  // CHECK-NEXT:     shl.b32 [[EXPONENT:%r[0-9]+]], [[BYTES]], 7;
  // CHECK-NEXT:     add.s32 [[SCALE:%r[0-9]+]], [[EXPONENT]], [[OFFSET]];
  // CHECK-NEXT:     mul.rn.bf16x2 %r{{[0-9]+}}, [[PLACED]], [[SCALE]];
  // CHECK-COUNT-15: mul.rn.bf16x2
  // CHECK-NOT:      cvt.rn.f16x2
  // CHECK:          ret;
  mxgpu.kernel @finite(%q: memref<?x?xf8E4M3FN>, %s: memref<?x?xf8E8M0FNU>, %x: memref<?x?xbf16>, %r: i32) {
    mxgpu.role @work warps(4) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %thread = mxgpu.thread_id
      %row0 = arith.muli %thread, %c2 : index
      %row1 = arith.addi %row0, %c1 : index
      %q0 = mxgpu.load_block %q[%row0, %c0] in_bounds : memref<?x?xf8E4M3FN> -> vector<16xf8E4M3FN>
      %q1 = mxgpu.load_block %q[%row1, %c0] in_bounds : memref<?x?xf8E4M3FN> -> vector<16xf8E4M3FN>
      %all = mxgpu.load_block %s[%thread, %c0] in_bounds : memref<?x?xf8E8M0FNU> -> vector<4xf8E8M0FNU>
      %some = vector.extract_strided_slice %all {offsets = [0], sizes = [2], strides = [1]} : vector<4xf8E8M0FNU> to vector<2xf8E8M0FNU>
      %scales = vector.shape_cast %some : vector<2xf8E8M0FNU> to vector<2x1xf8E8M0FNU>
      %f = mxgpu.from_rows %q0, %q1 : vector<16xf8E4M3FN>, vector<16xf8E4M3FN> -> !q
      %d = mxgpu.dequantize_fragment %f by %scales block(32) reference(%r) finite : !q, vector<2x1xf8E8M0FNU> -> !x
      %y:2 = mxgpu.to_rows %d : !x -> vector<16xbf16>, vector<16xbf16>
      mxgpu.store_block %y#0, %x[%row0, %c0] : vector<16xbf16>, memref<?x?xbf16>
      mxgpu.store_block %y#1, %x[%row1, %c0] : vector<16xbf16>, memref<?x?xbf16>
    }
  }
}
