// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir --mx-expand-math --split-input-file --verify-diagnostics

// -----

// CASES
func.func @double(%x: f64) -> f64 {
  // expected-error @below {{'math.exp' op expected f16, bf16 or f32, found 'f64': convert the operand}}
  %0 = math.exp %x : f64
  return %0 : f64
}

func.func @small(%x: vector<4xf8E4M3FN>) -> vector<4xf8E4M3FN> {
  // expected-error @below {{'math.tanh' op expected f16, bf16 or f32, found 'f8E4M3FN'}}
  %0 = math.tanh %x : vector<4xf8E4M3FN>
  return %0 : vector<4xf8E4M3FN>
}

func.func @round(%x: f128) -> f128 {
  // expected-error @below {{'math.round' op expected f16, bf16, f32 or f64, found 'f128'}}
  %0 = math.round %x : f128
  return %0 : f128
}

func.func @scalable(%x: vector<[4]xf32>) -> vector<[4]xf32> {
  // expected-error @below {{'math.sin' op expected scalars, fixed-size vectors or ranked tensors, found 'vector<[4]xf32>'}}
  %0 = math.sin %x : vector<[4]xf32>
  return %0 : vector<[4]xf32>
}

func.func @unranked(%x: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error @below {{'math.log' op expected scalars, fixed-size vectors or ranked tensors, found 'tensor<*xf32>'}}
  %0 = math.log %x : tensor<*xf32>
  return %0 : tensor<*xf32>
}

func.func @large(%x: vector<8x1099511627776xf32>) -> vector<8x1099511627776xf32> {
  // expected-error @below {{'math.rsqrt' op expected vectors of at most 65536 elements, found 'vector<8x1099511627776xf32>'}}
  %y = math.rsqrt %x : vector<8x1099511627776xf32>
  return %y : vector<8x1099511627776xf32>
}
