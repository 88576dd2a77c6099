// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// Each function violates one constraint of docs/reference/Spec.md and is named after this constraint.

// -----

// CASES
// expected-error @below {{expected no expert groups in a layout that is not ragged, found 3}}
func.func private @scale_layout_c1(tensor<128x4xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = none, groups = 3>>)

// expected-error @below {{expected 1 to 2147483648 expert groups in a ragged layout, found 0}}
func.func private @scale_layout_c2(tensor<128x4xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 0>>)

// expected-error @below {{expected 1 to 2147483648 expert groups in a ragged layout, found 2147483649}}
func.func private @scale_layout_c2_large(tensor<128x4xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 2147483649>>)

// expected-error @below {{expected a scale tensor of rank 2 or more, found rank 1}}
func.func private @scale_layout_c3(tensor<128xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)

// expected-error @below {{expected a ragged scale tensor of rank 2, found rank 3}}
func.func private @scale_layout_c4(tensor<2x128x4xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 2>>)

// expected-error @below {{expected scales of type f8E8M0FNU, f8E4M3FN or f32, found 'f16'}}
func.func private @scale_layout_c5(tensor<128x4xf16, #mx.scale_layout<sf_128x4>>)

// expected-error @below {{expected the linear layout or sf_128x4 with scales of type 'f8E8M0FNU', found #mx.scale_layout<mn_major>}}
func.func private @scale_layout_c5_powers(tensor<200x4xf8E8M0FNU, #mx.scale_layout<mn_major>>)

// expected-error @below {{expected the linear layout or mn_major with scales of type 'f32', found #mx.scale_layout<sf_128x4>}}
func.func private @scale_layout_c5_f32(tensor<200x4xf32, #mx.scale_layout<sf_128x4>>)

// expected-error @below {{expected one of [linear, sf_128x4, mn_major] for physical layout of a tensor's scales, got: swizzled}}
func.func private @scale_layout_syntax(tensor<128x4xf8E8M0FNU, #mx.scale_layout<swizzled>>)

// expected-error @below {{expected an operand of rank 2 or more in order #mxgpu.fragment_64x64, found rank 1}}
func.func private @operand_order_c1(tensor<128xf8E4M3FN, #mxgpu.fragment_64x64>)

// expected-error @below {{expected elements of type f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN or f4E2M1FN in order #mxgpu.fragment_64x64, found 'i8'}}
func.func private @operand_order_c2(tensor<128x64xi8, #mxgpu.fragment_64x64>)

// expected-error @below {{expected an operand of whole tiles of 1 x 64 elements in order #mxgpu.k_order<64>, found a size of 96}}
func.func private @operand_order_c3(tensor<128x96xbf16, #mxgpu.k_order<64>>)

// expected-error @below {{expected 1 to 2147483648 expert groups, found 0}}
func.func private @ragged_c1(tensor<64x128xf8E4M3FN, #mx.ragged<groups = 0, align = 128>>)

// expected-error @below {{expected expert groups aligned to 128, found 64}}
func.func private @ragged_c2(tensor<64x128xf8E4M3FN, #mx.ragged<groups = 2, align = 64>>)

// expected-error @below {{expected a tensor of rank 2, found rank 1}}
func.func private @ragged_c3(tensor<128xf8E4M3FN, #mx.ragged<groups = 2, align = 128>>)
