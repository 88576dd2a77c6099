// Kernels in the gpu dialect, compiled by the pipeline of stock MLIR. The program
// uses device memory, asynchronous copies, two streams that join, and a grid that
// threads do not fill.
//
// RUN: mlir-opt %s -gpu-lower-to-nvvm-pipeline="cubin-chip=sm_90 cubin-features=+ptx80 cubin-format=isa" \
// RUN:   | %run_on_sim | FileCheck %s
//
// CHECK: [0, 6, 12, 18, 24, 30, 36, 42, 48, 54]

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @add(%x: memref<10xf32>, %y: memref<10xf32>, %z: memref<10xf32>) kernel {
      %size = gpu.block_dim x
      %block = gpu.block_id x
      %thread = gpu.thread_id x
      %start = arith.muli %block, %size : index
      %i = arith.addi %start, %thread : index
      %end = arith.constant 10 : index
      %inside = arith.cmpi ult, %i, %end : index
      scf.if %inside {
        %a = memref.load %x[%i] : memref<10xf32>
        %b = memref.load %y[%i] : memref<10xf32>
        %c = arith.addf %a, %b : f32
        memref.store %c, %z[%i] : memref<10xf32>
      }
      gpu.return
    }
  }

  func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c10 = arith.constant 10 : index
    %host = memref.alloc() : memref<10xf32>
    scf.for %i = %c0 to %c10 step %c1 {
      %n = arith.index_cast %i : index to i32
      %v = arith.sitofp %n : i32 to f32
      memref.store %v, %host[%i] : memref<10xf32>
    }
    // y = x + x in the first stream, then z = y + x and y = z + z
    // in a second stream after waiting for the first.
    %t0 = gpu.wait async
    %x, %t1 = gpu.alloc async [%t0] () : memref<10xf32>
    %y, %t2 = gpu.alloc async [%t1] () : memref<10xf32>
    %z, %t3 = gpu.alloc async [%t2] () : memref<10xf32>
    %t4 = gpu.memcpy async [%t3] %x, %host : memref<10xf32>, memref<10xf32>
    %t5 = gpu.launch_func async [%t4] @kernels::@add blocks in (%c3, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%x : memref<10xf32>, %x : memref<10xf32>, %y : memref<10xf32>)
    %s0 = gpu.wait async
    %s1 = gpu.wait async [%s0, %t5]
    %s2 = gpu.launch_func async [%s1] @kernels::@add blocks in (%c3, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%y : memref<10xf32>, %x : memref<10xf32>, %z : memref<10xf32>)
    %s3 = gpu.launch_func async [%s2] @kernels::@add blocks in (%c3, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%z : memref<10xf32>, %z : memref<10xf32>, %y : memref<10xf32>)
    %s4 = gpu.memcpy async [%s3] %host, %y : memref<10xf32>, memref<10xf32>
    %s5 = gpu.dealloc async [%s4] %x : memref<10xf32>
    %s6 = gpu.dealloc async [%s5] %y : memref<10xf32>
    %s7 = gpu.dealloc async [%s6] %z : memref<10xf32>
    gpu.wait [%s7]
    %u = memref.cast %host : memref<10xf32> to memref<*xf32>
    call @printMemrefF32(%u) : (memref<*xf32>) -> ()
    memref.dealloc %host : memref<10xf32>
    return
  }
}
