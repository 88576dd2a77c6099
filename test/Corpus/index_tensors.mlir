// RUN: %corpus %s

// Index tensors in 64 bits: consecutive indices from an argument, their squares, and padding zeros.
!t = tensor<?xindex>
func.func @main(%x: !t, %from: index) -> (!t, tensor<?xi64>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : !t
  %m = arith.subi %n, %from : index
  %s = tensor.extract_slice %x[%from] [%m] [1] : !t to !t
  %y = arith.muli %s, %s : !t
  %e0 = tensor.empty(%m) : !t
  %e = linalg.fill ins(%c0 : index) outs(%e0 : !t) -> !t
  %z = tensor.concat dim(0) %y, %e : (!t, !t) -> !t
  %i = arith.index_cast %s : !t to tensor<?xi64>
  %v = tensor.extract %s[%c1] : !t
  return %z, %i, %v : !t, tensor<?xi64>, index
}
