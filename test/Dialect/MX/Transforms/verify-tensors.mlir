// RUN: mx-opt %s --split-input-file --verify-diagnostics --mx-verify-tensors
// RUN: not mx-opt %s --split-input-file --mx-to-cpu -o %t 2>&1 | FileCheck %s
// CHECK-NOT:   was not bufferized
// CHECK:       'arith.extf' op expected vectors of at most

// The pass on its own: the pipelines write the first three as linalg.generic
// before it.

func.func @elementwise(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @below {{'arith.addf' op expected an operation on tensors that bufferizes: write it as a linalg.generic on elements, which mx-opt --mx-decompose-tensors does}}
  %y = arith.addf %x, %x : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

func.func @math(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @below {{'math.exp' op expected an operation on tensors that bufferizes: write it as a linalg.generic on elements}}
  %y = math.exp %x : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

func.func @softmax(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = tensor.empty() : tensor<8x8xf32>
  // expected-error @below {{'linalg.softmax' op expected an operation that becomes loops: write it as sums or maxima of rows and elementwise operations (linalg.generic)}}
  %y = linalg.softmax dimension(1) ins(%x : tensor<8x8xf32>) outs(%0 : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// Whatever would count the elements of a vector comes after this.
func.func @vector(%x: vector<1099511627776xbf16>) {
  // expected-error @below {{'arith.extf' op expected vectors of at most 65536 elements, found 'vector<1099511627776xf32>'}}
  %y = arith.extf %x : vector<1099511627776xbf16> to vector<1099511627776xf32>
  return
}

// -----

// Nobody needs what is unused.
func.func @unused(%x: tensor<8x8xf32>) {
  %y = arith.addf %x, %x : tensor<8x8xf32>
  return
}
