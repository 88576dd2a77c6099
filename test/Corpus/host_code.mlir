// RUN: %corpus %s

// An mx function and, in the same module, host code that keeps its memrefs and calls external functions.
memref.global "private" @calls : memref<1xi64> = dense<0>
func.func private @log(i64)
func.func @main(%a: tensor<19x64xbf16>, %b: tensor<64x24xbf16>) -> tensor<19x24xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<19x24xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<19x24xf32>) -> tensor<19x24xf32>
  %y = linalg.matmul ins(%a, %b : tensor<19x64xbf16>, tensor<64x24xbf16>) outs(%c : tensor<19x24xf32>) -> tensor<19x24xf32>
  return %y : tensor<19x24xf32>
}
func.func @count(%times: i64) {
  %0 = arith.constant 0 : index
  %calls = memref.get_global @calls : memref<1xi64>
  %old = memref.load %calls[%0] : memref<1xi64>
  %new = arith.addi %old, %times : i64
  memref.store %new, %calls[%0] : memref<1xi64>
  call @log(%new) : (i64) -> ()
  return
}
