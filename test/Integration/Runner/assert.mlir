// A kernel that traps ends the program, with a message,
// before the host continues with its invalid result.
//
// RUN: mlir-opt %s -gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90 cubin-features=+ptx80 cubin-format=isa" -o %t.mlir
// RUN: not env MX_ERRORS=exit MX_DEVICE=sim %runner %t.mlir 2>&1 | FileCheck %s
//
// CHECK:      kernel.cc:7: f: block: [0,0,0], thread: [1,0,0] Assertion `even` failed.
// CHECK:      mx runtime: check failed: kernel 'main_kernel' on the simulator: failed
// CHECK-NEXT: gpu.binary:{{[0-9]+}}: trap: assertion 'even' failed at kernel.cc:7
// CHECK-NOT:  done

module attributes {gpu.container_module} {
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c2, %sy = %c1, %sz = %c1) {
      %t = arith.index_cast %tx : index to i32
      %zero = arith.constant 0 : i32
      %even = arith.cmpi eq, %t, %zero : i32
      cf.assert %even, "even" loc("f"("kernel.cc":7:1))
      gpu.terminator
    }
    vector.print str "done\n"
    return
  }
}
