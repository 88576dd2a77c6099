func.func @quantize(%x: tensor<256x512xbf16>, %e: tensor<256x512xf8E4M3FN>,
                    %f: tensor<256x16xf8E8M0FNU>)
    -> (tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) {
  %q, %s = mx.quantize ins(%x : tensor<256x512xbf16>)
      outs(%e, %f : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>)
      -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return %q, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
}
