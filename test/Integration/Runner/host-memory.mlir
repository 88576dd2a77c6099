// Kernels access registered host memory, and memory allocated for host and device.
//
// RUN: mlir-opt %s -gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90 cubin-features=+ptx80 cubin-format=isa" -o %t.mlir
// RUN: %run_on_sim %t.mlir | FileCheck %s
//
// CHECK: [1, 3, 5, 7]
// CHECK: 42

// If the memory is not registered, the kernel's access is invalid.
//
// RUN: grep -v host_register %s \
// RUN:   | mlir-opt -gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90 cubin-features=+ptx80 cubin-format=isa" -o %t.bad.mlir
// RUN: not env MX_ERRORS=exit MX_DEVICE=sim %runner %t.bad.mlir 2>&1 | FileCheck --check-prefix=BAD %s
//
// BAD: mx runtime: check failed: kernel 'main_kernel' on the simulator: failed
// BAD: out-of-bounds: load out of bounds: 4 bytes at global address 0x
// BAD-NOT: {{^}}42

module attributes {gpu.container_module} {
  func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}

  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %host = memref.alloc() : memref<4xi32>
    scf.for %i = %c0 to %c4 step %c1 {
      %v = arith.index_cast %i : index to i32
      memref.store %v, %host[%i] : memref<4xi32>
    }
    %u = memref.cast %host : memref<4xi32> to memref<*xi32>
    gpu.host_register %u : memref<*xi32>
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c4, %sy = %c1, %sz = %c1) {
      %one = arith.constant 1 : i32
      %a = memref.load %host[%tx] : memref<4xi32>
      %b = arith.addi %a, %a : i32
      %c = arith.addi %b, %one : i32
      memref.store %c, %host[%tx] : memref<4xi32>
      gpu.terminator
    }
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    gpu.host_unregister %u : memref<*xi32>

    %shared = gpu.alloc host_shared () : memref<1xi32>
    %v21 = arith.constant 21 : i32
    memref.store %v21, %shared[%c0] : memref<1xi32>
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      %a = memref.load %shared[%tx] : memref<1xi32>
      %b = arith.addi %a, %a : i32
      memref.store %b, %shared[%tx] : memref<1xi32>
      gpu.terminator
    }
    %r = memref.load %shared[%c0] : memref<1xi32>
    vector.print %r : i32
    %t0 = gpu.wait async
    %t1 = gpu.dealloc async [%t0] %shared : memref<1xi32>
    gpu.wait [%t1]
    memref.dealloc %host : memref<4xi32>
    return
  }
}
