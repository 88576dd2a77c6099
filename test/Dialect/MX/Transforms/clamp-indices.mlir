// RUN: mx-opt %s --split-input-file --mx-clamp-indices --canonicalize | FileCheck %s
// RUN: mx-opt %s --split-input-file --mx-to-cpu -o /dev/null
// RUN: mx-opt %s --split-input-file --mx-to-plan -o /dev/null

// An index that is loaded from a tensor is clamped. An index that is always in
// bounds is kept.
#id = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func @gather(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<9x7xf32>
// CHECK:         linalg.generic
// CHECK:         ^bb0(%[[I:.*]]: i64, %{{.*}}: f32):
// CHECK-DAG:       %[[J:.*]] = linalg.index 1
// CHECK-DAG:       %[[P:.*]] = arith.index_cast %[[I]] : i64 to index
// CHECK:           %[[LOW:.*]] = arith.minsi %[[P]], %c8
// CHECK:           %[[IN:.*]] = arith.maxsi %[[LOW]], %c0
// CHECK:           tensor.extract %[[X]][%[[IN]], %[[J]]]
func.func @gather(%x: tensor<9x7xf32>, %at: tensor<4xi64>) -> tensor<4x7xf32> {
  %0 = tensor.empty() : tensor<4x7xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%at : tensor<4xi64>) outs(%0 : tensor<4x7xf32>) {
  ^bb0(%i: i64, %o: f32):
    %j = linalg.index 1 : index
    %p = arith.index_cast %i : i64 to index
    %e = tensor.extract %x[%p, %j] : tensor<9x7xf32>
    linalg.yield %e : f32
  } -> tensor<4x7xf32>
  return %y : tensor<4x7xf32>
}

// -----

// The host checks that the table is not empty, unless nothing is read.
// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<?xf32>
// CHECK-DAG:     %[[SIZE:.*]] = tensor.dim %[[X]], %c0
// CHECK-DAG:     %[[SOME:.*]] = arith.cmpi sgt, %[[SIZE]], %c0
// CHECK-DAG:     %[[NONE:.*]] = arith.cmpi eq, %{{.*}}, %c0
// CHECK:         %[[FINE:.*]] = arith.ori %[[SOME]], %[[NONE]]
// CHECK:         cf.assert %[[FINE]], "'tensor.extract' op expected an access inside of its array: dimension 0 has no elements to read"
// CHECK:         %[[LAST:.*]] = arith.subi %[[SIZE]], %c1
// CHECK:         linalg.map
// CHECK:           arith.minsi %{{.*}}, %[[LAST]]
// CHECK-NEXT:      arith.maxsi
// CHECK-NEXT:      tensor.extract
func.func @dynamic(%x: tensor<?xf32>, %at: tensor<?xindex>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %at, %c0 : tensor<?xindex>
  %0 = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.map ins(%at : tensor<?xindex>) outs(%0 : tensor<?xf32>) (%i: index, %o: f32) {
    %e = tensor.extract %x[%i] : tensor<?xf32>
    linalg.yield %e : f32
  }
  return %y : tensor<?xf32>
}

// -----

// A read in a branch is not checked by the host, and returns 0 if the table is empty.
// CHECK-LABEL: func.func @branch(
// CHECK-NOT:     cf.assert
// CHECK:         linalg.generic
// CHECK:           scf.if
// CHECK:             arith.minsi
// CHECK:             arith.maxsi
// CHECK:             scf.if
// CHECK-NEXT:          tensor.extract
// CHECK:             } else {
// CHECK-NEXT:          scf.yield %cst
#id = affine_map<(i, j) -> (i, j)>
func.func @branch(%table: tensor<?x12xbf16>, %tokens: tensor<?xi64>) -> tensor<?x12xbf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %tokens, %c0 : tensor<?xi64>
  %y0 = tensor.empty(%n) : tensor<?x12xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%tokens : tensor<?xi64>) outs(%y0 : tensor<?x12xbf16>) {
  ^bb0(%token: i64, %o: bf16):
    %zero = arith.constant 0 : i64
    %none = arith.constant 0.0 : bf16
    %j = linalg.index 1 : index
    %hidden = arith.cmpi slt, %token, %zero : i64
    %r = scf.if %hidden -> bf16 {
      scf.yield %none : bf16
    } else {
      %i = arith.index_cast %token : i64 to index
      %e = tensor.extract %table[%i, %j] : tensor<?x12xbf16>
      scf.yield %e : bf16
    }
    linalg.yield %r : bf16
  } -> tensor<?x12xbf16>
  return %y : tensor<?x12xbf16>
}

// -----

