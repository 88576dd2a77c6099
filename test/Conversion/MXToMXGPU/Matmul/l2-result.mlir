// RUN: mx-opt %s --mx-to-mxgpu=chip=sm_100a | FileCheck %s
// RUN: mx-opt %s --mx-to-nvvm=chip=sm_100a | mx-translate --mx-to-ptx | FileCheck %s --check-prefix=PTX

// All stores of a result use its cache hint: stores by threads, bulk copies, and stores of the
// kernel that adds the parts of a split reduction.
!a = tensor<256x256xf8E4M3FN>
!s = tensor<256x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!d = tensor<256x256xf32>

// CHECK-LABEL: mxgpu.kernel @threads_matmul
// CHECK-SAME:    l2 = [none, none, evict_first]
// CHECK:         mxgpu.store_fragment {{.*}} aligned(32) cache = evict_first :
// CHECK-NOT:     mxgpu.store_fragment {{.*}} aligned({{[0-9]+}}) :
// PTX-LABEL:   .entry threads_matmul
// PTX:           st.global.L1::no_allocate.L2::cache_hint.v8.b32 [%rd{{[0-9]+}}+{{[0-9]+}}], {%r{{.*}}}, %rd
func.func @threads(%a: !a, %s: !s, %out: !d) -> !d {
  %d = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%out : !d)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], l2 = [none, none, evict_first]>} -> !d
  return %d : !d
}

// CHECK-LABEL: mxgpu.kernel @copies_matmul
// CHECK-SAME:    l2 = [evict_first, none, evict_last]
// CHECK:         mxgpu.tma_store %{{.*}} cache = evict_last :
// PTX-LABEL:   .entry copies_matmul
// PTX:           cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint
func.func @copies(%a: !a, %s: !s, %out: !d) -> !d {
  %d = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%out : !d)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], epilogue = tma_store, l2 = [evict_first, none, evict_last]>} -> !d
  return %d : !d
}

// CHECK-LABEL: mxgpu.kernel @adds_matmul
// CHECK:         mxgpu.tma_store %{{.*}} add cache = evict_last :
// PTX-LABEL:   .entry adds_matmul
// PTX:           cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group.L2::cache_hint
func.func @adds(%a: !a, %s: !s, %out: !d) -> !d {
  %d = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%out : !d) accumulate
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], epilogue = tma_store, l2 = [none, none, evict_last]>} -> !d
  return %d : !d
}

// CHECK-LABEL: mxgpu.kernel @split_matmul(
// CHECK-NOT:     cache =
// CHECK-LABEL: mxgpu.kernel @split_matmul_sum
// CHECK:         mxgpu.store_fragment {{.*}} cache = evict_last :
func.func @split(%a: !a, %s: !s, %out: !d) -> !d {
  %d = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%out : !d)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], split_k = 2, l2 = [none, none, evict_last]>} -> !d
  return %d : !d
}
