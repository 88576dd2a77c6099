// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --convert-mxgpu-host-to-gpu --mxgpu-lower-kernels

// CASES
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  // expected-error @below {{'mxgpu.kernel' op expected an allocated kernel: run mxgpu-allocate first}}
  mxgpu.kernel @kernel() {
    mxgpu.role @role warps(1) {
    }
  }
}

// Sizes alone are not enough.
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  // expected-error @below {{'mxgpu.kernel' op expected an allocated kernel: run mxgpu-allocate first}}
  mxgpu.kernel @kernel() smem(0) {
    mxgpu.role @role warps(1) {
    }
  }
}

!in = !mxgpu.ring<1 x (sf: smem<512xi8>), producer = bulk_copy, consumer = mma_commit>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  // expected-error @below {{'mxgpu.kernel' op expected an allocated kernel: run mxgpu-allocate first}}
  mxgpu.kernel @kernel() smem(1024) {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @role warps(1) first_warp(0) {
    }
  }
}

!acc = !mxgpu.ring<1 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  // expected-error @below {{'mxgpu.kernel' op expected an allocated kernel: run mxgpu-allocate first}}
  mxgpu.kernel @kernel() smem(1024) {
    %acc = mxgpu.ring "acc" offsets [0] barriers(0) stride(16) : !acc
    mxgpu.role @role warps(1) first_warp(0) {
    }
  }
}

!in = !mxgpu.ring<1 x (sf: smem<512xi8>), producer = bulk_copy, consumer = mma_commit>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  // expected-error @below {{'mxgpu.kernel' op expected an allocated kernel: run mxgpu-allocate first}}
  mxgpu.kernel @kernel() smem(1024) tmem(32 at 1020 warp 0) {
    %in = mxgpu.ring "in" offsets [0] barriers(512) stride(640) : !in
    mxgpu.role @role warps(1) first_warp(0) {
      %stage, %sf = mxgpu.consumer_wait %in : !in
      %scales = mxgpu.copy_scales %sf : !mxgpu.buffer<smem<512xi8>> -> !mxgpu.scales<128>
    }
  }
}

module attributes {gpu.container_module} {
  func.func @main(%n: index) {
    // expected-error @below {{'mxgpu.launch' op expected an allocated kernel: run mxgpu-allocate first}}
    mxgpu.launch @kernels::@kernel grid(%n) args()
    return
  }
  gpu.module @kernels {
    mxgpu.kernel @kernel() {
      mxgpu.role @role warps(1) {
      }
    }
  }
}

func.func @main(%x: memref<?x?xf64>) {
  // expected-error @below {{'mxgpu.encode_tensor_map' op expected elements of one byte, f16, bf16 or f32, found 'f64'}}
  %map = mxgpu.encode_tensor_map %x : memref<?x?xf64> -> !mxgpu.tensor_map<32x32xf64>
  return
}

module attributes {gpu.container_module} {
  func.func @main(%x: memref<4x4xf32, strided<[8, 1]>>) {
    // expected-error @below {{'memref.alloc' op expected memrefs of numbers with identity layout in device memory, found 'memref<4x4xf32, strided<[8, 1]>>'}}
    %y = memref.alloc() : memref<4x4xf32, strided<[8, 1]>>
    return
  }
  gpu.module @kernels {
  }
}

module attributes {gpu.container_module} {
  func.func @main(%x: memref<4x4xf32, strided<[8, 1]>>) {
    // expected-error @below {{'memref.copy' op expected memrefs of numbers with identity layout in device memory, found 'memref<4x4xf32, strided<[8, 1]>>'}}
    memref.copy %x, %x : memref<4x4xf32, strided<[8, 1]>> to memref<4x4xf32, strided<[8, 1]>>
    return
  }
  gpu.module @kernels {
  }
}
