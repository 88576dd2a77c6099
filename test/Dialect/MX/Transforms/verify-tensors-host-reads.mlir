// RUN: mx-opt %s --split-input-file --verify-diagnostics --mx-verify-tensors=on-device

// The host can read integers, index values, f16, bf16, f32 and f64.

func.func @reads(%a: tensor<4xi32>, %b: tensor<bf16>, %c: tensor<2x3xindex>, %i: index) -> (i32, bf16, index) {
  %0 = tensor.extract %a[%i] : tensor<4xi32>
  %1 = tensor.extract %b[] : tensor<bf16>
  %2 = tensor.extract %c[%i, %i] : tensor<2x3xindex>
  return %0, %1, %2 : i32, bf16, index
}

// -----

func.func @scale(%a: tensor<4xf8E8M0FNU>, %i: index) -> f8E8M0FNU {
  // expected-error @below {{'tensor.extract' op expected an integer, f16, bf16, f32 or f64 where the host reads an element from device memory, found 'f8E8M0FNU'}}
  %0 = tensor.extract %a[%i] : tensor<4xf8E8M0FNU>
  return %0 : f8E8M0FNU
}

// -----

func.func @insert(%a: tensor<4xi32>, %i: index, %n: i32) -> tensor<4xi32> {
  %0 = tensor.insert %n into %a[%i] : tensor<4xi32>
  return %0 : tensor<4xi32>
}
