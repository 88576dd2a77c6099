// RUN: %corpus %s

// Converts a batch's scale tiles to linear scales, and a slice of linear scales to tiles, with dynamic sizes.
!t = tensor<?x131x6xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!l = tensor<?x131x6xf8E8M0FNU>
!w = tensor<?x?xf8E8M0FNU>
!p = tensor<?x5xf8E8M0FNU>
!q = tensor<?x5xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @main(%t: !t, %w: !w, %column: index) -> (!l, !q, !t) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %t, %c0 : !t
  %l0 = tensor.empty(%n) : !l
  %l = mx.relayout ins(%t : !t) outs(%l0 : !l) -> !l
  %m = tensor.dim %w, %c0 : !w
  %p = tensor.extract_slice %w[0, %column] [%m, 5] [1, 1] : !w to !p
  %q0 = tensor.empty(%m) : !q
  %q = mx.relayout ins(%p : !p) outs(%q0 : !q) -> !q
  %t0 = tensor.empty(%n) : !t
  %back = mx.relayout ins(%l : !l) outs(%t0 : !t) -> !t
  return %l, %q, %back : !l, !q, !t
}
