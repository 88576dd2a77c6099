// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// -----

// TEMPLATE launch
module attributes {gpu.container_module} {
  gpu.module @kernels {
    mxgpu.kernel @kernel(%a: memref<4x4xf32>, %n: index) {
      mxgpu.role @role warps(1) {
      }
    }
    func.func private @function(memref<4x4xf32>, index)
  }
  func.func @f(%a: memref<4x4xf32>, %n: index) {
    // BLOCK launch
    // END
    return
  }
}

// -----

// CASES launch launch
// launch C1
// expected-error @below {{'mxgpu.launch' op expected an mxgpu.kernel, found nothing named @kernels::@kernels}}
mxgpu.launch @kernels::@kernels grid(%n) args(%a, %n : memref<4x4xf32>, index)

// launch C1
// expected-error @below {{'mxgpu.launch' op expected an mxgpu.kernel, found func.func named @kernels::@function}}
mxgpu.launch @kernels::@function grid(%n) args(%a, %n : memref<4x4xf32>, index)

// launch C2
// expected-error @below {{'mxgpu.launch' op expected 2 arguments, found 1}}
mxgpu.launch @kernels::@kernel grid(%n) args(%a : memref<4x4xf32>)

// launch C3
// expected-error @below {{'mxgpu.launch' op expected argument 1 of type 'index', found 'memref<4x4xf32>'}}
mxgpu.launch @kernels::@kernel grid(%n) args(%a, %a : memref<4x4xf32>, memref<4x4xf32>)

// -----

// TEMPLATE function
// SET arguments = %ok: i1, %n: index
func.func @f(${arguments}) {
  // BLOCK body
  // END
  return
}

// -----

// CASES function body
// require C3
// expected-error @below {{'mxgpu.require' op expected 2 values for the message, found 1}}
mxgpu.require %ok, "expected %lld rows, found %lld" (%n)

// require C3
// expected-error @below {{'mxgpu.require' op expected 0 values for the message, found 1}}
mxgpu.require %ok, "expected rows" (%n)

// require C2
// expected-error @below {{'mxgpu.require' op expected only %lld and %% in the message, found "% of"}}
mxgpu.require %ok, "50% of %s"

// require C2
// expected-error @below {{'mxgpu.require' op expected only %lld and %% in the message, found "%n"}}
mxgpu.require %ok, "%n" (%n)

// require C1
// expected-error @below {{'mxgpu.require' op expected a message without zero bytes}}
mxgpu.require %ok, "end \00 of text"
