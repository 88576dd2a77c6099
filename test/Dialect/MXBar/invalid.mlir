// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// TEMPLATE role
// SET arguments = 
!ring = !mxgpu.ring<2 x (x: smem<16xi8>), producer = threads(32), consumer = threads(32)>
!longer = !mxgpu.ring<3 x (x: smem<16xi8>), producer = threads(32), consumer = threads(32)>
gpu.module @kernels {
  mxgpu.kernel @kernel(${arguments}) {
    %ring = mxbar.placed_ring "ring" offsets [0] stride(128) barriers(16) full(1) empty(1) : !ring
    %other = mxbar.placed_ring "other" offsets [0] stride(128) barriers(16) full(1) empty(1) : !ring
    %longer = mxbar.placed_ring "longer" offsets [0] stride(128) barriers(16) full(1) empty(1) : !longer
    mxgpu.role @role warps(1) {
      // BLOCK body
      // END
    }
  }
}

// -----

// CASES role body
// Rejects a stage number above 2. The number 2 is valid and denotes the end of the ring.
%end = mxbar.get_stage %ring[2] : !ring
// get_stage C1
// expected-error @below {{'mxbar.get_stage' op expected a stage number of at most 2, the end of the ring, found 3}}
%stage = mxbar.get_stage %ring[3] : !ring

// SET arguments = %some: i1
%either = arith.select %some, %ring, %other : !ring
// placed C1
// expected-error @below {{'mxbar.get_stage' op expected a ring that mxbar.placed_ring creates}}
%stage = mxbar.get_stage %either[0] : !ring

// -----

!ring = !mxgpu.ring<3 x (d: tmem<128x32xf32>), producer = mma_commit, consumer = threads(128)>
gpu.module @kernels {
  mxgpu.kernel @kernel(%parity: i32) {
    %ring = mxbar.placed_ring "ring" offsets [0] stride(16) barriers(16) full(1) empty(1) : !ring
    mxgpu.role @role warps(1) {
      %stage = mxbar.get_stage %ring[0] : !ring
      // previous_stage C1
      // expected-error-re @below {{'mxbar.previous_stage' op expected a ring of 2 stages in tensor memory, found '!mxgpu.ring<3 x {{.*}}'}}
      %previous, %its_parity = mxbar.previous_stage %stage, %parity : !mxgpu.stage<!ring>
    }
  }
}

// -----

// CASES role body
// Rejects mxbar.previous_stage for a ring in shared memory.
// SET arguments = %parity: i32
%stage = mxbar.get_stage %ring[0] : !ring
// previous_stage C1
// expected-error-re @below {{'mxbar.previous_stage' op expected a ring of 2 stages in tensor memory, found '!mxgpu.ring<2 x {{.*}}'}}
%previous, %its_parity = mxbar.previous_stage %stage, %parity : !mxgpu.stage<!ring>

// SET arguments = %parity: i32
%first = mxbar.get_stage %ring[0] : !ring
%last = mxbar.get_stage %ring[1] : !ring
// advance C1
// expected-error @below {{'mxbar.advance' op expected first and end to be stages 0 and 2 from mxbar.get_stage}}
%next, %next_parity = mxbar.advance %first, %parity in(%first, %last) : !mxgpu.stage<!ring>

// -----

!ring = !mxgpu.ring<2 x (d: tmem<128x32xf32>), producer = mma_commit, consumer = threads(128)>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %ring = mxbar.placed_ring "ring" offsets [0] stride(128) barriers(16) full(1) empty(1) : !ring
    mxgpu.role @role warps(1) {
      %stage = mxbar.get_stage %ring[0] : !ring
      // stage_buffers C1
      // expected-error @below {{'mxbar.stage_buffers' op expected the operand tensor_memory}}
      %d = mxbar.stage_buffers %ring, %stage : !ring, !mxgpu.stage<!ring>
    }
  }
}

// -----

// USE role body
// SET arguments = %column: i32
%stage = mxbar.get_stage %ring[0] : !ring
// stage_buffers C1
// expected-error @below {{'mxbar.stage_buffers' op expected no operand tensor_memory}}
%x = mxbar.stage_buffers %ring, %stage tensor_memory(%column) : !ring, !mxgpu.stage<!ring>

// -----

