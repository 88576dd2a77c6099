// RUN: %corpus %s

// Decoding with an MXFP8 cache and linear scales: a batched matmul reads cached keys from a slice of the cache.
!k = tensor<4x48x64xf8E4M3FN>
!ks = tensor<4x48x2xf8E8M0FNU>
!p = tensor<4x20x64xf8E4M3FN>
!ps = tensor<4x20x2xf8E8M0FNU>
!d = tensor<4x20x64xbf16>
!s = tensor<4x1x20xf32>
func.func @main(%q: tensor<4x1x64xbf16>, %k: !k, %ks: !ks) -> !s {
  %zero = arith.constant 0.0 : f32
  %d0 = tensor.empty() : tensor<4x48x64xbf16>
  %all = mx.dequantize ins(%k, %ks : !k, !ks) outs(%d0 : tensor<4x48x64xbf16>) -> tensor<4x48x64xbf16>
  %d = tensor.extract_slice %all[0, 7, 0] [4, 20, 64] [1, 1, 1] : tensor<4x48x64xbf16> to !d
  %s0 = tensor.empty() : !s
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : !s) -> !s
  %s = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>,
      affine_map<(b, m, n, k) -> (b, m, n)>] ins(%q, %d : tensor<4x1x64xbf16>, !d) outs(%s1 : !s) -> !s
  return %s : !s
}
