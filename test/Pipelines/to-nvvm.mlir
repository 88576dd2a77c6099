// RUN: mx-opt %s --split-input-file --mx-to-nvvm | FileCheck %s
// RUN: mx-opt %s --split-input-file --mx-to-nvvm --mx-host-to-llvm | FileCheck %s --check-prefix=HOST

// Lowers mx operations in called functions and in branches. A function that
// returns an argument returns a copy.

!scales = tensor<128x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK-LABEL: func.func @main(
// CHECK-NOT:     call @callee(
// CHECK:         gpu.launch_func <%{{.*}} : !llvm.ptr> @kernels::@main_quantize
// CHECK:         llvm.call @mgpuStreamSynchronize
// CHECK:         llvm.func @main_quantize(
// HOST:          llvm.func @main(
// The launch uses the existing stream; upstream would create a stream for each launch.
// HOST:          gpu.launch_func <%{{.*}} : !llvm.ptr> @kernels::@main_quantize
// HOST:          gpu.binary @kernels
func.func private @callee(%x: tensor<128x64xbf16>) -> tensor<128x64xf8E4M3FN> {
  %q = tensor.empty() : tensor<128x64xf8E4M3FN>
  %s = tensor.empty() : !scales
  %r:2 = mx.quantize ins(%x : tensor<128x64xbf16>) outs(%q, %s : tensor<128x64xf8E4M3FN>, !scales) -> tensor<128x64xf8E4M3FN>, !scales
  return %r#0 : tensor<128x64xf8E4M3FN>
}
func.func @main(%x: tensor<128x64xbf16>) -> tensor<128x64xf8E4M3FN> {
  %0 = call @callee(%x) : (tensor<128x64xbf16>) -> tensor<128x64xf8E4M3FN>
  return %0 : tensor<128x64xf8E4M3FN>
}

// -----

!scales = tensor<128x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK-LABEL: func.func @copy(
// CHECK:         gpu.launch_func
// CHECK:         llvm.call @mgpuMemcpy(
func.func @copy(%x: tensor<128x64xbf16>, %q: tensor<128x64xf8E4M3FN>, %s: !scales) -> (tensor<128x64xf8E4M3FN>, tensor<128x64xf8E4M3FN>) {
  %r:2 = mx.quantize ins(%x : tensor<128x64xbf16>) outs(%q, %s : tensor<128x64xf8E4M3FN>, !scales) -> tensor<128x64xf8E4M3FN>, !scales
  return %r#0, %q : tensor<128x64xf8E4M3FN>, tensor<128x64xf8E4M3FN>
}

// -----

!scales = tensor<128x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// CHECK-LABEL: func.func @branch(
// CHECK:         scf.if
// CHECK:           gpu.launch_func
func.func @branch(%x: tensor<128x64xbf16>, %c: i1) -> tensor<128x64xf8E4M3FN> {
  %q = tensor.empty() : tensor<128x64xf8E4M3FN>
  %s = tensor.empty() : !scales
  %y = scf.if %c -> tensor<128x64xf8E4M3FN> {
    %r:2 = mx.quantize ins(%x : tensor<128x64xbf16>) outs(%q, %s : tensor<128x64xf8E4M3FN>, !scales) -> tensor<128x64xf8E4M3FN>, !scales
    scf.yield %r#0 : tensor<128x64xf8E4M3FN>
  } else {
    scf.yield %q : tensor<128x64xf8E4M3FN>
  }
  return %y : tensor<128x64xf8E4M3FN>
}

// -----

// A module without GPU work gets no kernels.
// CHECK-LABEL: func.func @nothing(
// CHECK-NOT:     gpu.module
func.func @nothing(%x: f32) -> f32 {
  return %x : f32
}

// -----

!scales = tensor<128x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
// Inlined operations keep their call locations.
// CHECK-LABEL: func.func @call_site(
// CHECK:         gpu.launch_func
func.func @call_site(%x: tensor<128x64xbf16>) -> tensor<128x64xf8E4M3FN> {
  %q = tensor.empty() : tensor<128x64xf8E4M3FN> loc(callsite("a.py":3:4 at "b.py":5:6))
  %s = tensor.empty() : !scales
  %r:2 = mx.quantize ins(%x : tensor<128x64xbf16>) outs(%q, %s : tensor<128x64xf8E4M3FN>, !scales)
      -> tensor<128x64xf8E4M3FN>, !scales loc(callsite("a.py":3:4 at "b.py":5:6))
  return %r#0 : tensor<128x64xf8E4M3FN>
}
