// Host code is unchanged, and mx code is compiled. The example pipeline
// `canonicalize` folds 1 + 1.
//
// RUN: mx-opt %s --split-input-file --mx-skip-host-code="pipeline=builtin.module(canonicalize)" | FileCheck %s
// RUN: mx-opt %s --split-input-file --mx-to-nvvm=chip=sm_90a 2>/dev/null | FileCheck %s --check-prefix=NVVM

// The host reads and writes a mutable table in host memory. Private mx
// functions that the host calls are kept, even if mx also calls them.
//
// CHECK-DAG:   memref.global "private" @calls
// CHECK-LABEL: func.func @main(
// CHECK:         arith.addi
// CHECK:         memref.store
// CHECK:         call @layer(
// CHECK:         call @two(
// CHECK-LABEL: func.func private @unused()
// CHECK:         arith.addi
// CHECK-LABEL: func.func private @layer(
// CHECK-NOT:     arith.addi
// CHECK-LABEL: func.func private @two()
// CHECK-NOT:     arith.addi
//
// NVVM-LABEL: func.func @main(
// NVVM:         %[[CALLS:.+]] = memref.get_global @calls
// NVVM:         %[[OLD:.+]] = memref.load %[[CALLS]]
// NVVM:         arith.addi
// NVVM:         memref.store %{{.*}}, %[[CALLS]]
// NVVM:         gpu.alloc
// NVVM:         call @layer(
// NVVM:         call @two()
// NVVM-LABEL: func.func private @unused()
// NVVM:         arith.addi
// NVVM-LABEL: func.func private @layer(
// NVVM:         gpu.launch_func
// NVVM-LABEL: func.func private @two()
memref.global "private" @calls : memref<1xi32> = dense<0>
func.func private @layer(%x: memref<4xf32>) {
  %n = call @two() : () -> i32
  %f = arith.sitofp %n : i32 to f32
  linalg.fill ins(%f : f32) outs(%x : memref<4xf32>)
  return
}
func.func private @two() -> i32 {
  %1 = arith.constant 1 : i32
  %2 = arith.addi %1, %1 : i32
  return %2 : i32
}
func.func @main() {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : i32
  %2 = arith.addi %1, %1 : i32
  %calls = memref.get_global @calls : memref<1xi32>
  %old = memref.load %calls[%0] : memref<1xi32>
  %new = arith.addi %old, %2 : i32
  memref.store %new, %calls[%0] : memref<1xi32>
  %x = gpu.alloc () : memref<4xf32>
  call @layer(%x) : (memref<4xf32>) -> ()
  %t = call @two() : () -> i32
  memref.store %t, %calls[%0] : memref<1xi32>
  gpu.dealloc %x : memref<4xf32>
  return
}
func.func private @unused() -> i32 {
  %1 = arith.constant 1 : i32
  %2 = arith.addi %1, %1 : i32
  return %2 : i32
}

// -----

// The host has its own module @kernels, and host and mx code share the constant @weights.
//
// NVVM-LABEL: gpu.module @kernels {
// NVVM:         gpu.func @mine(
// NVVM-LABEL: func.func @main(
// NVVM:         gpu.launch_func @kernels::@mine
// NVVM:         memref.global "private" constant @weights
// NVVM-NOT:     memref.global
// NVVM-LABEL: func.func private @add(
// NVVM:         gpu.launch_func {{.*}} @kernels_0::@add
// NVVM-LABEL: gpu.module @kernels_0 [
module attributes {gpu.container_module} {
  memref.global "private" constant @weights : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
  gpu.module @kernels {
    gpu.func @mine(%x: memref<4xf32>) kernel {
      %i = gpu.thread_id x
      %f = arith.constant 1.0 : f32
      memref.store %f, %x[%i] : memref<4xf32>
      gpu.return
    }
  }
  func.func private @add(%x: memref<4xf32>) {
    %w = memref.get_global @weights : memref<4xf32>
    linalg.add ins(%x, %w : memref<4xf32>, memref<4xf32>) outs(%x : memref<4xf32>)
    return
  }
  func.func @main() -> f32 {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %w = memref.get_global @weights : memref<4xf32>
    %v = memref.load %w[%c1] : memref<4xf32>
    %d = gpu.alloc() : memref<4xf32>
    gpu.launch_func @kernels::@mine blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%d : memref<4xf32>)
    call @add(%d) : (memref<4xf32>) -> ()
    return %v : f32
  }
}

// -----

// @twice contains no gpu operations, so its argument is device memory, and both
// functions are compiled as mx code.
//
// NVVM-LABEL: func.func @twice(
// NVVM-COUNT-2: gpu.launch_func
// NVVM-NOT:     {{ }}call @double
func.func @twice(%x: memref<4xf32>) {
  call @double(%x) : (memref<4xf32>) -> ()
  call @double(%x) : (memref<4xf32>) -> ()
  return
}
func.func private @double(%x: memref<4xf32>) {
  linalg.add ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// The module contains no mx operations.
//
// NVVM-LABEL: func.func @host(
// NVVM-NEXT:    %[[C:.+]] = arith.constant 0 : index
// NVVM-NEXT:    memref.load
// NVVM-NEXT:    return
func.func @host(%x: memref<4xf32>) -> f32 {
  %0 = arith.constant 0 : index
  %v = memref.load %x[%0] : memref<4xf32>
  return %v : f32
}

// -----

// The host function is in the LLVM dialect.
//
// NVVM-LABEL: llvm.func @host(
// NVVM-NEXT:    llvm.mlir.constant(1 : i32)
// NVVM-NEXT:    llvm.add
// NVVM-LABEL: func.func @fill(
// NVVM:         gpu.launch_func
llvm.func @host() -> i32 {
  %1 = llvm.mlir.constant(1 : i32) : i32
  %2 = llvm.add %1, %1 : i32
  llvm.return %2 : i32
}
func.func @fill(%x: memref<4xf32>) {
  %f = arith.constant 1.0 : f32
  linalg.fill ins(%f : f32) outs(%x : memref<4xf32>)
  return
}
