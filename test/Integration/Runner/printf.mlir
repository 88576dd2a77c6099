// Kernel output is printed before later host output.
//
// RUN: mlir-opt %s -gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90 cubin-features=+ptx80 cubin-format=isa" \
// RUN:   | %run_on_sim | FileCheck %s
//
// CHECK:      block 0 thread 0: 0.500000
// CHECK-NEXT: block 0 thread 1: 1.500000
// CHECK-NEXT: block 1 thread 0: 0.500000
// CHECK-NEXT: block 1 thread 1: 1.500000
// CHECK-NEXT: done

module attributes {gpu.container_module} {
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c2, %sy = %c1, %sz = %c1) {
      %half = arith.constant 0.5 : f32
      %t = arith.index_cast %tx : index to i32
      %f = arith.sitofp %t : i32 to f32
      %v = arith.addf %f, %half : f32
      gpu.printf "block %lld thread %d: %f\n", %bx, %t, %v : index, i32, f32
      gpu.terminator
    }
    vector.print str "done\n"
    return
  }
}
