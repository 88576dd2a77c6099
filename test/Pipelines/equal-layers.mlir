// Eight equal linear layers share their kernels: a matmul, a quantizer of weights and a quantizer of activations.
// RUN: mx-opt %s --mx-quantize-matmuls=recipe=mxfp8 --mx-to-mxgpu=chip=sm_90a | FileCheck %s
// RUN: mx-opt %s --mx-quantize-matmuls=recipe=mxfp8 --mx-to-mxgpu=chip=sm_100a | FileCheck %s
// RUN: mx-opt %s --mx-quantize-matmuls=recipe=mxfp4 --mx-to-mxgpu=chip=sm_120a | FileCheck %s
// RUN: sed s/512x512/1024x1024/g %s > %t.mlir
// RUN: mx-opt %t.mlir --mx-quantize-matmuls=recipe=mxfp8 --mx-to-mxgpu=chip=sm_90a | FileCheck %s

// CHECK-LABEL:    func.func @main
// CHECK-COUNT-24: mxgpu.launch @
// CHECK-NOT:      mxgpu.launch @
// CHECK-COUNT-3:  mxgpu.kernel @
// CHECK-NOT:      mxgpu.kernel @

// The .loc of a kernel refers to the first layer; a comment lists the other layers.
// RUN: mx-opt %s --mx-quantize-matmuls=recipe=mxfp8 --mx-to-nvvm=chip=sm_90a --mlir-print-debuginfo -o %t.nvvm.mlir
// RUN: mx-translate --mx-to-ptx %t.nvvm.mlir | FileCheck %s --check-prefix=PTX
// PTX: // .loc "{{.*}}equal-layers.mlir" [[#@LINE+8]] 9 in main_matmul is also "{{.*}}equal-layers.mlir" [[#@LINE+10]] 9, "{{.*}}equal-layers.mlir" [[#@LINE+12]] 9,
// PTX: .entry main_matmul(
// PTX: .loc {{[0-9]+}} [[#@LINE+6]] 9

func.func @main(%x0: tensor<512x512xbf16>, %w0: tensor<512x512xbf16>, %w1: tensor<512x512xbf16>, %w2: tensor<512x512xbf16>, %w3: tensor<512x512xbf16>, %w4: tensor<512x512xbf16>, %w5: tensor<512x512xbf16>, %w6: tensor<512x512xbf16>, %w7: tensor<512x512xbf16>) -> tensor<512x512xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %y0 = linalg.matmul ins(%x0, %w0 : tensor<512x512xbf16>, tensor<512x512xbf16>) outs(%zeros : tensor<512x512xf32>) -> tensor<512x512xf32>
  %x1 = arith.truncf %y0 : tensor<512x512xf32> to tensor<512x512xbf16>
  %y1 = linalg.matmul ins(%x1, %w1 : tensor<512x512xbf16>, tensor<512x512xbf16>) outs(%zeros : tensor<512x512xf32>) -> tensor<512x512xf32>
  %x2 = arith.truncf %y1 : tensor<512x512xf32> to tensor<512x512xbf16>
  %y2 = linalg.matmul ins(%x2, %w2 : tensor<512x512xbf16>, tensor<512x512xbf16>) outs(%zeros : tensor<512x512xf32>) -> tensor<512x512xf32>
  %x3 = arith.truncf %y2 : tensor<512x512xf32> to tensor<512x512xbf16>
  %y3 = linalg.matmul ins(%x3, %w3 : tensor<512x512xbf16>, tensor<512x512xbf16>) outs(%zeros : tensor<512x512xf32>) -> tensor<512x512xf32>
  %x4 = arith.truncf %y3 : tensor<512x512xf32> to tensor<512x512xbf16>
  %y4 = linalg.matmul ins(%x4, %w4 : tensor<512x512xbf16>, tensor<512x512xbf16>) outs(%zeros : tensor<512x512xf32>) -> tensor<512x512xf32>
  %x5 = arith.truncf %y4 : tensor<512x512xf32> to tensor<512x512xbf16>
  %y5 = linalg.matmul ins(%x5, %w5 : tensor<512x512xbf16>, tensor<512x512xbf16>) outs(%zeros : tensor<512x512xf32>) -> tensor<512x512xf32>
  %x6 = arith.truncf %y5 : tensor<512x512xf32> to tensor<512x512xbf16>
  %y6 = linalg.matmul ins(%x6, %w6 : tensor<512x512xbf16>, tensor<512x512xbf16>) outs(%zeros : tensor<512x512xf32>) -> tensor<512x512xf32>
  %x7 = arith.truncf %y6 : tensor<512x512xf32> to tensor<512x512xbf16>
  %y7 = linalg.matmul ins(%x7, %w7 : tensor<512x512xbf16>, tensor<512x512xbf16>) outs(%zeros : tensor<512x512xf32>) -> tensor<512x512xf32>
  %x8 = arith.truncf %y7 : tensor<512x512xf32> to tensor<512x512xbf16>
  return %x8 : tensor<512x512xbf16>
}
