// RUN: mx-test-opt %s --mx-select-schedule=chip=sm_test | FileCheck %s --check-prefix=SELECT
// RUN: mx-test-opt %s --mx-to-mxgpu=chip=sm_test | FileCheck %s
// RUN: mx-test-opt %s --mx-to-mxgpu=chip=sm_test | mx-test-opt --mxgpu-verify-pipelines | FileCheck %s
// RUN: mx-test-opt %s --mx-to-nvvm=chip=sm_test | FileCheck %s --check-prefix=NVVM
// RUN: mx-test-opt %s --mx-select-schedule="chip=sm_test explain" 2>&1 >/dev/null | FileCheck %s --check-prefix=EXPLAIN

// Lowers a matmul for a tensor core that mxgpu does not define.
// test/lib/TensorCore adds the chip, a synchronous matrix instruction with
// operands and scales in registers, and the strategy.
!a = tensor<?x?xf8E4M3FN>
!s = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!d = tensor<?x?xf32>

// SELECT-LABEL: func.func @chosen(
// SELECT:       #mxgpu.schedule<tile = [16, 64, 128], stages = {{[0-9]+}}, strategy = #mx_test.strategy<>, raster = {{.*}}, epilogue = direct>

// EXPLAIN:      tile = [16, 64, 128]
// EXPLAIN-SAME: strategy = #mx_test.strategy<>

// CHECK:       mxgpu.kernel @chosen_matmul(%a_map: {{.*}}, %b_map: {{.*}}, %sfa_map: {{.*}}, %sfb_map: {{.*}}, %result: memref<?x?xf32>, %reduction: index)
// CHECK-SAME:    strategy = #mx_test.strategy<>
// CHECK:         %in = mxgpu.ring "in"
// CHECK:         mxgpu.role @multiply warps(1)
// CHECK:           mxgpu.for_each_work_tile
// CHECK:             mxgpu.for_each_k
// CHECK:               %[[STAGE:.*]], %[[A:.*]], %[[SFA:.*]], %[[B:.*]], %[[SFB:.*]] = mxgpu.consumer_wait %in
// CHECK:               %[[FA:.*]] = mxgpu.load_fragment %[[A]] at
// CHECK:               %[[FB:.*]] = mxgpu.load_fragment %[[B]] at
// CHECK:               %[[FSA:.*]] = mxgpu.load_fragment_scales %[[SFA]] at[{{.*}}] extent({{.*}}) block(1) for
// CHECK:               %[[FSB:.*]] = mxgpu.load_fragment_scales %[[SFB]] at
// CHECK:               %[[SUM:.*]] = mxgpu.mma #mx_test.mma<registers, n = 64> %[[FA]], %[[FB]] scales(%[[FSA]], %[[FSB]] :
// CHECK-NEXT:          mxgpu.consumer_release %[[STAGE]]
// CHECK-NEXT:          mxgpu.yield %[[SUM]]
// CHECK:           mxgpu.store_fragment
// CHECK:         mxgpu.role @load warps(1) elected
// CHECK-COUNT-4:   mxgpu.tma_load
// CHECK:           mxgpu.producer_commit

// NVVM-LABEL: llvm.func @chosen_matmul(
// NVVM:         "mx_test.multiply"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (vector<64xf8E4M3FN>, vector<256xf8E4M3FN>, vector<2xf8E8M0FNU>, vector<8xf8E8M0FNU>, vector<32xf32>) -> vector<32xf32>
// NVVM-NOT:     wgmma
// NVVM-NOT:     tcgen05
func.func @chosen(%a: !a, %as: !s, %b: !a, %bs: !s, %out: !d) -> !d {
  %d = mx.matmul ins(%a, %as, %b, %bs : !a, !s, !a, !s) outs(%out : !d) -> !d
  return %d : !d
}

// The schedule sets fields of the strategy and common fields. Results are written by
// bulk stores after an epilogue region, and the second matmul splits its reduction.
!k = tensor<256x1024xf8E4M3FN>
!ks = tensor<256x32xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<256x256xbf16>
// CHECK:       mxgpu.kernel @given_matmul(
// CHECK-SAME:    strategy = #mx_test.strategy<ctas_per_sm = 2>
// CHECK-SAME:    min_ctas(2)
// CHECK:         mxgpu.ring "staging"
// CHECK:         mxgpu.mma #mx_test.mma<registers, n = 32>
// CHECK:         math.absf
// CHECK:         mxgpu.tma_store
func.func @given(%a: !k, %as: !ks, %b: !k, %bs: !ks, %out: !y) -> !y {
  %d = mx.matmul ins(%a, %as, %b, %bs : !k, !ks, !k, !ks) outs(%out : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [16, 32, 128], stages = 2, strategy = #mx_test.strategy<ctas_per_sm = 2>, epilogue = tma_store, staging = 2>}
      -> !y epilogue {
  ^bb0(%x: f32, %i: index, %j: index):
    %p = math.absf %x : f32
    %q = arith.truncf %p : f32 to bf16
    mx.yield %q : bf16
  }
  return %d : !y
}

// CHECK:       mxgpu.kernel @split_matmul(
// CHECK:         mxgpu.mma #mx_test.mma<registers>
// CHECK:       mxgpu.kernel @split_
func.func @split(%a: !k, %as: !ks, %b: !k, %bs: !ks, %out: !y) -> !y {
  %d = mx.matmul ins(%a, %as, %b, %bs : !k, !ks, !k, !ks) outs(%out : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [16, 8, 128], stages = 2, strategy = #mx_test.strategy<>, split_k = 2>} -> !y
  return %d : !y
}
