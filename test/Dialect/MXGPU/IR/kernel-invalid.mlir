// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// TEMPLATE head
// SET head = ()
// SET warps = 1
gpu.module @kernels {
  // BLOCK error
  // END
  mxgpu.kernel @kernel${head} {
    mxgpu.role @role warps(${warps}) {
    }
  }
}

// -----

// CASES head error
// SET head = (%a: memref<4x4xf32, affine_map<(d0, d1) -> (d0, d1 floordiv 2, d1 mod 2)>>)
// kernel C3
// expected-error @below {{'mxgpu.kernel' op expected tensor maps, memrefs with strides in the default memory space, indices, integers or floats, found argument 0 of type 'memref<4x4xf32, affine_map<(d0, d1) -> (d0, d1 floordiv 2, d1 mod 2)>>'}}

// SET head = (%a: memref<4xf32, 3>)
// kernel C3
// expected-error @below {{'mxgpu.kernel' op expected tensor maps, memrefs with strides in the default memory space, indices, integers or floats, found argument 0 of type 'memref<4xf32, 3>'}}

// SET head = (%a: memref<*xf32>)
// kernel C3
// expected-error @below {{'mxgpu.kernel' op expected tensor maps, memrefs with strides in the default memory space, indices, integers or floats, found argument 0 of type 'memref<*xf32>'}}

// SET head = (%a: i7)
// kernel C3
// expected-error @below {{'mxgpu.kernel' op expected tensor maps, memrefs with strides in the default memory space, indices, integers or floats, found argument 0 of type 'i7'}}

// SET head = (%a: si32)
// kernel C3
// expected-error @below {{'mxgpu.kernel' op expected tensor maps, memrefs with strides in the default memory space, indices, integers or floats, found argument 0 of type 'si32'}}

// SET head = (%a: f8E4M3FN)
// kernel C3
// expected-error @below {{'mxgpu.kernel' op expected tensor maps, memrefs with strides in the default memory space, indices, integers or floats, found argument 0 of type 'f8E4M3FN'}}

// SET head = (%a: tensor<4xf32>)
// kernel C3
// expected-error @below {{'mxgpu.kernel' op expected tensor maps, memrefs with strides in the default memory space, indices, integers or floats, found argument 0 of type 'tensor<4xf32>'}}

// -----

// CASES
gpu.module @kernels {
  // kernel C10
  // expected-error @below {{'mxgpu.kernel' op expected at least 1 role, found none}}
  mxgpu.kernel @kernel() {
    %c0 = arith.constant 0 : index
  }
}

gpu.module @kernels {
  // kernel C11
  // expected-error @below {{'mxgpu.kernel' op expected at most 1024 threads, found 1056}}
  mxgpu.kernel @kernel() {
    mxgpu.role @a warps(32) {
    }
    mxgpu.role @b warps(1) {
    }
  }
}

// -----

// CASES head error
// SET head = () cluster_splits(9)
// kernel C69
// expected-error @below {{'mxgpu.kernel' op expected cluster_splits from 2 to 8, and no CTA pairs, found 9}}

// SET head = () cluster(2) cluster_splits(2)
// kernel C69
// expected-error @below {{'mxgpu.kernel' op expected cluster_splits from 2 to 8, and no CTA pairs, found 2}}

// SET head = () min_ctas(0)
// kernel C6
// expected-error @below {{'mxgpu.kernel' op expected min_ctas of at least 1, found 0}}

// -----

// CASES
gpu.module @kernels {
  // kernel C1
  // expected-error @below {{'mxgpu.kernel' op expected no results, found 1}}
  "mxgpu.kernel"() <{sym_name = "kernel", function_type = () -> f32}> ({
    mxgpu.role @role warps(1) {
    }
  }) : () -> ()
}

gpu.module @kernels {
  // kernel C2
  // expected-error @below {{'mxgpu.kernel' op expected body arguments that match the kernel's type '(i32) -> ()', found ('index')}}
  "mxgpu.kernel"() <{sym_name = "kernel", function_type = (i32) -> ()}> ({
  ^body(%a: index):
    mxgpu.role @role warps(1) {
    }
  }) : () -> ()
}

// expected-error @below {{'mxgpu.kernel' op expects parent op 'gpu.module'}}
mxgpu.kernel @kernel() {
  mxgpu.role @role warps(1) {
  }
}

// -----

// CASES head error
// SET head = () cluster(3)
// kernel C4
// expected-error @below {{'mxgpu.kernel' op expected a cluster of 1 or 2 CTAs, found 3}}

// -----

// TEMPLATE kernel
gpu.module @kernels {
  mxgpu.kernel @kernel() {
    // BLOCK body
    // END
  }
}

// -----

// CASES kernel body
mxgpu.role @role warps(1) {
}
// assign_warps C1
// expected-error @below {{'mxgpu.assign_warps' op expected a role of the kernel that no other mxgpu.assign_warps names, found "rule"}}
mxgpu.assign_warps @rule from 0

mxgpu.role @role warps(1) {
}
mxgpu.assign_warps @role from 0
// assign_warps C1
// expected-error @below {{'mxgpu.assign_warps' op expected a role of the kernel that no other mxgpu.assign_warps names, found "role"}}
mxgpu.assign_warps @role from 1

mxgpu.role @role warps(1) {
}
// assign_warps C2
// expected-error @below {{'mxgpu.assign_warps' op expected a register count that is a multiple of 8 from 24 to 256, found 20}}
mxgpu.assign_warps @role from 0 registers(20)

mxgpu.role @role warps(1) {
}
// expected-error @below {{'mxgpu.assign_warps' op attribute 'first_warp' failed to satisfy constraint}}
mxgpu.assign_warps @role from 32

// expected-error @below {{'mxgpu.role' op attribute 'warps' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
mxgpu.role @role warps(0) {
}

// role C1
// expected-error @below {{'mxgpu.role' op expected at most 32 warps, found 1152921504606846976}}
mxgpu.role @role warps(1152921504606846976) {
}

// role C3
// expected-error @below {{'mxgpu.role' op expected 1 warp in an elected role, found 2}}
mxgpu.role @role warps(2) elected {
}

mxgpu.role @role warps(1) {
}
// role C5
// expected-error @below {{'mxgpu.role' op expected roles with different names, found "role" twice}}
mxgpu.role @role warps(1) {
}

// -----

// expected-error @below {{'mxgpu.role' op expects parent op 'mxgpu.kernel'}}
mxgpu.role @role warps(1) {
}

// -----

// USE kernel body
// shared C7
// expected-error @below {{'mxgpu.thread_id' op expected to be inside a role}}
%thread = mxgpu.thread_id
mxgpu.role @role warps(1) {
}
