// RUN: mx-opt %s -split-input-file --mxgpu-lower-kernels --canonicalize --cse | FileCheck %s

// Threads are launched with the average register count of the warpgroups, (208 + 56) / 2, rounded
// up to a multiple of 8. Each warp then sets the count of its role. The two warps without a role
// also release registers, because all four warps of a warpgroup must execute setmaxnreg.

// CHECK-LABEL: llvm.func @two_groups(
// CHECK-SAME:    nvvm.maxnreg = 136 : i32, nvvm.reqntid = array<i32: 256, 1, 1>
// CHECK:         %[[WARP:.*]] = arith.shrui
// CHECK-NEXT:    %[[IS_SUM:.*]] = arith.cmpi ult, %[[WARP]], %c4_i32
// CHECK-NEXT:    scf.if %[[IS_SUM]] {
// CHECK-NEXT:      nvvm.setmaxregister increase 208
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %[[FROM_4:.*]] = arith.subi %[[WARP]], %c4_i32
// CHECK-NEXT:      %[[IS_LOAD:.*]] = arith.cmpi ult, %[[FROM_4]], %c1_i32
// CHECK-NEXT:      scf.if %[[IS_LOAD]] {
// CHECK-NEXT:        nvvm.setmaxregister decrease 56
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %[[FROM_5:.*]] = arith.subi %[[WARP]], %c5_i32
// CHECK-NEXT:        %[[IS_MMA:.*]] = arith.cmpi ult, %[[FROM_5]], %c1_i32
// CHECK-NEXT:        scf.if %[[IS_MMA]] {
// CHECK-NEXT:          nvvm.setmaxregister decrease 56
// CHECK-NEXT:        } else {
// CHECK-NEXT:          nvvm.setmaxregister decrease 56
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    llvm.return
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @two_groups() {
    mxgpu.role @sum warps(4) {
    }
    mxgpu.role @load warps(1) {
    }
    mxgpu.role @mma warps(1) {
    }
    mxgpu.assign_warps @sum from 0 registers(208)
    mxgpu.assign_warps @load from 4 registers(56)
    mxgpu.assign_warps @mma from 5 registers(56)
  }
}

// -----

// Equal counts need no redistribution.
// CHECK-LABEL: llvm.func @equal(
// CHECK-SAME:    nvvm.maxnreg = 152 : i32
// CHECK-NOT:     nvvm.setmaxregister
// CHECK:         llvm.return
gpu.module @kernels [#nvvm.target<chip = "sm_100a">] {
  mxgpu.kernel @equal() {
    mxgpu.role @sum warps(4) {
    }
    mxgpu.role @load warps(4) {
    }
    mxgpu.assign_warps @sum from 0 registers(152)
    mxgpu.assign_warps @load from 4 registers(152)
  }
}
