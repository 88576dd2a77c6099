// RUN: mx-opt %s -split-input-file --mx-select-schedule="chip=sm_90a explain" -o /dev/null 2>&1 | FileCheck %s

// Operands are dequantized to memory first if this is cheaper. Large matmuls dequantize both
// operands. Matmuls of small expert groups permute their rows and dequantize weights in registers.

!a = tensor<8192x8192xf8E4M3FN>
!s = tensor<8192x256xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<8192x8192xbf16>

// CHECK-LABEL: mx.matmul in @large: 8192 x 8192 x 8192, bf16 x bf16
// CHECK-NEXT:  schedule: {{.*}}workspace = ab
// CHECK:       a and b are dequantized to memory before: {{[0-9]+}} modelled cycles, from here on of bf16
// CHECK:       before {{ *}}total
// CHECK:       1 {{.*}} w-ab
func.func @large(%a: !a, %as: !s, %b: !a, %bs: !s, %y: !y) -> !y {
  %0 = mx.matmul ins(%a, %as, %b, %bs : !a, !s, !a, !s) outs(%y : !y) -> !y
  return %0 : !y
}

// -----

!a = tensor<1024x7168xf8E4M3FN>
!as = tensor<1024x224xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 32>>
!b = tensor<32x2048x7168xf8E4M3FN>
!bs = tensor<32x2048x224xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<1024x2048xbf16>

// CHECK-LABEL: mx.grouped_matmul in @few: 1024 x 2048 x 7168, bf16 x e4m3
// CHECK-NEXT:  schedule: {{.*}}swap_ab<permuted_a = true>, workspace = a
// CHECK:       a is permuted to memory before:
func.func @few(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: tensor<32xi32>, %y: !y) -> !y {
  %0 = mx.grouped_matmul ragged = rows ins(%a, %as, %b, %bs : !a, !as, !b, !bs) offsets(%o : tensor<32xi32>)
      outs(%y : !y) -> !y
  return %0 : !y
}

// -----

// Elements without a conversion to f16 are dequantized to memory. Each expert group covers all
// tiles with its part of the reduction.

!a = tensor<2048x132096xf8E5M2, #mx.ragged<groups = 8, align = 128>>
!as = tensor<2048x4128xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 8>>
!b = tensor<7168x132096xf8E4M3FN, #mx.ragged<groups = 8, align = 128>>
!bs = tensor<7168x4128xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 8>>
!y = tensor<8x2048x7168xbf16>

// CHECK-LABEL: mx.grouped_matmul in @other_elements: 2048 x 7168 x 132096, bf16 x bf16
// CHECK-NEXT:  schedule: {{.*}}workspace = ab
// CHECK:       1792 work tiles in 28 waves
func.func @other_elements(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: tensor<8xi32>, %y: !y) -> !y {
  %0 = mx.grouped_matmul ragged = reduction ins(%a, %as, %b, %bs : !a, !as, !b, !bs) offsets(%o : tensor<8xi32>)
      outs(%y : !y) -> !y
  return %0 : !y
}

// -----

// With many rows of activations, the weights are dequantized to memory.

!a = tensor<4096x7168xbf16>
!b = tensor<4096x7168xf4E2M1FN>
!bs = tensor<4096x224xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<4096x4096xbf16>

// CHECK-LABEL: mx.matmul in @weights: 4096 x 4096 x 7168, bf16 x bf16
// CHECK-NEXT:  schedule: {{.*}}workspace = b
// CHECK:       b is dequantized to memory before:
func.func @weights(%a: !a, %b: !b, %bs: !bs, %y: !y) -> !y {
  %0 = mx.matmul ins(%a, %b, %bs : !a, !b, !bs) outs(%y : !y) -> !y
  return %0 : !y
}

// -----

// With an unknown number of rows, only the schedule for many rows dequantizes both operands to
// memory.

!a = tensor<?x8192xf8E4M3FN>
!as = tensor<?x256xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<8192x8192xf8E4M3FN>
!bs = tensor<8192x256xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x8192xbf16>

