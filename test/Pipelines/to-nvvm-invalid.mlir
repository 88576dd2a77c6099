// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir --split-input-file --verify-diagnostics --mx-to-nvvm

// A function that cannot be lowered to the GPU causes one message, at the
// operation that prevents lowering.

// -----

// CASES
func.func @remainder(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'arith.remf' op expected an operation that GPUs compute exactly, found arith.remf; subtract a multiple instead}}
  %r = arith.remf %x, %y : tensor<4xf32>
  return %r : tensor<4xf32>
}

func.func @constant() -> tensor<2xi4> {
  // expected-error @below {{'arith.constant' op expected elements of the constant to be integers of 1, 8, 16, 32 or 64 bits or floats of 4, 6, 8, 16, 32 or 64 bits, found i4}}
  %x = arith.constant dense<[1, 2]> : tensor<2xi4>
  return %x : tensor<2xi4>
}

func.func @sparse() -> tensor<4xf32> {
  // expected-error @below {{'arith.constant' op expected a dense or dense_resource constant, found neither}}
  %x = arith.constant sparse<[[0], [2]], [1.0, 2.0]> : tensor<4xf32>
  return %x : tensor<4xf32>
}

func.func @no_resource() -> tensor<2xbf16> {
  // expected-error @below {{'arith.constant' op expected the bytes of the resource 'weights' in the file (dialect_resources), found none}}
  %x = arith.constant dense_resource<weights> : tensor<2xbf16>
  return %x : tensor<2xbf16>
}

!scales = tensor<128x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @slice(%x: tensor<128x100xbf16>) -> tensor<128x64xf8E4M3FN> {
  %v = tensor.extract_slice %x[0, 0] [128, 64] [1, 1] : tensor<128x100xbf16> to tensor<128x64xbf16>
  %q = tensor.empty() : tensor<128x64xf8E4M3FN>
  %s = tensor.empty() : !scales
  // expected-error @below {{'mx.fused_quantize' op expected the row stride of an input to be a multiple of 8 elements and at least 64 on the GPU, found 100}}
  // expected-note @below {{the nearest are 96 and 104}}
  %r:2 = mx.quantize ins(%v : tensor<128x64xbf16>) outs(%q, %s : tensor<128x64xf8E4M3FN>, !scales) -> tensor<128x64xf8E4M3FN>, !scales
  return %r#0 : tensor<128x64xf8E4M3FN>
}

func.func @host(%x: tensor<?xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  // expected-error @below {{'memref.load' op expected tensors to stay in device memory, where the host cannot read an element: return the tensor and pass the element to another function, or use a launch plan (mx-compile, mx-run), which can read elements}}
  %0 = tensor.extract %x[%c0] : tensor<?xf32>
  return %0 : f32
}
