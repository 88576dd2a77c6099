// RUN: %expand_cases %s %t.mlir
// RUN: mx-test-opt %t.mlir --split-input-file --verify-diagnostics --mx-to-mxgpu=chip=sm_test

// CASES
// The strategy verifies its schedule fields, and the messages contain its name.
!a = tensor<256x1024xf8E4M3FN>
!s = tensor<256x32xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!d = tensor<256x256xf32>
func.func @tile(%a: !a, %s: !s, %out: !d) -> !d {
  // expected-error @below {{'mx.matmul' op expected a tile of 16 rows, 8, 16, 32 or 64 columns and 128 reduction elements, found 128 x 128 x 128}}
  %d = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%out : !d)
      {mxgpu.schedule = #mxgpu.schedule<tile = [128, 128, 128], strategy = #mx_test.strategy<>>} -> !d
  return %d : !d
}

!a = tensor<256x1024xf8E4M3FN>
!s = tensor<256x32xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!d = tensor<256x256xf32>
func.func @registers(%a: !a, %s: !s, %out: !d) -> !d {
  // expected-error @below {{'mx.matmul' op expected no registers: ptxas chooses them}}
  %d = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%out : !d)
      {mxgpu.schedule = #mxgpu.schedule<tile = [16, 64, 128], registers = [168, 40]>} -> !d
  return %d : !d
}

// Rejects a schedule that needs too much shared memory for two CTAs on an SM.
!a = tensor<256x1024xf8E4M3FN>
!s = tensor<256x32xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!d = tensor<256x256xf32>
func.func @memory(%a: !a, %s: !s, %out: !d) -> !d {
  // expected-error @below {{'mx.matmul' op expected at most 50176 bytes of shared memory on sm_test, found 61440}}
  // expected-note @below {{in.a: 2048}}
  // expected-note @below {{in.sfa: 512}}
  // expected-note @below {{in.b: 8192}}
  // expected-note @below {{in.sfb: 512}}
  // expected-note @below {{barriers of in: 16}}
  // expected-note @below {{4 more stages of in: 49152}}
  %d = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%out : !d)
      {mxgpu.schedule = #mxgpu.schedule<tile = [16, 64, 128], stages = 5, strategy = #mx_test.strategy<ctas_per_sm = 2>>} -> !d
  return %d : !d
}

// Rejects the strategy of another tensor core.
!a = tensor<256x1024xf8E4M3FN>
!s = tensor<256x32xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!d = tensor<256x256xf32>
func.func @strategy(%a: !a, %s: !s, %out: !d) -> !d {
  // expected-error @below {{'mx.matmul' op expected strategy = #mx_test.strategy to multiply f8E4M3FN by f8E4M3FN on sm_test, found #mxgpu.wgmma_bf16}}
  %d = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%out : !d)
      {mxgpu.schedule = #mxgpu.schedule<tile = [16, 64, 128], strategy = #mxgpu.wgmma_bf16>} -> !d
  return %d : !d
}

// Rejects operand types unsupported by the tensor core.
!a = tensor<256x1024xf8E5M2>
!s = tensor<256x32xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!d = tensor<256x256xf32>
func.func @operands(%a: !a, %s: !s, %out: !d) -> !d {
  // expected-error @below {{'mx.matmul' op expected operands that the tensor core multiplies, found 'memref<256x1024xf8E5M2>' and 'memref<256x1024xf8E5M2>'}}
  %d = mx.matmul ins(%a, %s, %a, %s : !a, !s, !a, !s) outs(%out : !d) -> !d
  return %d : !d
}

// Rejects a field not defined by the strategy.
// expected-error @below {{expected '>'}}
#schedule = #mxgpu.schedule<tile = [16, 64, 128], strategy = #mx_test.strategy<cluster_split = true>>

// expected-error @below {{expected ctas_per_sm of at least 1, found 0}}
#schedule = #mxgpu.schedule<tile = [16, 64, 128], strategy = #mx_test.strategy<ctas_per_sm = 0>>
