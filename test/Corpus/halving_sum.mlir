// RUN: %corpus %s

// A sum by halves: scf.while carries the tensor, which halves in each iteration.
!t = tensor<?xf32>
func.func @main(%x: !t) -> (!t, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %r:2 = scf.while (%a = %x, %k = %c0) : (!t, index) -> (!t, index) {
    %d = tensor.dim %a, %c0 : !t
    %more = arith.cmpi ugt, %d, %c1 : index
    scf.condition(%more) %a, %k : !t, index
  } do {
  ^bb0(%a: !t, %k: index):
    %d = tensor.dim %a, %c0 : !t
    %h = arith.divui %d, %c2 : index
    %l = tensor.extract_slice %a[0] [%h] [1] : !t to !t
    %u = tensor.extract_slice %a[%h] [%h] [1] : !t to !t
    %s = arith.addf %l, %u : !t
    %next = arith.addi %k, %c1 : index
    scf.yield %s, %next : !t, index
  }
  return %r#0, %r#1 : !t, index
}
