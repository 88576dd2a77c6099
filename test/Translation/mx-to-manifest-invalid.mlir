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

func.func @floats(%n: i64) attributes {mxplan.arguments = [#mxplan.value<"n", i64, i64>], mxplan.results = []} {
  // expected-error @below {{'arith.sitofp' op expected arithmetic on numbers of up to 64 bits, allocations, copies, launches, control flow of scf and calls in a launch plan, found another operation}}
  %0 = arith.sitofp %n : i64 to f80
  return
}

// -----

func.func @power(%n: i64) attributes {mxplan.arguments = [#mxplan.value<"n", i64, i64>], mxplan.results = []} {
  // expected-error @below {{'math.ipowi' op expected arithmetic of arith or math on integers of up to 64 bits, f16, bf16, f32 and f64 that a launch plan has (docs/reference/Manifest.md), found another operation}}
  %0 = math.ipowi %n, %n : i64
  return
}

// -----

func.func @vectors(%n: i64) attributes {mxplan.arguments = [#mxplan.value<"n", i64, i64>], mxplan.results = []} {
  // expected-error @below {{'vector.broadcast' op expected arithmetic on numbers of up to 64 bits, allocations, copies, launches, control flow of scf and calls in a launch plan, found another operation}}
  %0 = vector.broadcast %n : i64 to vector<4xi64>
  return
}

// -----

// expected-error @below {{'func.func' op arg0: expected a number or a memref of 4x4xf4 with identity layout, found 'memref<4x4xf32, strided<[8, 1]>>'}}
func.func @strided(%x: !mxplan.buffer) attributes {mxplan.arguments = [#mxplan.value<"arg0", memref<4x4xf32, strided<[8, 1]>>, memref<4x4xf32>>], mxplan.results = []} {
  return
}

// -----

func.func @carried(%n: index) attributes {mxplan.arguments = [#mxplan.value<"n", index, index>], mxplan.results = []} {
  %wide = arith.constant 1 : i128
  // expected-error @below {{'scf.for' op expected operands that a launch plan knows}}
  %r = scf.for %i = %n to %n step %n iter_args(%g = %wide) -> i128 {
    scf.yield %g : i128
  }
  return
}

// -----

func.func @chosen(%n: index) attributes {mxplan.arguments = [#mxplan.value<"n", index, index>], mxplan.results = []} {
  %c = arith.cmpi eq, %n, %n : index
  // expected-error @below {{'scf.if' op expected control flow that gives arrays and numbers of up to 64 bits in a launch plan, found one that gives 'i128'}}
  %r = scf.if %c -> i128 {
    %0 = arith.constant 0 : i128
    scf.yield %0 : i128
  } else {
    %1 = arith.constant 1 : i128
    scf.yield %1 : i128
  }
  return
}

// -----

func.func @blocks_within(%n: index) attributes {mxplan.arguments = [#mxplan.value<"n", index, index>], mxplan.results = []} {
  // expected-error @below {{'scf.execute_region' op expected one block in a launch plan, found 2}}
  scf.execute_region {
    llvm.br ^a
  ^a:
    scf.yield
  }
  return
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    // expected-error @below {{'llvm.func' op expected an mxgpu.kernel, as mx-opt --mx-to-plan leaves it, found this operation}}
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

// expected-error @below {{expected a body of 'host', found a declaration: a program has the functions that it calls}}
func.func private @host(!mxplan.buffer)
func.func @external(%x: !mxplan.buffer) attributes {mxplan.arguments = [#mxplan.value<"x", memref<4xf32>, memref<4xf32>>], mxplan.results = []} {
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
