// RUN: mx-opt %s -allow-unregistered-dialect -split-input-file --mxgpu-lower-coordinates --mxgpu-assign-warps --mxgpu-lower-rings --mxgpu-lower-kernels --convert-mxgpu-to-nvvm --canonicalize --cse | FileCheck %s
// RUN: mx-opt %s -allow-unregistered-dialect -split-input-file --mxgpu-lower-coordinates --mxgpu-assign-warps --mxgpu-lower-rings --mxgpu-lower-kernels --convert-mxgpu-to-nvvm --canonicalize --cse | FileCheck %s --check-prefix=COUNT
// RUN: mx-opt %s -allow-unregistered-dialect -split-input-file --canonicalize | FileCheck %s --check-prefix=FOLD

// Loads wgmma operands from shared memory. A single load reads a 16-byte run, and bytes are
// permuted if the registers need another order. A relabeled fragment uses the same vector.

#a = #mxgpu.fragment_layout<threads = [4: 16 columns, 8: 1 row, 4: 32 rows, 2: 128 rows],
                            values = [2: 1 column, 2: 8 rows, 2: 2 columns, 4: 4 columns, 2: 16 rows]>
#a_use = #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows, 2: 128 rows],
                                values = [2: 1 column, 2: 8 rows, 2: 8 columns, 4: 16 columns, 2: 64 rows]>
!in = !mxgpu.ring<2 x (a: smem<256x64xf8E4M3FN, sw64>), producer = bulk_copy, consumer = threads(256)>
!a = !mxgpu.buffer<smem<256x64xf8E4M3FN, sw64>>
!map = !mxgpu.tensor_map<256x64xf8E4M3FN, sw64>
!q = !mxgpu.fragment<256x64xf8E4M3FN, #a>
!q_use = !mxgpu.fragment<256x64xf8E4M3FN, #a_use>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  // COUNT-LABEL: llvm.func @a(
  // COUNT-COUNT-4: llvm.load {{.*}} -> vector<4xi32>
  // COUNT-NOT: llvm.load
  // COUNT-COUNT-16: nvvm.prmt
  // COUNT-NOT: nvvm.prmt
  // CHECK-LABEL: llvm.func @a(
  // Immediate offsets address the row 8 below and the next word pair.
  // CHECK: %[[A:.*]] = llvm.load %[[AT:.*]] {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
  // CHECK: %[[AT8:.*]] = llvm.getelementptr %[[AT]][512]
  // CHECK: llvm.load %[[AT8]] {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
  // CHECK: llvm.getelementptr %[[AT]][1024]
  // CHECK: llvm.getelementptr %[[AT]][1536]
  // FOLD-LABEL: mxgpu.kernel @a(
  // FOLD: %[[Q:.*]] = mxgpu.load_fragment
  // FOLD-NEXT: %[[USE:.*]] = mxgpu.relabel_fragment %[[Q]]
  // FOLD-NEXT: "use"(%[[Q]])
  // FOLD-NEXT: "use"(%[[USE]])
  mxgpu.kernel @a(%a_map: !map, %i: index) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @hold warps(8) {
      %s, %a = mxgpu.consumer_wait %in : !in
      %q = mxgpu.load_fragment %a at [%c0, %c0] : !a -> !q
      %use = mxgpu.relabel_fragment %q : !q -> !q_use
      %same = mxgpu.relabel_fragment %use : !q_use -> !q
      %again = mxgpu.relabel_fragment %same : !q -> !q_use
      "use"(%same) : (!q) -> ()
      "use"(%again) : (!q_use) -> ()
      mxgpu.consumer_release %s : !mxgpu.stage<!in>
    }
    mxgpu.role @load warps(1) elected {
      %s, %a = mxgpu.producer_acquire %in : !in
      mxgpu.tma_load %a_map[%i, %c0] into %a for %s : !map, !a, !mxgpu.stage<!in>
      mxgpu.producer_commit %s : !mxgpu.stage<!in>
    }
  }
}

// -----

// A single store writes eight elements with adjacent addresses, whichever registers contain
// them. Pairs of elements in a word stay together.
#b = #mxgpu.fragment_layout<threads = [2: 1 row, 4: 8 rows, 4: 2 rows, 4: 32 rows],
                            values = [2: 1 column, 2: 8 columns, 4: 16 columns, 4: 2 columns]>
