// RUN: mx-opt %s -split-input-file --canonicalize --convert-mxgpu-host-to-gpu --canonicalize --cse | FileCheck %s

// The message of a run-time check starts with the location of the operation. A '%' in the location
// is escaped.

// CHECK-DAG:   llvm.mlir.global internal constant @mx_require_text_0("{{.*}}.mlir:{{[0-9]+}}:3: expected %lld rows, found %lld\00")
// CHECK-DAG:   llvm.func @mxReportError(!llvm.ptr, ...)
// CHECK-LABEL: func.func @require(
// CHECK-SAME:    %[[OK:.*]]: i1, %[[M:.*]]: index, %[[N:.*]]: index)
// CHECK-DAG:     %[[TRUE:.*]] = arith.constant true
// CHECK-DAG:     %[[TEXT:.*]] = llvm.mlir.addressof @mx_require_text_0
// CHECK:         %[[FAILS:.*]] = arith.xori %[[OK]], %[[TRUE]]
// CHECK:         scf.if %[[FAILS]] {
// CHECK:           %[[A:.*]] = arith.index_cast %[[M]] : index to i64
// CHECK:           %[[B:.*]] = arith.index_cast %[[N]] : index to i64
// CHECK:           llvm.call @mxReportError(%[[TEXT]], %[[A]], %[[B]]) vararg(
func.func @require(%ok: i1, %m: index, %n: index) {
  mxgpu.require %ok, "expected %lld rows, found %lld" (%m, %n)
  return
}

// -----

// A requirement known to hold is dropped.
// CHECK-LABEL: func.func @holds(
// CHECK-NOT:     mxReportError
// CHECK:         return
func.func @holds(%m: index) {
  %true = arith.constant true
  mxgpu.require %true, "expected %lld rows" (%m)
  return
}

// -----

// CHECK: llvm.mlir.global internal constant @mx_require_text_0("100%%.mlir:3:4: expected nothing\00")
func.func @place(%ok: i1) {
  mxgpu.require %ok, "expected nothing" loc(callsite("100%.mlir":3:4 at "y.mlir":1:1))
  return
}

// -----

// CHECK: llvm.func @mxMultiprocessorCount() -> i32
// CHECK-LABEL: func.func @sm_count(
// CHECK:         %[[COUNT:.*]] = llvm.call @mxMultiprocessorCount() : () -> i32
// CHECK:         %[[R:.*]] = arith.index_cast %[[COUNT]] : i32 to index
// CHECK:         return %[[R]]
func.func @sm_count() -> index {
  %0 = mxgpu.sm_count
  return %0 : index
}

// -----

// Encodes a tensor map and launches a kernel with the map. The map lists dimensions and strides
// starting with the innermost dimension, and is passed by value. A memref is passed as its pointer
// and its dynamic sizes. All calls use the default stream, and the function synchronizes once.

