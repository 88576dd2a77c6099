// RUN: mx-opt %s --mx-check-loops | FileCheck %s

// CHECK: llvm.mlir.global internal constant @__mx_message_{{[0-9]+}}("%serror: expected a loop with a step of at least 1, found %ld\0A\00")

// A constant step needs no check at run time.
// CHECK-LABEL: func.func @known(
// CHECK-NOT:     scf.if
// CHECK:         scf.for
func.func @known(%m: memref<?xindex>, %n: index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %n step %c2 {
    memref.store %i, %m[%i] : memref<?xindex>
  }
  return
}

// CHECK-LABEL: func.func @signed(
// CHECK-SAME:    %[[STEP:[a-z0-9]+]]: i32)
// CHECK:         arith.cmpi sgt, %[[STEP]], %c0_i32
// CHECK-NEXT:    %[[WIDE:.*]] = arith.extsi %[[STEP]] : i32 to i64
// CHECK:         scf.if
// CHECK:           llvm.call @dprintf({{.*}}, %[[WIDE]])
// CHECK:           llvm.call @exit(%c2_i32
// CHECK:         scf.for
func.func @signed(%n: i32, %step: i32) {
  %c0 = arith.constant 0 : i32
  scf.for %i = %c0 to %n step %step : i32 {
    func.call @use(%i) : (i32) -> ()
  }
  return
}

// CHECK-LABEL: func.func @unsigned(
// CHECK-SAME:    %[[STEP:[a-z0-9]+]]: i32)
// CHECK:         arith.cmpi ugt, %[[STEP]]
// CHECK-NEXT:    arith.extui %[[STEP]] : i32 to i64
func.func @unsigned(%n: i32, %step: i32) {
  %c0 = arith.constant 0 : i32
  scf.for unsigned %i = %c0 to %n step %step : i32 {
    func.call @use(%i) : (i32) -> ()
  }
  return
}

// The step of every dimension of a parallel loop is checked.
// CHECK-LABEL: func.func @parallel(
// CHECK-SAME:    %[[A:[a-z0-9]+]]: index, %[[B:[a-z0-9]+]]: index)
// CHECK:         arith.cmpi sgt, %[[A]]
// CHECK:         scf.if
// CHECK:         arith.cmpi sgt, %[[B]]
// CHECK:         scf.if
// CHECK:         scf.parallel
func.func @parallel(%m: memref<?x?xindex>, %n: index, %a: index, %b: index) {
  %c0 = arith.constant 0 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %n) step (%a, %b) {
    memref.store %i, %m[%i, %j] : memref<?x?xindex>
  }
  return
}

func.func private @use(i32)
