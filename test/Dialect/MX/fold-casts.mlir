// RUN: mx-opt %s --canonicalize | FileCheck %s

// The matmul gets the static sizes that its operands have before the casts. Its
// epilogue is empty.
// CHECK-LABEL: @matmul
func.func @matmul(%a: tensor<128x64xf8E4M3FN>, %sa: tensor<128x2xf8E8M0FNU>,
                  %b: tensor<96x64xf8E4M3FN>, %sb: tensor<96x2xf8E8M0FNU>,
                   %init: tensor<?x?xbf16>) -> tensor<?x?xbf16> {
  // CHECK: mx.matmul ins({{.*}} : tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>, tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>)
  %0 = tensor.cast %a : tensor<128x64xf8E4M3FN> to tensor<?x?xf8E4M3FN>
  %1 = tensor.cast %b : tensor<96x64xf8E4M3FN> to tensor<?x?xf8E4M3FN>
  %c = mx.matmul ins(%0, %sa, %1, %sb : tensor<?x?xf8E4M3FN>, tensor<128x2xf8E8M0FNU>,
                     tensor<?x?xf8E4M3FN>, tensor<96x2xf8E8M0FNU>)
      outs(%init : tensor<?x?xbf16>) -> tensor<?x?xbf16>
  return %c : tensor<?x?xbf16>
}

// The destination is cast, so the result is cast back for its users.
// CHECK-LABEL: @destination
func.func @destination(%a: tensor<128x64xf8E4M3FN>, %sa: tensor<128x2xf8E8M0FNU>,
                       %b: tensor<96x64xf8E4M3FN>, %sb: tensor<96x2xf8E8M0FNU>,
                       %init: tensor<128x96xbf16>) -> tensor<?x?xbf16> {
  // CHECK: %[[C:.*]] = mx.matmul {{.*}} -> tensor<128x96xbf16>
  // CHECK: tensor.cast %[[C]] : tensor<128x96xbf16> to tensor<?x?xbf16>
  %0 = tensor.cast %init : tensor<128x96xbf16> to tensor<?x?xbf16>
  %c = mx.matmul ins(%a, %sa, %b, %sb : tensor<128x64xf8E4M3FN>, tensor<128x2xf8E8M0FNU>,
                     tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>)
      outs(%0 : tensor<?x?xbf16>) -> tensor<?x?xbf16>
  return %c : tensor<?x?xbf16>
}

// The cast is kept, because the matmul would lose a static size without the cast.
// CHECK-LABEL: @forgets
func.func @forgets(%a: tensor<?x64xf8E4M3FN>, %sa: tensor<?x2xf8E8M0FNU>,
                   %b: tensor<96x64xf8E4M3FN>, %sb: tensor<96x2xf8E8M0FNU>,
                   %init: tensor<?x?xbf16>) -> tensor<?x?xbf16> {
  // CHECK: %[[CAST:.*]] = tensor.cast %{{.*}} : tensor<?x64xf8E4M3FN> to tensor<128x64xf8E4M3FN>
  // CHECK: mx.matmul ins(%[[CAST]],
  %0 = tensor.cast %a : tensor<?x64xf8E4M3FN> to tensor<128x64xf8E4M3FN>
  %c = mx.matmul ins(%0, %sa, %b, %sb : tensor<128x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>,
                     tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>)
      outs(%init : tensor<?x?xbf16>) -> tensor<?x?xbf16>
  return %c : tensor<?x?xbf16>
}
