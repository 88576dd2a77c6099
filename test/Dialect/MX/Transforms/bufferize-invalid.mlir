// RUN: mx-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" -verify-diagnostics

// Memrefs carry no encoding, so the layout would be lost.
func.func @encoded(%s: tensor<256x16xf8E8M0FNU>,
                   %init: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
    -> tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>> {
  // expected-error @below {{expected tensors without layout encoding to bufferize, found 'tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>'; mx-materialize-layouts makes layouts explicit}}
  // expected-error @below {{failed to bufferize op}}
  %t = mx.relayout ins(%s : tensor<256x16xf8E8M0FNU>)
      outs(%init : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
      -> tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  return %t : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
}
