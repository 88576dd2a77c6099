// RUN: mx-opt %s --mx-select-schedule="chip=sm_90a explain" -o /dev/null 2>&1 | FileCheck %s

// With many rows and few columns, a workspace for B is cheaper than a workspace for A.

!a = tensor<15360x14208xf4E2M1FN>
!as = tensor<15360x444xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<2432x14208xf4E2M1FN>
!bs = tensor<2432x444xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<15360x2432xbf16>

// CHECK-LABEL: mx.matmul in @tall: 15360 x 2432 x 14208, e2m1 x bf16
// CHECK-NEXT:  schedule: {{.*}}upcast_a<permuted_b = true>, workspace = b{{.*}}epilogue = tma_store
// CHECK:       b is permuted to memory before:
// CHECK:       1 {{.*}} upcast_a permuted_b
func.func @tall(%a: !a, %as: !as, %b: !b, %bs: !bs, %y: !y) -> !y {
  %0 = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y : !y) -> !y
  return %0 : !y
}
