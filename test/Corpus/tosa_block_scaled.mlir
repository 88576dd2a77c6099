// RUN: %corpus %s

// TOSA to import: an activation is cast to block-scaled numbers and multiplied by block-scaled weights.
!x = tensor<2x21x64xf32>
!w = tensor<2x24x64xf8E4M3FN>
!s = tensor<2x24x2xf8E8M0FNU>
!y = tensor<2x21x24xf32>
func.func @main(%x: !x, %w: !w, %s: !s) -> !y {
  %e, %t = tosa.cast_to_block_scaled %x {block_size = BLOCK_SIZE_32} : (!x) -> (tensor<2x21x64xf8E4M3FN>, tensor<2x21x2xf8E8M0FNU>)
  %y = tosa.matmul_t_block_scaled %e, %t, %w, %s {block_size = BLOCK_SIZE_32} : (tensor<2x21x64xf8E4M3FN>, tensor<2x21x2xf8E8M0FNU>, !w, !s) -> !y
  return %y : !y
}
