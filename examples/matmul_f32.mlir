// The matmul of matmul.mlir with static shapes and an f32 result, which differs from
// the exact sum only by the error of the accumulator.

!x = tensor<256x512xbf16>
!w = tensor<384x512xbf16>
!xe = tensor<256x512xf8E4M3FN>
!we = tensor<384x512xf8E4M3FN>
!xs = tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!ws = tensor<384x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<256x384xf32>

func.func @main(%x: !x, %w: !w) -> !y {
  %x_elements = tensor.empty() : !xe
  %x_scales = tensor.empty() : !xs
  %xq:2 = mx.quantize ins(%x : !x) outs(%x_elements, %x_scales : !xe, !xs) -> !xe, !xs

  %w_elements = tensor.empty() : !we
  %w_scales = tensor.empty() : !ws
  %wq:2 = mx.quantize ins(%w : !w) outs(%w_elements, %w_scales : !we, !ws) -> !we, !ws

  %init = tensor.empty() : !y
  %y = mx.matmul ins(%xq#0, %xq#1, %wq#0, %wq#1 : !xe, !xs, !we, !ws)
      outs(%init : !y) -> !y
  return %y : !y
}
