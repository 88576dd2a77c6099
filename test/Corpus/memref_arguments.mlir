// RUN: %corpus %s

// Memref arguments, as after bufferization, with accumulation in place.
!a = memref<19x64xbf16>
func.func @main(%a: !a, %b: memref<64x24xbf16>, %y: memref<19x24xf32>) {
  linalg.matmul ins(%a, %b : !a, memref<64x24xbf16>) outs(%y : memref<19x24xf32>)
  return
}
