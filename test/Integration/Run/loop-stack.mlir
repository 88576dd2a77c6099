// A host loop encodes a tensor map and launches a kernel in each
// iteration, under stock mlir-runner with a small stack. The loop must
// release stack memory after each iteration, because the tensor maps
// or launch parameters of all iterations together would exceed the
// stack. No kernel executes, because the grid is empty.
//
// REQUIRES: compiler
// UNSUPPORTED: sanitizers
// RUN: mx-opt %s --mx-to-nvvm | mx-opt --mx-host-to-llvm -o %t.mlir
// RUN: env MX_DEVICE=sim sh -c 'ulimit -s 1024 && exec "$@"' sh mlir-runner %t.mlir --entry-point-result=i32 \
// RUN:   --shared-libs=%mx_libs/libmx_runtime%shlibext,%mlir_libs/libmlir_c_runner_utils%shlibext | FileCheck %s
//
// CHECK: {{^}}50000{{$}}

!map = !mxgpu.tensor_map<64x128xf8E4M3FN, sw128>
!a = memref<?x256xf8E4M3FN>
module attributes {gpu.container_module} {
  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %turns = arith.constant 50000 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = memref.alloc(%c0) : !a
    %done = scf.for %i = %c0 to %turns step %c1 iter_args(%count = %zero) -> i32 {
      %map = mxgpu.encode_tensor_map %a l2_promotion = b128 : !a -> !map
      mxgpu.launch @kernels::@kernel grid(%c0) args(%map : !map)
      %next = arith.addi %count, %one : i32
      scf.yield %next : i32
    }
    memref.dealloc %a : !a
    return %done : i32
  }
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    mxgpu.kernel @kernel(%map: !map) {
      mxgpu.role @a warps(1) {
      }
    }
  }
}
