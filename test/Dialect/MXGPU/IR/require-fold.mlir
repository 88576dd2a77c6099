// RUN: mx-opt %s --split-input-file --cse --canonicalize | FileCheck %s

// The first of two checks with equal conditions reports the error.

// CHECK-LABEL: func.func @equal(
// CHECK:         mxgpu.require %{{.*}}, "expected %lld rows, found %lld"
// CHECK-NOT:     mxgpu.require
// CHECK:         return
func.func @equal(%m: index, %n: index) {
  %same = arith.cmpi eq, %m, %n : index
  mxgpu.require %same, "expected %lld rows, found %lld"(%m, %n)
  %again = arith.cmpi eq, %m, %n : index
  mxgpu.require %again, "expected %lld columns, found %lld"(%m, %n)
  return
}

// -----

// A size equals itself, under any name.

// CHECK-LABEL: func.func @itself(
// CHECK-NOT:     mxgpu.require
// CHECK:         return
func.func @itself(%a: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %a, %c0 : memref<?xf32>
  %n = memref.dim %a, %c0 : memref<?xf32>
  %same = arith.cmpi eq, %m, %n : index
  mxgpu.require %same, "expected %lld rows, found %lld"(%m, %n)
  return
}

// -----

// A check before a branch or a loop covers its blocks.

// CHECK-LABEL: func.func @before(
// CHECK:         mxgpu.require %{{.*}}, "before"
// CHECK-NOT:     mxgpu.require
// CHECK:         return
func.func @before(%ok: i1, %branch: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  mxgpu.require %ok, "before"
  scf.for %i = %c0 to %n step %c1 {
    scf.if %branch {
      mxgpu.require %ok, "in the branch"
    }
  }
  return
}

// -----

// A check in a branch covers neither the other branch nor the rest.

// CHECK-LABEL: func.func @branches(
// CHECK:         mxgpu.require %{{.*}}, "then"
// CHECK:         mxgpu.require %{{.*}}, "else"
// CHECK:         mxgpu.require %{{.*}}, "after"
// CHECK-NOT:     mxgpu.require
func.func @branches(%ok: i1, %branch: i1) {
  scf.if %branch {
    mxgpu.require %ok, "then"
  } else {
    mxgpu.require %ok, "else"
  }
  mxgpu.require %ok, "after"
  return
}

// -----

// Blocks of a control-flow graph are not compared.

// CHECK-LABEL: func.func @blocks(
// CHECK:         mxgpu.require %{{.*}}, "first"
// CHECK:         mxgpu.require %{{.*}}, "second"
func.func @blocks(%ok: i1, %branch: i1) {
  cf.cond_br %branch, ^first, ^second
^first:
  mxgpu.require %ok, "first"
  cf.br ^second
^second:
  mxgpu.require %ok, "second"
  return
}

// -----

// A condition that is used before, but not required, stays.

// CHECK-LABEL: func.func @used(
// CHECK:         mxgpu.require %{{.*}}, "only"
func.func @used(%ok: i1, %a: index, %b: index) -> index {
  %c = arith.select %ok, %a, %b : index
  mxgpu.require %ok, "only"
  return %c : index
}
