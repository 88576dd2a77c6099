// RUN: mx-opt %s --convert-mx-to-mxgpu=chip=sm_90a --split-input-file --verify-diagnostics

mx.group @ep size = 2 tokens = 16
func.func @transposed(%x: memref<?x64xbf16>, %w: memref<32x64xf8E4M3FN>, %s: memref<?x2xf8E8M0FNU>, %t: index) {
  %e = mx.to_peers @ep %w[%t] : memref<32x64xf8E4M3FN> to memref<?x64xf8E4M3FN>
  // expected-error @below {{'mx.fused_quantize' op expected mx.to_peers only for all outs of mx.fused_quantize along axis 1 with linear scales}}
  mx.fused_quantize ins(%x : memref<?x64xbf16>) outs(%e, %s : memref<?x64xf8E4M3FN>, memref<?x2xf8E8M0FNU>)
  return
}

// -----

mx.group @ep size = 2 tokens = 16
func.func @any_order(%w: memref<32x64xbf16>, %rows: memref<32xi32>, %y: memref<16x64xf32>) {
  %z = mx.from_peers @ep %w : memref<32x64xbf16>
  // expected-error @below {{'mx.combine' op expected mx.from_peers only as the input of mx.combine with order = fixed}}
  mx.combine ins(%z : memref<32x64xbf16>) rows(%rows : memref<32xi32>) outs(%y : memref<16x64xf32>)
  return
}
