// RUN: mx-opt %s | mx-opt | FileCheck %s
// RUN: mx-opt %s --mlir-print-op-generic | mx-opt | FileCheck %s
// RUN: mx-opt %s --mxgpu-verify-pipelines --mxgpu-unroll-fragments --mxgpu-lower-coordinates --mxgpu-lower-math --mxgpu-lower-work --mxgpu-assign-warps --mxgpu-lower-rings --mxgpu-lower-kernels --convert-mxgpu-to-nvvm --canonicalize --cse | FileCheck %s --check-prefix=NVVM

// Lowers mxgpu.mma to mma.sync, whose operands select the scales by byte and by thread.
!a = !mxgpu.fragment<32x32xf8E4M3FN, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row], values = [4: 1 column, 2: 8 rows, 2: 16 columns, 2: 16 rows]>>
!b = !mxgpu.fragment<32x32xf4E2M1FN, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row], values = [2: 16 columns, 4: 1 column, 4: 8 rows]>>
!s = !mxgpu.fragment<32x4xf8E8M0FNU, #mxgpu.fragment_layout<threads = [4: 8 rows, 8: 1 row], values = [4: 1 column]>>
!d = !mxgpu.fragment<32x32xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row], values = [2: 1 column, 2: 8 rows, 2: 16 rows, 4: 8 columns]>>
!a4 = !mxgpu.fragment<32x64xf4E2M1FN, #mxgpu.fragment_layout<threads = [4: 8 columns, 8: 1 row, 2: 16 rows], values = [8: 1 column, 2: 8 rows, 2: 32 columns]>>
!b4 = !mxgpu.fragment<32x64xf4E2M1FN, #mxgpu.fragment_layout<threads = [4: 8 columns, 8: 1 row, 2: 0 columns], values = [8: 1 column, 2: 32 columns, 4: 8 rows]>>
!as4 = !mxgpu.fragment<32x8xf8E4M3FN, #mxgpu.fragment_layout<threads = [2: 8 rows, 2: 0 columns, 8: 1 row, 2: 16 rows], values = [8: 1 column]>>
!bs4 = !mxgpu.fragment<32x8xf8E4M3FN, #mxgpu.fragment_layout<threads = [4: 8 rows, 8: 1 row, 2: 0 columns], values = [8: 1 column]>>
!d4 = !mxgpu.fragment<32x32xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 2: 16 rows], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>>
!ah = !mxgpu.fragment<16x16xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row], values = [2: 1 column, 2: 8 rows, 2: 8 columns]>>
!bh = !mxgpu.fragment<32x16xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row], values = [2: 1 column, 2: 8 columns, 4: 8 rows]>>
!dh = !mxgpu.fragment<16x32xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>>

