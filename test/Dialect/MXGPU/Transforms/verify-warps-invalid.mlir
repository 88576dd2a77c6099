// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --mxgpu-verify-pipelines

// Invalid assignments of warps and registers to roles.

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @kernel() {
    mxgpu.role @load warps(1) {
    }
    // assign_warps C3
    // expected-error @below {{'mxgpu.role' op expected an mxgpu.assign_warps for the role, found none: run mxgpu-assign-warps to assign warps to all roles}}
    mxgpu.role @mma warps(1) {
    }
    mxgpu.assign_warps @load from 0
  }
}

// -----

// TEMPLATE kernel
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @kernel() {
    mxgpu.role @store warps(4) {
    }
    mxgpu.role @load warps(1) {
    }
    mxgpu.role @mma warps(1) {
    }
    // BLOCK body
    // END
  }
}

// -----

// CASES kernel body
// Rejects a warp assigned to two roles.
mxgpu.assign_warps @store from 0
mxgpu.assign_warps @load from 4
// assign_warps C4
// expected-error @below {{'mxgpu.assign_warps' op expected the role to start at warp 5, right after the preceding roles, found 4}}
mxgpu.assign_warps @mma from 4

// Rejects a gap between the warps of two roles.
mxgpu.assign_warps @store from 0
// assign_warps C4
// expected-error @below {{'mxgpu.assign_warps' op expected the role to start at warp 4, right after the preceding roles, found 5}}
mxgpu.assign_warps @load from 5
mxgpu.assign_warps @mma from 6

// assign_warps C4
// expected-error @below {{'mxgpu.assign_warps' op expected the role to start at warp 0, right after the preceding roles, found 1}}
mxgpu.assign_warps @store from 1
mxgpu.assign_warps @load from 5
mxgpu.assign_warps @mma from 6

mxgpu.assign_warps @store from 0 registers(240)
// assign_warps C5
// expected-error @below {{'mxgpu.assign_warps' op expected register counts for every role or for none, equal within each warpgroup, found 0 after a role with 240}}
mxgpu.assign_warps @load from 4
mxgpu.assign_warps @mma from 5 registers(40)

mxgpu.assign_warps @store from 0 registers(240)
// assign_warps C5
// expected-error @below {{'mxgpu.assign_warps' op expected register counts for every role or for none, equal within each warpgroup, found 48 after a role with 40}}
mxgpu.assign_warps @mma from 5 registers(48)
mxgpu.assign_warps @load from 4 registers(40)

// Rejects different register counts within a warpgroup.
mxgpu.assign_warps @load from 0 registers(40)
// assign_warps C5
// expected-error @below {{'mxgpu.assign_warps' op expected register counts for every role or for none, equal within each warpgroup, found 240 after a role with 40}}
mxgpu.assign_warps @store from 1 registers(240)
mxgpu.assign_warps @mma from 5 registers(240)

// -----

// Rejects readers of tensor memory with four warps starting at warp 1, and with eight warps.
// TEMPLATE reader
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @lanes(%n: index) {
    // SET warps = 4
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @load warps(1) {
    }
    mxgpu.role @epilogue warps(${warps}) {
      %s, %d = mxgpu.consumer_wait %acc : !acc
      %f_fragment = mxgpu.load_accumulator %d column(%n) : !d -> !mxgpu.fragment<128x16xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [16: 1 column]>>
    }
    // BLOCK body
    // END
  }
}

// -----

// CASES reader body
mxgpu.assign_warps @load from 0
// assign_warps C6
// expected-error @below {{'mxgpu.assign_warps' op expected 4 warps that start at a multiple of 4, because 4 warps execute an instruction together, found 4 warps from warp 1}}
mxgpu.assign_warps @epilogue from 1

// SET warps = 8
// assign_warps C6
// expected-error @below {{'mxgpu.assign_warps' op expected 4 warps that start at a multiple of 4, because 4 warps execute an instruction together, found 8 warps from warp 0}}
mxgpu.assign_warps @epilogue from 0
mxgpu.assign_warps @load from 8

// -----

// Rejects a wgmma role starting at warp 6, which is not a multiple of four.
// TEMPLATE multiplier
!in = !mxgpu.ring<4 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!accumulator = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @kernel() {
    %in = mxgpu.ring "in" : !in
    mxgpu.role @store warps(4) {
    }
    mxgpu.role @load warps(2) {
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !accumulator
      %stage, %a, %b = mxgpu.consumer_wait %in : !in
      %new = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero : !a, !b, !accumulator -> !accumulator
    }
    // BLOCK body
    // END
  }
}

// -----

// CASES multiplier body
mxgpu.assign_warps @store from 0
mxgpu.assign_warps @load from 4
// assign_warps C6
// expected-error @below {{'mxgpu.assign_warps' op expected a multiple of 4 warps that start at a multiple of 4, because 4 warps execute an instruction together, found 4 warps from warp 6}}
mxgpu.assign_warps @multiply from 6
