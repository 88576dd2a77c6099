// RUN: mx-opt %s -allow-unregistered-dialect --mxgpu-assign-warps --mxgpu-lower-rings --mxgpu-lower-kernels --convert-mxgpu-to-nvvm --cse | FileCheck %s
// RUN: mx-opt %s -allow-unregistered-dialect --mxgpu-assign-warps --mxgpu-lower-rings --mxgpu-lower-kernels --convert-mxgpu-to-nvvm --canonicalize --cse | FileCheck %s --check-prefix=STORE

// A fragment becomes a vector of the thread's registers. Extractions select elements of the vector,
// and stores compute the lane's coordinates from the layout.

!accumulator = !mxgpu.fragment<64x64xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>>
!part = !mxgpu.fragment<64x16xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns]>>
// The same tile, but the last mode of the registers is the two rows of a thread.
!by_rows = !mxgpu.fragment<64x64xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 8: 8 columns, 2: 8 rows]>>
!by_rows_part = !mxgpu.fragment<64x16xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 columns, 2: 8 rows]>>
!whole = !mxgpu.fragment<128x64xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [64: 1 column]>>
!whole_part = !mxgpu.fragment<128x16xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [16: 1 column]>>
// Registers hold the columns of the row in the order 0, 2, 1, 3.
!mixed = !mxgpu.fragment<128x4xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [2: 2 columns, 2: 1 column]>>

!rows = !mxgpu.fragment<64x32xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 4: 8 columns]>>
!rows_out = !mxgpu.ring<1 x (c: smem<16x32xf32, sw128>), producer = threads(32), consumer = bulk_store, scope = warp>
!rows_c = !mxgpu.buffer<smem<16x32xf32, sw128>>
!halves = !mxgpu.fragment<64x64xbf16, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>>
!halves_out = !mxgpu.ring<1 x (c: smem<2x16x32xbf16, sw64>), producer = threads(32), consumer = bulk_store, scope = warp>
!halves_c = !mxgpu.buffer<smem<2x16x32xbf16, sw64>>
!shared = !mxgpu.fragment<8x128xf32, #mxgpu.fragment_layout<threads = [32: 4 columns, 4: 2 rows], values = [4: 1 column, 2: 1 row]>>
!shared_out = !mxgpu.ring<1 x (c: smem<2x128xf32>), producer = threads(32), consumer = bulk_store, scope = warp>
!shared_c = !mxgpu.buffer<smem<2x128xf32>>

gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  // Extracts columns 32 to 47 from three layouts.
  // CHECK-LABEL: llvm.func @columns(
  mxgpu.kernel @columns() {
    mxgpu.role @hold warps(4) {
      %c32 = arith.constant 32 : index
      %accumulator = "wgmma"() : () -> !accumulator
      // CHECK: %[[SUMS:.*]] = builtin.unrealized_conversion_cast %{{.*}} to vector<32xf32>
      // CHECK:      vector.shuffle %[[SUMS]], %[[SUMS]] [16, 17, 18, 19, 20, 21, 22, 23] :
      %part = mxgpu.extract_columns %accumulator at(%c32) : !accumulator -> !part
      "use"(%part) : (!part) -> ()
      %by_rows = "by_rows"() : () -> !by_rows
      // CHECK: %[[SUMS:.*]] = builtin.unrealized_conversion_cast %{{.*}} to vector<32xf32>
      // CHECK:      vector.shuffle %[[SUMS]], %[[SUMS]] [8, 9, 10, 11, 24, 25, 26, 27] :
      %by_rows_part = mxgpu.extract_columns %by_rows at(%c32) : !by_rows -> !by_rows_part
      "use"(%by_rows_part) : (!by_rows_part) -> ()
      %whole = "whole"() : () -> !whole
      // CHECK: %[[SUMS:.*]] = builtin.unrealized_conversion_cast %{{.*}} to vector<64xf32>
      // CHECK:      vector.shuffle %[[SUMS]], %[[SUMS]] [32, 33, 34, {{.*}}, 46, 47] :
      %whole_part = mxgpu.extract_columns %whole at(%c32) : !whole -> !whole_part
      "use"(%whole_part) : (!whole_part) -> ()
      // Extracting all columns leaves the registers unchanged.
      // CHECK: %[[ALL:.*]] = "all"
      // CHECK:      "use"(%[[ALL]])
      %c0 = arith.constant 0 : index
      %all = "all"() : () -> !part
      %same = mxgpu.extract_columns %all at(%c0) : !part -> !part
      "use"(%same) : (!part) -> ()
    }
  }

  // CHECK-LABEL: llvm.func @rows(
  mxgpu.kernel @rows() {
    mxgpu.role @hold warps(4) {
      // CHECK: %[[PART:.*]] = builtin.unrealized_conversion_cast %{{.*}} to vector<8xf32>
      // CHECK:      %[[FIRST:.*]] = vector.shuffle %[[PART]], %[[PART]] [0, 1, 4, 5] :
      // CHECK:      %[[SECOND:.*]] = vector.shuffle %[[PART]], %[[PART]] [2, 3, 6, 7] :
      %part = "wgmma"() : () -> !part
      %rows:2 = mxgpu.to_rows %part : !part -> vector<4xf32>, vector<4xf32>
      // CHECK:      %[[S0:.*]] = vector.extract %[[SECOND]][0]
      // CHECK:      %[[S1:.*]] = vector.extract %[[SECOND]][1]
      // CHECK:      %[[S2:.*]] = vector.extract %[[SECOND]][2]
      // CHECK:      %[[S3:.*]] = vector.extract %[[SECOND]][3]
      // CHECK:      %[[F0:.*]] = vector.extract %[[FIRST]][0]
      // CHECK:      %[[F1:.*]] = vector.extract %[[FIRST]][1]
      // CHECK:      %[[F2:.*]] = vector.extract %[[FIRST]][2]
      // CHECK:      %[[F3:.*]] = vector.extract %[[FIRST]][3]
      // CHECK:      vector.from_elements %[[S0]], %[[S1]], %[[F0]], %[[F1]], %[[S2]], %[[S3]], %[[F2]], %[[F3]] :
      %swapped = mxgpu.from_rows %rows#1, %rows#0 : vector<4xf32>, vector<4xf32> -> !part
      "use"(%swapped) : (!part) -> ()
      // If a thread holds one row, the registers are unchanged.
      // CHECK: %[[WHOLE:.*]] = "whole"
      // CHECK:      "use"(%[[WHOLE]])
      %whole = "whole"() : () -> !whole_part
      %row = mxgpu.to_rows %whole : !whole_part -> vector<16xf32>
      %back = mxgpu.from_rows %row : vector<16xf32> -> !whole_part
      "use"(%back) : (!whole_part) -> ()
      // CHECK: %[[MIXED:.*]] = builtin.unrealized_conversion_cast %{{.*}} to vector<4xf32>
      // CHECK:      vector.shuffle %[[MIXED]], %[[MIXED]] [0, 2, 1, 3] :
      %mixed = "mixed"() : () -> !mixed
      %in_order = mxgpu.to_rows %mixed : !mixed -> vector<4xf32>
      "use"(%in_order) : (vector<4xf32>) -> ()
      // CHECK: %[[V:.*]] = "vector"
      // CHECK:      %[[V0:.*]] = vector.extract %[[V]][0]
      // CHECK:      %[[V1:.*]] = vector.extract %[[V]][1]
      // CHECK:      %[[V2:.*]] = vector.extract %[[V]][2]
      // CHECK:      %[[V3:.*]] = vector.extract %[[V]][3]
      // CHECK:      vector.from_elements %[[V0]], %[[V2]], %[[V1]], %[[V3]] :
      %vector = "vector"() : () -> vector<4xf32>
      %made = mxgpu.from_rows %vector : vector<4xf32> -> !mixed
      "use"(%made) : (!mixed) -> ()
    }
  }

  // Each warp writes its sixteen 128-byte rows to its own buffer. Lane t mod 32 starts at row (t
  // mod 32) / 4 and column 2 (t mod 4), and bits of the row are XORed with the offset (swizzle).
  // The other runs of the row are at constant distances.
  // STORE-LABEL: llvm.func @store(
  // STORE:       %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
  // STORE:       %[[WARP:.*]] = arith.shrui %[[THREAD]], %c5_i32
  // STORE:       %[[V:.*]] = builtin.unrealized_conversion_cast %{{.*}} to vector<16xf32>
  // STORE:       %[[OWN:.*]] = arith.muli %[[WARP]], %c2048_i32
  // STORE-NEXT:  arith.andi %[[THREAD]], %c31_i32
  // Registers 0 and 1 form the first run of the first row, and registers 4 and 5 the second run.
  // STORE:       vector.extract %[[V]][0]
  // STORE:       vector.extract %[[V]][1]
  // STORE:       %[[SUM:.*]] = arith.addi %[[OWN]], %{{.*}}
  // STORE-NEXT:  %[[AT:.*]] = llvm.getelementptr %{{.*}}[%[[SUM]]]
  // STORE:       llvm.store %{{.*}}, %[[AT]] {alignment = 8 : i64} : vector<2xi32>
  // STORE-NEXT:  vector.extract %[[V]][4]
  // STORE:       vector.extract %[[V]][5]
  // STORE:       arith.xori %{{.*}}, %c32_i32
  // STORE:       vector.extract %[[V]][8]
  // STORE:       arith.xori %{{.*}}, %c64_i32
  // STORE:       vector.extract %[[V]][12]
  // STORE:       arith.xori %{{.*}}, %c96_i32
  // The second row of a lane is 8 rows below the first, with its own swizzle bits.
  // STORE:       arith.addi %{{.*}}, %c1024_i32
  // STORE:       vector.extract %[[V]][2]
  // STORE:       vector.extract %[[V]][3]
  // STORE-COUNT-4: llvm.store
  // STORE-NOT:   llvm.store
  mxgpu.kernel @store() {
    %out = mxgpu.ring "out" : !rows_out
    mxgpu.role @hold warps(4) {
      %v = "wgmma"() : () -> !rows
      %stage, %c = mxgpu.producer_acquire %out : !rows_out
      mxgpu.store_shared %v, %c : !rows, !rows_c
    }
  }

  // Lane 8 * i + j stores row j of matrix i of four: the second matrix is 8 rows below the first, the third
  // 16 bytes to the right. Each panel has 64 bytes per row and two groups of matrices.
  // STORE-LABEL: llvm.func @store_matrices(
  // STORE:       %[[OWN:.*]] = arith.muli %{{.*}}, %c2048_i32
  // STORE:       arith.andi %{{.*}}, %c31_i32
  // STORE-COUNT-4: vector.extract
  // STORE:       %[[SUM:.*]] = arith.addi %[[OWN]], %{{.*}}
  // STORE-NEXT:  %[[AT:.*]] = llvm.getelementptr %{{.*}}[%[[SUM]]]
  // STORE-NEXT:  nvvm.stmatrix %[[AT]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {
  // STORE:       %[[NEXT:.*]] = arith.xori %{{.*}}, %c32_i32
  // STORE:       nvvm.stmatrix
  // STORE:       %[[PANEL:.*]] = llvm.getelementptr %{{.*}}[1024]
  // STORE-NEXT:  %[[AT:.*]] = llvm.getelementptr %[[PANEL]][%{{.*}}]
  // STORE-NEXT:  nvvm.stmatrix %[[AT]]
  // STORE:       %[[AT:.*]] = llvm.getelementptr %[[PANEL]][%[[NEXT]]]
  // STORE-NEXT:  nvvm.stmatrix %[[AT]]
  // STORE-NOT:   nvvm.stmatrix
  mxgpu.kernel @store_matrices() {
    %out = mxgpu.ring "out" : !halves_out
    mxgpu.role @hold warps(4) {
      %v = "wgmma"() : () -> !halves
      %stage, %c = mxgpu.producer_acquire %out : !halves_out
      mxgpu.store_shared %v, %c : !halves, !halves_c
    }
  }

  // The lanes of a warp share its rows, and each lane writes 16 bytes of each row.
  // STORE-LABEL: llvm.func @store_shared_rows(
  // STORE:       %[[OWN:.*]] = arith.muli %{{.*}}, %c1024_i32
  // STORE-NEXT:  %[[LANE:.*]] = arith.andi %{{.*}}, %c31_i32
  // STORE-NEXT:  %[[COLUMN:.*]] = arith.muli %[[LANE]], %c16_i32
  // STORE:       arith.addi %[[OWN]], %[[COLUMN]]
  // STORE:       llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>
  // STORE-NEXT:  %[[SECOND:.*]] = arith.xori %[[COLUMN]], %c512_i32
  // STORE:       arith.addi %[[OWN]], %[[SECOND]]
  // STORE:       llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>
  // STORE-NOT:   llvm.store
  mxgpu.kernel @store_shared_rows() {
    %out = mxgpu.ring "out" : !shared_out
    mxgpu.role @hold warps(4) {
      %v = "shared"() : () -> !shared
      %stage, %c = mxgpu.producer_acquire %out : !shared_out
      mxgpu.store_shared %v, %c : !shared, !shared_c
    }
  }

  // Upstream canonicalization turns an scf.if into an arith.select, which is lowered to a select of
  // vectors.
  // CHECK-LABEL: llvm.func @select(
  // CHECK:         arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<32xf32>
  // CHECK-NOT:     mxgpu
  mxgpu.kernel @select(%some: i1) {
    mxgpu.role @hold warps(4) {
      %a = mxgpu.zero_fragment : !accumulator
      %b = "wgmma"() : () -> !accumulator
      %c = arith.select %some, %a, %b : !accumulator
      %rows:2 = mxgpu.to_rows %c : !accumulator -> vector<16xf32>, vector<16xf32>
      "use"(%rows#0, %rows#1) : (vector<16xf32>, vector<16xf32>) -> ()
    }
  }
}
