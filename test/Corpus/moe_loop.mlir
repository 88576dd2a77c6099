// RUN: %corpus %s

// A loop over expert groups, with ends read by the host: dynamic slices of tokens, and bf16 matmuls.
!x = tensor<?x16xbf16>
!y = tensor<?x9xf32>
func.func @main(%x: !x, %ends: tensor<3xi32>, %w: tensor<3x9x16xbf16>) -> !y {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %x, %c0 : !x
  %y0 = tensor.empty(%rows) : !y
  %y1 = linalg.fill ins(%zero : f32) outs(%y0 : !y) -> !y
  %y:2 = scf.for %g = %c0 to %c3 step %c1 iter_args(%out = %y1, %start = %c0) -> (!y, index) {
    %e = tensor.extract %ends[%g] : tensor<3xi32>
    %end = arith.index_cast %e : i32 to index
    %n = arith.subi %end, %start : index
    %xg = tensor.extract_slice %x[%start, 0] [%n, 16] [1, 1] : !x to !x
    %wg = tensor.extract_slice %w[%g, 0, 0] [1, 9, 16] [1, 1, 1] : tensor<3x9x16xbf16> to tensor<9x16xbf16>
    %r0 = tensor.empty(%n) : !y
    %r1 = linalg.fill ins(%zero : f32) outs(%r0 : !y) -> !y
    %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
        ins(%xg, %wg : !x, tensor<9x16xbf16>) outs(%r1 : !y) -> !y
    %o = tensor.insert_slice %r into %out[%start, 0] [%n, 9] [1, 1] : !y into !y
    scf.yield %o, %end : !y, index
  }
  return %y#0 : !y
}
