// RUN: mx-opt %s --verify-diagnostics --mx-expand-math

func.func @large(%x: vector<8x1099511627776xf32>) -> vector<8x1099511627776xf32> {
  // expected-error @below {{'math.rsqrt' op expected vectors of at most 65536 elements, found 'vector<8x1099511627776xf32>'}}
  %y = math.rsqrt %x : vector<8x1099511627776xf32>
  return %y : vector<8x1099511627776xf32>
}
