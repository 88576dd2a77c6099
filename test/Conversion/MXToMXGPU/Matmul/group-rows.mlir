// RUN: mx-opt %s --convert-mx-to-mxgpu --canonicalize --cse --mxgpu-verify-pipelines --mxgpu-verify-resources | FileCheck %s

// Four kernels sort rows by counting. They use atomic additions only to count.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:      %[[IDS:.*]]: memref<?x8xi32>, %[[ROWS:[^:]*]]: memref<?xi32>, %[[SLOTS:[^:]*]]: memref<?xi32>, %[[ENDS:[^:]*]]: memref<32xi32>, %[[COUNT:[^:]*]]: memref<i32>)
// CHECK-DAG:     mxgpu.require %{{.*}}, "expected dimension 0 of slots to be %lld, found %lld"
// CHECK-DAG:     mxgpu.require %{{.*}}, "expected at most %lld token-expert pairs, found %lld"
// CHECK:         gpu.memset
// CHECK:         mxgpu.launch @kernels::@main_group_count grid(
// CHECK:         mxgpu.launch @kernels::@main_group_sum grid(
// CHECK:         mxgpu.launch @kernels::@main_group_ends grid({{.*}}%[[ENDS]], %[[COUNT]]
// CHECK:         mxgpu.launch @kernels::@main_group_place grid({{.*}}%[[ROWS]], %[[SLOTS]], %[[COUNT]]
// CHECK-LABEL: mxgpu.kernel @main_group_count(
// CHECK:         memref.atomic_rmw addi
// CHECK-LABEL: mxgpu.kernel @main_group_sum(
// CHECK-NOT:     memref.atomic_rmw addi
// CHECK-LABEL: mxgpu.kernel @main_group_ends(
// CHECK:         memref.store %{{.*}}[] : memref<i32>
// CHECK-LABEL: mxgpu.kernel @main_group_place(
// CHECK:         %[[BEFORE:.*]] = scf.for
// CHECK:           arith.cmpi eq
// CHECK:         arith.addi %{{.*}}, %[[BEFORE]]
func.func @main(%ids: memref<?x8xi32>, %r: memref<?xi32>, %s: memref<?xi32>, %e: memref<32xi32>, %c: memref<i32>) {
  mx.group_rows ins(%ids : memref<?x8xi32>) outs(%r, %s, %e, %c : memref<?xi32>, memref<?xi32>, memref<32xi32>, memref<i32>)
  return
}
