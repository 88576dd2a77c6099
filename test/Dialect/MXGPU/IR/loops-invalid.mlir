// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// TEMPLATE role
// SET role = warps(1)
!acc = !mxgpu.ring<2 x (d: tmem<128x128xf32>), producer = mma_commit, consumer = threads(128)>
!acc_stage = !mxgpu.stage<!acc>
!d = !mxgpu.buffer<tmem<128x128xf32>>
gpu.module @kernels {
  mxgpu.kernel @kernel(%n: index, %v: f32) {
    %acc = mxgpu.ring "acc" : !acc
    mxgpu.role @role ${role} {
      // BLOCK body
      // END
    }
  }
}

// -----

// CASES role body
// expected-error @below {{expected 3 arguments, found 1}}
mxgpu.for_each_k (%k) from %n to %n step 128 {
}

// expected-error @below {{'mxgpu.for_each_k' op attribute 'step' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
mxgpu.for_each_k (%k, %extent, %first) from %n to %n step 0 {
}

// shared C8
// expected-error @below {{'mxgpu.for_each_k' op expected body arguments of types ('index', 'index', 'i1'), found ()}}
"mxgpu.for_each_k"(%n, %n) <{step = 128 : i64}> ({
^body:
  "mxgpu.yield"() : () -> ()
}) : (index, index) -> ()

// shared C8
// expected-error @below {{'mxgpu.for_each_k' op expected body arguments of types ('index', 'index', 'i1', 'f32'), found ('index', 'index', 'i1')}}
%sum = "mxgpu.for_each_k"(%n, %n, %v) <{step = 128 : i64}> ({
^body(%k: index, %extent: index, %first: i1):
  "mxgpu.yield"(%v) : (f32) -> ()
}) : (index, index, f32) -> f32

// for_each_k C2
// expected-error @below {{'mxgpu.for_each_k' op expected results of types ('f32'), found ('f32', 'f32')}}
%accumulator:2 = "mxgpu.for_each_k"(%n, %n, %v) <{step = 128 : i64}> ({
^body(%k: index, %extent: index, %first: i1, %sum: f32):
  "mxgpu.yield"(%sum) : (f32) -> ()
}) : (index, index, f32) -> (f32, f32)

// expected-error @below {{'mxgpu.for_each_k' op expects regions to end with 'mxgpu.yield', found 'llvm.unreachable'}}
// expected-note @below {{in custom textual format, the absence of terminator implies 'mxgpu.yield'}}
"mxgpu.for_each_k"(%n, %n) <{step = 128 : i64}> ({
^body(%k: index, %extent: index, %first: i1):
  "llvm.unreachable"() : () -> ()
}) : (index, index) -> ()

// Rejects a stage, or a buffer of a stage, as a carried value of a loop.
// SET role = warps(4)
%stage, %d = mxgpu.consumer_wait %acc : !acc
// for_each_k C1
// expected-error @below {{'mxgpu.for_each_k' op expected values that loops can carry, found '!mxgpu.stage<}}
%last = mxgpu.for_each_k (%k, %extent, %first) from %n to %n step 128 iter_args(%s = %stage : !acc_stage) {
  mxgpu.yield %s : !acc_stage
}

// SET role = warps(4)
%stage, %d = mxgpu.consumer_wait %acc : !acc
// for_each_k C1
// expected-error @below {{'mxgpu.for_each_k' op expected values that loops can carry, found '!mxgpu.buffer<tmem<128x128xf32>>'}}
%last = mxgpu.for_each_k (%k, %extent, %first) from %n to %n step 128 iter_args(%b = %d : !d) {
  mxgpu.yield %b : !d
}

%sum = mxgpu.for_each_k (%k, %extent, %first) from %n to %n step 128 iter_args(%x = %v : f32) {
  // yield C1
  // expected-error @below {{'mxgpu.yield' op expected values of types ('f32'), found ('index')}}
  mxgpu.yield %k : index
}

// The implicit terminator yields nothing.
// yield C1
// expected-error @below {{'mxgpu.yield' op expected values of types ('f32'), found ()}}
%sum = mxgpu.for_each_k (%k, %extent, %first) from %n to %n step 128 iter_args(%x = %v : f32) {
}

// expected-error @below {{'mxgpu.yield' op expects parent op to be one of 'mxgpu.for_each_k, mxgpu.kernel'}}
mxgpu.yield
