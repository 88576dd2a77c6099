// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics --mx-materialize-layouts --mx-select-schedule=chip=sm_90a --mx-dequantize-operands=chip=sm_90a

// Rejects operations without the properties required by permuted_a.

// -----

// TEMPLATE matmul
// SET k = 128
// SET b = f4E2M1FN
// SET scales = 4xf8E8M0FNU
// SET name = no_workspace
// SET outs = %y : !y)
// SET strategy = <permuted_a = true>, workspace = a
!x = tensor<64x${k}xbf16>
!b = tensor<64x${k}x${b}>
!bs = tensor<64x${scales}, #mx.scale_layout<sf_128x4>>
!y = tensor<64x64xf32>
func.func @${name}(%x: !x, %b: !b, %bs: !bs, %y: !y) -> !y {
  // BLOCK error
  // END
  %0 = mx.matmul ins(%x, %b, %bs : !x, !b, !bs) outs(${outs}
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 64, 64], strategy = #mxgpu.wgmma_swap_ab${strategy}>} -> !y
  return %0 : !y
}

// -----

// CASES matmul error
// SET strategy = <permuted_a = true>
// expected-error @below {{'mx.matmul' op expected workspace = a with permuted_a, found none}}

// SET name = not_permuted
// SET strategy = , workspace = a
// expected-error @below {{'mx.matmul' op expected scales of a with workspace = a, found none: leave out the workspace}}

// SET k = 48
// SET scales = 3xf8E4M3FN
// SET name = multiple
// SET outs = %y : !y) block_size = 16
// expected-error @below {{'mx.matmul' op expected a reduction of a multiple of 32 elements with permuted_a, found 48: leave out permuted_a}}

// SET k = ?
// SET scales = ?xf8E8M0FNU
// SET name = unknown
// expected-error @below {{'mx.matmul' op expected a static reduction size with permuted_a, found a dynamic size: leave out permuted_a}}

// SET b = f4E2M1FN, #mxgpu.fragment_64x64
// SET name = packed
// expected-error @below {{'mx.matmul' op expected no permuted_a with packed weights: leave out permuted_a}}

// -----

// CASES
// The destination of a permutation cannot be permuted itself.
!x = tensor<64x128xbf16>
!b = tensor<64x128xf4E2M1FN>
!bs = tensor<64x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<64x64xf32>
func.func @destination(%x: !x, %b: !b, %bs: !bs, %y: !y) -> (!x, !y) {
  %p = mx.pack_operand order = #mxgpu.k_order<64> ins(%x : !x) outs(%x : !x) -> !x
  // expected-error @below {{'mx.matmul' op expected workspace = a with permuted_a, found none}}
  %0 = mx.matmul ins(%x, %b, %bs : !x, !b, !bs) outs(%y : !y)
      {mxgpu.schedule = #mxgpu.schedule<tile = [64, 64, 64], strategy = #mxgpu.wgmma_swap_ab<permuted_a = true>>} -> !y
  return %p, %0 : !x, !y
}
