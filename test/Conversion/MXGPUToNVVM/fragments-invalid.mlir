// RUN: mx-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect --mxgpu-unroll-fragments --mxgpu-assign-warps --mxgpu-lower-rings --mxgpu-lower-kernels --convert-mxgpu-to-nvvm

// Registers have no addresses, so a column must be constant once loops over columns are unrolled.

!accumulator = !mxgpu.fragment<64x64xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>>
!part = !mxgpu.fragment<64x16xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns]>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @kernel(%i: index) {
    mxgpu.role @hold warps(4) {
      %accumulator = "wgmma"() : () -> !accumulator
      // expected-error @below {{'mxgpu.extract_columns' op expected a constant column, because registers have no addresses: run mxgpu-unroll-fragments on a loop with a constant trip count}}
      %part = mxgpu.extract_columns %accumulator at(%i) : !accumulator -> !part
      "use"(%part) : (!part) -> ()
    }
  }
}

// -----

// A loop with a dynamic trip count is not unrolled.
!accumulator = !mxgpu.fragment<64x64xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 8: 8 columns]>>
!part = !mxgpu.fragment<64x16xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 2: 8 columns]>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @kernel(%n: index) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    mxgpu.role @hold warps(4) {
      %accumulator = "wgmma"() : () -> !accumulator
      scf.for %i = %c0 to %n step %c16 {
        // expected-error @below {{'mxgpu.extract_columns' op expected a constant column, because registers have no addresses: run mxgpu-unroll-fragments on a loop with a constant trip count}}
        %part = mxgpu.extract_columns %accumulator at(%i) : !accumulator -> !part
        "use"(%part) : (!part) -> ()
      }
    }
  }
}

// -----

// Rejects a fragment that is not produced by an mxgpu or scf operation, or by arith.select.
!accumulator = !mxgpu.fragment<64x8xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows]>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  mxgpu.kernel @kernel() {
    mxgpu.role @hold warps(4) {
      // expected-error @below {{'ub.poison' op expected fragments from mxgpu operations, scf operations or arith.select: convert fragments with mxgpu.to_rows for other operations}}
      %accumulator = ub.poison : !accumulator
      "use"(%accumulator) : (!accumulator) -> ()
    }
  }
}
