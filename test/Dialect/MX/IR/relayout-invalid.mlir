// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// Each function violates one constraint of docs/reference/Spec.md and is named after this constraint.

// -----

// TEMPLATE function
// SET function = none
func.func ${function} {
  // BLOCK body
  // END
  return
}

// -----

// CASES function body
// SET function = @relayout_input_type(%i: tensor<256x16xi8>, %o0: tensor<2x4x32x4x4xf8E8M0FNU>)
// expected-error @below {{'mx.relayout' op operand #0 must be ranked tensor or memref of f8E8M0FNU, f8E4M3FN or f32 scales, but got 'tensor<256x16xi8>'}}
%r = mx.relayout ins(%i : tensor<256x16xi8>) outs(%o0 : tensor<2x4x32x4x4xf8E8M0FNU>) -> tensor<2x4x32x4x4xf8E8M0FNU>

// SET function = @relayout_c1(%i: memref<256x16xf8E8M0FNU>, %o0: tensor<2x4x32x4x4xf8E8M0FNU>)
// expected-error @below {{'mx.relayout' op expected all tensors or all memrefs, found 'memref<256x16xf8E8M0FNU>' and 'tensor<2x4x32x4x4xf8E8M0FNU>'}}
%r = mx.relayout ins(%i : memref<256x16xf8E8M0FNU>) outs(%o0 : tensor<2x4x32x4x4xf8E8M0FNU>) -> tensor<2x4x32x4x4xf8E8M0FNU>

// SET function = @relayout_c2(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x16xf8E8M0FNU>, %o1: tensor<256x16xf8E8M0FNU>)
// expected-error @below {{'mx.relayout' op expected 1 operand in outs, found 2}}
%r:2 = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU>) outs(%o0, %o1 : tensor<256x16xf8E8M0FNU>, tensor<256x16xf8E8M0FNU>) -> tensor<256x16xf8E8M0FNU>, tensor<256x16xf8E8M0FNU>

// SET function = @relayout_c3(%i: tensor<16xf8E8M0FNU>, %o0: tensor<16xf8E8M0FNU>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.relayout' op expected input of rank 2 or more, found rank 1}}
%r = mx.relayout ins(%i : tensor<16xf8E8M0FNU>) outs(%o0 : tensor<16xf8E8M0FNU>) -> tensor<16xf8E8M0FNU>

// SET function = @relayout_c4(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<2x4x32x4x4xf8E4M3FN>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.relayout' op expected outs of type 'f8E8M0FNU' like the input, found 'f8E4M3FN'}}
%r = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<2x4x32x4x4xf8E4M3FN>) -> tensor<2x4x32x4x4xf8E4M3FN>

// SET function = @relayout_c5(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<2x4x32x4x4xf8E8M0FNU>)
// expected-error @below {{'mx.relayout' op expected 'ragged' and 'offsets' together, found only ragged}}
%r = mx.relayout ragged = rows ins(%i : tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<2x4x32x4x4xf8E8M0FNU>) -> tensor<2x4x32x4x4xf8E8M0FNU>

// SET function = @relayout_c5_reduction(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<2x4x32x4x4xf8E8M0FNU>, %g: tensor<4xi32>)
// expected-error @below {{'mx.relayout' op expected ragged = rows, found reduction}}
%r = mx.relayout ragged = reduction ins(%i : tensor<256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<2x4x32x4x4xf8E8M0FNU>) -> tensor<2x4x32x4x4xf8E8M0FNU>

// SET function = @relayout_c6(%i: tensor<256x16xf8E8M0FNU, "row major">, %o0: tensor<2x4x32x4x4xf8E8M0FNU>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.relayout' op expected input with a #mx.scale_layout encoding, found "row major"}}
%r = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU, "row major">) outs(%o0 : tensor<2x4x32x4x4xf8E8M0FNU>) -> tensor<2x4x32x4x4xf8E8M0FNU>

// SET function = @relayout_c7(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<1x4x32x4x4xf8E8M0FNU>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.relayout' op expected dimension 0 of outs to be 2, found 1}}
%r = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<1x4x32x4x4xf8E8M0FNU>) -> tensor<1x4x32x4x4xf8E8M0FNU>

// SET function = @relayout_c7_logical(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<128x32xf8E8M0FNU>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.relayout' op expected dimension 0 of outs to be 256, found 128}}
%r = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<128x32xf8E8M0FNU>) -> tensor<128x32xf8E8M0FNU>

// SET function = @relayout_c7_rank(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<2x4x32x16xf8E8M0FNU>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.relayout' op expected outs of rank 2, or rank 5 if materialized, found rank 4}}
%r = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<2x4x32x16xf8E8M0FNU>) -> tensor<2x4x32x16xf8E8M0FNU>

// SET function = @relayout_c7_ragged(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<2x4x32x4x4xf8E8M0FNU>, %g: tensor<4xi32>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.relayout' op expected dimension 0 of outs to be 6, found 2}}
%r = mx.relayout ragged = rows ins(%i : tensor<256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<2x4x32x4x4xf8E8M0FNU>) -> tensor<2x4x32x4x4xf8E8M0FNU>

// SET function = @relayout_c8(%i: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %o0: tensor<2x4x32x4x4xf8E8M0FNU>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.relayout' op expected input in the linear layout, because outs is materialized, found #mx.scale_layout<sf_128x4>}}
%r = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) outs(%o0 : tensor<2x4x32x4x4xf8E8M0FNU>) -> tensor<2x4x32x4x4xf8E8M0FNU>

// SET function = @relayout_c8_materialized(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<2x4x32x4x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.relayout' op expected outs without encoding, found #mx.scale_layout<sf_128x4>}}
%r = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<2x4x32x4x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<2x4x32x4x4xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

// SET function = @relayout_c9(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x16xf8E8M0FNU>, %g: tensor<4xi32>)
// expected-error @below {{'mx.relayout' op expected one linear and one sf_128x4 layout with ragged = rows, found #mx.scale_layout<linear> and #mx.scale_layout<linear>}}
%r = mx.relayout ragged = rows ins(%i : tensor<256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<256x16xf8E8M0FNU>) -> tensor<256x16xf8E8M0FNU>

// SET function = @relayout_c9_kind(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, %g: tensor<4xi32>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.relayout' op expected outs with ragged = rows, found #mx.scale_layout<sf_128x4>}}
%r = mx.relayout ragged = rows ins(%i : tensor<256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) -> tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

// SET function = @relayout_c9_groups(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>, %g: tensor<4xi32>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.relayout' op expected outs in 4 expert groups, found #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>}}
%r = mx.relayout ragged = rows ins(%i : tensor<256x16xf8E8M0FNU>) offsets(%g : tensor<4xi32>) outs(%o0 : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>) -> tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>

// SET function = @relayout_c10(%i: tensor<256x16xf8E8M0FNU>, %o0: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>)
// expected-error @below {{'mx.relayout' op expected ragged = rows and offsets to convert #mx.scale_layout<linear> to #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>, found neither}}
%r = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU>) outs(%o0 : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>) -> tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 3>>

// SET function = @relayout_c10_groups(%i: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 2>>, %o0: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 3>>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.relayout' op expected outs with the expert groups of #mx.scale_layout<sf_128x4, ragged = reduction, groups = 2>, found #mx.scale_layout<sf_128x4, ragged = reduction, groups = 3>}}
%r = mx.relayout ins(%i : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 2>>) outs(%o0 : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 3>>) -> tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 3>>
