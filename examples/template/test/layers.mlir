// Compiles and runs two linalg layers. The weights of the second layer are large
// and become MXFP4. The kernels run on the simulator, each operation is compared
// with the reference on the CPU, and the results are exact.

// RUN: my-compiler-opt %s --my-quantize="min-elements=16384" -o %t.mlir
// RUN: FileCheck %s --check-prefix=IR < %t.mlir
// IR-LABEL: func.func @main
// IR: mx.matmul ins({{.*}} : tensor<?x64xf8E4M3FN>, {{.*}}, tensor<128x64xf8E4M3FN>, {{.*}})
// IR: mx.matmul ins({{.*}} : tensor<?x128xf8E4M3FN>, {{.*}}, tensor<128x128xf4E2M1FN>, {{.*}})

// The rows of x contain 1, 2, 4, ..., and the weights are 1 and then 0.5. So the
// first row of the result is 64 * 1 * 128 * 0.5, and each next row is twice that.
// RUN: %python %S/Inputs/arrays.py make %t.x.npy 8x64 bf16 rows
// RUN: %python %S/Inputs/arrays.py make %t.w1.npy 128x64 bf16 1.0
// RUN: %python %S/Inputs/arrays.py make %t.w2.npy 128x128 bf16 0.5
// RUN: mx-run %t.mlir --device=sim --check=cpu --arg %t.x.npy --arg %t.w1.npy --arg %t.w2.npy --result %t.y.npy
// RUN: %python %S/Inputs/arrays.py show %t.y.npy | FileCheck %s
// CHECK: 8x128
// CHECK-NEXT: 4096.0 8192.0 16384.0 32768.0 65536.0 131072.0 262144.0 524288.0

// The same program as PTX.
// RUN: my-compiler-opt %s --my-to-nvvm="chip=sm_100a min-elements=16384" | mx-translate --mx-to-ptx | FileCheck %s --check-prefix=PTX
// PTX: .target sm_100a
// PTX: tcgen05.mma

#rows = affine_map<(m, n, k) -> (m, k)>
#weights = affine_map<(m, n, k) -> (n, k)>
#result = affine_map<(m, n, k) -> (m, n)>

func.func @main(%x: tensor<?x64xbf16>, %w1: tensor<128x64xbf16>, %w2: tensor<128x128xbf16>) -> tensor<?x128xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %empty = tensor.empty(%m) : tensor<?x128xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x128xf32>) -> tensor<?x128xf32>
  %h = linalg.matmul indexing_maps = [#rows, #weights, #result]
      ins(%x, %w1 : tensor<?x64xbf16>, tensor<128x64xbf16>) outs(%zeros : tensor<?x128xf32>) -> tensor<?x128xf32>
  %rounded = arith.truncf %h : tensor<?x128xf32> to tensor<?x128xbf16>
  %y = linalg.matmul indexing_maps = [#rows, #weights, #result]
      ins(%rounded, %w2 : tensor<?x128xbf16>, tensor<128x128xbf16>) outs(%zeros : tensor<?x128xf32>) -> tensor<?x128xf32>
  return %y : tensor<?x128xf32>
}
