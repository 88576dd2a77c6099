// By default, incorrect code that a GPU would execute causes a warning, and the
// result is the GPU's. If its check is requested, the code causes an error.
//
// RUN: mlir-opt %s -gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90 cubin-features=+ptx80 cubin-format=isa" -o %t.mlir
// RUN: env MX_SIM_WARNINGS=print %run_on_sim %t.mlir 2>%t.err | FileCheck %s
// RUN: FileCheck --check-prefix=WARNING %s <%t.err
// RUN: not env MX_ERRORS=exit MX_DEVICE=sim MX_SIM_CHECKS=race %runner %t.mlir 2>&1 | FileCheck --check-prefix=ERROR %s
// RUN: not env MX_ERRORS=exit MX_DEVICE=sim MX_SIM_WARNINGS=error %runner %t.mlir 2>&1 | FileCheck --check-prefix=STRICT %s
// RUN: env MX_DEVICE=sim MX_SIM_CHECKS=none %runner %t.mlir 2>%t.err | FileCheck %s
// RUN: count 0 <%t.err
// RUN: env MX_DEVICE=sim MX_SIM_WARNINGS=none %runner %t.mlir 2>%t.err | FileCheck %s
// RUN: count 0 <%t.err
//
// CHECK: [7, 6, 5, 4, 3, 2, 1, 0]
//
// WARNING: mx runtime: warning: kernel 'main_kernel' on the simulator ran to its end with findings (errors with MX_SIM_CHECKS=all)
// WARNING-NEXT: gpu.binary:{{[0-9]+}}: race: the {{read|write}} of shared memory at 'words' + {{[0-9]+}} races with the {{read|write}} at line {{[0-9]+}} by warp {{[0-9]}}: no synchronization orders the two
//
// ERROR: mx runtime: check failed: kernel 'main_kernel' on the simulator: failed
// ERROR-NEXT: gpu.binary:{{[0-9]+}}: race: the {{read|write}} of shared memory at 'words'
// ERROR-NOT: [7,
//
// STRICT: mx runtime: check failed: kernel 'main_kernel' on the simulator: warnings, which are errors here (MX_SIM_WARNINGS=error)
// STRICT-NEXT: gpu.binary:{{[0-9]+}}: race: the {{read|write}} of shared memory at 'words'
// STRICT-NOT: [7,

module attributes {gpu.container_module} {
  memref.global "private" @words : memref<24xi32, 3> {alignment = 16 : i64}
  func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}

  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c7 = arith.constant 7 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %out = gpu.alloc host_shared () : memref<8xi32>
    // The first thread of each warp writes three words and reads one word
    // of another warp. The barrier in between is intentionally missing.
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
      %words = memref.get_global @words : memref<24xi32, 3>
      %warp = arith.divui %tx, %c32 : index
      %lane = arith.remui %tx, %c32 : index
      %first = arith.cmpi eq, %lane, %c0 : index
      scf.if %first {
        %v = arith.index_cast %warp : index to i32
        %warp8 = arith.addi %warp, %c8 : index
        %warp16 = arith.addi %warp8, %c8 : index
        memref.store %v, %words[%warp] : memref<24xi32, 3>
        memref.store %v, %words[%warp8] : memref<24xi32, 3>
        memref.store %v, %words[%warp16] : memref<24xi32, 3>
        %other = arith.subi %c7, %warp : index
        %w = memref.load %words[%other] : memref<24xi32, 3>
        memref.store %w, %out[%warp] : memref<8xi32>
      }
      gpu.terminator
    }
    %u = memref.cast %out : memref<8xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    return
  }
}
