// Runs host code that stock MLIR compiled: memory, copies, streams,
// a plain launch, and a cluster launch of a kernel with a tensor map
// passed by value. Only the runtime comes from mx.
//
// REQUIRES: compiler
// UNSUPPORTED: sanitizers
//
// RUN: mlir-opt %s --pass-pipeline='builtin.module(gpu.module(convert-nvvm-to-llvm,reconcile-unrealized-casts),gpu-to-llvm,gpu-module-to-binary{format=isa},convert-scf-to-cf,convert-cf-to-llvm,finalize-memref-to-llvm,convert-func-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,reconcile-unrealized-casts)' -o %t.mlir
// RUN: env MX_DEVICE=sim mlir-runner %t.mlir --entry-point-result=void \
// RUN:   --shared-libs=%mx_libs/libmx_runtime%shlibext,%mlir_libs/libmlir_runner_utils%shlibext,%mlir_libs/libmlir_c_runner_utils%shlibext \
// RUN:   | FileCheck %s

// Such host code cannot check errors. With MX_ERRORS=exit, the first error
// is printed, prefixed as in MLIR's own wrappers, and ends the process.
//
// RUN: env MX_ERRORS=exit MX_DEVICE=cuda MX_CUDA_DRIVER=/no/such/libcuda.so \
// RUN:   not mlir-runner %t.mlir --entry-point-result=void \
// RUN:   --shared-libs=%mx_libs/libmx_runtime%shlibext,%mlir_libs/libmlir_runner_utils%shlibext,%mlir_libs/libmlir_c_runner_utils%shlibext 2>&1 \
// RUN:   | FileCheck --check-prefix=ABORT %s
// ABORT-NOT: Stack dump
// ABORT: 'cuModuleLoadDataEx' failed with 'CUDA_ERROR_NO_DEVICE'
// ABORT-NEXT: mx runtime: no device: MX_DEVICE: no CUDA driver: cannot load /no/such/libcuda.so
// ABORT-NOT: Stack dump

