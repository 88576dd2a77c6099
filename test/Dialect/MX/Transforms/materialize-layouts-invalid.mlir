// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir --mx-materialize-layouts --split-input-file -verify-diagnostics

// CASES
#tiled = #mx.scale_layout<sf_128x4>
// The cast would reinterpret the bytes of the tiles.
func.func @cast(%s: tensor<256x16xf8E8M0FNU, #tiled>) -> tensor<256x16xf8E8M0FNU> {
  // expected-error @below {{'tensor.cast' op cannot carry the layout #mx.scale_layout<sf_128x4> to a physical tensor; expected an mx operation, func, scf.for, scf.if, scf.while, arith.select, tensor.empty or tensor.dim}}
  %0 = tensor.cast %s : tensor<256x16xf8E8M0FNU, #tiled> to tensor<256x16xf8E8M0FNU>
  return %0 : tensor<256x16xf8E8M0FNU>
}

#tiled = #mx.scale_layout<sf_128x4>
// A slice of logical rows is not a slice of physical tiles.
func.func @extract_slice(%s: tensor<256x16xf8E8M0FNU, #tiled>) -> tensor<64x16xf8E8M0FNU, #tiled> {
  // expected-error @below {{'tensor.extract_slice' op cannot carry the layout #mx.scale_layout<sf_128x4>}}
  %0 = tensor.extract_slice %s[0, 0] [64, 16] [1, 1]
      : tensor<256x16xf8E8M0FNU, #tiled> to tensor<64x16xf8E8M0FNU, #tiled>
  return %0 : tensor<64x16xf8E8M0FNU, #tiled>
}

#tiled = #mx.scale_layout<sf_128x4>
func.func @collapse_shape(%s: tensor<2x128x16xf8E8M0FNU, #tiled>) -> tensor<256x16xf8E8M0FNU, #tiled> {
  // expected-error @below {{'tensor.collapse_shape' op cannot carry the layout #mx.scale_layout<sf_128x4>}}
  %0 = tensor.collapse_shape %s [[0, 1], [2]]
      : tensor<2x128x16xf8E8M0FNU, #tiled> into tensor<256x16xf8E8M0FNU, #tiled>
  return %0 : tensor<256x16xf8E8M0FNU, #tiled>
}

func.func @linear_too(%s: tensor<256x16xf8E8M0FNU, #mx.scale_layout<linear>>) -> tensor<256x16xf8E8M0FNU> {
  // expected-error @below {{'tensor.cast' op cannot carry the layout #mx.scale_layout<linear>}}
  %0 = tensor.cast %s : tensor<256x16xf8E8M0FNU, #mx.scale_layout<linear>> to tensor<256x16xf8E8M0FNU>
  return %0 : tensor<256x16xf8E8M0FNU>
}

