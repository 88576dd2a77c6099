// RUN: mx-opt %s --mxgpu-resolve-locations --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// What a named operation of linalg computes has no location, and it is inlined:
// the pipeline ends with directives for it too.
// RUN: mx-opt %S/Inputs/inlined.mlir --mx-to-nvvm --mlir-print-debuginfo 2>/dev/null | mx-translate --mx-to-ptx | FileCheck %s --check-prefix=PTX
// PTX-DAG: .file [[FILE:[0-9]+]] {{.*}}inlined.mlir
// PTX-DAG: .loc [[FILE]] 7 3

#a = loc("a.mlir":1:2)
#b = loc("a.mlir":3:4)
#unknown = loc(unknown)
gpu.module @kernels {
  // CHECK: llvm.mlir.constant(1 : i32) : i32 loc("a.mlir":1:2)
  // CHECK: llvm.mlir.constant(2 : i32) : i32 loc("a.mlir":1:2)
  // CHECK: llvm.mlir.constant(3 : i32) : i32 loc("a.mlir":3:4)
  // CHECK: llvm.mlir.constant(4 : i32) : i32 loc("a.mlir":1:2)
  // CHECK: llvm.mlir.constant(5 : i32) : i32 loc("a.mlir":1:2)
  // CHECK: llvm.mlir.constant(6 : i32) : i32 loc(unknown)
  llvm.func @kernel() {
    %1 = llvm.mlir.constant(1 : i32) : i32 loc(#a)
    %2 = llvm.mlir.constant(2 : i32) : i32 loc(callsite(#a at #b))
    %3 = llvm.mlir.constant(3 : i32) : i32 loc(callsite(#unknown at #b))
    %4 = llvm.mlir.constant(4 : i32) : i32 loc(callsite(callsite(#unknown at #a) at #b))
    %5 = llvm.mlir.constant(5 : i32) : i32 loc(callsite(#a at #unknown))
    %6 = llvm.mlir.constant(6 : i32) : i32 loc(callsite(#unknown at #unknown))
    llvm.return
  }
}
