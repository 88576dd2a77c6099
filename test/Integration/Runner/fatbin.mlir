// By default, stock MLIR writes a fatbin that contains PTX
// and machine code. Such a program runs unchanged; a program
// without PTX is refused with a message that names the remedy.
//
// REQUIRES: ptxas, fatbinary
//
// RUN: mlir-opt %s -gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90 cubin-features=+ptx80" \
// RUN:   | %run_on_sim | FileCheck %s
//
// CHECK: hello from the fatbin
//
// RUN: mlir-opt %s -gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90 cubin-features=+ptx80 cubin-format=bin" -o %t.mlir
// RUN: not env MX_ERRORS=exit MX_DEVICE=sim %runner %t.mlir 2>&1 | FileCheck --check-prefix=BIN %s
//
// BIN:     mx runtime: bad module: gpu.binary: expected PTX for the simulator, found a cubin with code for sm_90 only; PTX comes from nvcc -gencode arch=compute_XX,code=compute_XX, nvcc -ptx, gpu-module-to-binary{format=isa} and gpu-lower-to-nvvm-pipeline="cubin-format=isa"
// BIN-NOT: hello

module attributes {gpu.container_module} {
  func.func @main() {
    %c1 = arith.constant 1 : index
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      gpu.printf "hello from the fatbin\n"
      gpu.terminator
    }
    return
  }
}
