// RUN: %corpus %s

// A loop adds the gradients of micro-batches: slices of stacked tokens, and matmuls along columns of both operands.
!dy = tensor<3x64x48xbf16>
!x = tensor<3x64x80xbf16>
!dw = tensor<48x80xf32>
!de = tensor<48x64xf8E5M2>
!ds = tensor<48x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!xe = tensor<80x64xf8E4M3FN>
!xs = tensor<80x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @main(%dy: !dy, %x: !x, %dw: !dw) -> !dw {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %sum = scf.for %i = %c0 to %c3 step %c1 iter_args(%acc = %dw) -> (!dw) {
    %d = tensor.extract_slice %dy[%i, 0, 0] [1, 64, 48] [1, 1, 1] : !dy to tensor<64x48xbf16>
    %v = tensor.extract_slice %x[%i, 0, 0] [1, 64, 80] [1, 1, 1] : !x to tensor<64x80xbf16>
    %de0 = tensor.empty() : !de
    %ds0 = tensor.empty() : !ds
    %de:2 = mx.quantize ins(%d : tensor<64x48xbf16>) outs(%de0, %ds0 : !de, !ds) axes = [0] -> !de, !ds
    %xe0 = tensor.empty() : !xe
    %xs0 = tensor.empty() : !xs
    %xe:2 = mx.quantize ins(%v : tensor<64x80xbf16>) outs(%xe0, %xs0 : !xe, !xs) axes = [0] -> !xe, !xs
    %next = mx.matmul ins(%de#0, %de#1, %xe#0, %xe#1 : !de, !ds, !xe, !xs) outs(%acc : !dw) accumulate -> !dw
    scf.yield %next : !dw
  }
  return %sum : !dw
}
