// RUN: mx-opt %s -split-input-file -verify-diagnostics --mx-to-nvvm="chip=sm_120a"

// Where no schedule is legal, the message says why.

!x = tensor<256x256xbf16>
!w = tensor<256x256xf4E2M1FN, #mx.weight_layout<fragment_64x64>>
!s = tensor<256x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!y = tensor<256x256xf32>
func.func @packed(%x: !x, %w: !w, %s: !s, %y: !y) -> !y {
  // expected-error @below {{expected b that is not packed where sm_120a multiplies bf16 by weights, found packed weights: leave out mx.pack_weights}}
  %r = mx.matmul ins(%x, %w, %s : !x, !w, !s) outs(%y : !y) -> !y
  return %r : !y
}

// -----

!x = tensor<?x256xbf16>
!w = tensor<2x256x256xf4E2M1FN>
!s = tensor<2x256x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!q = tensor<?x256xf8E4M3FN>
!qs = tensor<?x8xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 2>>
func.func @quantized(%x: !x, %w: !w, %s: !s, %o: tensor<2xi32>, %q: !q, %qs: !qs) -> (!q, !qs) {
  // expected-error @below {{expected a result that is not quantized where sm_120a multiplies bf16 by weights, found one that is: give it to an mx.quantize}}
  %r:2 = mx.grouped_matmul ragged = rows ins(%x, %w, %s : !x, !w, !s) offsets(%o : tensor<2xi32>)
      outs(%q, %qs : !q, !qs) -> !q, !qs
  return %r#0, %r#1 : !q, !qs
}
