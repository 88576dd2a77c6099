// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --convert-mxgpu-host-to-gpu --mxgpu-lower-kernels

// CASES
module attributes {gpu.container_module} {
  func.func @main(%n: index) {
    // expected-error @below {{'mxgpu.launch' op expected a kernel with rings: run convert-mxgpu-host-to-gpu before mxgpu-lower-rings}}
    mxgpu.launch @kernels::@kernel grid(%n) args()
    return
  }
  gpu.module @kernels {
    mxgpu.kernel @kernel() {
      %ring = mxbar.placed_ring "ring" offsets [0] stride(128) barriers(16) full(1) empty(1) : !mxgpu.ring<1 x (x: smem<16xi8>), producer = threads(32), consumer = threads(32)>
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
    // expected-error @below {{'memref.alloc' op expected memrefs with numeric elements and identity layout in device memory, found 'memref<4x4xf32, strided<[8, 1]>>'}}
    %y = memref.alloc() : memref<4x4xf32, strided<[8, 1]>>
    return
  }
  gpu.module @kernels {
  }
}

module attributes {gpu.container_module} {
  func.func @main(%x: memref<4x4xf32, strided<[8, 1]>>) {
    // expected-error @below {{'memref.copy' op expected memrefs with numeric elements and identity layout in device memory, found 'memref<4x4xf32, strided<[8, 1]>>'}}
    memref.copy %x, %x : memref<4x4xf32, strided<[8, 1]>> to memref<4x4xf32, strided<[8, 1]>>
    return
  }
  gpu.module @kernels {
  }
}
