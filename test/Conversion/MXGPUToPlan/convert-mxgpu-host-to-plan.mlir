// RUN: mx-opt %s --split-input-file --mxgpu-verify-resources --convert-mxgpu-host-to-plan --canonicalize --cse | FileCheck %s

// A memref is passed as its buffer and the dynamic parts of its type, and a kernel takes the same operands
// with i64 in place of index. The tensor map counts 4-bit elements, two for each byte of the memref.

// CHECK-LABEL: func.func @launch(
// CHECK-SAME:    %[[A:[^:]*]]: !mxplan.buffer, %[[ROWS:[^:]*]]: index, %[[F:[^:]*]]: f32)
// CHECK-SAME:    mxplan.arguments = [#mxplan.value<"a", memref<?x64xi8>, tensor<?x128xf4E2M1FN>>, #mxplan.value<"arg1", f32, f32>]
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C64:.*]] = arith.constant 64 : index
// CHECK-DAG:     %[[C128:.*]] = arith.constant 128 : index
// CHECK:         %[[MAP:.*]] = mxplan.encode_tensor_map %[[A]] offset(%[[C0]]) dims(%[[C128]], %[[ROWS]]) strides(%[[C64]]) l2_promotion = b128 : !map
// CHECK:         %[[WORD:.*]] = arith.index_cast %[[ROWS]] : index to i64
// CHECK:         mxplan.launch @kernels::@kernel grid(%[[ROWS]]) args(%[[MAP]], %[[A]], %[[WORD]], %[[F]], %[[WORD]] : !map, !mxplan.buffer, i64, f32, i64)
// CHECK:         mxgpu.kernel @kernel
!map = !mxgpu.tensor_map<64x128xf4E2M1FN, sw64>
module attributes {gpu.container_module} {
  func.func @launch(%a: memref<?x64xi8> {mx.name = "a", mx.type = tensor<?x128xf4E2M1FN>}, %f: f32) {
    %c0 = arith.constant 0 : index
    %rows = memref.dim %a, %c0 : memref<?x64xi8>
    %map = mxgpu.encode_tensor_map %a l2_promotion = b128 : memref<?x64xi8> -> !map
    mxgpu.launch @kernels::@kernel grid(%rows) args(%map, %a, %f, %rows : !map, memref<?x64xi8>, f32, index)
    return
  }
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    mxgpu.kernel @kernel(%map: !map, %a: memref<?x64xi8>, %f: f32, %n: index) {
      mxgpu.role @a warps(1) {
      }
    }
  }
}

// -----

// Views become arithmetic on sizes, strides and offsets. The static size in the result type
// of a cast is checked at run time. The address of a view is the address of the whole array.

// CHECK-LABEL: func.func @views(
// CHECK-SAME:    %[[A:[^:]*]]: !mxplan.buffer, %[[M:[^:]*]]: index, %[[N:[^:]*]]: index, %[[FIRST:[^:]*]]: index)
// CHECK-SAME:    -> (!mxplan.buffer, index, index, index, index)
// CHECK-DAG:     %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG:     %[[C8:.*]] = arith.constant 8 : index
// CHECK-DAG:     %[[ROW:.*]] = arith.muli %[[FIRST]], %[[N]]
// CHECK-DAG:     %[[OFFSET:.*]] = arith.addi %[[ROW]], %[[C8]]
// CHECK-DAG:     %[[STEP:.*]] = arith.muli %[[N]], %[[C2]]
// CHECK-DAG:     %[[SAME:.*]] = arith.cmpi eq, %[[M]], %[[C8]]
// CHECK:         mxgpu.require %[[SAME]], "expected dimension 0 to be %lld, found %lld"(%[[C8]], %[[M]])
// CHECK:         %[[ADDRESS:.*]] = mxplan.address %[[A]]
// CHECK:         return %[[A]], %[[M]], %[[STEP]], %[[OFFSET]], %[[ADDRESS]]
!part = memref<?x16xbf16, strided<[?, 1], offset: ?>>
func.func @views(%a: memref<?x?xbf16>, %first: index) -> (!part, index) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %a, %c0 : memref<?x?xbf16>
  %part = memref.subview %a[%first, 8] [%m, 16] [2, 1] : memref<?x?xbf16> to !part
  %8 = memref.cast %a : memref<?x?xbf16> to memref<8x?xbf16>
  %flat = memref.collapse_shape %8 [[0, 1]] : memref<8x?xbf16> into memref<?xbf16>
  %address = memref.extract_aligned_pointer_as_index %flat : memref<?xbf16> -> index
  return %part, %address : !part, index
}