gpu.module @kernels [#nvvm.target<chip = "sm_120a", features = "+ptx88">] {
  // The warp multiplies both 16-row tiles by 8 columns at a time. Lanes 0 and 1 of each
  // quad hold the scales of the first tile, and lanes 2 and 3 hold the scales of the second.
  // Byte 2 holds the scale of block 2. An E2M1 word expands to two registers with one
  // element per byte.
  // CHECK-LABEL: mxgpu.kernel @mixed(
  // CHECK:       mxgpu.mma #mxgpu.mma_sync<mxf8f6f4, m = 32, n = 32, first_scale = 2>
  // NVVM-LABEL:  llvm.func @mixed(
  // NVVM-DAG:    %[[C0:.*]] = arith.constant 0 : i16
  // NVVM-DAG:    %[[C1:.*]] = arith.constant 1 : i16
  // NVVM-DAG:    %[[C2:.*]] = arith.constant 2 : i16
  // NVVM-DAG:    %[[C3:.*]] = arith.constant 3 : i16
  // NVVM:        nvvm.mma.block_scale {{.*}} scaleA[%{{.*}}, %[[C2]], %[[C0]]] scaleB[%{{.*}}, %[[C2]], %[[C0]]]
  // NVVM-SAME:     kind = #nvvm.block_scale_kind<mxf8f6f4>
  // NVVM-SAME:     e4m3
  // NVVM-SAME:     e2m1
  // NVVM:        nvvm.mma.block_scale {{.*}} scaleA[%{{.*}}, %[[C2]], %[[C1]]] scaleB[%{{.*}}, %[[C2]], %[[C0]]]
  // NVVM:        nvvm.mma.block_scale {{.*}} scaleA[%{{.*}}, %[[C2]], %[[C0]]] scaleB[%{{.*}}, %[[C2]], %[[C1]]]
  // NVVM-COUNT-4: nvvm.mma.block_scale
  // NVVM:        nvvm.mma.block_scale {{.*}} scaleA[%{{.*}}, %[[C2]], %[[C1]]] scaleB[%{{.*}}, %[[C2]], %[[C3]]]
  // NVVM-NOT:    nvvm.mma.block_scale
  mxgpu.kernel @mixed(%out: memref<?x?xf32>, %i: index, %yes: i1) {
    mxgpu.role @multiply warps(1) {
      %a = mxgpu.zero_fragment : !a
      %b = mxgpu.zero_fragment : !b
      %s = mxgpu.zero_fragment : !s
      %zero = mxgpu.zero_fragment : !d
      %d = mxgpu.mma #mxgpu.mma_sync<mxf8f6f4, m = 32, n = 32, first_scale = 2> %a, %b scales(%s, %s : !s, !s) into %zero : !a, !b, !d -> !d
      %rows:4 = mxgpu.to_rows %d : !d -> vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>
      mxgpu.store_fragment %rows#0, %out[%i, %i] when(%yes) : vector<8xf32>, memref<?x?xf32>
    }
  }

  // Two warps multiply 16 rows each by the same B. The instruction uses all four scales
  // of a register. Elements beyond the extent are not multiplied.
  // CHECK-LABEL: mxgpu.kernel @nvfp4(
  // CHECK:       mxgpu.mma #mxgpu.mma_sync<mxf4nvf4, m = 32, n = 32, warps = 2, block = 16, first_scale = 4>
  // NVVM-LABEL:  llvm.func @nvfp4(
  // NVVM:        %[[IS:.*]] = arith.cmpi ugt, %{{.*}}, %c64
  // NVVM:        scf.if %[[IS]]
  // NVVM-COUNT-4: nvvm.mma.block_scale {{.*}}ue4m3{{.*}}mxf4nvf4{{.*}}x4
  // NVVM-NOT:    nvvm.mma.block_scale
  mxgpu.kernel @nvfp4(%out: memref<?x?xf32>, %i: index, %n: index, %yes: i1) {
    mxgpu.role @multiply warps(2) {
      %a = mxgpu.zero_fragment : !a4
      %b = mxgpu.zero_fragment : !b4
      %as = mxgpu.zero_fragment : !as4
      %bs = mxgpu.zero_fragment : !bs4
      %zero = mxgpu.zero_fragment : !d4
      %d = mxgpu.mma #mxgpu.mma_sync<mxf4nvf4, m = 32, n = 32, warps = 2, block = 16, first_scale = 4> %a, %b scales(%as, %bs : !as4, !bs4) into %zero extent(%n) : !a4, !b4, !d4 -> !d4
      %rows:2 = mxgpu.to_rows %d : !d4 -> vector<8xf32>, vector<8xf32>
      mxgpu.store_fragment %rows#0, %out[%i, %i] when(%yes) : vector<8xf32>, memref<?x?xf32>
    }
  }

  // kind::f16 has no scales and is lowered to nvvm.mma.sync.
  // CHECK-LABEL: mxgpu.kernel @halves(
  // CHECK:       mxgpu.mma #mxgpu.mma_sync<f16, m = 16, n = 32> %{{.*}}, %{{.*}} into
  // NVVM-LABEL:  llvm.func @halves(
  // NVVM-COUNT-4: nvvm.mma.sync
  // NVVM-NOT:    nvvm.mma.sync
  mxgpu.kernel @halves(%out: memref<?x?xf32>, %i: index, %yes: i1) {
    mxgpu.role @multiply warps(1) {
      %a = mxgpu.zero_fragment : !ah
      %b = mxgpu.zero_fragment : !bh
      %zero = mxgpu.zero_fragment : !dh
      %d = mxgpu.mma #mxgpu.mma_sync<f16, m = 16, n = 32> %a, %b into %zero : !ah, !bh, !dh -> !dh
      %rows:2 = mxgpu.to_rows %d : !dh -> vector<8xf32>, vector<8xf32>
      mxgpu.store_fragment %rows#0, %out[%i, %i] when(%yes) : vector<8xf32>, memref<?x?xf32>
    }
  }
}
