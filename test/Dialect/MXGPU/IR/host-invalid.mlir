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

// -----

// TEMPLATE joined
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    mxgpu.role @role warps(1) {
    }
  }
  mxgpu.kernel @wide(%n: index) {
    mxgpu.role @role warps(2) {
    }
  }
  mxgpu.kernel @split(%n: index) cluster_splits(2) {
    mxgpu.role @role warps(1) {
    }
  }
  mxgpu.kernel @group(%n: index) {
    mxgpu.role @role warps(4) {
    }
  }
  mxgpu.kernel @bound(%n: index) {
    mxgpu.role @role warps(4) {
    }
    mxgpu.assign_warps @role from 0 registers(40)
  }
  // BLOCK joined
  // END
}

// -----

// CASES joined joined
// kernel C76
// expected-error @below {{'mxgpu.kernel' op expected an empty body of joined kernels, found mxgpu.role}}
mxgpu.kernel @joined(%c: index, %n: index, %m: index) joined [@kernel, @kernel] {
  mxgpu.role @role warps(1) {
  }
}

// kernel C77
// expected-error @below {{'mxgpu.kernel' op expected at least 2 joined kernels, found 1}}
mxgpu.kernel @joined(%n: index) joined [@kernel] {}

// kernel C78
// expected-error @below {{'mxgpu.kernel' op expected an mxgpu.kernel with roles, found nothing named @missing}}
mxgpu.kernel @joined(%c: index, %n: index, %m: index) joined [@kernel, @missing] {}

// kernel C79
// expected-error @below {{'mxgpu.kernel' op expected joined kernels with equal numbers of threads, found 32 and 64}}
mxgpu.kernel @joined(%c: index, %n: index, %m: index) joined [@kernel, @wide] {}

// kernel C79
// expected-error @below {{'mxgpu.kernel' op expected joined kernels with equal cluster sizes, found 1 and 2}}
mxgpu.kernel @joined(%c: index, %n: index, %m: index) joined [@kernel, @split] {}

// kernel C79
// expected-error @below {{'mxgpu.kernel' op expected joined kernels with equal registers at launch, found 0 and 40}}
mxgpu.kernel @joined(%c: index, %n: index, %m: index) joined [@group, @bound] {}

// kernel C80
// expected-error @below {{'mxgpu.kernel' op expected arguments ('index', 'index', 'index') of the joined kernels, found ('index', 'index')}}
mxgpu.kernel @joined(%n: index, %m: index) joined [@kernel, @kernel] {}
