// RUN: mx-translate %s --split-input-file --verify-diagnostics --mx-to-manifest

// What a launch plan cannot express is an error at the operation. What becomes
// no plan at all is in Conversion/MXGPUToPlan/invalid.mlir.

// expected-error @below {{'func.func' op expected mxplan.arguments, which says what callers see: run convert-mxgpu-host-to-plan first}}
func.func @memrefs(%x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{'func.func' op expected one block in a launch plan, found 2}}
func.func @blocks() attributes {mxplan.arguments = [], mxplan.results = []} {
  llvm.br ^a
^a:
  return
}

// -----

func.func @floats(%f: f64) attributes {mxplan.arguments = [#mxplan.value<"f", f64, f64>], mxplan.results = []} {
  // expected-error @below {{'arith.mulf' op expected arithmetic on sizes, allocations, copies, launches, scf.if, scf.for and calls in a launch plan, found another operation}}
  %0 = arith.mulf %f, %f : f64
  return
}

// -----

func.func @while(%n: index) attributes {mxplan.arguments = [#mxplan.value<"n", index, index>], mxplan.results = []} {
  // expected-error @below {{'scf.while' op expected arithmetic on sizes, allocations, copies, launches, scf.if, scf.for and calls in a launch plan, found another operation}}
  scf.while : () -> () {
    %true = arith.constant true
    scf.condition(%true)
  } do {
    scf.yield
  }
  return
}

// -----

// expected-error @below {{'func.func' op arg0: expected a number or a memref of 4x4xf4 with identity layout, found 'memref<4x4xf32, strided<[8, 1]>>'}}
func.func @strided(%x: !mxplan.buffer) attributes {mxplan.arguments = [#mxplan.value<"arg0", memref<4x4xf32, strided<[8, 1]>>, memref<4x4xf32>>], mxplan.results = []} {
  return
}

// -----

func.func @results(%x: !mxplan.buffer, %at: index) -> (!mxplan.buffer, index)
    attributes {mxplan.arguments = [#mxplan.value<"x", memref<4xf32>, memref<4xf32>>, #mxplan.value<"at", index, index>],
                mxplan.results = [#mxplan.value<"y", memref<?xf32>, memref<?xf32>>]} {
  %n = mxplan.read %x[%at] : index
  // expected-error @below {{'func.return' op expected results whose extents follow from the arguments in a launch plan, found one that only the run knows in result 0}}
  return %x, %n : !mxplan.buffer, index
}

// -----

func.func @memory(%x: !mxplan.buffer, %at: index)
    attributes {mxplan.arguments = [#mxplan.value<"x", memref<4xf32>, memref<4xf32>>, #mxplan.value<"at", index, index>],
                mxplan.results = []} {
  %n = mxplan.read %x[%at] : index
  // expected-error @below {{'mxplan.alloc' op expected memory whose size follows from the arguments in a launch plan, found one that only the run knows: give it the largest size that it may have}}
  %y = mxplan.alloc %n
  return
}

// -----

func.func @carried(%n: index, %f: f64) attributes {mxplan.arguments = [#mxplan.value<"n", index, index>, #mxplan.value<"f", f64, f64>], mxplan.results = []} {
  // expected-error @below {{'scf.for' op expected operands that a launch plan knows}}
  %r = scf.for %i = %n to %n step %n iter_args(%g = %f) -> f64 {
    scf.yield %g : f64
  }
  return
}

// -----

func.func @chosen(%n: index) attributes {mxplan.arguments = [#mxplan.value<"n", index, index>], mxplan.results = []} {
  %c = arith.cmpi eq, %n, %n : index
  // expected-error @below {{'scf.if' op expected control flow that gives arrays, integers and f32 in a launch plan, found one that gives 'f64'}}
  %r = scf.if %c -> f64 {
    %0 = arith.constant 0.0 : f64
    scf.yield %0 : f64
  } else {
    %1 = arith.constant 1.0 : f64
    scf.yield %1 : f64
  }
  return
}

// -----

func.func @number(%f: f64) -> f64
    attributes {mxplan.arguments = [#mxplan.value<"f", f64, f64>], mxplan.results = [#mxplan.value<"g", f64, f64>]} {
  // expected-error @below {{'func.return' op expected results that are arrays and integers in a launch plan, found 'f64'}}
  return %f : f64
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    // expected-error @below {{'llvm.func' op expected an allocated mxgpu.kernel, as mx-opt --mx-to-plan leaves it, found this operation}}
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

func.func private @host(!mxplan.buffer)
func.func @external(%x: !mxplan.buffer) attributes {mxplan.arguments = [#mxplan.value<"x", memref<4xf32>, memref<4xf32>>], mxplan.results = []} {
  // expected-error @below {{'func.call' op expected calls of functions that end in a launch plan, found one of @host, which has no body: what the host would do there cannot be part of a plan}}
  func.call @host(%x) : (!mxplan.buffer) -> ()
  return
}

// -----

func.func @recursive(%x: !mxplan.buffer) attributes {mxplan.arguments = [#mxplan.value<"x", memref<4xf32>, memref<4xf32>>], mxplan.results = []} {
  // expected-error @below {{'func.call' op expected calls of functions that end in a launch plan, found one of @recursive, which calls itself}}
  func.call @recursive(%x) : (!mxplan.buffer) -> ()
  return
}

// -----

func.func @deep(%n: index) attributes {mxplan.arguments = [#mxplan.value<"n", index, index>], mxplan.results = []} {
  %c = arith.cmpi eq, %n, %n : index
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  scf.if %c {
  // expected-error @below {{'scf.if' op expected at most 32 branches and loops within one another in a launch plan, found more}}
  scf.if %c {
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  }
  return
}
