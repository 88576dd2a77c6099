// RUN: mx-opt %s -split-input-file -verify-diagnostics --mx-to-cpu

func.func @no_lowering(%x: f32) -> f8E4M3FN {
  // expected-error @below {{expected an operation of the LLVM dialect after lowering, found 'arith.truncf', which has no lowering to the CPU}}
  %y = arith.truncf %x : f32 to f8E4M3FN
  return %y : f8E4M3FN
}

// -----

// expected-error @below {{expected an operation of the LLVM dialect after lowering, found 'gpu.module', which has no lowering to the CPU}}
gpu.module @kernels {
}
