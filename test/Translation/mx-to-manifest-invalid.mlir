// RUN: %expand_cases %s %t.mlir
// RUN: mx-translate %t.mlir --split-input-file --verify-diagnostics --mx-to-manifest

// Operations that a launch plan cannot express are errors. Errors for modules
// without a plan are tested in Conversion/MXGPUToPlan/invalid.mlir.

// RUN: %python -c "n = 33; print('func.func @deep() attributes {mxplan.arguments = [], mxplan.results = []} {', '%yes = arith.constant true', *['scf.if %yes {'] * n, *['}'] * n, 'return', '}', sep='\n')" > %t.deep.mlir
// RUN: not mx-translate %t.deep.mlir --mx-to-manifest 2>&1 | FileCheck %s
// CHECK: deep.mlir:35:1: error: 'scf.if' op expected at most 32 nested branches and loops in a launch plan, found more

// -----

// expected-error @below {{'func.func' op expected mxplan.arguments: run convert-mxgpu-host-to-plan first}}
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

// expected-error @below {{'func.func' op arg0: expected a number or a memref of 4x4xf4 with identity layout, found 'memref<4x4xf32, strided<[8, 1]>>'}}
func.func @strided(%x: !mxplan.buffer) attributes {mxplan.arguments = [#mxplan.value<"arg0", memref<4x4xf32, strided<[8, 1]>>, memref<4x4xf32>>], mxplan.results = []} {
  return
}

// -----

// TEMPLATE number
func.func @f(%n: i64) attributes {mxplan.arguments = [#mxplan.value<"n", i64, i64>], mxplan.results = []} {
  // BLOCK body
  // END
  return
}

// -----

// CASES number body
// expected-error @below {{'arith.sitofp' op expected arithmetic on numbers of up to 64 bits, allocations, copies, launches, control flow of scf and calls in a launch plan, found another operation}}
%0 = arith.sitofp %n : i64 to f80

// expected-error @below {{'math.ipowi' op expected an arith or math operation on integers of up to 64 bits, f16, bf16, f32 and f64 that a launch plan supports (docs/reference/Manifest.md), found another operation}}
%0 = math.ipowi %n, %n : i64

// expected-error @below {{'vector.broadcast' op expected arithmetic on numbers of up to 64 bits, allocations, copies, launches, control flow of scf and calls in a launch plan, found another operation}}
%0 = vector.broadcast %n : i64 to vector<4xi64>

%wide = arith.constant 1 : i128
// expected-error @below {{'scf.for' op expected operands that a launch plan computes}}
%r = scf.for %i = %n to %n step %n iter_args(%g = %wide) -> i128 : i64 {
  scf.yield %g : i128
}

%c = arith.cmpi eq, %n, %n : i64
// expected-error @below {{'scf.if' op expected results of control flow that are arrays or numbers of up to 64 bits in a launch plan, found 'i128'}}
%r = scf.if %c -> i128 {
  %0 = arith.constant 0 : i128
  scf.yield %0 : i128
} else {
  %1 = arith.constant 1 : i128
  scf.yield %1 : i128
}

// expected-error @below {{'scf.execute_region' op expected one block in a launch plan, found 2}}
scf.execute_region {
  llvm.br ^a
^a:
  scf.yield
}

// expected-error @below {{'func.call' op expected no recursive calls in a launch plan, found a call of @f, which calls itself}}
func.call @f(%n) : (i64) -> ()

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    // expected-error @below {{'llvm.func' op cannot be translated to a manifest: run mx-opt --mx-to-plan first}}
    llvm.func @kernel() {
      llvm.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  // expected-error @below {{'gpu.module' op expected the same single #nvvm.target in all kernel modules}}
  gpu.module @kernels {
  }
}

// -----

// expected-error @below {{expected a body of 'host', found a declaration: a program must define the functions that it calls}}
func.func private @host(!mxplan.buffer)
func.func @external(%x: !mxplan.buffer) attributes {mxplan.arguments = [#mxplan.value<"x", memref<4xf32>, memref<4xf32>>], mxplan.results = []} {
  func.call @host(%x) : (!mxplan.buffer) -> ()
  return
}
