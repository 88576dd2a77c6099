// RUN: mx-opt %s --mxgpu-assign-warps --verify-roundtrip | FileCheck %s
// RUN: mx-opt %s --mxgpu-assign-warps --mxgpu-verify-pipelines -o %t.mlir
// RUN: mx-opt %t.mlir --mxgpu-assign-warps | diff %t.mlir -

!in = !mxgpu.ring<2 x (a: smem<64x64xbf16, sw128>, b: smem<128x64xbf16, sw128>), producer = bulk_copy, consumer = async_threads(128)>
!in_stage = !mxgpu.stage<!in>
!a = !mxgpu.buffer<smem<64x64xbf16, sw128>>
!b = !mxgpu.buffer<smem<128x64xbf16, sw128>>
!a_map = !mxgpu.tensor_map<64x64xbf16, sw128>
!b_map = !mxgpu.tensor_map<128x64xbf16, sw128>
!accumulator = !mxgpu.fragment<64x128xf32, #mxgpu.fragment_layout<threads = [4: 2 columns, 8: 1 row, 4: 16 rows], values = [2: 1 column, 2: 8 rows, 16: 8 columns]>>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // Roles without warpgroup instructions get their warps in order.
  // CHECK-LABEL: mxgpu.kernel @in_order(
  // CHECK:         mxgpu.assign_warps @load from 0{{$}}
  // CHECK-NEXT:    mxgpu.assign_warps @quantize from 1{{$}}
  // CHECK-NEXT:    mxgpu.assign_warps @store from 5{{$}}
  mxgpu.kernel @in_order() {
    mxgpu.role @load warps(1) elected {
    }
    mxgpu.role @quantize warps(4) {
    }
    mxgpu.role @store warps(2) {
    }
  }

  // The role with a warpgroup instruction starts at a multiple of four warps.
  // CHECK-LABEL: mxgpu.kernel @multiply(
  // CHECK:         mxgpu.assign_warps @multiply from 0{{$}}
  // CHECK-NEXT:    mxgpu.assign_warps @load from 4{{$}}
  // CHECK-NEXT:    mxgpu.assign_warps @other from 5{{$}}
  mxgpu.kernel @multiply(%a_map: !a_map, %b_map: !b_map, %n: index) {
    %c0 = arith.constant 0 : index
    %in = mxgpu.ring "in" : !in
    mxgpu.role @load warps(1) elected {
      %stage, %a, %b = mxgpu.producer_acquire %in : !in
      mxgpu.tma_load %a_map[%c0, %c0] into %a for %stage : !a_map, !a, !in_stage
      mxgpu.tma_load %b_map[%c0, %c0] into %b for %stage : !b_map, !b, !in_stage
      mxgpu.producer_commit %stage : !in_stage
    }
    mxgpu.role @other warps(4) {
    }
    mxgpu.role @multiply warps(4) {
      %zero = mxgpu.zero_fragment : !accumulator
      %stage, %a, %b = mxgpu.consumer_wait %in : !in
      %started = mxgpu.mma #mxgpu.wgmma<n = 128, k = 16> %a, %b into %zero : !a, !b, !accumulator -> !accumulator
      %new = mxgpu.mma_wait %started pending(0) : !accumulator
      mxgpu.consumer_release %stage : !in_stage
    }
  }

  // The schedule lists register counts. Roles of whole warpgroups take the counts in order,
  // and all other roles take the last count.
  // CHECK-LABEL: mxgpu.kernel @three(
  // CHECK:         mxgpu.assign_warps @multiply from 0 registers(200)
  // CHECK-NEXT:    mxgpu.assign_warps @dequantize from 8 registers(72)
  // CHECK-NEXT:    mxgpu.assign_warps @schedule from 12 registers(40)
  // CHECK-NEXT:    mxgpu.assign_warps @load from 13 registers(40)
  mxgpu.kernel @three() schedule(<tile = [128, 128, 64], registers = [200, 72, 40]>) {
    mxgpu.role @schedule warps(1) {
    }
    mxgpu.role @multiply warps(8) {
    }
    mxgpu.role @load warps(1) elected {
    }
    mxgpu.role @dequantize warps(4) {
    }
  }

  // CHECK-LABEL: mxgpu.kernel @two(
  // CHECK:         mxgpu.assign_warps @epilogue from 0 registers(232)
  // CHECK-NEXT:    mxgpu.assign_warps @second from 4 registers(40)
  // CHECK-NEXT:    mxgpu.assign_warps @load from 8 registers(40)
  mxgpu.kernel @two() schedule(<tile = [128, 128, 128], registers = [232, 40]>) {
    mxgpu.role @load warps(1) elected {
    }
    mxgpu.role @epilogue warps(4) {
    }
    mxgpu.role @second warps(4) {
    }
  }

  // Keeps existing assignments of warps.
  // CHECK-LABEL: mxgpu.kernel @by_hand(
  // CHECK:         mxgpu.assign_warps @second from 0{{$}}
  // CHECK-NEXT:    mxgpu.assign_warps @first from 1{{$}}
  // CHECK-NEXT:  }
  mxgpu.kernel @by_hand() schedule(<tile = [128, 128, 128], registers = [232, 40]>) {
    mxgpu.role @first warps(4) {
    }
    mxgpu.role @second warps(1) {
    }
    mxgpu.assign_warps @second from 0
    mxgpu.assign_warps @first from 1
  }
}
