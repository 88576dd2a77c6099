// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir --split-input-file --verify-diagnostics

// TEMPLATE function
// SET arguments = %x: !mxplan.buffer, %n: index
func.func @f(${arguments}) {
  // BLOCK body
  // END
  return
}

// -----

// CASES function body
// SET arguments = %x: !mxplan.buffer, %at: index
// expected-error @below {{'mxplan.read' op expected index, or an integer or float of 8, 16, 32 or 64 bits, found 'i1'}}
%0 = mxplan.read %x[%at] : i1

// expected-error @below {{'mxplan.fill' op attribute 'byte' failed to satisfy constraint}}
mxplan.fill %x, 256 bytes(%n)

// expected-error @below {{'mxplan.encode_tensor_map' op expected 2 dims and 1 strides for a box of 2 dimensions, found 1 and 1}}
%0 = mxplan.encode_tensor_map %x offset(%n) dims(%n) strides(%n) : !mxgpu.tensor_map<64x128xf8E4M3FN, sw128>

// -----

// CASES
// expected-error @below {{'func.func' op expected arguments of types ('!mxplan.buffer', 'index') as in mxplan.arguments, found ('!mxplan.buffer')}}
func.func @arguments(%x: !mxplan.buffer) attributes {mxplan.arguments = [#mxplan.value<"x", memref<?xf32>, memref<?xf32>>]} {
  return
}

// expected-error @below {{'func.func' op expected results of types () as in mxplan.results, found ('index')}}
func.func @results(%n: index) -> index attributes {mxplan.results = []} {
  return %n : index
}

// expected-error @below {{'func.func' op expected mxplan.results to be an array of #mxplan.value, found 7 : i64}}
func.func @form() attributes {mxplan.results = 7} {
  return
}

// expected-error @below {{'func.func' op expected mxplan.arguments and mxplan.results of func.func, found mxplan.entry}}
func.func @entry() attributes {mxplan.entry} {
  return
}

// -----

// USE function body
// SET arguments = %n: index
// expected-error @below {{'mxplan.launch' op expected a kernel, found nothing named @kernels::@kernel}}
mxplan.launch @kernels::@kernel grid(%n) args()

// -----

// CASES
module attributes {gpu.container_module} {
  func.func @count(%x: !mxplan.buffer, %n: index) {
    // expected-error @below {{'mxplan.launch' op expected 3 parameters, found 1}}
    mxplan.launch @kernels::@kernel grid(%n) args(%x : !mxplan.buffer)
    return
  }
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    mxgpu.kernel @kernel(%a: memref<?xf32>, %n: index) {
      mxgpu.role @a warps(1) {
      }
    }
  }
}

module attributes {gpu.container_module} {
  func.func @types(%x: !mxplan.buffer, %n: index, %m: i64) {
    // expected-error @below {{'mxplan.launch' op expected parameter 2 of type 'i64', found 'index'}}
    mxplan.launch @kernels::@kernel grid(%n) args(%x, %m, %n : !mxplan.buffer, i64, index)
    return
  }
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    mxgpu.kernel @kernel(%a: memref<?xf32>, %n: index) {
      mxgpu.role @a warps(1) {
      }
    }
  }
}

module attributes {gpu.container_module} {
  func.func @lowered(%x: !mxplan.buffer, %n: index) {
    // expected-error @below {{'mxplan.launch' op expected 2 parameters, found 1}}
    mxplan.launch @kernels::@kernel grid(%n) args(%x : !mxplan.buffer)
    return
  }
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    llvm.func @kernel(!llvm.ptr, i64)
  }
}

// -----

// CASES function body
// expected-error @below {{'mxplan.slice' op expected uses only as a parameter of mxplan.launch, found a use by 'mxplan.copy'}}
%p = mxplan.slice %x from %n
mxplan.copy %p to %x bytes(%n)

// SET arguments = 
// expected-error @below {{'mxplan.constant' op expected a constant memref.global with a value, found nothing named @nobody}}
%c = mxplan.constant @nobody

// SET arguments = 
// expected-error @below {{'mxplan.constant' op expected a constant memref.global with a value, found func.func named @f}}
%c = mxplan.constant @f

// -----

// CASES
memref.global "private" @variable : memref<2xf32> = dense<1.0>
func.func @variable_user() {
  // expected-error @below {{'mxplan.constant' op expected a constant memref.global with a value, found memref.global named @variable}}
  %c = mxplan.constant @variable
  return
}

memref.global "private" constant @elsewhere : memref<2xf32>
func.func @external() {
  // expected-error @below {{'mxplan.constant' op expected a constant memref.global with a value, found memref.global named @elsewhere}}
  %c = mxplan.constant @elsewhere
  return
}

memref.global "private" constant @short : memref<4xf32> = dense_resource<short>
func.func @short_user() {
  // expected-error @below {{'mxplan.constant' op expected the resource 'short' to have the 16 bytes of tensor<4xf32>, found 12}}
  %c = mxplan.constant @short
  return
}
{-#
  dialect_resources: {
    builtin: {
      short: "0x04000000000000000000000000000000"
    }
  }
#-}
