// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// TEMPLATE role
// SET arguments = 
!ring = !mxgpu.ring<2 x (x: smem<16xi8>), producer = threads(32), consumer = threads(32)>
!longer = !mxgpu.ring<3 x (x: smem<16xi8>), producer = threads(32), consumer = threads(32)>
gpu.module @kernels {
  mxgpu.kernel @kernel(${arguments}) {
    %ring = mxgpu.ring "ring" : !ring
    %other = mxgpu.ring "other" : !ring
    %longer = mxgpu.ring "longer" : !longer
    mxgpu.role @role warps(1) {
      // BLOCK body
      // END
    }
  }
}

// -----

// CASES role body
// A number of a stage, or that of the end.
%end = mxgpu.get_stage %ring[2] : !ring
// get_stage C1
// expected-error @below {{'mxgpu.get_stage' op expected a number up to 2, that of the end, found 3}}
%stage = mxgpu.get_stage %ring[3] : !ring

// SET arguments = %some: i1
%either = arith.select %some, %ring, %other : !ring
// shared C4
// expected-error @below {{'mxgpu.get_stage' op expected a ring made in the kernel}}
%stage = mxgpu.get_stage %either[0] : !ring

// -----

!ring = !mxgpu.ring<3 x (d: tmem<128x32xf32>), producer = mma_commit, consumer = threads(128)>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @role warps(1) {
      %stage = mxgpu.get_stage %ring[0] : !ring
      // other_stage C1
      // expected-error @below {{'mxgpu.other_stage' op expected a ring of 2 stages, found 3}}
      %other = mxgpu.other_stage %stage : !mxgpu.stage<!ring>
    }
  }
}

// -----

// CASES role body
// A stage with barriers in shared memory is known by its address.
%stage = mxgpu.get_stage %ring[0] : !ring
// stage_number C1
// expected-error-re @below {{'mxgpu.stage_number' op expected a stage in tensor memory or for bulk stores, found '!mxgpu.stage<{{.*}}>'}}
%number = mxgpu.stage_number %stage : !mxgpu.stage<!ring>

// SET arguments = %parity: i32
%first = mxgpu.get_stage %ring[0] : !ring
%last = mxgpu.get_stage %ring[1] : !ring
// advance C1
// expected-error @below {{'mxgpu.advance' op expected stages 0 and 2 by mxgpu.get_stage as first and end}}
%next, %next_parity = mxgpu.advance %first, %parity in(%first, %last) : !mxgpu.stage<!ring>

// -----

!ring = !mxgpu.ring<2 x (d: tmem<128x32xf32>), producer = mma_commit, consumer = threads(128)>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @role warps(1) {
      %stage = mxgpu.get_stage %ring[0] : !ring
      // stage_buffers C1
      // expected-error @below {{'mxgpu.stage_buffers' op expected the first column of tensor memory}}
      %d = mxgpu.stage_buffers %ring, %stage : !ring, !mxgpu.stage<!ring>
    }
  }
}

// -----

// USE role body
// SET arguments = %column: i32
%stage = mxgpu.get_stage %ring[0] : !ring
// stage_buffers C1
// expected-error @below {{'mxgpu.stage_buffers' op expected no column of tensor memory}}
%x = mxgpu.stage_buffers %ring, %stage tensor_memory(%column) : !ring, !mxgpu.stage<!ring>

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
%ring = mxgpu.ring "ring" : !ring
mxgpu.role @role warps(1) {
  %stage = mxgpu.get_stage %ring[0] : !ring
  // stage_buffers C2
  // expected-error @below {{'mxgpu.stage_buffers' op expected the number of the warp}}
  %x = mxgpu.stage_buffers %ring, %stage : !ring, !mxgpu.stage<!ring>
}

// -----

// CASES role body
// SET arguments = %warp: i32
%stage = mxgpu.get_stage %ring[0] : !ring
// stage_buffers C2
// expected-error @below {{'mxgpu.stage_buffers' op expected no number of a warp}}
%x = mxgpu.stage_buffers %ring, %stage warp(%warp) : !ring, !mxgpu.stage<!ring>