// TEMPLATE kernel
!ring = !mxgpu.ring<2 x (x: smem<32x32xf32, sw128>), producer = threads(32), consumer = bulk_store, scope = warp>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    // BLOCK body
    // END
  }
}

// -----

// USE kernel body
%ring = mxbar.placed_ring "ring" offsets [0] stride(4096) : !ring
mxgpu.role @role warps(1) {
  %stage = mxbar.get_stage %ring[0] : !ring
  // stage_buffers C2
  // expected-error @below {{'mxbar.stage_buffers' op expected the operand warp}}
  %x = mxbar.stage_buffers %ring, %stage : !ring, !mxgpu.stage<!ring>
}

// -----

// CASES role body
// SET arguments = %warp: i32
%stage = mxbar.get_stage %ring[0] : !ring
// stage_buffers C2
// expected-error @below {{'mxbar.stage_buffers' op expected no operand warp}}
%x = mxbar.stage_buffers %ring, %stage warp(%warp) : !ring, !mxgpu.stage<!ring>

%stage = mxbar.get_stage %longer[2] : !longer
// placed C2
// expected-error-re @below {{'mxbar.stage_barriers' op expected a stage of the ring, found '!mxgpu.stage<{{.*}}3 x {{.*}}>'}}
%full, %empty = mxbar.stage_barriers %ring, %stage : !ring, !mxgpu.stage<!longer>

// -----

// USE kernel body
%ring = mxbar.placed_ring "ring" offsets [0] stride(4096) : !ring
mxgpu.role @role warps(1) {
  %stage = mxbar.get_stage %ring[0] : !ring
  // stage_barriers C1
  // expected-error @below {{'mxbar.stage_barriers' op expected a ring with barriers, found a ring for bulk stores}}
  %full, %empty = mxbar.stage_barriers %ring, %stage : !ring, !mxgpu.stage<!ring>
}

// -----

!ring = !mxgpu.ring<2 x (d: tmem<128x32xf32>), producer = mma_commit, consumer = threads(128)>
gpu.module @kernels {
  mxgpu.kernel @kernel(%column: i32) {
    %ring = mxbar.placed_ring "ring" offsets [0] stride(128) barriers(16) full(1) empty(1) : !ring
    mxgpu.role @role warps(1) {
      %stage = mxbar.get_stage %ring[0] : !ring
      %d = mxbar.stage_buffers %ring, %stage tensor_memory(%column) : !ring, !mxgpu.stage<!ring>
      // buffer_address C1
      // expected-error @below {{'mxbar.buffer_address' op expected a buffer in shared memory, found '!mxgpu.buffer<tmem<128x32xf32>>'}}
      %address = mxbar.buffer_address %d : !mxgpu.buffer<tmem<128x32xf32>> -> !llvm.ptr<3>
    }
  }
}

// -----

// Rejects an address of a type other than a shared memory pointer.
// USE role body
%stage = mxbar.get_stage %ring[0] : !ring
%x = mxbar.stage_buffers %ring, %stage : !ring, !mxgpu.stage<!ring>
// buffer_address C2
// expected-error @below {{'mxbar.buffer_address' op expected an address of type '!llvm.ptr<3>', found 'f32'}}
%address = mxbar.buffer_address %x : !mxgpu.buffer<smem<16xi8>> -> f32

// -----

// CASES kernel body
// placed_ring C2
// expected-error @below {{'mxbar.placed_ring' op expected no barriers for stages of bulk_store}}
%ring = mxbar.placed_ring "ring" offsets [0] stride(4096) barriers(0) full(1) empty(1) : !ring
mxgpu.role @role warps(1) {
}

// placed_ring C1
// expected-error @below {{'mxbar.placed_ring' op expected 1 offsets, found 2}}
%ring = mxbar.placed_ring "ring" offsets [0, 16] stride(4096) : !ring
mxgpu.role @role warps(1) {
}

// placed_ring C3
// expected-error @below {{'mxbar.placed_ring' op expected 'full', 'empty' and 'barriers' together}}
%ring = mxbar.placed_ring "ring" offsets [0] stride(4096) {full = 1 : i64} : !ring
mxgpu.role @role warps(1) {
}

// expected-error @below {{'mxbar.placed_ring' op attribute 'offsets' failed to satisfy constraint}}
%ring = mxbar.placed_ring "ring" offsets [-4] stride(4096) : !ring
mxgpu.role @role warps(1) {
}