// CHECK-LABEL: mx.matmul in @unknown: ? x 8192 x 8192, e4m3 x e4m3
// CHECK:       all others: schedule [[LAST:[0-9]+]],
// CHECK:       schedule 1, m up to
// CHECK:       schedule:
// CHECK-NOT:   workspace = ab
// CHECK:       chosen from
// CHECK:       schedule [[LAST]], {{.*}}for example
// CHECK-NEXT:  mx.matmul in @unknown: {{.*}} x 8192 x 8192, bf16 x bf16
// CHECK-NEXT:  schedule: {{.*}}workspace = ab
func.func @unknown(%a: !a, %as: !as, %b: !b, %bs: !bs, %y: !y) -> !y {
  %0 = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y : !y) -> !y
  return %0 : !y
}

// -----

// A matmul of unknown size gets the default sizes. With small M, a workspace would cost more than
// it saves.

!a = tensor<?x?xf8E4M3FN>
!as = tensor<?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x?xbf16>

// CHECK-LABEL: mx.matmul in @any: ? x ? x ?, e4m3 x e4m3
// CHECK:       unknown rows: modelled as 8192
// CHECK-NOT:   workspace
// CHECK-NOT:   w-a
func.func @any(%a: !a, %as: !as, %y: !y) -> !y {
  %0 = mx.matmul ins(%a, %as, %a, %as : !a, !as, !a, !as) outs(%y : !y) -> !y
  return %0 : !y
}

// -----

// The candidates that the model lists for an explicit schedule have no workspace.

!a = tensor<?x8192xf8E4M3FN>
!as = tensor<?x256xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!b = tensor<8192x8192xf8E4M3FN>
!bs = tensor<8192x256xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<?x8192xbf16>

// CHECK-LABEL: mx.matmul in @written: ? x 8192 x 8192, e4m3 x e4m3
// CHECK:       written at the operation
// CHECK:       the model's own:
// CHECK-NOT:   w-a
func.func @written(%a: !a, %as: !as, %b: !b, %bs: !bs, %y: !y) -> !y {
  %0 = mx.matmul ins(%a, %as, %b, %bs : !a, !as, !b, !bs) outs(%y : !y) {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 64]>} -> !y
  return %0 : !y
}

// -----

// In a backward pass, quantizers write both orientations of the operands in bf16, because kernels
// that permute the stored operands would cost more.

!dy = tensor<8192x7168xbf16>
!dye = tensor<8192x7168xf8E4M3FN>
!dys = tensor<8192x224xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!dyte = tensor<7168x8192xf8E4M3FN>
!dyts = tensor<7168x256xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!w = tensor<7168x2048xbf16>
!wte = tensor<2048x7168xf8E4M3FN>
!wts = tensor<2048x224xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!x = tensor<8192x2048xbf16>
!xte = tensor<2048x8192xf8E4M3FN>
!xts = tensor<2048x256xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

// CHECK-LABEL: mx.matmul in @backward: 8192 x 2048 x 7168, bf16 x bf16
// CHECK-NEXT:  schedule: {{.*}}workspace = ab
// CHECK-LABEL: mx.matmul in @backward: 7168 x 2048 x 8192, bf16 x bf16
// CHECK-NEXT:  schedule: {{.*}}workspace = ab
func.func @backward(%dy: !dy, %w: !w, %x: !x) -> (!x, !w) {
  %dye = tensor.empty() : !dye
  %dys = tensor.empty() : !dys
  %dyte = tensor.empty() : !dyte
  %dyts = tensor.empty() : !dyts
  %q:4 = mx.fused_quantize ins(%dy : !dy) outs(%dye, %dys, %dyte, %dyts : !dye, !dys, !dyte, !dyts) axes = [1, 0]
      -> !dye, !dys, !dyte, !dyts
  %wte = tensor.empty() : !wte
  %wts = tensor.empty() : !wts
  %wq:2 = mx.fused_quantize ins(%w : !w) outs(%wte, %wts : !wte, !wts) axes = [0] -> !wte, !wts
  %xte = tensor.empty() : !xte
  %xts = tensor.empty() : !xts
  %xq:2 = mx.fused_quantize ins(%x : !x) outs(%xte, %xts : !xte, !xts) axes = [0] -> !xte, !xts
  %dx0 = tensor.empty() : !x
  %dx = mx.matmul ins(%q#0, %q#1, %wq#0, %wq#1 : !dye, !dys, !wte, !wts) outs(%dx0 : !x) -> !x
  %dw0 = tensor.empty() : !w
  %dw = mx.matmul ins(%q#2, %q#3, %xq#0, %xq#1 : !dyte, !dyts, !xte, !xts) outs(%dw0 : !w) -> !w
  return %dx, %dw : !x, !w
}
