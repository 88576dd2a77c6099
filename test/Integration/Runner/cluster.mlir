// A grid of 2x2 clusters: every block writes its position, and
// reads a word of the block at the opposite corner of its cluster.
//
// RUN: mlir-opt %s -gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90 cubin-features=+ptx80 cubin-format=isa" \
// RUN:   | %run_on_sim | FileCheck %s
//
// Element of block x, y: 1000 * cluster rank + 100 * cluster id + rank of the opposite block.
//
// CHECK:      [3, 1002, 103, 1102],
// CHECK-NEXT: [2001, 3000, 2101, 3100],
// CHECK-NEXT: [203, 1202, 303, 1302],
// CHECK-NEXT: [2201, 3200, 2301, 3300]

module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @word : memref<1xi32, #gpu.address_space<workgroup>> {alignment = 16 : i64}
    gpu.func @where(%out: memref<4x4xi32>) kernel {
      %c0 = arith.constant 0 : index
      %x = gpu.block_id x
      %y = gpu.block_id y
      %cx = gpu.cluster_id x
      %cy = gpu.cluster_id y
      %nx = gpu.cluster_dim x
      %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
      %three = arith.constant 3 : i32
      %other = arith.subi %three, %rank : i32
      %word = memref.get_global @word : memref<1xi32, #gpu.address_space<workgroup>>
      memref.store %rank, %word[%c0] : memref<1xi32, #gpu.address_space<workgroup>>
      nvvm.cluster.arrive {aligned}
      nvvm.cluster.wait {aligned}
      %at = memref.extract_aligned_pointer_as_index %word : memref<1xi32, #gpu.address_space<workgroup>> -> index
      %at64 = arith.index_cast %at : index to i64
      %here = llvm.inttoptr %at64 : i64 to !llvm.ptr<3>
      %there = nvvm.mapa %here, %other : !llvm.ptr<3> -> !llvm.ptr<7>
      %seen = llvm.load %there : !llvm.ptr<7> -> i32
      nvvm.cluster.arrive {aligned}
      nvvm.cluster.wait {aligned}
      %row = arith.muli %cy, %nx : index
      %id = arith.addi %row, %cx : index
      %id32 = arith.index_cast %id : index to i32
      %hundred = arith.constant 100 : i32
      %thousand = arith.constant 1000 : i32
      %a = arith.muli %rank, %thousand : i32
      %b = arith.muli %id32, %hundred : i32
      %ab = arith.addi %a, %b : i32
      %sum = arith.addi %ab, %seen : i32
      memref.store %sum, %out[%y, %x] : memref<4x4xi32>
      gpu.return
    }
  }

  func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}

  func.func @main() {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %out = gpu.alloc host_shared () : memref<4x4xi32>
    gpu.launch_func @kernels::@where clusters in (%c2, %c2, %c1) blocks in (%c4, %c4, %c1) threads in (%c1, %c1, %c1)
        args(%out : memref<4x4xi32>)
    %u = memref.cast %out : memref<4x4xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    return
  }
}