// expected-error @below {{'mxbar.placed_ring' op attribute 'stride' failed to satisfy constraint}}
%ring = mxbar.placed_ring "ring" offsets [0] stride(0) : !ring
mxgpu.role @role warps(1) {
}

// tensor_memory C1
// expected-error @below {{'mxbar.tensor_memory' op expected a power of two from 32 to 512 columns, found 96}}
%tmem = mxbar.tensor_memory columns(96) slot(0) warp(0)
mxgpu.role @role warps(1) {
}

// -----

// TEMPLATE ring
!ring = !mxgpu.ring<2 x (x: smem<16xi8>), producer = threads(32), consumer = threads(32)>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    // BLOCK body
    // END
    mxgpu.role @role warps(1) {
    }
  }
}

// -----

// CASES ring body
// placed_ring C2
// expected-error @below {{'mxbar.placed_ring' op expected barriers}}
%ring = mxbar.placed_ring "ring" offsets [0] stride(128) : !ring

// placed_ring C4
// expected-error @below {{'mxbar.placed_ring' op expected 'barriers' and a kernel with cluster(2) for 'other_empty'}}
%ring = mxbar.placed_ring "ring" offsets [0] stride(128) barriers(16) full(1) empty(1) other_empty(2) : !ring

// expected-error @below {{'mxbar.placed_ring' op attribute 'empty' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
%ring = mxbar.placed_ring "ring" offsets [0] stride(128) barriers(16) full(1) empty(0) : !ring

// expected-error @below {{'mxbar.placed_ring' op attribute 'barriers' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
%ring = mxbar.placed_ring "ring" offsets [0] stride(128) barriers(-8) full(1) empty(1) : !ring

// -----

// CASES role body
%stage = mxbar.get_stage %ring[0] : !ring
%full, %empty = mxbar.stage_barriers %ring, %stage : !ring, !mxgpu.stage<!ring>
// arrive C1
// expected-error @below {{'mxbar.arrive' op expected a count of 1 if the arrival expects bytes, found 2}}
mxbar.arrive %full expect(16) count(2) : !mxbar.barrier

%stage = mxbar.get_stage %ring[0] : !ring
%full, %empty = mxbar.stage_barriers %ring, %stage : !ring, !mxgpu.stage<!ring>
// arrive C2
// expected-error @below {{'mxbar.arrive' op expected a count of 1, no bytes and a barrier of this CTA with 'both'}}
mxbar.arrive %full count(2) both : !mxbar.barrier

%stage = mxbar.get_stage %ring[0] : !ring
%full, %empty = mxbar.stage_barriers %ring, %stage : !ring, !mxgpu.stage<!ring>
// arrive C3
// expected-error @below {{'mxbar.arrive' op expected 'of_async' only with 'both'}}
mxbar.arrive %full of_async : !mxbar.barrier

// SET arguments = %map: !mxgpu.tensor_map<16xi8>, %i: index
%stage = mxbar.get_stage %ring[0] : !ring
%full, %empty = mxbar.stage_barriers %ring, %stage : !ring, !mxgpu.stage<!ring>
%x = mxbar.stage_buffers %ring, %stage : !ring, !mxgpu.stage<!ring>
// tma_load C3
// expected-error @below {{'mxbar.load_box' op expected at most 1 coordinates, found 2}}
mxbar.load_box %map[%i, %i] into %x at %full : !mxgpu.tensor_map<16xi8>, !mxgpu.buffer<smem<16xi8>>, !mxbar.barrier

// SET arguments = %column: i32
%stage = mxbar.get_stage %ring[0] : !ring
%x = mxbar.stage_buffers %ring, %stage : !ring, !mxgpu.stage<!ring>
// copy_to_columns C1
// expected-error @below {{'mxbar.copy_to_columns' op expected a column that is a multiple of 4, found 2}}
%scales = mxbar.copy_to_columns %x tensor_memory(%column) column(2) : !mxgpu.buffer<smem<16xi8>> -> !mxgpu.scales<128>

// -----

// barrier C1
// expected-error @below {{expected a barrier with scope cta or pair, found scope warp}}
func.func private @barrier() -> !mxbar.barrier<warp>