#tiled = #mx.scale_layout<sf_128x4>
func.func @branch(%s: tensor<256x16xf8E8M0FNU, #tiled>) -> tensor<256x16xf8E8M0FNU, #tiled> {
  // expected-error @above {{'func.func' op cannot carry the layout #mx.scale_layout<sf_128x4>}}
  // expected-error @below {{'cf.br' op cannot carry the layout #mx.scale_layout<sf_128x4>}}
  cf.br ^next(%s : tensor<256x16xf8E8M0FNU, #tiled>)
^next(%t: tensor<256x16xf8E8M0FNU, #tiled>):
  return %t : tensor<256x16xf8E8M0FNU, #tiled>
}

#tiled = #mx.scale_layout<sf_128x4>
// The encoding is not converted if it is nested in another type.
func.func private @callee(tensor<256x16xf8E8M0FNU, #tiled>)
func.func @function_type() {
  // expected-error @below {{'func.constant' op cannot carry the layout #mx.scale_layout<sf_128x4>}}
  %f = func.constant @callee : (tensor<256x16xf8E8M0FNU, #tiled>) -> ()
  return
}

#tiled = #mx.scale_layout<sf_128x4>
func.func @constant() -> tensor<256x16xf8E8M0FNU, #tiled> {
  // expected-error @below {{'arith.constant' op cannot carry the layout #mx.scale_layout<sf_128x4>}}
  %0 = arith.constant dense<1.0> : tensor<256x16xf8E8M0FNU, #tiled>
  return %0 : tensor<256x16xf8E8M0FNU, #tiled>
}

#tiled = #mx.scale_layout<sf_128x4>
// Three row tiles may contain 257 to 384 rows, so the logical size is unknown.
func.func @lost_size(%s: tensor<?x16xf8E8M0FNU, #tiled>) -> index {
  %c0 = arith.constant 0 : index
  // expected-error @below {{'tensor.dim' op expected a tensor.empty or an mx operation that determines the logical size of dimension 0 of a tensor in layout #mx.scale_layout<sf_128x4>, found none}}
  %0 = tensor.dim %s, %c0 : tensor<?x16xf8E8M0FNU, #tiled>
  return %0 : index
}

#tiled = #mx.scale_layout<sf_128x4>
// The operation that defines the size runs only if %p is true.
func.func @size_known_elsewhere(%q: tensor<?x64xf8E4M3FN>, %s: tensor<?x2xf8E8M0FNU, #tiled>,
                                %init: tensor<?x64xf32>, %p: i1) -> index {
  %c0 = arith.constant 0 : index
  // expected-error @below {{'tensor.dim' op expected a tensor.empty or an mx operation}}
  %0 = tensor.dim %s, %c0 : tensor<?x2xf8E8M0FNU, #tiled>
  scf.if %p {
    %x = mx.dequantize ins(%q, %s : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU, #tiled>)
        outs(%init : tensor<?x64xf32>) -> tensor<?x64xf32>
  }
  return %0 : index
}

#tiled = #mx.scale_layout<sf_128x4>
func.func @variable_dimension(%s: tensor<256x16xf8E8M0FNU, #tiled>, %d: index) -> index {
  // expected-error @below {{'tensor.dim' op expected a constant dimension below 2 of a tensor in layout #mx.scale_layout<sf_128x4>, found a variable}}
  %0 = tensor.dim %s, %d : tensor<256x16xf8E8M0FNU, #tiled>
  return %0 : index
}

#tiled = #mx.scale_layout<sf_128x4>
func.func @dimension_out_of_range(%s: tensor<256x16xf8E8M0FNU, #tiled>) -> index {
  %c2 = arith.constant 2 : index
  // expected-error @below {{'tensor.dim' op expected a constant dimension below 2 of a tensor in layout #mx.scale_layout<sf_128x4>, found 2}}
  %0 = tensor.dim %s, %c2 : tensor<256x16xf8E8M0FNU, #tiled>
  return %0 : index
}

// Three row tiles may contain 129 to 192 rows, so the logical size is unknown.
func.func @lost_size_of_weights(%w: tensor<?x64xf8E4M3FN, #mxgpu.fragment_64x64>) -> index {
  %c0 = arith.constant 0 : index
  // expected-error @below {{'tensor.dim' op expected a tensor.empty or an mx operation that determines the logical size of dimension 0 of a tensor in layout #mxgpu.fragment_64x64, found none}}
  %0 = tensor.dim %w, %c0 : tensor<?x64xf8E4M3FN, #mxgpu.fragment_64x64>
  return %0 : index
}

func.func @slice_of_weights(%w: tensor<128x64xf8E4M3FN, #mxgpu.fragment_64x64>) -> tensor<64x64xf8E4M3FN, #mxgpu.fragment_64x64> {
  // expected-error @below {{'tensor.extract_slice' op cannot carry the layout #mxgpu.fragment_64x64 to a physical tensor}}
  %0 = tensor.extract_slice %w[64, 0] [64, 64] [1, 1] : tensor<128x64xf8E4M3FN, #mxgpu.fragment_64x64> to tensor<64x64xf8E4M3FN, #mxgpu.fragment_64x64>
  return %0 : tensor<64x64xf8E4M3FN, #mxgpu.fragment_64x64>
}
