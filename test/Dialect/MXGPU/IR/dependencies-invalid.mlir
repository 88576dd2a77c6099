// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// TEMPLATE kernel
// SET arguments = 
gpu.module @kernels {
  mxgpu.kernel @kernel(${arguments}) {
    // BLOCK body
    // END
  }
}

// -----

// CASES kernel body
// expected-note @below {{here}}
mxgpu.role @role warps(1) {
}
// wait_dependencies C1
// expected-error @below {{'mxgpu.wait_dependencies' op expected no role and no memory access before the op, found mxgpu.role}}
mxgpu.wait_dependencies

// SET arguments = %n: memref<1xindex>
%c0 = arith.constant 0 : index
// expected-note @below {{here}}
%rows = memref.load %n[%c0] : memref<1xindex>
// wait_dependencies C1
// expected-error @below {{'mxgpu.wait_dependencies' op expected no role and no memory access before the op, found memref.load}}
mxgpu.wait_dependencies
mxgpu.role @role warps(1) {
}

mxgpu.wait_dependencies
mxgpu.launch_dependents
%c0 = arith.constant 0 : index
scf.for %i = %c0 to %c0 step %c0 {
  // launch_dependents C1
  // expected-error @below {{'mxgpu.launch_dependents' op expected to be inside a role}}
  mxgpu.launch_dependents
}
mxgpu.role @role warps(1) {
}
