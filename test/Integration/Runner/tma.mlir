// A tensor map from the nvgpu dialect is in device memory, and the kernel gets
// its address. The box exceeds the tensor: rows 20 to 23 do not exist and are
// filled with zeros. Element 8 j of a row is the first element of 16-byte chunk j,
// which the swizzle moves to position j xor row.
//
// RUN: mlir-opt %s -gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90 cubin-features=+ptx80 cubin-format=isa" \
// RUN:   | env MX_SIM_CHECKS=all MX_DEVICE=sim %runner | FileCheck %s
//
// CHECK:      [128, 129, 130, 131, 132, 133, 134, 135],
// CHECK-NEXT: [137, 136, 139, 138, 141, 140, 143, 142],
// CHECK-NEXT: [146, 147, 144, 145, 150, 151, 148, 149],
// CHECK-NEXT: [155, 154, 153, 152, 159, 158, 157, 156],
// CHECK-NEXT: [0, 0, 0, 0, 0, 0, 0, 0],
// CHECK-NEXT: [0, 0, 0, 0, 0, 0, 0, 0],
// CHECK-NEXT: [0, 0, 0, 0, 0, 0, 0, 0],
// CHECK-NEXT: [0, 0, 0, 0, 0, 0, 0, 0]

!shared = memref<8x64xf16, 3>
!map = !nvgpu.tensormap.descriptor<tensor = memref<8x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  memref.global "private" @tile : !shared {alignment = 1024 : i64}
  func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c20 = arith.constant 20 : index
    %c64 = arith.constant 64 : index
    %host = memref.alloc() : memref<20x64xf16>
    scf.for %i = %c0 to %c20 step %c1 {
      scf.for %j = %c0 to %c64 step %c1 {
        %row = arith.muli %i, %c8 : index
        %chunk = arith.divui %j, %c8 : index
        %n = arith.addi %row, %chunk : index
        %n32 = arith.index_cast %n : index to i32
        %v = arith.sitofp %n32 : i32 to f16
        memref.store %v, %host[%i, %j] : memref<20x64xf16>
      }
    }
    %out = gpu.alloc host_shared () : memref<8x8xf32>
    %t0 = gpu.wait async
    %in, %t1 = gpu.alloc async [%t0] () : memref<20x64xf16>
    %t2 = gpu.memcpy async [%t1] %in, %host : memref<20x64xf16>, memref<20x64xf16>
    gpu.wait [%t2]
    %unranked = memref.cast %in : memref<20x64xf16> to memref<*xf16>
    %map = nvgpu.tma.create.descriptor %unranked box[%c8, %c64] : memref<*xf16> -> !map

    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1) {
      %tile = memref.get_global @tile : !shared
      %barrier = nvgpu.mbarrier.create -> !barrier
      %bytes = arith.constant 1024 : index
      %ticks = arith.constant 10000000 : index
      %false = arith.constant false
      %first = arith.cmpi eq, %tx, %c0 : index
      scf.if %first {
        nvgpu.mbarrier.init %barrier[%c0], %c1 : !barrier
        nvvm.fence.mbarrier.init
        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      }
      gpu.barrier
      scf.if %first {
        nvgpu.mbarrier.arrive.expect_tx %barrier[%c0], %bytes : !barrier
        nvgpu.tma.async.load %map[%c0, %c16], %barrier[%c0] to %tile : !map, !barrier -> !shared
      }
      nvgpu.mbarrier.try_wait.parity %barrier[%c0], %false, %ticks : !barrier
      %i = arith.divui %tx, %c8 : index
      %j = arith.remui %tx, %c8 : index
      %at = arith.muli %j, %c8 : index
      %v = memref.load %tile[%i, %at] : !shared
      %v32 = arith.extf %v : f16 to f32
      memref.store %v32, %out[%i, %j] : memref<8x8xf32>
      gpu.terminator
    }
    %u = memref.cast %out : memref<8x8xf32> to memref<*xf32>
    call @printMemrefF32(%u) : (memref<*xf32>) -> ()
    return
  }
}
