// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// Invalid operations on CTA pairs and on overlapped accumulators.

// -----

// TEMPLATE kernel
// SET arguments = %n: index
!map = !mxgpu.tensor_map<64x16xi8>
!ring = !mxgpu.ring<2 x (a: smem<128x16xi8>), producer = bulk_copy, consumer = mma_commit>
!a = !mxgpu.buffer<smem<128x16xi8>>
gpu.module @kernels {
  mxgpu.kernel @kernel(${arguments}) {
    // BLOCK body
    // END
  }
}

// -----

// CASES kernel body
// cta_rank C1
// expected-error @below {{'mxgpu.cta_rank' op expected to be inside a kernel with cluster(2) or cluster_splits(n)}}
%rank = mxgpu.cta_rank
mxgpu.role @role warps(1) {
}

// role C7
// expected-error @below {{'mxgpu.role' op 'on_leader' requires a kernel with cluster(2), found cluster(1)}}
mxgpu.role @role warps(1) elected on_leader {
}

// SET arguments = %map: !map, %n: index
%ring = mxgpu.ring "ring" : !ring
mxgpu.role @load warps(1) elected {
  %s, %a = mxgpu.producer_acquire %ring : !ring
  // tma_load C9
  // expected-error @below {{'mxgpu.tma_load' op 'multicast' requires a CTA pair, 2 boxes, and mxgpu.cta_rank as the box}}
  mxgpu.tma_load %map[%n] into %a box(%n) for %s multicast : !map, !a, !mxgpu.stage<!ring>
}

%ring = mxgpu.ring "ring" : !ring
mxgpu.role @mma warps(1) elected {
  %s, %a = mxgpu.consumer_wait %ring : !ring
  // epilogue_column C2
  // expected-error @below {{'mxgpu.epilogue_column' op expected a stage in tensor memory, found '!mxgpu.buffer<smem<128x16xi8>>'}}
  %column = mxgpu.epilogue_column %s, %n : !mxgpu.stage<!ring>
}

// -----

// TEMPLATE role
// SET role = warps(4)
!ring = !mxgpu.ring<2 x (d: tmem<128x256xf32>), producer = mma_commit, consumer = threads(128), overlap = 64>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index) {
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @role ${role} {
      // BLOCK body
      // END
    }
  }
}

// -----

// CASES role body
%s, %d = mxgpu.consumer_wait %ring : !ring
// epilogue_column C3
// expected-error @below {{'mxgpu.epilogue_column' op expected 'b' to be below 'num_b', and 'num_b' to divide 256 columns, found 'b' = 2 of 2}}
%column = mxgpu.epilogue_column %s, %n b 2 of 2 : !mxgpu.stage<!ring>

%s, %d = mxgpu.consumer_wait %ring : !ring
// epilogue_column C3
// expected-error @below {{'mxgpu.epilogue_column' op expected 'b' to be below 'num_b', and 'num_b' to divide 256 columns, found 'b' = 0 of 3}}
%column = mxgpu.epilogue_column %s, %n of 3 : !mxgpu.stage<!ring>

%s, %d = mxgpu.consumer_wait %ring : !ring
// epilogue_column C4
// expected-error @below {{'mxgpu.epilogue_column' op expected the shared columns to fit in a slice with width 32, found 64}}
%column = mxgpu.epilogue_column %s, %n b 1 of 8 : !mxgpu.stage<!ring>

// SET role = warps(1) elected
%s, %d = mxgpu.producer_acquire %ring : !ring
// epilogue_column C1
// expected-error @below {{'mxgpu.epilogue_column' op expected a stage of mxgpu.consumer_wait}}
%column = mxgpu.epilogue_column %s, %n : !mxgpu.stage<!ring>
