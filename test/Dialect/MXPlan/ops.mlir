// RUN: mx-opt %s | mx-opt | FileCheck %s
// RUN: mx-opt %s --canonicalize --cse | FileCheck %s --check-prefix=SIMPLE

// Round-trips every operation. Canonicalization and CSE use the memory effects: an
// address is computed once, a number that may have changed is read again, and an
// unused allocation is erased.

// CHECK-LABEL: func.func @all(
// CHECK-SAME:    %[[X:.*]]: !mxplan.buffer, %[[N:.*]]: index)
// CHECK-SAME:    mxplan.arguments = [#mxplan.value<"x", memref<?xi32>, tensor<?xi32>>], mxplan.results = []
// CHECK:         %[[Y:.*]] = mxplan.alloc %[[N]]
// CHECK:         %[[B:.*]] = mxplan.constant @bias
// CHECK:         mxplan.copy %[[B]] to %[[Y]]
// CHECK:         mxplan.fill %[[Y]], 255 bytes(%[[N]])
// CHECK:         mxplan.copy %[[X]] to %[[Y]] bytes(%[[N]])
// CHECK:         mxplan.address %[[X]]
// CHECK:         %[[MAP:.*]] = mxplan.encode_tensor_map %[[Y]] offset(%[[N]]) dims(%[[N]], %[[N]]) strides(%[[N]]) l2_promotion = b64 : !map
// CHECK:         %[[WORD:.*]] = mxplan.read %[[Y]][%[[N]]] : i32
// CHECK:         mxplan.launch @kernels::@kernel grid(%[[N]]) args(%[[MAP]], %[[Y]], %[[WORD]] : !map, !mxplan.buffer, i32)
// CHECK:         mxplan.launch @kernels::@nothing grid(%[[N]]) args()

// SIMPLE-LABEL: func.func @all(
// SIMPLE-COUNT-1: mxplan.alloc
// SIMPLE-NOT:     mxplan.alloc
// SIMPLE-COUNT-1: mxplan.constant
// SIMPLE-NOT:     mxplan.constant
// SIMPLE-COUNT-1: mxplan.address
// SIMPLE-NOT:     mxplan.address
// SIMPLE-COUNT-2: mxplan.read
// SIMPLE-NOT:     mxplan.read
// SIMPLE:         return
!map = !mxgpu.tensor_map<64x128xf8E4M3FN, sw128>
module attributes {gpu.container_module} {
  memref.global "private" constant @bias : memref<2xf32> = dense<[1.0, 2.0]>
  func.func @all(%x: !mxplan.buffer, %n: index)
      attributes {mxplan.arguments = [#mxplan.value<"x", memref<?xi32>, tensor<?xi32>>], mxplan.results = []} {
    %y = mxplan.alloc %n
    %unused = mxplan.alloc %n
    %bias = mxplan.constant @bias
    %b = mxplan.constant @bias
    mxplan.copy %bias to %y bytes(%n)
    mxplan.copy %b to %y bytes(%n)
    mxplan.fill %y, 255 bytes(%n)
    mxplan.copy %x to %y bytes(%n)
    %a = mxplan.address %x
    %address = mxplan.address %x
    %same = arith.cmpi ne, %a, %n : index
    %again = arith.cmpi ne, %address, %n : index
    mxgpu.require %same, "expected nothing"
    mxgpu.require %again, "expected nothing"
    %map = mxplan.encode_tensor_map %y offset(%n) dims(%n, %n) strides(%n) l2_promotion = b64 : !map
    %before = mxplan.read %y[%n] : i32
    mxplan.launch @kernels::@kernel grid(%n) args(%map, %y, %before : !map, !mxplan.buffer, i32)
    %after = mxplan.read %y[%n] : i32
    mxplan.launch @kernels::@kernel grid(%n) args(%map, %y, %after : !map, !mxplan.buffer, i32)
    mxplan.launch @kernels::@nothing grid(%n) args()
    return
  }
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    mxgpu.kernel @kernel(%map: !map, %y: memref<16xi32>, %n: i32) {
      mxgpu.role @a warps(1) {
      }
    }
    mxgpu.kernel @nothing() {
      mxgpu.role @a warps(1) {
      }
    }
  }
}
