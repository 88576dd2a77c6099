// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --mxgpu-verify-pipelines

// Warps and registers that are assigned to roles go together.

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  mxgpu.kernel @kernel() {
    mxgpu.role @load warps(1) {
    }
    // assign_warps C3
    // expected-error @below {{'mxgpu.role' op expected mxgpu.assign_warps for it, found none: mxgpu-assign-warps adds those of all roles}}
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
// Warps of two roles.
mxgpu.assign_warps @store from 0
mxgpu.assign_warps @load from 4
// assign_warps C4
// expected-error @below {{'mxgpu.assign_warps' op expected the role to start at warp 5, where those before it end, found 4}}
mxgpu.assign_warps @mma from 4

// A warp of no role between them.
mxgpu.assign_warps @store from 0
// assign_warps C4
// expected-error @below {{'mxgpu.assign_warps' op expected the role to start at warp 4, where those before it end, found 5}}
mxgpu.assign_warps @load from 5
mxgpu.assign_warps @mma from 6

// assign_warps C4
// expected-error @below {{'mxgpu.assign_warps' op expected the role to start at warp 0, where those before it end, found 1}}
mxgpu.assign_warps @store from 1
mxgpu.assign_warps @load from 5
mxgpu.assign_warps @mma from 6

mxgpu.assign_warps @store from 0 registers(240)
// assign_warps C5
// expected-error @below {{'mxgpu.assign_warps' op expected registers of every role or of none, as many in a warpgroup, found 0 after 240}}
mxgpu.assign_warps @load from 4
mxgpu.assign_warps @mma from 5 registers(40)

mxgpu.assign_warps @store from 0 registers(240)
// assign_warps C5
// expected-error @below {{'mxgpu.assign_warps' op expected registers of every role or of none, as many in a warpgroup, found 48 after 40}}
mxgpu.assign_warps @mma from 5 registers(48)
mxgpu.assign_warps @load from 4 registers(40)

// A warpgroup whose warps begin in another one.
mxgpu.assign_warps @load from 0 registers(40)
// assign_warps C5
// expected-error @below {{'mxgpu.assign_warps' op expected registers of every role or of none, as many in a warpgroup, found 240 after 40}}
mxgpu.assign_warps @store from 1 registers(240)
mxgpu.assign_warps @mma from 5 registers(240)

// -----

// Tensor memory is read by warps whose number modulo 4 is known.
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
// expected-error @below {{'mxgpu.assign_warps' op expected 4 warps from a multiple of 4 in a role of which 4 run an instruction together, found 4 from 1}}
mxgpu.assign_warps @epilogue from 1

// SET warps = 8
// assign_warps C6
// expected-error @below {{'mxgpu.assign_warps' op expected 4 warps from a multiple of 4 in a role of which 4 run an instruction together, found 8 from 0}}
mxgpu.assign_warps @epilogue from 0
mxgpu.assign_warps @load from 8

// -----

// The threads of a warpgroup multiply together, and it begins at every fourth warp.
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
// expected-error @below {{'mxgpu.assign_warps' op expected a multiple of 4 warps from a multiple of 4 in a role of which 4 run an instruction together, found 4 from 6}}
mxgpu.assign_warps @multiply from 6