!out = !mxgpu.ring<2 x (b: smem<128x64xbf16, sw128>), producer = threads(128), consumer = bulk_store>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
!y = !mxgpu.fragment<128x64xbf16, #b>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  // COUNT-LABEL: llvm.func @b(
  // COUNT-NOT: nvvm.prmt
  // COUNT-COUNT-8: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
  // COUNT-NOT: llvm.store
  // CHECK-LABEL: llvm.func @b(
  mxgpu.kernel @b(%map: !b_map) {
    %c0 = arith.constant 0 : index
    %out = mxgpu.ring "out" : !out
    mxgpu.role @write warps(4) {
      %y = "some"() : () -> !y
      %s, %b = mxgpu.producer_acquire %out : !out
      mxgpu.store_shared %y, %b : !y, !b
      mxgpu.tma_store %b to %map[%c0, %c0] : !b, !b_map
      mxgpu.producer_commit %s : !mxgpu.stage<!out>
    }
  }
}

// -----

// The scales of four blocks form a word. A single mask, used for all rows, sets the scales of
// blocks past the extent to 0.
!in = !mxgpu.ring<1 x (sf: smem<1x2x2x256xf8E8M0FNU>), producer = bulk_copy, consumer = threads(32)>
!sf = !mxgpu.buffer<smem<1x2x2x256xf8E8M0FNU>>
!map = !mxgpu.tensor_map<1x2x2x256xf8E8M0FNU>
!q = !mxgpu.fragment<64x128xf8E4M3FN, #mxgpu.fragment_layout<threads = [32: 1 row], values = [128: 1 column, 2: 32 rows]>>
!q1 = !mxgpu.fragment<32x64xf8E4M3FN, #mxgpu.fragment_layout<threads = [4: 16 columns, 8: 1 row], values = [16: 1 column, 4: 8 rows]>>
!z = !mxgpu.fragment<16x8xf8E8M0FNU, #mxgpu.fragment_layout<threads = [4: 1 column, 8: 1 row], values = [2: 4 columns, 2: 8 rows]>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  // COUNT-LABEL: llvm.func @scales(
  // COUNT-COUNT-4: arith.cmpi
  // COUNT: llvm.load {{.*}} -> i32
  // COUNT: arith.andi
  // COUNT: llvm.load {{.*}} -> i32
  // COUNT: arith.andi
  // COUNT-COUNT-8: llvm.load {{.*}} -> i8
  // COUNT-NOT: llvm.load
  // CHECK-LABEL: llvm.func @scales(
  // CHECK: vector.shape_cast %{{.*}} : vector<8xf8E8M0FNU> to vector<2x4xf8E8M0FNU>
  // CHECK: vector.shape_cast %{{.*}} : vector<4xf8E8M0FNU> to vector<4x1xf8E8M0FNU>
  // The scales of a fragment are loaded row by row. Rows 8 apart are 128 bytes apart, and blocks
  // 4 apart are one tile apart. The order of the registers follows the layout, columns first.
  // CHECK: llvm.getelementptr %[[START:[0-9a-z]+]][512] :
  // CHECK: llvm.getelementptr %[[START]][128] :
  // CHECK: llvm.getelementptr %[[START]][640] :
  // CHECK: vector.from_elements %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : vector<4xi8>
  mxgpu.kernel @scales(%map: !map, %i: index, %n: index) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @hold warps(1) {
      %s, %sf = mxgpu.consumer_wait %in : !in
      %x = mxgpu.load_fragment_scales %sf at [%i, %c0] extent(%n) block(32) for !q : !sf -> vector<2x4xf8E8M0FNU>
      "use"(%x) : (vector<2x4xf8E8M0FNU>) -> ()
      %y = mxgpu.load_fragment_scales %sf at [%c0, %i] block(32) for !q1 : !sf -> vector<4x1xf8E8M0FNU>
      "use"(%y) : (vector<4x1xf8E8M0FNU>) -> ()
      %z = mxgpu.load_fragment_scales %sf at [%c0, %c0] block(1) for !z : !sf -> !z
      "use"(%z) : (!z) -> ()
      mxgpu.consumer_release %s : !mxgpu.stage<!in>
    }
    mxgpu.role @load warps(1) elected {
      %s, %sf = mxgpu.producer_acquire %in : !in
      mxgpu.tma_load %map[%c0, %c0, %c0, %c0] into %sf for %s : !map, !sf, !mxgpu.stage<!in>
      mxgpu.producer_commit %s : !mxgpu.stage<!in>
    }
  }
}

// -----

