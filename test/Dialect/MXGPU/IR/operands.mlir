// RUN: mx-opt %s | mx-opt | FileCheck %s
// RUN: mx-opt %s --mlir-print-op-generic | mx-opt | FileCheck %s

// Round-trips operations on register operands. The layout determines how many blocks the
// columns of a thread span.

#operand = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>
#rows = #mxgpu.fragment_layout<threads = [128: 1 row], values = [96: 1 column]>
#far = #mxgpu.fragment_layout<threads = [32: 1 column, 4: 1 row], values = [4: 128 columns, 4: 32 columns]>
#parts = #mxgpu.fragment_layout<threads = [8: 8 columns, 16: 1 row], values = [8: 1 column]>

// CHECK-LABEL: gpu.module @kernels
gpu.module @kernels {
  mxgpu.kernel @kernel(%t: memref<8x4xi32>, %bytes: memref<8x16xi8>) {
    mxgpu.role @hold warps(4) {
      %q0 = mxgpu.zero_fragment : !mxgpu.fragment<64x64xf8E4M3FN, #operand>
      %s0 = arith.constant dense<1.0> : vector<2x2xf8E8M0FNU>
      // CHECK: mxgpu.dequantize_fragment %{{.*}} by %{{.*}} block(32) : !fragment{{[0-9]*}}, vector<2x2xf8E8M0FNU> -> !fragment
      %x0 = mxgpu.dequantize_fragment %q0 by %s0 block(32) : !mxgpu.fragment<64x64xf8E4M3FN, #operand>, vector<2x2xf8E8M0FNU> -> !mxgpu.fragment<64x64xbf16, #operand>
      %q1 = mxgpu.zero_fragment : !mxgpu.fragment<64x64xf4E2M1FN, #operand>
      %s1 = arith.constant dense<1.0> : vector<2x4xf8E4M3FN>
      // CHECK: mxgpu.dequantize_fragment %{{.*}} by %{{.*}} block(16) : !fragment{{[0-9]*}}, vector<2x4xf8E4M3FN> -> !fragment
      %x1 = mxgpu.dequantize_fragment %q1 by %s1 block(16) : !mxgpu.fragment<64x64xf4E2M1FN, #operand>, vector<2x4xf8E4M3FN> -> !mxgpu.fragment<64x64xbf16, #operand>
      // The columns of a thread span one and a half blocks.
      %q2 = mxgpu.zero_fragment : !mxgpu.fragment<128x96xf8E5M2, #rows>
      %s2 = arith.constant dense<1.0> : vector<1x2xf8E8M0FNU>
      // CHECK: mxgpu.dequantize_fragment %{{.*}} by %{{.*}} block(64) : !fragment{{[0-9]*}}, vector<1x2xf8E8M0FNU> -> !fragment
      %x2 = mxgpu.dequantize_fragment %q2 by %s2 block(64) : !mxgpu.fragment<128x96xf8E5M2, #rows>, vector<1x2xf8E8M0FNU> -> !mxgpu.fragment<128x96xbf16, #rows>
      // A thread holds one column in each of 16 blocks.
      %q3 = mxgpu.zero_fragment : !mxgpu.fragment<4x512xf6E2M3FN, #far>
      %s3 = arith.constant dense<1.0> : vector<1x16xf8E8M0FNU>
      // CHECK: mxgpu.dequantize_fragment %{{.*}} by %{{.*}} block(32) : !fragment{{[0-9]*}}, vector<1x16xf8E8M0FNU> -> !fragment
      %x3 = mxgpu.dequantize_fragment %q3 by %s3 block(32) : !mxgpu.fragment<4x512xf6E2M3FN, #far>, vector<1x16xf8E8M0FNU> -> !mxgpu.fragment<4x512xbf16, #far>
      // A thread holds a part of one block and shares the block with another thread.
      %q4 = mxgpu.zero_fragment : !mxgpu.fragment<16x64xf6E3M2FN, #parts>
      %s4 = arith.constant dense<1.0> : vector<1x1xf8E8M0FNU>
      // CHECK: mxgpu.dequantize_fragment %{{.*}} by %{{.*}} block(16) : !fragment{{[0-9]*}}, vector<1x1xf8E8M0FNU> -> !fragment
      %x4 = mxgpu.dequantize_fragment %q4 by %s4 block(16) : !mxgpu.fragment<16x64xf6E3M2FN, #parts>, vector<1x1xf8E8M0FNU> -> !mxgpu.fragment<16x64xbf16, #parts>
      %r = arith.constant 140 : i32
      %i = arith.constant 3 : index
      // CHECK: mxgpu.dequantize_fragment %{{.*}} by %{{.*}} block(32) reference(%{{.*}}) : !fragment{{[0-9]*}}, vector<2x2xf8E8M0FNU> -> !fragment
      %x5 = mxgpu.dequantize_fragment %q0 by %s0 block(32) reference(%r) : !mxgpu.fragment<64x64xf8E4M3FN, #operand>, vector<2x2xf8E8M0FNU> -> !mxgpu.fragment<64x64xf16, #operand>
      // CHECK: mxgpu.dequantize_fragment %{{.*}} by %{{.*}} block(32) reference(%{{.*}}) finite : !fragment{{[0-9]*}}, vector<2x2xf8E8M0FNU> -> !fragment
      %x6 = mxgpu.dequantize_fragment %q0 by %s0 block(32) reference(%r) finite : !mxgpu.fragment<64x64xf8E4M3FN, #operand>, vector<2x2xf8E8M0FNU> -> !mxgpu.fragment<64x64xbf16, #operand>
      // CHECK: mxgpu.load_scale_range %{{.*}}[%{{.*}}] : memref<8x4xi32>
      %w:2 = mxgpu.load_scale_range %t[%i] : memref<8x4xi32>
      // CHECK: mxgpu.load_scale_range %{{.*}}[%{{.*}}] bf16 : memref<8x16xi8>
      %v:2 = mxgpu.load_scale_range %bytes[%i] bf16 : memref<8x16xi8>
    }
  }
}
