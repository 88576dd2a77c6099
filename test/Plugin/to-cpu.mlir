// Stock mlir-opt runs a whole mx pipeline, and stock mlir-runner executes the
// output. The output is plain LLVM dialect and needs no mx libraries.

// REQUIRES: plugin

// RUN: mlir-opt --load-dialect-plugin=%mx_libs/MXPlugin%shlibext %s \
// RUN:   --pass-pipeline="builtin.module(mx-to-cpu)" -o %t.mlir
// RUN: FileCheck %s --check-prefix=IR < %t.mlir
// RUN: mlir-runner %t.mlir -e main --entry-point-result=void \
// RUN:   --shared-libs=%mlir_libs/libmlir_runner_utils%shlibext,%mlir_libs/libmlir_c_runner_utils%shlibext \
// RUN:   | FileCheck %s

// IR-NOT: mx.
// IR:     llvm.func @main

// A row of A contains 32 ones and 32 twos, and B contains ones. E4M3 represents
// both exactly, so that C = 32 * (1 * 1 + 2 * 1) = 96.
// CHECK: [96, 96]

func.func private @printMemrefF32(tensor<*xf32>)

func.func @main() {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %a_empty = tensor.empty() : tensor<1x64xf32>
  %ones = linalg.fill ins(%one : f32) outs(%a_empty : tensor<1x64xf32>) -> tensor<1x64xf32>
  %half_empty = tensor.empty() : tensor<1x32xf32>
  %twos = linalg.fill ins(%two : f32) outs(%half_empty : tensor<1x32xf32>) -> tensor<1x32xf32>
  %a = tensor.insert_slice %twos into %ones[0, 32] [1, 32] [1, 1]
      : tensor<1x32xf32> into tensor<1x64xf32>
  %b_empty = tensor.empty() : tensor<2x64xf32>
  %b = linalg.fill ins(%one : f32) outs(%b_empty : tensor<2x64xf32>) -> tensor<2x64xf32>

  %ae = tensor.empty() : tensor<1x64xf8E4M3FN>
  %as = tensor.empty() : tensor<1x2xf8E8M0FNU>
  %qa:2 = mx.quantize ins(%a : tensor<1x64xf32>)
      outs(%ae, %as : tensor<1x64xf8E4M3FN>, tensor<1x2xf8E8M0FNU>)
      -> tensor<1x64xf8E4M3FN>, tensor<1x2xf8E8M0FNU>
  %be = tensor.empty() : tensor<2x64xf8E4M3FN>
  %bs = tensor.empty() : tensor<2x2xf8E8M0FNU>
  %qb:2 = mx.quantize ins(%b : tensor<2x64xf32>)
      outs(%be, %bs : tensor<2x64xf8E4M3FN>, tensor<2x2xf8E8M0FNU>)
      -> tensor<2x64xf8E4M3FN>, tensor<2x2xf8E8M0FNU>

  %init = tensor.empty() : tensor<1x2xf32>
  %c = mx.matmul ins(%qa#0, %qa#1, %qb#0, %qb#1 : tensor<1x64xf8E4M3FN>,
        tensor<1x2xf8E8M0FNU>, tensor<2x64xf8E4M3FN>, tensor<2x2xf8E8M0FNU>)
      outs(%init : tensor<1x2xf32>) -> tensor<1x2xf32>
  %unranked = tensor.cast %c : tensor<1x2xf32> to tensor<*xf32>
  call @printMemrefF32(%unranked) : (tensor<*xf32>) -> ()
  return
}
