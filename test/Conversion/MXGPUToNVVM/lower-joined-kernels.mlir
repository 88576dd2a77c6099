// RUN: mx-opt %s --mxgpu-lower-kernels --convert-mxgpu-to-nvvm --canonicalize --cse | FileCheck %s

// The function takes the counts of CTAs and the parameters of all kernels. Each copy sees the numbers of its part of the
// grid. Private kernels are erased.

// CHECK-LABEL: gpu.module @kernels
// CHECK:         llvm.func @second(
// CHECK:         llvm.func @joined(%[[COUNT:.*]]: i64, %[[A:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %[[B:.*]]: !llvm.ptr)
// CHECK-SAME:      nvvm.cluster_dim = array<i32: 2, 1, 1>
// CHECK-SAME:      nvvm.minctasm = 2 : i32
// CHECK:           %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK:           %[[CTAS:.*]] = arith.trunci %[[COUNT]] : i64 to i32
// CHECK:           %[[FIRST:.*]] = arith.cmpi ult, %[[CTA]], %[[CTAS]]
// CHECK:           scf.if %[[FIRST]] {
// CHECK:             llvm.insertvalue %[[A]],
// CHECK:             %[[SUM:.*]] = arith.addi %[[CTA]], %[[CTAS]]
// CHECK:             llvm.store %[[SUM]],
// CHECK:           } else {
// CHECK:             llvm.insertvalue %[[B]],
// CHECK:             %[[CLUSTER:.*]] = nvvm.read.ptx.sreg.clusterid.x
// CHECK:             %[[SKIPPED:.*]] = arith.{{divui|shrui}} %[[CTAS]], %{{.*}}
// CHECK:             %[[OWN:.*]] = arith.subi %[[CLUSTER]], %[[SKIPPED]]
// CHECK:             %[[CLUSTERS:.*]] = nvvm.read.ptx.sreg.nclusterid.x
// CHECK:             %[[REST:.*]] = arith.subi %[[CLUSTERS]], %[[SKIPPED]]
// CHECK:             %[[SUM:.*]] = arith.addi %[[OWN]], %[[REST]]
// CHECK:             llvm.store %[[SUM]],
// CHECK:           llvm.return
gpu.module @kernels {
  mxgpu.kernel @first(%out: memref<1xi32>) cluster_splits(2) min_ctas(3) attributes {sym_visibility = "private"} {
    mxgpu.role @store warps(1) {
      %out_ptr = memref.extract_aligned_pointer_as_index %out : memref<1xi32> -> index
      %address = arith.index_cast %out_ptr : index to i64
      %a = llvm.inttoptr %address : i64 to !llvm.ptr
      %cta = nvvm.read.ptx.sreg.ctaid.x : i32
      %ctas = nvvm.read.ptx.sreg.nctaid.x : i32
      %sum = arith.addi %cta, %ctas : i32
      llvm.store %sum, %a : i32, !llvm.ptr
    }
    mxgpu.assign_warps @store from 0
  }
  mxgpu.kernel @second(%map: !mxgpu.tensor_map<64x64xbf16, sw128>, %out: memref<1xi32>) cluster_splits(2) min_ctas(2) {
    mxgpu.role @store warps(1) {
      %out_ptr = memref.extract_aligned_pointer_as_index %out : memref<1xi32> -> index
      %address = arith.index_cast %out_ptr : index to i64
      %a = llvm.inttoptr %address : i64 to !llvm.ptr
      %cluster = nvvm.read.ptx.sreg.clusterid.x : i32
      %clusters = nvvm.read.ptx.sreg.nclusterid.x : i32
      %sum = arith.addi %cluster, %clusters : i32
      llvm.store %sum, %a : i32, !llvm.ptr
    }
    mxgpu.assign_warps @store from 0
  }
  mxgpu.kernel @joined(%ctas: index, %out: memref<1xi32>, %map: !mxgpu.tensor_map<64x64xbf16, sw128>, %other: memref<1xi32>) joined [@first, @second] {}
}
