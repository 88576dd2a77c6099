// `concat-multiple` is the tile width. Concatenated inputs are fused only if no
// tile spans two inputs. Otherwise the concatenation is stored.
//
// RUN: mx-opt %s --mx-fuse-prologues | FileCheck %s --check-prefixes=CHECK,ANY
// RUN: mx-opt %s --mx-fuse-prologues=concat-multiple=128 | FileCheck %s --check-prefixes=CHECK,TILES

// CHECK-LABEL: func.func @narrow(
// ANY:           mx.fused_quantize {{.*}} concat
// TILES:         tensor.concat
// TILES:         mx.fused_quantize
// TILES-NOT:     {{[^%]}}concat
func.func @narrow(%a: tensor<8x96xbf16>, %b: tensor<8x96xbf16>) -> (tensor<8x192xf8E4M3FN>, tensor<8x6xf8E8M0FNU>) {
  %x = tensor.concat dim(1) %a, %b : (tensor<8x96xbf16>, tensor<8x96xbf16>) -> tensor<8x192xbf16>
  %e = tensor.empty() : tensor<8x192xf8E4M3FN>
  %s = tensor.empty() : tensor<8x6xf8E8M0FNU>
  %q:2 = mx.quantize ins(%x : tensor<8x192xbf16>) outs(%e, %s : tensor<8x192xf8E4M3FN>, tensor<8x6xf8E8M0FNU>)
      -> tensor<8x192xf8E4M3FN>, tensor<8x6xf8E8M0FNU>
  return %q#0, %q#1 : tensor<8x192xf8E4M3FN>, tensor<8x6xf8E8M0FNU>
}

// CHECK-LABEL: func.func @wide(
// CHECK-NOT:     tensor.concat
// CHECK:         mx.fused_quantize {{.*}} concat
func.func @wide(%a: tensor<8x128xbf16>, %b: tensor<8x128xbf16>) -> (tensor<8x256xf8E4M3FN>, tensor<8x8xf8E8M0FNU>) {
  %x = tensor.concat dim(1) %a, %b : (tensor<8x128xbf16>, tensor<8x128xbf16>) -> tensor<8x256xbf16>
  %e = tensor.empty() : tensor<8x256xf8E4M3FN>
  %s = tensor.empty() : tensor<8x8xf8E8M0FNU>
  %q:2 = mx.quantize ins(%x : tensor<8x256xbf16>) outs(%e, %s : tensor<8x256xf8E4M3FN>, tensor<8x8xf8E8M0FNU>)
      -> tensor<8x256xf8E4M3FN>, tensor<8x8xf8E8M0FNU>
  return %q#0, %q#1 : tensor<8x256xf8E4M3FN>, tensor<8x8xf8E8M0FNU>
}
