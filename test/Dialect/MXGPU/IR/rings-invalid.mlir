// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// TEMPLATE kernel
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!staging = !mxgpu.ring<2 x (c: smem<32x32xf32, sw128>), producer = threads(128), consumer = bulk_store, scope = warp>
gpu.module @kernels {
  mxgpu.kernel @kernel(%yes: i1) {
    // BLOCK body
    // END
  }
}

// -----

// TEMPLATE role
// SET arguments = 
// SET role = warps(1) elected
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!in = !mxgpu.ring<4 x (a: smem<128x128xf8E4M3FN, sw128>, b: smem<128x128xf8E4M3FN, sw128>, sfa: smem<512xf8E8M0FNU>, sfb: smem<512xf8E8M0FNU>), producer = bulk_copy, consumer = mma_commit>
!acc_stage = !mxgpu.stage<!acc>
!in_stage = !mxgpu.stage<!in>
gpu.module @kernels {
  mxgpu.kernel @kernel(${arguments}) {
    %in = mxgpu.ring "in" : !in
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role ${role} {
      // BLOCK body
      // END
    }
  }
}

// -----

// USE role body
// SET role = warps(1)
// shared C6
// expected-error @below {{'mxgpu.ring' op expected to be directly inside a kernel}}
%inner = mxgpu.ring "acc" : !acc

// -----

// CASES kernel body
%in = mxgpu.ring "in" : !in
mxgpu.role @role warps(1) {
}
// shared C7
// expected-error @below {{'mxgpu.producer_acquire' op expected to be inside a role}}
%stage, %a, %b, %sfa, %sfb = mxgpu.producer_acquire %in : !in

%a = mxgpu.ring "a" : !in
%b = mxgpu.ring "b" : !in
%in = arith.select %yes, %a, %b : !in
mxgpu.role @role warps(1) {
  // shared C4
  // expected-error @below {{'mxgpu.producer_acquire' op expected a ring defined in the kernel}}
  %stage, %stage_a, %stage_b, %stage_sfa, %stage_sfb = mxgpu.producer_acquire %in : !in
}

// -----

// USE role body
// SET role = warps(1)
// expected-error @below {{'mxgpu.producer_acquire' op failed to infer returned types}}
// expected-error @below {{'mxgpu.producer_acquire' op inferred type(s)}}
%stage = "mxgpu.producer_acquire"(%in) : (!in) -> !acc_stage

// -----

// CASES kernel body
%in = mxgpu.ring "in" : !in
mxgpu.role @role warps(1) {
}
// shared C7
// expected-error @below {{'mxgpu.consumer_wait' op expected to be inside a role}}
%stage, %a, %b, %sfa, %sfb = mxgpu.consumer_wait %in : !in

%a = mxgpu.ring "a" : !in
%b = mxgpu.ring "b" : !in
%in = arith.select %yes, %a, %b : !in
mxgpu.role @role warps(1) {
  // shared C4
  // expected-error @below {{'mxgpu.consumer_wait' op expected a ring defined in the kernel}}
  %stage, %stage_a, %stage_b, %stage_sfa, %stage_sfb = mxgpu.consumer_wait %in : !in
}

// -----

// CASES role body
%stage, %a, %b, %sfa, %sfb = mxgpu.consumer_wait %in : !in
// shared C1
// expected-error @below {{'mxgpu.producer_commit' op expected a stage of mxgpu.producer_acquire}}
mxgpu.producer_commit %stage : !in_stage

// SET arguments = %yes: i1
%stage, %d = mxgpu.producer_acquire %acc : !acc
%same = scf.if %yes -> !acc_stage {
  scf.yield %stage : !acc_stage
} else {
  scf.yield %stage : !acc_stage
}
// shared C1
// expected-error @below {{'mxgpu.producer_commit' op expected a stage of mxgpu.producer_acquire}}
mxgpu.producer_commit %same : !acc_stage

%stage, %a, %b, %sfa, %sfb = mxgpu.producer_acquire %in : !in
// shared C1
// expected-error @below {{'mxgpu.consumer_release' op expected a stage of mxgpu.consumer_wait}}
mxgpu.consumer_release %stage : !in_stage
