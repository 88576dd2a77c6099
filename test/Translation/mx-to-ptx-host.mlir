// RUN: mx-translate --mx-to-ptx %s | FileCheck %s
// RUN: env CUDA_ROOT=%t.none mx-translate --mx-to-ptx %s 2>&1 | FileCheck %s --implicit-check-not=error
// RUN: env CUDA_ROOT=%S mx-translate --mx-to-ptx %s 2>&1 | FileCheck %s --implicit-check-not=error

// The host code may contain index, math and ub operations left by size checks and
// canonicalization.
// CHECK: .target sm_90a
// CHECK: .entry kernel
func.func @main(%a: index, %b: index, %x: f32) -> (i1, f32) {
  %0 = index.cmp slt(%a, %b)
  %1 = math.sqrt %x : f32
  %2 = ub.poison : f32
  %3 = arith.select %0, %1, %2 : f32
  return %0, %3 : i1, f32
}
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
  llvm.func @kernel() attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}
