// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir --split-input-file --verify-diagnostics --mx-verify-tensors
// RUN: not mx-opt %t.mlir --split-input-file --mx-to-cpu -o %t 2>&1 | FileCheck %s
// CHECK-NOT:   was not bufferized
// CHECK:       'arith.extf' op expected vectors of at most

// Tests the pass alone. Pipelines first convert these three operations to
// linalg.generic.

// -----

// CASES
func.func @elementwise(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @below {{'arith.addf' op expected an operation on tensors that bufferizes: write it as a linalg.generic on elements, which mx-opt --mx-decompose-tensors does}}
  %y = arith.addf %x, %x : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

func.func @math(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @below {{'math.exp' op expected an operation on tensors that bufferizes: write it as a linalg.generic on elements}}
  %y = math.exp %x : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

func.func @softmax(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = tensor.empty() : tensor<8x8xf32>
  // expected-error @below {{'linalg.softmax' op expected an operation that lowers to loops: use row sums, row maxima and elementwise operations (linalg.generic) instead}}
  %y = linalg.softmax dimension(1) ins(%x : tensor<8x8xf32>) outs(%0 : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// Runs before any pass that counts the elements of a vector.
func.func @vector(%x: vector<1099511627776xbf16>) {
  // expected-error @below {{'arith.extf' op expected vectors of at most 65536 elements, found 'vector<1099511627776xf32>'}}
  %y = arith.extf %x : vector<1099511627776xbf16> to vector<1099511627776xf32>
  return
}

// Unused operations are accepted.
func.func @unused(%x: tensor<8x8xf32>) {
  %y = arith.addf %x, %x : tensor<8x8xf32>
  return
}

// The body is created by upstream code, so the message names the operation of the user.
func.func @matmul_of_f8(%a: tensor<4x32xf8E4M3FN>, %b: tensor<32x8xf8E4M3FN>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{'linalg.matmul' op expected arithmetic on f16, bf16, f32, f64, integers or index, found 'f8E4M3FN'; mx.matmul multiplies narrower floats with their scales}}
  %y = linalg.matmul ins(%a, %b : tensor<4x32xf8E4M3FN>, tensor<32x8xf8E4M3FN>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

func.func @batch_of_f4(%a: tensor<?x4x32xf4E2M1FN>, %b: tensor<?x32x8xf32>, %c: tensor<?x4x8xf32>) -> tensor<?x4x8xf32> {
  // expected-error @below {{'linalg.batch_matmul' op expected arithmetic on f16, bf16, f32, f64, integers or index, found 'f4E2M1FN'; mx.matmul multiplies}}
  %y = linalg.batch_matmul ins(%a, %b : tensor<?x4x32xf4E2M1FN>, tensor<?x32x8xf32>) outs(%c : tensor<?x4x8xf32>) -> tensor<?x4x8xf32>
  return %y : tensor<?x4x8xf32>
}

func.func @sum_of_f8(%a: tensor<4xf8E5M2>, %c: tensor<4xf8E5M2>) -> tensor<4xf8E5M2> {
  // expected-error @below {{'linalg.add' op expected arithmetic on f16, bf16, f32, f64, integers or index, found 'f8E5M2'; mx.dequantize widens narrower floats}}
  %y = linalg.add ins(%a, %a : tensor<4xf8E5M2>, tensor<4xf8E5M2>) outs(%c : tensor<4xf8E5M2>) -> tensor<4xf8E5M2>
  return %y : tensor<4xf8E5M2>
}

// Moving elements is not arithmetic.
func.func @moved(%a: tensor<4x8xf8E5M2>, %c: tensor<8x4xf8E5M2>) -> tensor<8x4xf8E5M2> {
  %y = linalg.transpose ins(%a : tensor<4x8xf8E5M2>) outs(%c : tensor<8x4xf8E5M2>) permutation = [1, 0]
  return %y : tensor<8x4xf8E5M2>
}
