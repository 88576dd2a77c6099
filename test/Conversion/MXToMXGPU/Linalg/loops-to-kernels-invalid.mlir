// RUN: mx-opt %s --split-input-file --verify-diagnostics --mx-loops-to-kernels

func.func @from_one(%x: memref<8xf32>, %v: f32) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // expected-error @below {{'scf.parallel' op expected a kernel loop to start at 0, step by 1, return no results and be in a host function}}
  scf.parallel (%i) = (%c1) to (%c8) step (%c1) {
    memref.store %v, %x[%i] : memref<8xf32>
  } {mxgpu.simple_kernel = "fill"}
  return
}

// -----

func.func @name(%x: memref<8xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // expected-error @below {{'scf.parallel' op expected mxgpu.simple_kernel to be a string, found unit}}
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    memref.store %v, %x[%i] : memref<8xf32>
  } {mxgpu.simple_kernel}
  return
}

// -----

func.func @place(%x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{'memref.load' op expected mxgpu.simple_kernel only on scf.parallel}}
  %a = memref.load %x[%c0] {mxgpu.simple_kernel = "load"} : memref<8xf32>
  return
}
