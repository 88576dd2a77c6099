// REQUIRES: compiler, numpy
// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy as np; r = np.random.default_rng(5); [np.save(f'%t/{n}.npy', ((r.standard_normal(s) * np.exp2(r.integers(-30, 30, (*s[:-1], 1)))).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)) for n, s in (('fp4', (3, 100, 96)), ('fp6', (64, 128)), ('fp8', (190, 160)))]"

// A kernel quantizes and packs weights at once, with the bits of the CPU path. Rows and columns past the end of a matrix
// are zero, and so are their scales.

// DEFINE: %{name} =
// DEFINE: %{test} = mx-run %s --entry=%{name} --arg %t/%{name}.npy --device=sim --chip=sm_90a --result %t/e.npy --result %t/s.npy && \
// DEFINE:           mx-run %s --entry=%{name} --arg %t/%{name}.npy --device=cpu --result %t/cpu_e.npy --result %t/cpu_s.npy && \
// DEFINE:           cmp %t/e.npy %t/cpu_e.npy && cmp %t/s.npy %t/cpu_s.npy
// REDEFINE: %{name} = fp4
// RUN: %{test}
// REDEFINE: %{name} = fp6
// RUN: %{test}
// REDEFINE: %{name} = fp8
// RUN: %{test}

// RUN: mx-opt %s --mx-to-mxgpu=chip=sm_90a | FileCheck %s
// CHECK-COUNT-3: mxgpu.kernel @{{.*}}_quantize_packed(
// CHECK-NOT:     mxgpu.kernel

!e4 = tensor<3x100x96xf4E2M1FN>
!p4 = tensor<3x100x96xf4E2M1FN, #mxgpu.fragment_64x64>
!s4 = tensor<3x100x3xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @fp4(%w: tensor<3x100x96xbf16>) -> (!p4, !s4) {
  %0 = tensor.empty() : !e4
  %1 = tensor.empty() : !s4
  %q:2 = mx.quantize ins(%w : tensor<3x100x96xbf16>) outs(%0, %1 : !e4, !s4) axes = [1] scale_rounding = ceil -> !e4, !s4
  %2 = tensor.empty() : !p4
  %p = mx.pack_operand ins(%q#0 : !e4) outs(%2 : !p4) -> !p4
  return %p, %q#1 : !p4, !s4
}

!e6 = tensor<64x128xf6E3M2FN>
!p6 = tensor<64x128xf6E3M2FN, #mxgpu.fragment_64x64>
!s6 = tensor<64x4xf8E8M0FNU>
func.func @fp6(%w: tensor<64x128xbf16>) -> (!p6, !s6) {
  %0 = tensor.empty() : !e6
  %1 = tensor.empty() : !s6
  %q:2 = mx.quantize ins(%w : tensor<64x128xbf16>) outs(%0, %1 : !e6, !s6) axes = [1] -> !e6, !s6
  %2 = tensor.empty() : !p6
  %p = mx.pack_operand ins(%q#0 : !e6) outs(%2 : !p6) -> !p6
  return %p, %q#1 : !p6, !s6
}

!e8 = tensor<190x160xf8E4M3FN>
!p8 = tensor<190x160xf8E4M3FN, #mxgpu.fragment_64x64>
!s8 = tensor<190x5xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @fp8(%w: tensor<190x160xbf16>) -> (!p8, !s8) {
  %0 = tensor.empty() : !e8
  %1 = tensor.empty() : !s8
  %q:2 = mx.quantize ins(%w : tensor<190x160xbf16>) outs(%0, %1 : !e8, !s8) axes = [1] scale_rounding = ceil -> !e8, !s8
  %2 = tensor.empty() : !p8
  %p = mx.pack_operand ins(%q#0 : !e8) outs(%2 : !p8) -> !p8
  return %p, %q#1 : !p8, !s8
}
