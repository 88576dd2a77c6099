// Host code selects a device after its modules are loaded. Memory
// and kernels must be on the selected device.
//
// RUN: mlir-opt %s -gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90 cubin-features=+ptx80 cubin-format=isa" -o %t.mlir
// RUN: env MX_SIM_DEVICES=2 MX_ERRORS=exit MX_DEVICE=sim %runner %t.mlir 2>&1 | FileCheck %s
//
// CHECK: [7, 7, 7, 7]
//
// RUN: not env MX_SIM_DEVICES=1 MX_ERRORS=exit MX_DEVICE=sim %runner %t.mlir 2>&1 | FileCheck --check-prefix=NONE %s
//
// NONE: 'cuDevicePrimaryCtxRetain' failed with 'CUDA_ERROR_NO_DEVICE'
// NONE-NEXT: mx runtime: no device: expected a simulated device below 1, found 1: MX_SIM_DEVICES sets the number

module attributes {gpu.container_module} {
  func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}
  func.func @main() {
    %one = arith.constant 1 : i32
    gpu.set_default_device %one
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %v = arith.constant 7 : i32
    %host = memref.alloc() : memref<4xi32>
    %t0 = gpu.wait async
    %d, %t1 = gpu.alloc async [%t0] () : memref<4xi32>
    gpu.wait [%t1]
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c4, %sy = %c1, %sz = %c1) {
      memref.store %v, %d[%tx] : memref<4xi32>
      gpu.terminator
    }
    %t2 = gpu.wait async
    %t3 = gpu.memcpy async [%t2] %host, %d : memref<4xi32>, memref<4xi32>
    gpu.wait [%t3]
    %u = memref.cast %host : memref<4xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    return
  }
}