// The host checks the range of an index if it is the sum of a host value and a region index.
// CHECK-LABEL: func.func @window(
// CHECK-SAME:      %[[X:[^:]*]]: tensor<20xf32>, %[[FROM:[^:]*]]: i32
// CHECK-DAG:     %[[FIRST:.*]] = arith.index_cast %[[FROM]] : i32 to index
// CHECK-DAG:     %[[A:.*]] = arith.cmpi sge, %[[FIRST]], %c0
// CHECK-DAG:     %[[B:.*]] = arith.cmpi sle, %[[FIRST]], %c15
// CHECK:         %[[BOTH:.*]] = arith.andi %[[A]], %[[B]]
// CHECK:         cf.assert %[[BOTH]], "'tensor.extract' op expected an access inside of its array: index 0 is out-of-bounds"
// CHECK-NOT:     arith.minsi
// CHECK-NOT:     arith.maxsi
func.func @window(%x: tensor<20xf32>, %from: i32) -> tensor<5xf32> {
  %y = tensor.generate {
  ^bb0(%i: index):
    %first = arith.index_cast %from : i32 to index
    %p = arith.addi %first, %i : index
    %e = tensor.extract %x[%p] : tensor<20xf32>
    tensor.yield %e : f32
  } : tensor<5xf32>
  return %y : tensor<5xf32>
}

// -----

// The host does not check values in device memory, because it would have to wait for the device.
// Arguments of called functions are not checked either, because a caller may pass such a value.
// CHECK-LABEL: func.func private @called(
// CHECK-NOT:     cf.assert
// CHECK:         arith.minsi
// CHECK:         arith.maxsi
// CHECK-LABEL: func.func @read(
// CHECK-NOT:     cf.assert
// CHECK:         arith.minsi
// CHECK:         arith.maxsi
func.func private @called(%x: tensor<20xf32>, %from: i32) -> tensor<5xf32> {
  %y = tensor.generate {
  ^bb0(%i: index):
    %p = arith.index_cast %from : i32 to index
    %e = tensor.extract %x[%p] : tensor<20xf32>
    tensor.yield %e : f32
  } : tensor<5xf32>
  return %y : tensor<5xf32>
}
func.func @read(%x: tensor<20xf32>, %numbers: tensor<3xi32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %c0 = arith.constant 0 : index
  %from = tensor.extract %numbers[%c0] : tensor<3xi32>
  %y = tensor.generate {
  ^bb0(%i: index):
    %p = arith.index_cast %from : i32 to index
    %e = tensor.extract %x[%p] : tensor<20xf32>
    tensor.yield %e : f32
  } : tensor<5xf32>
  %z = func.call @called(%x, %from) : (tensor<20xf32>, i32) -> tensor<5xf32>
  return %y, %z : tensor<5xf32>, tensor<5xf32>
}

// -----

// Loop indices, clamped indices, and other indices that are always in bounds are kept.
// CHECK-LABEL: func.func @inside(
// CHECK-NOT:     cf.assert
// CHECK-COUNT-1: arith.minsi
// CHECK-NOT:     arith.m{{in|ax}}si
func.func @inside(%x: tensor<8x16x256xf32>, %codes: tensor<16x32xi8>, %n: tensor<?xf32>) -> tensor<16x32xf32> {
  %y = tensor.generate {
  ^bb0(%i: index, %j: index):
    %c2 = arith.constant 2 : index
    %c15 = arith.constant 15 : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p = arith.divui %i, %c2 : index
    %q = arith.minsi %j, %c15 : index
    %code = tensor.extract %codes[%i, %j] : tensor<16x32xi8>
    %r = arith.index_castui %code : i8 to index
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %c15 step %c1 iter_args(%acc = %zero) -> f32 {
      %v = tensor.extract %x[%p, %k, %r] : tensor<8x16x256xf32>
      %s = arith.addf %acc, %v : f32
      scf.yield %s : f32
    }
    %e = tensor.extract %x[%p, %q, %r] : tensor<8x16x256xf32>
    %t = arith.addf %e, %sum : f32
    tensor.yield %t : f32
  } : tensor<16x32xf32>
  return %y : tensor<16x32xf32>
}

// -----