// CHECK-LABEL: func.func @launch(
// CHECK-SAME:    %[[A:[^:]*]]: memref<?x256xf8E4M3FN>, %[[Y:[^:]*]]: memref<?x4xf32>, %[[F:[^:]*]]: f32, %[[GRID:[^:]*]]: index
// CHECK-DAG:     %[[C256:.*]] = arith.constant 256 : i64
// CHECK-DAG:     %[[C128:.*]] = arith.constant 128 : i32
// CHECK-DAG:     %[[C64:.*]] = arith.constant 64 : i32
// CHECK-DAG:     %[[U8:.*]] = arith.constant 0 : i32
// CHECK-DAG:     %[[RANK:.*]] = arith.constant 2 : i32
// CHECK-DAG:     %[[SW128:.*]] = arith.constant 3 : i32
// CHECK-DAG:     %[[STREAM:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK:         %[[MAP:.*]] = llvm.alloca %{{.*}} x !llvm.array<128 x i8> {alignment = 64 : i64}
// CHECK:         %[[DIMS:.*]] = llvm.alloca %{{.*}} x i64
// CHECK:         %[[STRIDES:.*]] = llvm.alloca %{{.*}} x i64
// CHECK:         %[[BOX:.*]] = llvm.alloca %{{.*}} x i32
// CHECK:         %[[ROWS:.*]] = memref.dim %[[A]]
// CHECK:         %[[ROWS64:.*]] = arith.index_cast %[[ROWS]] : index to i64
// CHECK:         llvm.store %[[C256]], %[[DIMS]]
// CHECK:         %[[DIM1:.*]] = llvm.getelementptr %[[DIMS]][1]
// CHECK:         llvm.store %[[ROWS64]], %[[DIM1]]
// CHECK:         llvm.store %[[C256]], %[[STRIDES]]
// CHECK:         llvm.store %[[C128]], %[[BOX]]
// CHECK:         %[[BOX1:.*]] = llvm.getelementptr %[[BOX]][1]
// CHECK:         llvm.store %[[C64]], %[[BOX1]]
// CHECK:         llvm.call @mxTensorMapEncodeTiled(%[[MAP]], %[[U8]], %[[RANK]], %{{.*}}, %[[DIMS]], %[[STRIDES]], %[[BOX]], %{{.*}}, %{{.*}}, %[[SW128]], %[[RANK]], %[[U8]])
// CHECK:         %[[VALUE:.*]] = llvm.load %[[MAP]] : !llvm.ptr -> !llvm.array<128 x i8>
// CHECK:         %[[POINTER:.*]] = llvm.inttoptr
// CHECK:         %[[SIZE:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK:         %[[N:.*]] = arith.index_cast %[[GRID]] : index to i64
// CHECK-NOT:     mxNextLaunchFlags
// CHECK:         gpu.launch_func <%[[STREAM]] : !llvm.ptr> @kernels::@kernel blocks in (%[[N]], %c1_i64, %c1_i64) threads in (%c96_i64, %c1_i64, %c1_i64) : i64
// CHECK-SAME:      dynamic_shared_memory_size %c8208_i32
// CHECK-SAME:      args(%[[VALUE]] : !llvm.array<128 x i8>, %[[POINTER]] : !llvm.ptr, %[[SIZE]] : i64, %[[F]] : f32, %[[N]] : i64)
// CHECK:         llvm.call @mgpuStreamSynchronize(%[[STREAM]])
// CHECK:         return
// CHECK:       mxgpu.kernel @kernel
// CHECK-SAME:    attributes {gpu.kernel}
!map = !mxgpu.tensor_map<64x128xf8E4M3FN, sw128>
module attributes {gpu.container_module} {
  func.func @launch(%a: memref<?x256xf8E4M3FN>, %y: memref<?x4xf32>, %f: f32, %grid: index) {
    %map = mxgpu.encode_tensor_map %a l2_promotion = b128 : memref<?x256xf8E4M3FN> -> !map
    mxgpu.launch @kernels::@kernel grid(%grid) args(%map, %y, %f, %grid : !map, memref<?x4xf32>, f32, index)
    return
  }
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    mxgpu.kernel @kernel(%map: !map, %y: memref<?x4xf32>, %f: f32, %n: index) {
      %in = mxgpu.ring "in" : !mxgpu.ring<1 x (a: smem<64x128xf8E4M3FN, sw128>), producer = bulk_copy, consumer = mma_commit>
      mxgpu.role @a warps(1) {
      }
      mxgpu.role @b warps(2) {
      }
    }
  }
}

// -----

// A loop does not grow the stack. Each iteration reuses the allocations in the entry block. Each
// iteration also restores the stack, because the translation to LLVM IR allocates stack memory
// for the launch.

// CHECK-LABEL: func.func @loop(
// CHECK-COUNT-5: llvm.alloca
// CHECK:         scf.for
// CHECK-NOT:       llvm.alloca
// CHECK:           llvm.call @mxTensorMapEncodeTiled(
// CHECK:           %[[STACK:.*]] = llvm.intr.stacksave
// CHECK:           gpu.launch_func
// CHECK:           llvm.intr.stackrestore %[[STACK]]
!map = !mxgpu.tensor_map<64x128xf8E4M3FN, sw128>
module attributes {gpu.container_module} {
  func.func @loop(%a: memref<?x256xf8E4M3FN>, %turns: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %turns step %c1 {
      %map = mxgpu.encode_tensor_map %a l2_promotion = b128 : memref<?x256xf8E4M3FN> -> !map
      mxgpu.launch @kernels::@kernel grid(%c1) args(%map : !map)
    }
    return
  }
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    mxgpu.kernel @kernel(%map: !map) {
      mxgpu.role @a warps(1) {
      }
    }
  }
}

// -----

// A loop formed by branches between blocks does not grow the stack either. A launch in the
// entry block does not restore the stack, so its allocations live until the function returns.

// CHECK-LABEL: func.func @blocks(
// CHECK:         llvm.alloca
// CHECK-NOT:     stacksave
// CHECK:         gpu.launch_func
// CHECK:         cf.br ^[[LOOP:.*]]
// CHECK:       ^[[LOOP]]:
// CHECK-NOT:     llvm.alloca
// CHECK:         %[[STACK:.*]] = llvm.intr.stacksave
// CHECK:         gpu.launch_func
// CHECK:         llvm.intr.stackrestore %[[STACK]]
// CHECK:         cf.cond_br
!map = !mxgpu.tensor_map<64x128xf8E4M3FN, sw128>
module attributes {gpu.container_module} {
  func.func @blocks(%a: memref<?x256xf8E4M3FN>, %again: i1, %grid: index) {
    %first = mxgpu.encode_tensor_map %a l2_promotion = b128 : memref<?x256xf8E4M3FN> -> !map
    mxgpu.launch @kernels::@kernel grid(%grid) args(%first : !map)
    cf.br ^loop
  ^loop:
    %map = mxgpu.encode_tensor_map %a l2_promotion = b128 : memref<?x256xf8E4M3FN> -> !map
    mxgpu.launch @kernels::@kernel grid(%grid) args(%map : !map)
    cf.cond_br %again, ^loop, ^end
  ^end:
    return
  }
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    mxgpu.kernel @kernel(%map: !map) {
      mxgpu.role @a warps(1) {
      }
    }
  }
}

