// RUN: %corpus %s

// TOSA to import: MXFP6 numbers are cast to f32.
!e = tensor<5x3x64xf6E3M2FN>
!s = tensor<5x3x2xf8E8M0FNU>
func.func @main(%e: !e, %s: !s) -> tensor<5x3x64xf32> {
  %y = tosa.cast_from_block_scaled %e, %s {block_size = BLOCK_SIZE_32} : (!e, !s) -> tensor<5x3x64xf32>
  return %y : tensor<5x3x64xf32>
}
