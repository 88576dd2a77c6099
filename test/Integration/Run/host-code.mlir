// Host code and an mx function in one module. The host code keeps data in its own
// memory, copies to and from the device, calls the function and prints the result.
//
// REQUIRES: compiler
// UNSUPPORTED: sanitizers
// RUN: mx-opt %s --mx-to-nvvm=chip=sm_100a 2>/dev/null | mx-opt --mx-host-to-llvm \
// RUN:   | env MX_DEVICE=sim MX_SIM_CHECKS=all mlir-runner -e main --entry-point-result=void \
// RUN:   --shared-libs=%mx_libs/libmx_runtime%shlibext,%mlir_libs/libmlir_runner_utils%shlibext,%mlir_libs/libmlir_c_runner_utils%shlibext | FileCheck %s
//
// CHECK:      {{^}}[2,  4,  6,  8]
// CHECK:      {{^}}[4,  8,  12,  16]
// CHECK:      {{^}}[2]
//
// A compiled program contains only the mx function.
//
// RUN: rm -rf %t.compiled && env MX_QUIET= mx-compile %s -o %t.compiled --ptxas=none 2>&1 | FileCheck %s --check-prefix=COMPILE
// COMPILE: remark: is host code and is not compiled: --entry=main also compiles the function
// COMPILE-NEXT: func.func @main()
// RUN: FileCheck %s --check-prefix=MANIFEST < %t.compiled/manifest.json
// MANIFEST: "entries"
// MANIFEST: "name": "double"
// MANIFEST-NOT: "name": "main"
//
// Host code cannot be compiled as an entry.
//
// RUN: not mx-compile %s -o %t.main --entry=main --ptxas=none 2>&1 | FileCheck %s --check-prefix=MAIN
// RUN: not mx-run %s --entry=main --device=sim 2>&1 | FileCheck %s --check-prefix=MAIN
// MAIN: host-code.mlir: entry 'main': expected a function without memory management and launches, found 'gpu.wait': only mx-to-nvvm supports such host code

memref.global "private" @input : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
memref.global "private" @calls : memref<1xf32> = dense<0.0>
func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

func.func @double(%x: memref<4xf32>) {
  linalg.add ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

func.func private @print(%x: memref<4xf32>) {
  %u = memref.cast %x : memref<4xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  return
}

func.func @main() {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %one = arith.constant 1.0 : f32
  %x = memref.get_global @input : memref<4xf32>
  %calls = memref.get_global @calls : memref<1xf32>
  %begin = gpu.wait async
  %d, %ready = gpu.alloc async [%begin] () : memref<4xf32>
  %copied = gpu.memcpy async [%ready] %d, %x : memref<4xf32>, memref<4xf32>
  gpu.wait [%copied]
  scf.for %i = %0 to %2 step %1 {
    func.call @double(%d) : (memref<4xf32>) -> ()
    %old = memref.load %calls[%0] : memref<1xf32>
    %new = arith.addf %old, %one : f32
    memref.store %new, %calls[%0] : memref<1xf32>
    %t = gpu.wait async
    %back = gpu.memcpy async [%t] %x, %d : memref<4xf32>, memref<4xf32>
    gpu.wait [%back]
    func.call @print(%x) : (memref<4xf32>) -> ()
  }
  %u = memref.cast %calls : memref<1xf32> to memref<*xf32>
  func.call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  %end = gpu.wait async
  %freed = gpu.dealloc async [%end] %d : memref<4xf32>
  gpu.wait [%freed]
  return
}
