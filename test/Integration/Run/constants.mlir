// Constants in programs of stock mlir-runner: host code copies each constant to
// the device once, and all calls use this copy. The simulator checks all accesses.
//
// REQUIRES: compiler
// UNSUPPORTED: sanitizers
// RUN: mx-opt %s --mx-to-nvvm -o %t.mlir
// RUN: FileCheck %s --check-prefix=HOST < %t.mlir
// RUN: mx-opt %t.mlir --mx-host-to-llvm | env MX_DEVICE=sim MX_SIM_CHECKS=all mlir-runner --entry-point-result=f32 \
// RUN:   --shared-libs=%mx_libs/libmx_runtime%shlibext,%mlir_libs/libmlir_c_runner_utils%shlibext | FileCheck %s
//
// HOST-DAG:   llvm.mlir.global internal @begin_on_device()
// HOST-LABEL: func.func @main(
// HOST:         llvm.call @mxLoadConstant(
//
// Three calls return 12 each.
// CHECK: 3.600000e+01

#id = affine_map<(i) -> (i)>
memref.global "private" constant @begin : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
llvm.func @mgpuMemcpy(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr)
llvm.func @mgpuStreamSynchronize(!llvm.ptr)

// Adds `v` to each element of `begin`, and returns the sum of the elements.
func.func private @sum(%v: f32) -> f32 {
  %begin = memref.get_global @begin : memref<4xf32>
  %y = memref.alloc() : memref<4xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%begin : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: f32, %old: f32):
    %r = arith.addf %a, %v : f32
    linalg.yield %r : f32
  }
  %one = llvm.mlir.constant(1 : i64) : i64
  %bytes = llvm.mlir.constant(16 : i64) : i64
  %stream = llvm.mlir.zero : !llvm.ptr
  %host = llvm.alloca %one x !llvm.array<4 x f32> : (i64) -> !llvm.ptr
  %address = memref.extract_aligned_pointer_as_index %y : memref<4xf32> -> index
  %wide = arith.index_cast %address : index to i64
  %device = llvm.inttoptr %wide : i64 to !llvm.ptr
  llvm.call @mgpuMemcpy(%host, %device, %bytes, %stream) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> ()
  llvm.call @mgpuStreamSynchronize(%stream) : (!llvm.ptr) -> ()
  %all = llvm.load %host : !llvm.ptr -> !llvm.array<4 x f32>
  %a = llvm.extractvalue %all[0] : !llvm.array<4 x f32>
  %b = llvm.extractvalue %all[1] : !llvm.array<4 x f32>
  %c = llvm.extractvalue %all[2] : !llvm.array<4 x f32>
  %d = llvm.extractvalue %all[3] : !llvm.array<4 x f32>
  %ab = arith.addf %a, %b : f32
  %cd = arith.addf %c, %d : f32
  %sum = arith.addf %ab, %cd : f32
  return %sum : f32
}

func.func @main() -> f32 {
  %half = arith.constant 0.5 : f32
  %first = func.call @sum(%half) : (f32) -> f32
  %second = func.call @sum(%half) : (f32) -> f32
  %third = func.call @sum(%half) : (f32) -> f32
  %two = arith.addf %first, %second : f32
  %all = arith.addf %two, %third : f32
  return %all : f32
}