// -----

// A kernel that itself waits for the preceding kernels is launched with the programmatic flag, so
// it may start before those kernels end. A kernel without a wait is launched without the flag. The
// launching function synchronizes once before it returns. A function that only calls the launching
// function does not synchronize.

// CHECK:       llvm.func @mxNextLaunchFlags(i32)
// CHECK-LABEL: func.func @chain(
// CHECK-DAG:     %[[PROGRAMMATIC:.*]] = arith.constant 1 : i32
// CHECK-NOT:     mxNextLaunchFlags
// CHECK:         gpu.launch_func {{.*}} @kernels::@plain
// CHECK-NOT:     mgpuStreamSynchronize
// CHECK:         scf.if
// CHECK:           %[[STACK:.*]] = llvm.intr.stacksave
// CHECK:           llvm.call @mxNextLaunchFlags(%[[PROGRAMMATIC]])
// CHECK:           gpu.launch_func {{.*}} @kernels::@waits
// CHECK:           llvm.intr.stackrestore %[[STACK]]
// CHECK-NOT:       mgpuStreamSynchronize
// CHECK:         }
// CHECK-NOT:     mxNextLaunchFlags
// CHECK:         gpu.launch_func {{.*}} @kernels::@plain
// CHECK:         llvm.call @mgpuStreamSynchronize(
// CHECK:         return
// CHECK-LABEL: func.func @calls(
// CHECK-NOT:     mgpuStreamSynchronize
// CHECK:         return
module attributes {gpu.container_module} {
  func.func @chain(%more: i1, %grid: index) {
    mxgpu.launch @kernels::@plain grid(%grid) args(%grid : index)
    scf.if %more {
      mxgpu.launch @kernels::@waits grid(%grid) args(%grid : index)
    }
    mxgpu.launch @kernels::@plain grid(%grid) args(%grid : index)
    return
  }
  func.func @calls(%more: i1, %grid: index) {
    call @chain(%more, %grid) : (i1, index) -> ()
    return
  }
  gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
    mxgpu.kernel @plain(%n: index) {
      mxgpu.role @a warps(1) {
      }
    }
    mxgpu.kernel @waits(%n: index) {
      mxgpu.wait_dependencies
      mxgpu.role @a warps(1) {
      }
    }
  }
}

// -----

// In a program with kernels, memref operations allocate, copy and free device memory.

// CHECK-LABEL: func.func @memory(
// CHECK-SAME:    %[[X:[^:]*]]: memref<?x4xbf16>, %[[N:[^:]*]]: index
// CHECK-DAG:     %[[C8:.*]] = arith.constant 8 : i64
// CHECK-DAG:     %[[STREAM:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK:         %[[ROWS:.*]] = arith.index_cast %[[N]] : index to i64
// CHECK:         %[[BYTES:.*]] = arith.muli %[[ROWS]], %[[C8]]
// A size beyond the address space is replaced by the largest integer.
// CHECK:         %[[FITS:.*]] = arith.cmpf olt
// CHECK:         %[[SIZE:.*]] = arith.select %[[FITS]], %[[BYTES]], %c-1_i64
// CHECK:         llvm.call @mgpuMemAlloc(%[[SIZE]], %[[STREAM]], %{{.*}})
// CHECK:         llvm.call @mgpuMemcpy(%{{.*}}, %{{.*}}, %{{.*}}, %[[STREAM]])
// CHECK:         llvm.call @mgpuMemFree(%{{.*}}, %[[STREAM]])
// CHECK-NOT:     memref.{{alloc|dealloc|copy}}
module attributes {gpu.container_module} {
  func.func @memory(%x: memref<?x4xbf16>, %n: index) {
    %y = memref.alloc(%n) : memref<?x4xbf16>
    memref.copy %x, %y : memref<?x4xbf16> to memref<?x4xbf16>
    memref.dealloc %y : memref<?x4xbf16>
    return
  }
  gpu.module @kernels {
  }
}

// -----

// A function without launches also allocates its result in device memory.

// CHECK-LABEL: func.func @idle(
// CHECK-NOT:     memref.alloc
// CHECK:         llvm.call @mgpuMemAlloc
// CHECK:         llvm.call @mgpuMemcpy
func.func @idle(%x: memref<4xbf16>) -> memref<4xbf16> {
  %y = memref.alloc() : memref<4xbf16>
  memref.copy %x, %y : memref<4xbf16> to memref<4xbf16>
  return %y : memref<4xbf16>
}
