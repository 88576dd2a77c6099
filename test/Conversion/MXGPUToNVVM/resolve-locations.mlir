// RUN: mx-opt %s --mxgpu-resolve-locations --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// The inlined body of a named linalg operation has no location, but the pipeline still emits
// directives for it.
// RUN: mx-opt %S/Inputs/inlined.mlir --mx-to-nvvm --mlir-print-debuginfo 2>/dev/null | mx-translate --mx-to-ptx | FileCheck %s --check-prefix=PTX
// PTX-DAG: .file [[FILE:[0-9]+]] {{.*}}inlined.mlir
// PTX-DAG: .loc [[FILE]] 7 3

// A merged kernel has one location in .loc. Comments after the text of the module list the other
// locations.
// CHECK: gpu.module @kernels attributes {llvm.module_asm = ["// kept", "// .loc \22a.mlir\22 1 2 in kernel is also \22a.mlir\22 3 4, \22c \\22.mlir\22 5 6"]}
#a = loc("a.mlir":1:2)
#b = loc("a.mlir":3:4)
#c = loc("c \22.mlir":5:6)
#unknown = loc(unknown)
gpu.module @kernels attributes {llvm.module_asm = ["// kept"]} {
  // CHECK: llvm.mlir.constant(1 : i32) : i32 loc("a.mlir":1:2)
  // CHECK: llvm.mlir.constant(2 : i32) : i32 loc("a.mlir":1:2)
  // CHECK: llvm.mlir.constant(3 : i32) : i32 loc("a.mlir":3:4)
  // CHECK: llvm.mlir.constant(4 : i32) : i32 loc("a.mlir":1:2)
  // CHECK: llvm.mlir.constant(5 : i32) : i32 loc("a.mlir":1:2)
  // CHECK: llvm.mlir.constant(6 : i32) : i32 loc(unknown)
  // CHECK: llvm.mlir.constant(7 : i32) : i32 loc("a.mlir":1:2)
  llvm.func @kernel() {
    %1 = llvm.mlir.constant(1 : i32) : i32 loc(#a)
    %2 = llvm.mlir.constant(2 : i32) : i32 loc(callsite(#a at #b))
    %3 = llvm.mlir.constant(3 : i32) : i32 loc(callsite(#unknown at #b))
    %4 = llvm.mlir.constant(4 : i32) : i32 loc(callsite(callsite(#unknown at #a) at #b))
    %5 = llvm.mlir.constant(5 : i32) : i32 loc(callsite(#a at #unknown))
    %6 = llvm.mlir.constant(6 : i32) : i32 loc(callsite(#unknown at #unknown))
    %7 = llvm.mlir.constant(7 : i32) : i32 loc(fused[#a, "named"(#b), callsite(#c at #b), #a])
    llvm.return
  }
}
