// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir --split-input-file --verify-diagnostics --mx-to-nvvm=chip=sm_90a
// RUN: mx-opt %t.mlir --split-input-file --verify-diagnostics --mx-to-nvvm=chip=sm_100a
// RUN: mx-opt %t.mlir --split-input-file --verify-diagnostics --mx-to-nvvm=chip=sm_120a

// Static sizes beyond launch limits are compile-time errors. Copy coordinates are 32-bit values, so
// the size limit is 2^31 rounded down to whole tiles.

// -----

// CASES
!s = tensor<2147483648x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!t = tensor<64x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @rows(%a: tensor<2147483648x128xf8E4M3FN>, %as: !s, %b: tensor<64x128xf8E4M3FN>, %bs: !t, %c: tensor<2147483648x64xf32>) -> tensor<2147483648x64xf32> {
  // expected-error @below {{expected at most 2147483392 rows of a on the GPU, found 2147483648: divide the operation into several}}
  %y = mx.matmul ins(%a, %as, %b, %bs : tensor<2147483648x128xf8E4M3FN>, !s, tensor<64x128xf8E4M3FN>, !t) outs(%c : tensor<2147483648x64xf32>) -> tensor<2147483648x64xf32>
  return %y : tensor<2147483648x64xf32>
}

// Rejects too many columns even if the number of rows is dynamic.
!s = tensor<4294967296x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @columns(%a: tensor<?x128xbf16>, %b: tensor<4294967296x128xf8E4M3FN>, %bs: !s, %c: tensor<?x4294967296xf32>) -> tensor<?x4294967296xf32> {
  // expected-error @below {{expected at most 2147483392 rows of b on the GPU, found 4294967296}}
  %y = mx.matmul ins(%a, %b, %bs : tensor<?x128xbf16>, tensor<4294967296x128xf8E4M3FN>, !s) outs(%c : tensor<?x4294967296xf32>) -> tensor<?x4294967296xf32>
  return %y : tensor<?x4294967296xf32>
}

!s = tensor<64x134217728xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @reduction(%a: tensor<64x4294967296xf8E4M3FN>, %s: !s, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-error @below {{expected at most 2147483392 columns of a on the GPU, found 4294967296}}
  %y = mx.matmul ins(%a, %s, %a, %s : tensor<64x4294967296xf8E4M3FN>, !s, tensor<64x4294967296xf8E4M3FN>, !s) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// The limit applies to the rows of all matrices of a batch.
!s = tensor<1048576x4096x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!t = tensor<1048576x8x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @batch(%a: tensor<1048576x4096x128xf8E4M3FN>, %as: !s, %b: tensor<1048576x8x128xf8E4M3FN>, %bs: !t, %c: tensor<1048576x4096x8xf32>) -> tensor<1048576x4096x8xf32> {
  // expected-remark @below {{'linalg.fill' runs as a simple kernel}}
  // expected-error @below {{expected at most 2147483392 rows of a on the GPU, found 4294967296}}
  %y = mx.matmul ins(%a, %as, %b, %bs : tensor<1048576x4096x128xf8E4M3FN>, !s, tensor<1048576x8x128xf8E4M3FN>, !t) outs(%c : tensor<1048576x4096x8xf32>) -> tensor<1048576x4096x8xf32>
  return %y : tensor<1048576x4096x8xf32>
}

// Each size is within its limit, but the number of tiles is not.
!s = tensor<1073741824x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @tiles(%a: tensor<1073741824x128xf8E4M3FN>, %s: !s, %c: tensor<1073741824x1073741824xbf16>) -> tensor<1073741824x1073741824xbf16> {
  // expected-error @below {{expected at most 2147483647 work tiles on the GPU, found}}
  %y = mx.matmul ins(%a, %s, %a, %s : tensor<1073741824x128xf8E4M3FN>, !s, tensor<1073741824x128xf8E4M3FN>, !s) outs(%c : tensor<1073741824x1073741824xbf16>) -> tensor<1073741824x1073741824xbf16>
  return %y : tensor<1073741824x1073741824xbf16>
}

func.func @quantize(%x: tensor<1048576x1048576x32xbf16>, %e: tensor<1048576x1048576x32xf8E4M3FN>, %s: tensor<1048576x1048576x1xf8E8M0FNU>) -> (tensor<1048576x1048576x32xf8E4M3FN>, tensor<1048576x1048576x1xf8E8M0FNU>) {
  // expected-error @below {{expected at most 2147483392 rows of input in tiles on the GPU, found 1099511627776}}
  %q:2 = mx.quantize ins(%x : tensor<1048576x1048576x32xbf16>) outs(%e, %s : tensor<1048576x1048576x32xf8E4M3FN>, tensor<1048576x1048576x1xf8E8M0FNU>) -> tensor<1048576x1048576x32xf8E4M3FN>, tensor<1048576x1048576x1xf8E8M0FNU>
  return %q#0, %q#1 : tensor<1048576x1048576x32xf8E4M3FN>, tensor<1048576x1048576x1xf8E8M0FNU>
}

// The number of elements exceeds 63 bits.
func.func @overflow(%x: tensor<1099511627776x1099511627776xbf16>, %e: tensor<1099511627776x1099511627776xf8E4M3FN>, %s: tensor<1099511627776x34359738368xf8E8M0FNU>) -> (tensor<1099511627776x1099511627776xf8E4M3FN>, tensor<1099511627776x34359738368xf8E8M0FNU>) {
  // expected-error @below {{expected at most 2147483647 CTAs on the GPU, found more than 2^63}}
  %q:2 = mx.quantize ins(%x : tensor<1099511627776x1099511627776xbf16>) outs(%e, %s : tensor<1099511627776x1099511627776xf8E4M3FN>, tensor<1099511627776x34359738368xf8E8M0FNU>) -> tensor<1099511627776x1099511627776xf8E4M3FN>, tensor<1099511627776x34359738368xf8E8M0FNU>
  return %q#0, %q#1 : tensor<1099511627776x1099511627776xf8E4M3FN>, tensor<1099511627776x34359738368xf8E8M0FNU>
}

// A CTA covers 256 elements, so 2^32 CTAs would be needed.
func.func @simple(%x: tensor<1099511627776xf32>) -> tensor<1099511627776xf32> {
  // expected-remark @below {{'linalg.generic' runs as a simple kernel}}
  // expected-error @below {{expected at most 2147483647 CTAs on the GPU, found 4294967296}}
  %y = arith.addf %x, %x : tensor<1099511627776xf32>
  return %y : tensor<1099511627776xf32>
}
