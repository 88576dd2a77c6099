// RUN: %corpus %s

// A window of rows with offset and length as arguments, and the mean along its rows.
!x = tensor<?x8xf32>
func.func @main(%x: !x, %from: index, %count: index) -> (!x, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %w = tensor.extract_slice %x[%from, 0] [%count, 8] [1, 1] : !x to !x
  %s0 = tensor.empty() : tensor<8xf32>
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.reduce { arith.addf } ins(%w : !x) outs(%s1 : tensor<8xf32>) dimensions = [0]
  %ci = arith.index_cast %count : index to i32
  %cf = arith.sitofp %ci : i32 to f32
  %c0 = tensor.splat %cf : tensor<8xf32>
  %m = arith.divf %s, %c0 : tensor<8xf32>
  return %w, %m : !x, tensor<8xf32>
}
