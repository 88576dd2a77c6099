// RUN: mx-opt %s --mx-to-plan | mx-translate --mx-to-constants -o %t.bin
// RUN: %python -c "import sys; data = open(sys.argv[1], 'rb').read(); print(len(data), data[:3].hex(), set(data[3:256]), data[256:].hex())" %t.bin | FileCheck %s

// Constants start at multiples of 256 bytes, and the bytes in between are zeros.
// CHECK: 264 0300ff {0} 0000803f00004040
func.func @main() -> (tensor<3xi8>, tensor<2xf32>) {
  %a = arith.constant dense<[3, 0, -1]> : tensor<3xi8>
  %b = arith.constant dense<[1.0, 3.0]> : tensor<2xf32>
  return %a, %b : tensor<3xi8>, tensor<2xf32>
}
