// Rejects invalid modules and launches. Launch functions return nothing,
// so only a message and a nonzero exit status report errors.
//
// RUN: split-file %s %t
// RUN: mlir-opt %t/kernel.mlir -gpu-to-llvm -convert-func-to-llvm -reconcile-unrealized-casts -o %t/kernel.ll.mlir
// RUN: not env MX_ERRORS=exit MX_DEVICE=sim %runner %t/kernel.ll.mlir 2>&1 | FileCheck --check-prefix=KERNEL %s
// RUN: mlir-opt %t/text.mlir -gpu-to-llvm -convert-func-to-llvm -reconcile-unrealized-casts -o %t/text.ll.mlir
// RUN: not env MX_ERRORS=exit MX_DEVICE=sim %runner %t/text.ll.mlir 2>&1 | FileCheck --check-prefix=TEXT %s
// RUN: mlir-opt %t/block.mlir -gpu-to-llvm -convert-func-to-llvm -reconcile-unrealized-casts -o %t/block.ll.mlir
// RUN: not env MX_ERRORS=exit MX_DEVICE=sim %runner %t/block.ll.mlir 2>&1 | FileCheck --check-prefix=BLOCK %s
// RUN: not env MX_ERRORS=exit MX_DEVICE=simulator %runner %t/block.ll.mlir 2>&1 | FileCheck --check-prefix=DEVICE %s
// RUN: not env MX_ERRORS=exit MX_DEVICE=sim MX_SIM_CHECKS=everything %runner %t/block.ll.mlir 2>&1 | FileCheck --check-prefix=CHECKS %s
// RUN: mlir-opt %t/spin.mlir -gpu-to-llvm -convert-func-to-llvm -reconcile-unrealized-casts -o %t/spin.ll.mlir
// RUN: not env MX_ERRORS=exit MX_DEVICE=sim MX_SIM_INSTRUCTION_LIMIT=10000 %runner %t/spin.ll.mlir 2>&1 | FileCheck --check-prefix=SPIN %s
// An unknown error policy is reported and ignored.
// RUN: env MX_ERRORS=abort MX_DEVICE=sim %runner %t/block.ll.mlir 2>&1 | FileCheck --check-prefix=POLICY %s

// KERNEL: mx runtime: not found: gpu.binary: there is no kernel 'missing', but 'there'
// TEXT:   mx runtime: bad module: gpu.binary:5:
// BLOCK:  mx runtime: bad launch: kernel 'there': expected a block of 1 to 1024 threads, at most 1024x1024x64, found 2048x1x1
// DEVICE: mx runtime: invalid value: MX_DEVICE: expected device auto, sim, sim:N, cuda or cuda:N, found 'simulator'
// CHECKS: mx runtime: invalid value: MX_SIM_CHECKS: simulator option checks: expected default, all, none or a list of
// POLICY: mx runtime: MX_ERRORS: expected print, return or exit, found 'abort'
// POLICY: mx runtime: bad launch: kernel 'there'
// SPIN:   mx runtime: check failed: kernel 'spin' on the simulator: failed
// SPIN:   instruction-limit: stopped after {{[0-9]+}} warp instructions, the limit is 10000

//--- kernel.mlir
module attributes {gpu.container_module} {
  gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_90">, assembly = ".version 8.0\0A.target sm_90\0A.address_size 64\0A.visible .entry there() { ret; }\0A\00">]
  func.func @main() {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    gpu.launch_func @kernels::@missing blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i64
    return
  }
}
//--- text.mlir
module attributes {gpu.container_module} {
  gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_90">, assembly = ".version 8.0\0A.target sm_90\0A.address_size 64\0A.visible .entry there() {\0A  mov.u32 %r1, ;\0A}\0A\00">]
  func.func @main() {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    gpu.launch_func @kernels::@there blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i64
    return
  }
}
//--- block.mlir
module attributes {gpu.container_module} {
  gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_90">, assembly = ".version 8.0\0A.target sm_90\0A.address_size 64\0A.visible .entry there() { ret; }\0A\00">]
  func.func @main() {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    %c2048 = llvm.mlir.constant(2048 : i64) : i64
    gpu.launch_func @kernels::@there blocks in (%c1, %c1, %c1) threads in (%c2048, %c1, %c1) : i64
    return
  }
}
//--- spin.mlir
module attributes {gpu.container_module} {
  gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_90">, assembly = ".version 8.0\0A.target sm_90\0A.address_size 64\0A.visible .entry spin() {\0A$L: bra $L;\0A}\0A\00">]
  func.func @main() {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    gpu.launch_func @kernels::@spin blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i64
    return
  }
}