// A byte contains two 4-bit elements, both in a buffer of 4-bit elements and in a buffer of bytes.
!in = !mxgpu.ring<1 x (a: smem<32x32xf4E2M1FN>, b: smem<32x16xi8>), producer = bulk_copy, consumer = threads(32)>
!a = !mxgpu.buffer<smem<32x32xf4E2M1FN>>
!b = !mxgpu.buffer<smem<32x16xi8>>
!a_map = !mxgpu.tensor_map<32x32xf4E2M1FN>
!b_map = !mxgpu.tensor_map<32x16xi8>
!q = !mxgpu.fragment<32x32xf4E2M1FN, #mxgpu.fragment_layout<threads = [32: 1 row], values = [32: 1 column]>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  // COUNT-LABEL: llvm.func @nibbles(
  // COUNT-COUNT-2: llvm.load {{.*}} -> vector<4xi32>
  // COUNT-NOT: llvm.load
  mxgpu.kernel @nibbles(%a_map: !a_map, %b_map: !b_map) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @hold warps(1) {
      %s, %a, %b = mxgpu.consumer_wait %in : !in
      %x = mxgpu.load_fragment %a at [%c0, %c0] : !a -> !q
      "use"(%x) : (!q) -> ()
      %y = mxgpu.load_fragment %b at [%c0, %c0] : !b -> !q
      "use"(%y) : (!q) -> ()
      mxgpu.consumer_release %s : !mxgpu.stage<!in>
    }
    mxgpu.role @load warps(1) elected {
      %s, %a, %b = mxgpu.producer_acquire %in : !in
      mxgpu.tma_load %a_map[%c0, %c0] into %a for %s : !a_map, !a, !mxgpu.stage<!in>
      mxgpu.tma_load %b_map[%c0, %c0] into %b for %s : !b_map, !b, !mxgpu.stage<!in>
      mxgpu.producer_commit %s : !mxgpu.stage<!in>
    }
  }
}

// -----

// A warp loads matrices with ldmatrix, and each lane provides the address of a 16-byte row. The
// lanes of a matrix address adjacent rows with the swizzle applied. The next matrices are 8 rows or
// 16 columns further, and two matrices cover the 16 rows of B. The loaded words are the registers
// of the fragment.
!in = !mxgpu.ring<2 x (a: smem<32x64xf8E4M3FN, sw64>, b: smem<16x64xf4E2M1FN>), producer = bulk_copy, consumer = threads(32)>
!a = !mxgpu.buffer<smem<32x64xf8E4M3FN, sw64>>
!b = !mxgpu.buffer<smem<16x64xf4E2M1FN>>
!a_map = !mxgpu.tensor_map<32x64xf8E4M3FN, sw64>
!b_map = !mxgpu.tensor_map<16x64xf4E2M1FN>
!q = !mxgpu.fragment<32x32xf8E4M3FN, #mxgpu.fragment_layout<threads = [4: 4 columns, 8: 1 row], values = [4: 1 column, 2: 8 rows, 2: 16 columns, 2: 16 rows]>>
!r = !mxgpu.fragment<16x32xf4E2M1FN, #mxgpu.fragment_layout<threads = [4: 8 columns, 8: 1 row], values = [8: 1 column, 2: 8 rows]>>
gpu.module @kernels [#nvvm.target<chip = "sm_120a", features = "+ptx88">] {
  // COUNT-LABEL: llvm.func @matrices(
  // COUNT-COUNT-3: nvvm.ldmatrix
  // COUNT-NOT: nvvm.ldmatrix
  // COUNT-NOT: nvvm.prmt
  // CHECK-LABEL: llvm.func @matrices(
  // CHECK: %[[AT:.*]] = nvvm.ldmatrix %[[P:.*]] {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
  // CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[P]][1024]
  // CHECK: nvvm.ldmatrix %[[NEXT]] {{.*}}num = 4
  // CHECK: nvvm.ldmatrix {{.*}}num = 2 : i32{{.*}} -> !llvm.struct<(i32, i32)>
  mxgpu.kernel @matrices(%a_map: !a_map, %b_map: !b_map) {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @hold warps(1) {
      %s, %a, %b = mxgpu.consumer_wait %in : !in
      %x = mxgpu.load_fragment %a at [%c0, %c32] matrices : !a -> !q
      "use"(%x) : (!q) -> ()
      %y = mxgpu.load_fragment %b at [%c0, %c0] matrices : !b -> !r
      "use"(%y) : (!r) -> ()
      mxgpu.consumer_release %s : !mxgpu.stage<!in>
    }
    mxgpu.role @load warps(1) elected {
      %s, %a, %b = mxgpu.producer_acquire %in : !in
      mxgpu.tma_load %a_map[%c0, %c0] into %a for %s : !a_map, !a, !mxgpu.stage<!in>
      mxgpu.tma_load %b_map[%c0, %c0] into %b for %s : !b_map, !b, !mxgpu.stage<!in>
      mxgpu.producer_commit %s : !mxgpu.stage<!in>
    }
  }
}