// -----

// Lowers a fill with equal bytes, a copy and a read by the host. Deallocations
// are dropped.

// CHECK-LABEL: func.func @memory(
// CHECK-SAME:    %[[A:[^:]*]]: !mxplan.buffer, %[[N:[^:]*]]: index, %[[I:[^:]*]]: index)
// CHECK:         %[[BYTES:.*]] = arith.muli %[[N]], %c16
// CHECK:         %[[B:.*]] = mxplan.alloc %[[BYTES]]
// CHECK:         mxplan.fill %[[B]], 255 bytes(%[[BYTES]])
// CHECK:         mxplan.copy %[[A]] to %[[B]] bytes(%[[BYTES]])
// CHECK:         %[[ROW:.*]] = arith.muli %[[I]], %c4
// CHECK:         %[[ELEMENT:.*]] = arith.addi %[[ROW]], %[[I]]
// CHECK:         %[[BYTE:.*]] = arith.muli %[[ELEMENT]], %c4
// CHECK:         %[[WORD:.*]] = mxplan.read %[[B]][%[[BYTE]]] : i32
// CHECK-NEXT:    return %[[WORD]]
func.func @memory(%a: memref<?x4xi32>, %i: index) -> i32 {
  %c0 = arith.constant 0 : index
  %ones = arith.constant -1 : i32
  %n = memref.dim %a, %c0 : memref<?x4xi32>
  %b = memref.alloc(%n) : memref<?x4xi32>
  gpu.memset %b, %ones : memref<?x4xi32>, i32
  memref.copy %a, %b : memref<?x4xi32> to memref<?x4xi32>
  %word = memref.load %b[%i, %i] : memref<?x4xi32>
  memref.dealloc %b : memref<?x4xi32>
  return %word : i32
}

// -----

// Control flow and calls pass buffers together with their sizes.

// CHECK-LABEL: func.func private @callee(
// CHECK-SAME:    %{{.*}}: !mxplan.buffer, %{{.*}}: index) -> (!mxplan.buffer, index)
// CHECK-LABEL: func.func @control(
// CHECK-SAME:    %[[A:[^:]*]]: !mxplan.buffer, %[[N:[^:]*]]: index, %[[C:[^:]*]]: i1)
// CHECK:         %[[LOOP:.*]]:2 = scf.for {{.*}} iter_args(%[[X:.*]] = %[[A]], %[[S:.*]] = %[[N]]) -> (!mxplan.buffer, index)
// CHECK:           %[[IF:.*]]:2 = scf.if %[[C]] -> (!mxplan.buffer, index) {
// CHECK-NEXT:        %[[CALL:.*]]:2 = func.call @callee(%[[X]], %[[S]])
// CHECK-NEXT:        scf.yield %[[CALL]]#0, %[[CALL]]#1
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %[[X]], %[[S]]
// CHECK:           scf.yield %[[IF]]#0, %[[IF]]#1
// CHECK:         %[[BUFFER:.*]] = arith.select %[[C]], %[[LOOP]]#0, %[[A]] : !mxplan.buffer
// CHECK:         %[[SIZE:.*]] = arith.select %[[C]], %[[LOOP]]#1, %[[N]] : index
// CHECK:         return %[[BUFFER]], %[[SIZE]]
func.func private @callee(%a: memref<?xf32>) -> memref<?xf32> {
  return %a : memref<?xf32>
}
func.func @control(%a: memref<?xf32>, %c: i1) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %a) -> memref<?xf32> {
    %y = scf.if %c -> memref<?xf32> {
      %z = func.call @callee(%x) : (memref<?xf32>) -> memref<?xf32>
      scf.yield %z : memref<?xf32>
    } else {
      scf.yield %x : memref<?xf32>
    }
    scf.yield %y : memref<?xf32>
  }
  %s = arith.select %c, %r, %a : memref<?xf32>
  return %s : memref<?xf32>
}
