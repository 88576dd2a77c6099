// RUN: mx-opt %s --split-input-file --verify-diagnostics --mxgpu-unroll-fragments

// Rejects vectors with more elements than a thread can hold, before a pass computes an element count.

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @widen(%n: index) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [1, 1] of(%n, %n, %n)
    mxgpu.role @all warps(1) {
      // expected-error @below {{expected vectors of at most 1024 elements, found 'vector<1099511627776xbf16>'}}
      %x = ub.poison : vector<1099511627776xbf16>
      %y = arith.extf %x : vector<1099511627776xbf16> to vector<1099511627776xf32>
    }
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @splat(%n: index) {
    %scheduler = mxgpu.tile_scheduler static raster = linear tile [1, 1] of(%n, %n, %n)
    mxgpu.role @all warps(1) {
      // expected-error @below {{'arith.constant' op expected vectors of at most 1024 elements, found 'vector<4294967296x4294967296xf32>'}}
      %x = arith.constant dense<1.0> : vector<4294967296x4294967296xf32>
      %y = arith.divf %x, %x : vector<4294967296x4294967296xf32>
    }
  }
}