// Equal sizes need no check, and other sizes are compared on the host.
// CHECK-LABEL: func.func @sizes(
// CHECK-COUNT-1: cf.assert {{.*}} index 0 is out-of-bounds
// CHECK-NOT:     cf.assert
// CHECK-NOT:     arith.minsi
#v = affine_map<(i) -> (i)>
func.func @sizes(%x: tensor<?xf32>, %other: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %0 = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%0 : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %b = tensor.extract %x[%i] : tensor<?xf32>
    %c = tensor.extract %other[%i] : tensor<?xf32>
    %d = arith.addf %b, %c : f32
    linalg.yield %d : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// Indices of memref.load are checked and clamped like indices of tensor.extract.
// CHECK-LABEL: func.func @memrefs(
// CHECK:         cf.assert {{.*}}'memref.load' op expected an access inside of its array: index 1 is out-of-bounds
// CHECK:         arith.minsi
// CHECK-NEXT:    arith.maxsi
// CHECK-NEXT:    memref.load
#v = affine_map<(i) -> (i)>
func.func @memrefs(%x: memref<6x?xf32>, %at: memref<5xi32>, %column: index, %y: memref<5xf32>) {
  linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]}
      ins(%at : memref<5xi32>) outs(%y : memref<5xf32>) {
  ^bb0(%i: i32, %o: f32):
    %p = arith.index_cast %i : i32 to index
    %e = memref.load %x[%p, %column] : memref<6x?xf32>
    linalg.yield %e : f32
  }
  return
}

// -----

// Row and column arguments of an epilogue are not clamped, because the lowerings
// handle them. A loaded row, and the sum of a column and a loaded value, are clamped.
// CHECK-LABEL: func.func @epilogue(
// CHECK:         mx.matmul
// CHECK:         ^bb0(%{{.*}}: f32, %[[ROW:.*]]: index, %[[COL:.*]]: index):
// CHECK:           %[[R:.*]] = tensor.extract %{{.*}}[%[[ROW]]] : tensor<?xi32>
// CHECK:           %[[SUM:.*]] = arith.addi %[[COL]],
// CHECK:           %[[CR:.*]] = arith.maxsi
// CHECK:           %[[LOW:.*]] = arith.minsi %[[SUM]], %c299
// CHECK:           %[[CC:.*]] = arith.maxsi %[[LOW]], %c0
// CHECK:           tensor.extract %{{.*}}[%[[CR]], %[[CC]]]
!a = tensor<?x64xf8E4M3FN>
!as = tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<256x64xf8E4M3FN>
!bs = tensor<256x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x256xf32>
func.func @epilogue(%a: !a, %as: !as, %b: !b, %bs: !bs, %rows: tensor<?xi32>, %table: tensor<40x300xf32>, %n: index) -> !y {
  %y0 = tensor.empty(%n) : !y
  %y = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y0 : !y) -> !y epilogue {
  ^bb0(%acc: f32, %row: index, %col: index):
    %r = tensor.extract %rows[%row] : tensor<?xi32>
    %p = arith.index_cast %r : i32 to index
    %q = arith.addi %col, %p : index
    %e = tensor.extract %table[%p, %q] : tensor<40x300xf32>
    %s = arith.addf %acc, %e : f32
    mx.yield %s : f32
  }
  return %y : !y
}

// -----

// An index that the program already clamps is not clamped again, but the check
// for an empty table stays.
// CHECK-LABEL: func.func @clamped(
// CHECK:         cf.assert %{{.*}}, "'tensor.extract' op expected an access inside of its array: dimension 0 has no elements to read"
// CHECK:         linalg.generic
// CHECK-COUNT-1: arith.minsi
// CHECK-NOT:     arith.minsi
// CHECK:         tensor.extract
func.func @clamped(%x: tensor<?xf32>, %at: tensor<5xindex>) -> tensor<5xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %last = arith.subi %n, %c1 : index
  %0 = tensor.empty() : tensor<5xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%at : tensor<5xindex>) outs(%0 : tensor<5xf32>) {
  ^bb0(%i: index, %o: f32):
    %low = arith.minsi %i, %last : index
    %p = arith.maxsi %low, %c0 : index
    %e = tensor.extract %x[%p] : tensor<?xf32>
    linalg.yield %e : f32
  } -> tensor<5xf32>
  return %y : tensor<5xf32>
}

// -----

// CHECK-LABEL: func.func @table(
// CHECK:         %[[T:.*]] = arith.constant dense<{{.*}}> : tensor<2xf32>
// CHECK:         tensor.generate
// CHECK:           arith.minsi
// CHECK:           arith.maxsi
// CHECK:           tensor.extract %[[T]]
func.func @table(%at: tensor<5xindex>) -> tensor<5xf32> {
  %y = tensor.generate {
  ^bb0(%i: index):
    %p = tensor.extract %at[%i] : tensor<5xindex>
    %t = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %e = tensor.extract %t[%p] : tensor<2xf32>
    tensor.yield %e : f32
  } : tensor<5xf32>
  return %y : tensor<5xf32>
}
