// Under stock mlir-runner, kernels with `pdl` begin before their predecessors end.
// If the waits are removed but the early launches are not, the simulator
// reports the memory that a kernel accesses too early.
//
// REQUIRES: compiler
// UNSUPPORTED: sanitizers
// DEFINE: %{run} = env MX_DEVICE=sim MX_SIM_CHECKS=all mlir-runner --entry-point-result=void \
// DEFINE:   --shared-libs=%mx_libs/libmx_runtime%shlibext,%mlir_libs/libmlir_c_runner_utils%shlibext
// RUN: mx-opt %s --mx-to-nvvm -o %t.mlir
// RUN: FileCheck %s --check-prefix=HOST < %t.mlir
// RUN: mx-opt %t.mlir --mx-host-to-llvm | %{run}
// RUN: sed '/nvvm.griddepcontrol *wait/d' %t.mlir | mx-opt --mx-host-to-llvm -o %t.early.mlir
// RUN: not env MX_ERRORS=exit %{run} %t.early.mlir 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: sed '/call @mxNextLaunchFlags/d' %t.early.mlir | %{run}
//
// All kernels are launched early, also the quantizer, which may follow kernels of other calls.
// HOST-LABEL: func.func @main()
// HOST:         llvm.call @mxNextLaunchFlags
// HOST-NEXT:    gpu.launch_func {{.*}} @kernels::@main_quantize
// HOST:         llvm.call @mxNextLaunchFlags
// HOST-NEXT:    gpu.launch_func {{.*}} @kernels::@main_matmul
// HOST:         llvm.call @mxNextLaunchFlags
// HOST-NEXT:    gpu.launch_func {{.*}} @kernels::@main_matmul
// HOST:         llvm.call @mgpuStreamSynchronize
// HOST-NOT:     mgpuStreamSynchronize
// HOST:         gpu.module
//
// The quantizer executes griddepcontrol.launch_dependents at its start, so the read may precede its stores.
// EARLY: mx runtime: check failed: kernel 'main_matmul' on the simulator: failed
// EARLY-NEXT: race: the read of global memory, {{.*}} races with earlier kernels: the launch is programmatic

!x = memref<128x128xbf16>
!e = memref<128x128xf8E4M3FN>
!s = memref<1x1x32x4x4xf8E8M0FNU>
!y = memref<128x128xf32>
func.func @main() {
  %x = memref.alloc() : !x
  %e = memref.alloc() : !e
  %s = memref.alloc() : !s
  %y = memref.alloc() : !y
  mx.quantize ins(%x : !x) outs(%e, %s : !e, !s)
  mx.matmul ins(%e, %s, %e, %s : !e, !s, !e, !s) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], pdl>}
  // Reads the result of the first matmul.
  mx.matmul ins(%e, %s, %e, %s : !e, !s, !e, !s) outs(%y : !y) accumulate {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], pdl>}
  return
}