%stage = mxgpu.get_stage %longer[2] : !longer
// shared C5
// expected-error-re @below {{'mxgpu.stage_barriers' op expected a stage of the ring, found '!mxgpu.stage<{{.*}}3 x {{.*}}>'}}
%full, %empty = mxgpu.stage_barriers %ring, %stage : !ring, !mxgpu.stage<!longer>

// -----

// USE kernel body
%ring = mxgpu.ring "ring" : !ring
mxgpu.role @role warps(1) {
  %stage = mxgpu.get_stage %ring[0] : !ring
  // stage_barriers C1
  // expected-error @below {{'mxgpu.stage_barriers' op expected a ring with barriers, found one for bulk stores}}
  %full, %empty = mxgpu.stage_barriers %ring, %stage : !ring, !mxgpu.stage<!ring>
}

// -----

!ring = !mxgpu.ring<2 x (d: tmem<128x32xf32>), producer = mma_commit, consumer = threads(128)>
gpu.module @kernels {
  mxgpu.kernel @kernel(%column: i32) {
    %ring = mxgpu.ring "ring" : !ring
    mxgpu.role @role warps(1) {
      %stage = mxgpu.get_stage %ring[0] : !ring
      %d = mxgpu.stage_buffers %ring, %stage tensor_memory(%column) : !ring, !mxgpu.stage<!ring>
      // buffer_address C1
      // expected-error @below {{'mxgpu.buffer_address' op expected a buffer in shared memory, found '!mxgpu.buffer<tmem<128x32xf32>>'}}
      %address = mxgpu.buffer_address %d : !mxgpu.buffer<tmem<128x32xf32>> -> !llvm.ptr<3>
    }
  }
}

// -----

// What an address is, others read and write by.
// USE role body
%stage = mxgpu.get_stage %ring[0] : !ring
%x = mxgpu.stage_buffers %ring, %stage : !ring, !mxgpu.stage<!ring>
// buffer_address C2
// expected-error @below {{'mxgpu.buffer_address' op expected an address of type '!llvm.ptr<3>', found 'f32'}}
%address = mxgpu.buffer_address %x : !mxgpu.buffer<smem<16xi8>> -> f32

// -----

// USE kernel body
%ring = mxgpu.ring "ring" : !ring
// init_barriers C1
// expected-error @below {{'mxgpu.init_barriers' op expected a ring with barriers, made in the kernel}}
mxgpu.init_barriers %ring full(1) empty(1) : !ring
mxgpu.role @role warps(1) {
}

// -----

// CASES
!ring = !mxgpu.ring<2 x (x: smem<16xi8>), producer = threads(32), consumer = threads(32)>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %ring = mxgpu.ring "ring" : !ring
    // init_barriers C2
    // expected-error @below {{'mxgpu.init_barriers' op expected a kernel with cluster(2) around counts of another CTA}}
    mxgpu.init_barriers %ring full(1) empty(1) other_empty(2) : !ring
    mxgpu.role @role warps(1) {
    }
  }
}

!ring = !mxgpu.ring<2 x (x: smem<16xi8>), producer = threads(32), consumer = threads(32)>
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    %ring = mxgpu.ring "ring" : !ring
    // expected-error @below {{'mxgpu.init_barriers' op attribute 'empty' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
    mxgpu.init_barriers %ring full(1) empty(0) : !ring
    mxgpu.role @role warps(1) {
    }
  }
}

// -----

// USE role body
%stage = mxgpu.get_stage %ring[0] : !ring
%full, %empty = mxgpu.stage_barriers %ring, %stage : !ring, !mxgpu.stage<!ring>
// arrive C1
// expected-error @below {{'mxgpu.arrive' op expected one arrival with the bytes that it expects, found 2}}
mxgpu.arrive %full expect(16) count(2) : !mxgpu.barrier

// -----

// barrier C1
// expected-error @below {{expected a barrier of a cta or a pair, found one of a warp}}
func.func private @barrier() -> !mxgpu.barrier<warp>
