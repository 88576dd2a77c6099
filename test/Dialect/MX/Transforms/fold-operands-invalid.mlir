// RUN: mx-opt %s --verify-diagnostics --mx-fold-operands

// Reports why a matmul is not folded.

!c = tensor<64x64xf32>

func.func @elements(%a: tensor<64x256xf8E4M3FN>, %s: tensor<64x8xf8E8M0FNU>, %b: tensor<64x256xf4E2M1FN>, %c: !c) -> !c {
  // expected-remark @below {{not folded: operand 'b' is not of type f8E4M3FN or f8E5M2}}
  %0 = mx.matmul ins(%a, %s, %b, %s : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>, tensor<64x256xf4E2M1FN>, tensor<64x8xf8E8M0FNU>) outs(%c : !c) -> !c
  return %0 : !c
}

func.func @nvfp4(%a: tensor<64x256xf4E2M1FN>, %s: tensor<64x16xf8E4M3FN>, %c: !c) -> !c {
  // expected-remark @below {{not folded: operand 'a' has no scales of type f8E8M0FNU}}
  %0 = mx.matmul ins(%a, %s, %a, %s : tensor<64x256xf4E2M1FN>, tensor<64x16xf8E4M3FN>, tensor<64x256xf4E2M1FN>, tensor<64x16xf8E4M3FN>) outs(%c : !c) block_size = 16 -> !c
  return %0 : !c
}

func.func @blocks(%a: tensor<64x256xf8E4M3FN>, %s: tensor<64x8xf8E8M0FNU>, %f: tensor<64x2xf8E8M0FNU>, %c: !c) -> !c {
  // expected-remark @below {{not folded: operand 'b' has blocks of 128}}
  %0 = mx.matmul ins(%a, %s, %a, %f : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>, tensor<64x256xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) outs(%c : !c) b_block_size = 128 -> !c
  return %0 : !c
}

func.func @unscaled(%a: tensor<64x256xbf16>, %b: tensor<64x256xf8E4M3FN>, %s: tensor<64x8xf8E8M0FNU>, %c: !c) -> !c {
  // expected-remark @below {{not folded: operand 'a' has no scales}}
  %0 = mx.matmul ins(%a, %b, %s : tensor<64x256xbf16>, tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>) outs(%c : !c) -> !c
  return %0 : !c
}

func.func @packed(%a: tensor<64x256xf8E4M3FN>, %s: tensor<64x8xf8E8M0FNU>, %b: tensor<64x256xf8E4M3FN, #mxgpu.fragment_64x64>, %c: !c) -> !c {
  // expected-remark @below {{not folded: operand 'b' is packed: fold it first}}
  %0 = mx.matmul ins(%a, %s, %b, %s : tensor<64x256xf8E4M3FN>, tensor<64x8xf8E8M0FNU>, tensor<64x256xf8E4M3FN, #mxgpu.fragment_64x64>, tensor<64x8xf8E8M0FNU>) outs(%c : !c) -> !c
  return %0 : !c
}

func.func @multiple(%a: tensor<64x192xf8E4M3FN>, %s: tensor<64x6xf8E8M0FNU>, %c: !c) -> !c {
  // expected-remark @below {{not folded: its reduction dimension of 192 is not a multiple of 128}}
  %0 = mx.matmul ins(%a, %s, %a, %s : tensor<64x192xf8E4M3FN>, tensor<64x6xf8E8M0FNU>, tensor<64x192xf8E4M3FN>, tensor<64x6xf8E8M0FNU>) outs(%c : !c) -> !c
  return %0 : !c
}

func.func @dynamic(%a: tensor<64x?xf8E4M3FN>, %s: tensor<64x?xf8E8M0FNU>, %c: !c) -> !c {
  // expected-remark @below {{not folded: the size of its reduction dimension is not known}}
  %0 = mx.matmul ins(%a, %s, %a, %s : tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>, tensor<64x?xf8E4M3FN>, tensor<64x?xf8E8M0FNU>) outs(%c : !c) -> !c
  return %0 : !c
}

func.func @reduction(%a: tensor<64x384xf8E4M3FN>, %s: tensor<64x12xf8E8M0FNU>, %o: tensor<2xi32>, %c: tensor<2x64x64xf32>) -> tensor<2x64x64xf32> {
  // expected-remark @below {{not folded: expert groups divide its reduction dimension, and no quantizer writes its operands for it alone}}
  %0 = mx.grouped_matmul ragged = reduction ins(%a, %s, %a, %s : tensor<64x384xf8E4M3FN>, tensor<64x12xf8E8M0FNU>, tensor<64x384xf8E4M3FN>, tensor<64x12xf8E8M0FNU>)
      offsets(%o : tensor<2xi32>) outs(%c : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  return %0 : tensor<2x64x64xf32>
}

func.func @memrefs(%a: memref<64x256xf8E4M3FN>, %s: memref<64x8xf8E8M0FNU>, %c: memref<64x64xf32>) {
  // expected-remark @below {{not folded: it operates on memrefs}}
  mx.matmul ins(%a, %s, %a, %s : memref<64x256xf8E4M3FN>, memref<64x8xf8E8M0FNU>, memref<64x256xf8E4M3FN>, memref<64x8xf8E8M0FNU>) outs(%c : memref<64x64xf32>)
  return
}
