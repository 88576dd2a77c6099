// RUN: %corpus %s

// scf.forall over blocks of rows, as tiling emits it.
!x = tensor<8x3xf32>
!s = tensor<2x3xf32>
func.func @main(%x: !x) -> !x {
  %o = tensor.empty() : !x
  %r = scf.forall (%i) in (4) shared_outs(%acc = %o) -> (!x) {
    %k = affine.apply affine_map<(d) -> (d * 2)>(%i)
    %s = tensor.extract_slice %x[%k, 0] [2, 3] [1, 1] : !x to !s
    %e = tensor.empty() : !s
    %t = linalg.exp ins(%s : !s) outs(%e : !s) -> !s
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %acc[%k, 0] [2, 3] [1, 1] : !s into !x
    }
  }
  return %r : !x
}