module attributes {gpu.container_module} {
  gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx80">] attributes {llvm.data_layout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"} {
    // out[i] = 3 * in[i] + n
    llvm.func @scale(%in: !llvm.ptr, %out: !llvm.ptr, %n: i32) attributes {gpu.kernel, nvvm.kernel} {
      %three = llvm.mlir.constant(3 : i32) : i32
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %in1 = llvm.addrspacecast %in : !llvm.ptr to !llvm.ptr<1>
      %out1 = llvm.addrspacecast %out : !llvm.ptr to !llvm.ptr<1>
      %pi = llvm.getelementptr %in1[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      %po = llvm.getelementptr %out1[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      %x = llvm.load %pi : !llvm.ptr<1> -> i32
      %y = llvm.mul %x, %three : i32
      %z = llvm.add %y, %n : i32
      llvm.store %z, %po : i32, !llvm.ptr<1>
      llvm.return
    }

    llvm.mlir.global external @dynsmem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
    llvm.mlir.global internal @barrier() {addr_space = 3 : i32, alignment = 8 : i64} : i64

    // Each CTA of a cluster of two loads its own row of eight
    // i32 and stores the row plus 100 times the CTA's rank.
    llvm.func @load_rows(%map: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}, %out: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel, nvvm.cluster_dim = array<i32: 2, 1, 1>} {
      %c0 = llvm.mlir.constant(0 : i32) : i32
      %c1 = llvm.mlir.constant(1 : i32) : i32
      %c8 = llvm.mlir.constant(8 : i32) : i32
      %c32 = llvm.mlir.constant(32 : i32) : i32
      %c100 = llvm.mlir.constant(100 : i32) : i32
      %smem = llvm.mlir.addressof @dynsmem : !llvm.ptr<3>
      %bar = llvm.mlir.addressof @barrier : !llvm.ptr<3>
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
      %first = llvm.icmp "eq" %tid, %c0 : i32
      llvm.cond_br %first, ^init, ^joined
    ^init:
      nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
      llvm.br ^joined
    ^joined:
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      nvvm.barrier0
      llvm.cond_br %first, ^issue, ^wait
    ^issue:
      llvm.inline_asm has_side_effects "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}" %bar, %c32 : (!llvm.ptr<3>, i32) -> ()
      llvm.inline_asm has_side_effects "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {$2, $3}], [$4];", "r,l,r,r,r,~{memory}" %smem, %map, %c0, %rank, %bar : (!llvm.ptr<3>, !llvm.ptr, i32, i32, !llvm.ptr<3>) -> ()
      llvm.br ^wait
    ^wait:
      %done = llvm.inline_asm has_side_effects "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [$1], 0; selp.b32 $0, 1, 0, p; }", "=r,r,~{memory}" %bar : (!llvm.ptr<3>) -> i32
      %again = llvm.icmp "eq" %done, %c0 : i32
      llvm.cond_br %again, ^wait, ^store
    ^store:
      %inside = llvm.icmp "ult" %tid, %c8 : i32
      llvm.cond_br %inside, ^write, ^end
    ^write:
      %p = llvm.getelementptr %smem[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      %x = llvm.load %p : !llvm.ptr<3> -> i32
      %h = llvm.mul %rank, %c100 : i32
      %y = llvm.add %x, %h : i32
      %row = llvm.mul %rank, %c8 : i32
      %at = llvm.add %row, %tid : i32
      %out1 = llvm.addrspacecast %out : !llvm.ptr to !llvm.ptr<1>
      %q = llvm.getelementptr %out1[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      llvm.store %y, %q : i32, !llvm.ptr<1>
      llvm.br ^end
    ^end:
      llvm.return
    }
  }

  llvm.func @mxTensorMapEncodeTiled(!llvm.ptr, i32, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i32, i32, i32, i32) -> i32
  func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}

  func.func private @pointer(%m: memref<2x8xi32>) -> !llvm.ptr {
    %i = memref.extract_aligned_pointer_as_index %m : memref<2x8xi32> -> index
    %j = arith.index_cast %i : index to i64
    %p = llvm.inttoptr %j : i64 to !llvm.ptr
    return %p : !llvm.ptr
  }

  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %five = arith.constant 5 : i32
    %smem = arith.constant 32 : i32
    %host = memref.alloc() : memref<2x8xi32>
    scf.for %i = %c0 to %c2 step %c1 {
      scf.for %j = %c0 to %c8 step %c1 {
        %row = arith.muli %i, %c8 : index
        %at = arith.addi %row, %j : index
        %v = arith.index_cast %at : index to i32
        memref.store %v, %host[%i, %j] : memref<2x8xi32>
      }
    }
    %t0 = gpu.wait async
    %a, %t1 = gpu.alloc async [%t0] () : memref<2x8xi32>
    %b, %t2 = gpu.alloc async [%t1] () : memref<2x8xi32>
    %t3 = gpu.memcpy async [%t2] %a, %host : memref<2x8xi32>, memref<2x8xi32>
    gpu.wait [%t3]
    %pa = func.call @pointer(%a) : (memref<2x8xi32>) -> !llvm.ptr
    %pb = func.call @pointer(%b) : (memref<2x8xi32>) -> !llvm.ptr
    gpu.launch_func @kernels::@scale blocks in (%c1, %c1, %c1) threads in (%c16, %c1, %c1) args(%pa : !llvm.ptr, %pb : !llvm.ptr, %five : i32)
    %t4 = gpu.wait async
    %t5 = gpu.memcpy async [%t4] %host, %b : memref<2x8xi32>, memref<2x8xi32>
    gpu.wait [%t5]
    %u = memref.cast %host : memref<2x8xi32> to memref<*xi32>
    // CHECK:      [5, 8, 11, 14, 17, 20, 23, 26],
    // CHECK-NEXT: [29, 32, 35, 38, 41, 44, 47, 50]
    func.call @printMemrefI32(%u) : (memref<*xi32>) -> ()

    // A tensor map of `a`: i32 (3), 8 x 2, box 8 x 1.
    %n1 = llvm.mlir.constant(1 : i32) : i32
    %n2 = llvm.mlir.constant(2 : i32) : i32
    %n3 = llvm.mlir.constant(3 : i32) : i32
    %n0 = llvm.mlir.constant(0 : i32) : i32
    %n8 = llvm.mlir.constant(8 : i32) : i32
    %w2 = llvm.mlir.constant(2 : i64) : i64
    %w8 = llvm.mlir.constant(8 : i64) : i64
    %w32 = llvm.mlir.constant(32 : i64) : i64
    %one = llvm.mlir.constant(1 : i64) : i64
    %null = llvm.mlir.zero : !llvm.ptr
    %map = llvm.alloca %one x !llvm.array<128 x i8> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %dims = llvm.alloca %w2 x i64 : (i64) -> !llvm.ptr
    %dims1 = llvm.getelementptr %dims[1] : (!llvm.ptr) -> !llvm.ptr, i64
    llvm.store %w8, %dims : i64, !llvm.ptr
    llvm.store %w2, %dims1 : i64, !llvm.ptr
    %strides = llvm.alloca %one x i64 : (i64) -> !llvm.ptr
    llvm.store %w32, %strides : i64, !llvm.ptr
    %box = llvm.alloca %w2 x i32 : (i64) -> !llvm.ptr
    %box1 = llvm.getelementptr %box[1] : (!llvm.ptr) -> !llvm.ptr, i32
    llvm.store %n8, %box : i32, !llvm.ptr
    llvm.store %n1, %box1 : i32, !llvm.ptr
    %status = llvm.call @mxTensorMapEncodeTiled(%map, %n3, %n2, %pa, %dims, %strides, %box, %null, %n0, %n0, %n0, %n0) : (!llvm.ptr, i32, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i32, i32, i32, i32) -> i32
    %value = llvm.load %map : !llvm.ptr -> !llvm.array<128 x i8>
    gpu.launch_func @kernels::@load_rows clusters in (%c2, %c1, %c1) blocks in (%c2, %c1, %c1) threads in (%c32, %c1, %c1) dynamic_shared_memory_size %smem args(%value : !llvm.array<128 x i8>, %pb : !llvm.ptr)
    %t6 = gpu.wait async
    %t7 = gpu.memcpy async [%t6] %host, %b : memref<2x8xi32>, memref<2x8xi32>
    %t8 = gpu.dealloc async [%t7] %a : memref<2x8xi32>
    %t9 = gpu.dealloc async [%t8] %b : memref<2x8xi32>
    gpu.wait [%t9]
    // CHECK:      [0, 1, 2, 3, 4, 5, 6, 7],
    // CHECK-NEXT: [108, 109, 110, 111, 112, 113, 114, 115]
    func.call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %host : memref<2x8xi32>
    return
  }
}
