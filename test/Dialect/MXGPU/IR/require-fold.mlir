// RUN: mx-opt %s --split-input-file --cse --canonicalize | FileCheck %s

// Removes the second of two checks with equal conditions.

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

// Removes a comparison of a size with itself.

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

// Removes checks in a branch or a loop after an equal check before the branch or loop.

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

// A check in one branch does not remove equal checks in the other branch or after both branches.

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

// Does not compare checks in different blocks of a control-flow graph.

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

// Keeps a check if earlier operations use its condition without checking it.

// CHECK-LABEL: func.func @used(
// CHECK:         mxgpu.require %{{.*}}, "only"
func.func @used(%ok: i1, %a: index, %b: index) -> index {
  %c = arith.select %ok, %a, %b : index
  mxgpu.require %ok, "only"
  return %c : index
}
