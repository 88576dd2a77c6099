// RUN: mx-opt %s -split-input-file -verify-diagnostics --mx-to-cpu

func.func @no_lowering() -> index {
  // expected-error @below {{expected an operation of the LLVM dialect after lowering, found 'gpu.thread_id', which has no lowering to the CPU}}
  %y = gpu.thread_id x
  return %y : index
}

// -----

// expected-error @below {{expected an operation of the LLVM dialect after lowering, found 'gpu.module', which has no lowering to the CPU}}
gpu.module @kernels {
}
