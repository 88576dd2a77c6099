// RUN: mx-translate %s --split-input-file --verify-diagnostics --mx-to-manifest

// What a launch plan cannot express is an error at the operation.

func.func @control(%x: memref<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c = arith.cmpi eq, %n, %c0 : index
  // expected-error @below {{'scf.if' op expected launches that are known before the plan runs, found control flow: unroll it, or compile its body as an entry and launch that as often}}
  scf.if %c {
  }
  return
}

// -----

// expected-error @below {{'func.func' op expected one block in a launch plan, found 2}}
func.func @blocks() {
  llvm.br ^a
^a:
  return
}

// -----

func.func @number(%n: index) -> index {
  // expected-error @below {{'func.return' op expected results that are arrays in a launch plan, found 'index'}}
  return %n : index
}

// -----

func.func @floats(%f: f32) {
  // expected-error @below {{'arith.mulf' op expected arithmetic on sizes, allocations, copies and launches in a launch plan, found another operation}}
  %0 = arith.mulf %f, %f : f32
  return
}

// -----

// expected-error @below {{'func.func' op arg0: expected a number or a memref of 4x4xf4 with identity layout, found 'memref<4x4xf32, strided<[8, 1]>>'}}
func.func @strided(%x: memref<4x4xf32, strided<[8, 1]>>) {
  return
}

// -----

func.func @part(%x: memref<4x4xi16>, %y: memref<4x2xi16>) {
  %0 = memref.subview %x[0, 0] [4, 2] [1, 1] : memref<4x4xi16> to memref<4x2xi16, strided<[4, 1]>>
  // expected-error @below {{'memref.copy' op expected whole arrays in a launch plan, found a part of one}}
  memref.copy %0, %y : memref<4x2xi16, strided<[4, 1]>> to memref<4x2xi16>
  return
}

// -----

func.func @unknown(%x: memref<4xf32>) {
  // expected-error @below {{'memref.get_global' op expected arithmetic on sizes, allocations, copies and launches in a launch plan, found another operation}}
  %0 = memref.get_global @g : memref<4xf32>
  return
}
memref.global "private" @g : memref<4xf32>

// -----

func.func @bytes(%x: memref<4xi16>) {
  %one = arith.constant 1 : i16
  // expected-error @below {{'gpu.memset' op expected a constant of equal bytes and no tokens in a launch plan}}
  gpu.memset %x, %one : memref<4xi16>, i16
  return
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    // expected-error @below {{'llvm.func' op expected an allocated mxgpu.kernel, as mx-opt --mx-to-mxgpu leaves it, found this operation}}
    llvm.func @kernel() {
      llvm.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  // expected-error @below {{'gpu.module' op expected one #nvvm.target, the same for all modules of kernels}}
  gpu.module @kernels {
  }
}

// -----

func.func private @host(memref<4xf32>)
func.func @external(%x: memref<4xf32>) {
  // expected-error @below {{'func.call' op expected calls that can be inlined in a launch plan, found one of @host, which has no body: what the host would do there cannot be part of a plan}}
  func.call @host(%x) : (memref<4xf32>) -> ()
  return
}

// -----

func.func @recursive(%x: memref<4xf32>) {
  // expected-error @below {{'func.call' op expected calls that can be inlined in a launch plan, found one of @recursive, which is recursive or must not be inlined}}
  func.call @recursive(%x) : (memref<4xf32>) -> ()
  return
}
