// RUN: %corpus %s

// Reductions over each row: whether any bit is set, whether all bits are set (i1), and the number of set bits (i32).
!m = tensor<?x9xi1>
func.func @main(%m: !m) -> (tensor<?xi1>, tensor<?xi1>, tensor<?xi32>) {
  %c0 = arith.constant 0 : index
  %false = arith.constant false
  %true = arith.constant true
  %zero = arith.constant 0 : i32
  %n = tensor.dim %m, %c0 : !m
  %b0 = tensor.empty(%n) : tensor<?xi1>
  %any1 = linalg.fill ins(%false : i1) outs(%b0 : tensor<?xi1>) -> tensor<?xi1>
  %any = linalg.reduce { arith.ori } ins(%m : !m) outs(%any1 : tensor<?xi1>) dimensions = [1]
  %all1 = linalg.fill ins(%true : i1) outs(%b0 : tensor<?xi1>) -> tensor<?xi1>
  %all = linalg.reduce { arith.andi } ins(%m : !m) outs(%all1 : tensor<?xi1>) dimensions = [1]
  %w = arith.extui %m : !m to tensor<?x9xi32>
  %i0 = tensor.empty(%n) : tensor<?xi32>
  %i1 = linalg.fill ins(%zero : i32) outs(%i0 : tensor<?xi32>) -> tensor<?xi32>
  %count = linalg.reduce { arith.addi } ins(%w : tensor<?x9xi32>) outs(%i1 : tensor<?xi32>) dimensions = [1]
  return %any, %all, %count : tensor<?xi1>, tensor<?xi1>, tensor<?xi32>
}
