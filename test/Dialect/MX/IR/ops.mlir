// RUN: mx-opt %s | mx-opt | FileCheck %s
// RUN: mx-opt %s --mlir-print-op-generic | mx-opt | FileCheck %s
// RUN: mx-opt %s --emit-bytecode | mx-opt | FileCheck %s

// Round-trips every operation with static and dynamic sizes, on tensors and
// memrefs, and with logical and materialized scales.

// CHECK-LABEL: func @quantize
// CHECK:         mx.quantize ins(%{{[^ ,)]+}} : tensor<256x512xbf16>)
// CHECK-SAME:      outs(%{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
// CHECK-SAME:      -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
func.func @quantize(%x: tensor<256x512xbf16>, %e: tensor<256x512xf8E4M3FN>,
                    %f: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
    -> (tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>) {
  %q, %s = mx.quantize ins(%x : tensor<256x512xbf16>)
      outs(%e, %f : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
      axes = [1] scale_rounding = ceil
      -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  return %q, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
}

// CHECK-LABEL: func @quantize_both_axes
// CHECK:         mx.quantize
// CHECK-SAME:      axes = [1, 0] scale_rounding = floor
func.func @quantize_both_axes(%x: tensor<3x?x64xf32>, %e: tensor<3x?x64xf8E5M2>,
                              %f: tensor<3x?x2xf8E8M0FNU>, %g: tensor<3x64x?xi8>,
                              %h: tensor<3x64x?xf8E8M0FNU, #mx.scale_layout<linear>>) {
  %r:4 = mx.quantize ins(%x : tensor<3x?x64xf32>)
      outs(%e, %f, %g, %h : tensor<3x?x64xf8E5M2>, tensor<3x?x2xf8E8M0FNU>, tensor<3x64x?xi8>,
                            tensor<3x64x?xf8E8M0FNU, #mx.scale_layout<linear>>)
      axes = [1, 0] scale_rounding = floor
      -> tensor<3x?x64xf8E5M2>, tensor<3x?x2xf8E8M0FNU>, tensor<3x64x?xi8>,
         tensor<3x64x?xf8E8M0FNU, #mx.scale_layout<linear>>
  return
}

// CHECK-LABEL: func @quantize_nvfp4
// CHECK:         mx.quantize ins(%{{[^ ,)]+}} : memref<64x48xf32>) global_scale(%{{[^ ,)]+}})
// CHECK-SAME:      outs(%{{[^ ,)]+}}, %{{[^ ,)]+}} : memref<64x48xf4E2M1FN>, memref<1x1x32x4x4xf8E4M3FN>){{$}}
func.func @quantize_nvfp4(%x: memref<64x48xf32>, %enc: f32, %e: memref<64x48xf4E2M1FN>,
                          %f: memref<1x1x32x4x4xf8E4M3FN>) {
  mx.quantize ins(%x : memref<64x48xf32>) global_scale(%enc)
      outs(%e, %f : memref<64x48xf4E2M1FN>, memref<1x1x32x4x4xf8E4M3FN>)
  return
}

// CHECK-LABEL: func @quantize_stochastically
// CHECK:         mx.quantize ins(%{{[^ ,)]+}} : tensor<64x64xbf16>) seed(%{{[^ ,)]+}}) outs
func.func @quantize_stochastically(%x: tensor<64x64xbf16>, %seed: i64, %e: tensor<64x64xf8E4M3FN>,
                                   %f: tensor<64x2xf8E8M0FNU>) {
  %r:2 = mx.quantize ins(%x : tensor<64x64xbf16>) seed(%seed)
      outs(%e, %f : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>) -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>
  return
}

// CHECK-LABEL: func @amax
// CHECK:         mx.amax ins(%{{[^ ,)]+}} : tensor<?x64xbf16>) outs(%{{[^ ,)]+}} : tensor<f32>) -> tensor<f32>
// CHECK:         mx.amax ins(%{{[^ ,)]+}} : memref<7xf16>) outs(%{{[^ ,)]+}} : memref<f32>){{$}}
func.func @amax(%x: tensor<?x64xbf16>, %init: tensor<f32>, %y: memref<7xf16>, %m: memref<f32>) -> tensor<f32> {
  %r = mx.amax ins(%x : tensor<?x64xbf16>) outs(%init : tensor<f32>) -> tensor<f32>
  mx.amax ins(%y : memref<7xf16>) outs(%m : memref<f32>)
  return %r : tensor<f32>
}

// The input has ragged rows, so the destinations of axis 0 have a ragged
// reduction dimension of roundup(300 + 127 * 4, 128) elements.
// CHECK-LABEL: func @quantize_ragged
// CHECK:         mx.quantize ragged = rows ins(%{{[^ ,)]+}} : tensor<300x64xbf16>) offsets(%{{[^ ,)]+}} : tensor<4xi32>)
func.func @quantize_ragged(%x: tensor<300x64xbf16>, %o: tensor<4xi32>, %e: tensor<300x64xf8E4M3FN>,
                           %f: tensor<300x2xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>,
                           %g: tensor<64x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>,
                           %h: tensor<64x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>) {
  %r:4 = mx.quantize ragged = rows ins(%x : tensor<300x64xbf16>) offsets(%o : tensor<4xi32>)
      outs(%e, %f, %g, %h : tensor<300x64xf8E4M3FN>,
           tensor<300x2xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>,
           tensor<64x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>,
           tensor<64x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>)
      axes = [1, 0]
      -> tensor<300x64xf8E4M3FN>,
         tensor<300x2xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>,
         tensor<64x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>,
         tensor<64x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>
  return
}

// The same quantization writes materialized scales.
// CHECK-LABEL: func @quantize_ragged_materialized
// CHECK:         mx.quantize ragged = rows
// CHECK-SAME:      -> tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>, tensor<64x896xf8E4M3FN>, tensor<1x7x32x4x4xf8E8M0FNU>
func.func @quantize_ragged_materialized(%x: tensor<300x64xbf16>, %o: tensor<4xi32>,
                                        %e: tensor<300x64xf8E4M3FN>, %f: tensor<6x1x32x4x4xf8E8M0FNU>,
                                        %g: tensor<64x896xf8E4M3FN>, %h: tensor<1x7x32x4x4xf8E8M0FNU>) {
  %r:4 = mx.quantize ragged = rows ins(%x : tensor<300x64xbf16>) offsets(%o : tensor<4xi32>)
      outs(%e, %f, %g, %h : tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>,
           tensor<64x896xf8E4M3FN>, tensor<1x7x32x4x4xf8E8M0FNU>)
      axes = [1, 0]
      -> tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>,
         tensor<64x896xf8E4M3FN>, tensor<1x7x32x4x4xf8E8M0FNU>
  return
}

// CHECK-LABEL: func @pack_k_order(
// CHECK:         mx.pack_operand ins(%{{[^ ]*}} : tensor<?x512xbf16>) outs(%{{[^ ]*}} : tensor<?x512xbf16, #mxgpu.k_order<64>>) -> tensor<?x512xbf16, #mxgpu.k_order<64>>
// CHECK:         mx.pack_operand order = #mxgpu.k_order<64> ragged = rows ins(%{{[^ ]*}} : tensor<?x512xf4E2M1FN>) scales(%{{[^ ]*}} : tensor<?x8x32x4x4xf8E4M3FN>) offsets(%{{[^ ]*}} : tensor<4xi32>)
// CHECK-SAME:      outs(%{{[^ ]*}} : tensor<?x512xbf16>) block_size = 16 -> tensor<?x512xbf16>
!k = tensor<?x512xbf16, #mxgpu.k_order<64>>
func.func @pack_k_order(%x: tensor<?x512xbf16>, %q: tensor<?x512xf4E2M1FN>, %s: tensor<?x8x32x4x4xf8E4M3FN>,
                        %o: tensor<4xi32>, %init: tensor<?x512xbf16>, %k: !k) -> (!k, tensor<?x512xbf16>) {
  %y = mx.pack_operand ins(%x : tensor<?x512xbf16>) outs(%k : !k) -> !k
  %z = mx.pack_operand order = #mxgpu.k_order<64> ragged = rows ins(%q : tensor<?x512xf4E2M1FN>) scales(%s : tensor<?x8x32x4x4xf8E4M3FN>)
      offsets(%o : tensor<4xi32>) outs(%init : tensor<?x512xbf16>) block_size = 16 -> tensor<?x512xbf16>
  return %y, %z : !k, tensor<?x512xbf16>
}

// CHECK-LABEL: func @dequantize
// CHECK:         mx.dequantize ins(%{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>)
// CHECK-SAME:      outs(%{{[^ ,)]+}} : tensor<256x512xbf16>) -> tensor<256x512xbf16>
// CHECK:         mx.dequantize ragged = reduction ins(%{{[^ ]*}}, %{{[^ ]*}} : tensor<64x896xi8>, tensor<1x7x32x4x4xf8E8M0FNU>)
// CHECK-SAME:      offsets(%{{[^ ,)]+}} : tensor<4xi64>) outs(%{{[^ ,)]+}} : tensor<64x300xf32>)
// CHECK:         mx.dequantize ragged = reduction padded ins(%{{[^ ]*}}, %{{[^ ]*}} : tensor<64x896xi8>, tensor<1x7x32x4x4xf8E8M0FNU>)
// CHECK-SAME:      offsets(%{{[^ ,)]+}} : tensor<4xi64>) outs(%{{[^ ,)]+}} : tensor<64x896xf32>)
func.func @dequantize(%q: tensor<256x512xf8E4M3FN>, %s: tensor<256x16xf8E8M0FNU>,
                      %init: tensor<256x512xbf16>, %p: tensor<64x896xi8>,
                      %t: tensor<1x7x32x4x4xf8E8M0FNU>, %o: tensor<4xi64>,
                      %unpadded: tensor<64x300xf32>,
                      %padded: tensor<64x896xf32>) -> tensor<256x512xbf16> {
  %x = mx.dequantize ins(%q, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>)
      outs(%init : tensor<256x512xbf16>) -> tensor<256x512xbf16>
  %y = mx.dequantize ragged = reduction ins(%p, %t : tensor<64x896xi8>, tensor<1x7x32x4x4xf8E8M0FNU>)
      offsets(%o : tensor<4xi64>) outs(%unpadded : tensor<64x300xf32>) -> tensor<64x300xf32>
  %z = mx.dequantize ragged = reduction padded ins(%p, %t : tensor<64x896xi8>, tensor<1x7x32x4x4xf8E8M0FNU>)
      offsets(%o : tensor<4xi64>) outs(%padded : tensor<64x896xf32>) -> tensor<64x896xf32>
  return %x : tensor<256x512xbf16>
}

// CHECK-LABEL: func @relayout
// CHECK:         mx.relayout ins(%{{[^ ,)]+}} : tensor<256x16xf8E8M0FNU>)
// CHECK-SAME:      outs(%{{[^ ,)]+}} : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
// CHECK:         mx.relayout ins(%{{[^ ,)]+}} : memref<256x16xf8E8M0FNU>) outs(%{{[^ ,)]+}} : memref<2x4x32x4x4xf8E8M0FNU>){{$}}
// CHECK:         mx.relayout ragged = rows ins(%{{[^ ,)]+}} : memref<256x16xf8E8M0FNU>) offsets(%{{[^ ,)]+}} : memref<3xi32>)
// CHECK-SAME:      outs(%{{[^ ,)]+}} : memref<5x4x32x4x4xf8E8M0FNU>){{$}}
func.func @relayout(%s: tensor<256x16xf8E8M0FNU>,
                    %init: tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>,
                    %l: memref<256x16xf8E8M0FNU>, %t: memref<2x4x32x4x4xf8E8M0FNU>,
                    %o: memref<3xi32>, %r: memref<5x4x32x4x4xf8E8M0FNU>)
    -> tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>> {
  %0 = mx.relayout ins(%s : tensor<256x16xf8E8M0FNU>)
      outs(%init : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
      -> tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
  mx.relayout ins(%l : memref<256x16xf8E8M0FNU>) outs(%t : memref<2x4x32x4x4xf8E8M0FNU>)
  mx.relayout ragged = rows ins(%l : memref<256x16xf8E8M0FNU>) offsets(%o : memref<3xi32>)
      outs(%r : memref<5x4x32x4x4xf8E8M0FNU>)
  return %0 : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
}

// CHECK-LABEL: func @fold
// CHECK:         mx.fold ins(%{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<4x64x256xf8E5M2>, tensor<4x64x8xf8E8M0FNU>)
// CHECK-SAME:      outs(%{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<4x64x256xf8E5M2>, tensor<4x64x1xf8E8M0FNU>)
// CHECK-SAME:      block_size = row -> tensor<4x64x256xf8E5M2>, tensor<4x64x1xf8E8M0FNU>
// CHECK:         mx.fold ragged = rows ins(%{{.*}}) offsets(%{{[^ ,)]+}} : tensor<3xi64>) outs(%{{.*}}) block_size = 128 {tag} ->
func.func @fold(%x: tensor<4x64x256xf8E5M2>, %s: tensor<4x64x8xf8E8M0FNU>, %f: tensor<4x64x1xf8E8M0FNU>,
                %r: tensor<?x256xf8E4M3FN>, %rs: tensor<?x2x32x4x4xf8E8M0FNU>, %g: tensor<3xi64>, %rf: tensor<?x1x32x4x4xf8E8M0FNU>)
    -> tensor<4x64x1xf8E8M0FNU> {
  %0:2 = mx.fold ins(%x, %s : tensor<4x64x256xf8E5M2>, tensor<4x64x8xf8E8M0FNU>)
      outs(%x, %f : tensor<4x64x256xf8E5M2>, tensor<4x64x1xf8E8M0FNU>)
      block_size = row -> tensor<4x64x256xf8E5M2>, tensor<4x64x1xf8E8M0FNU>
  %1:2 = mx.fold ragged = rows ins(%r, %rs : tensor<?x256xf8E4M3FN>, tensor<?x2x32x4x4xf8E8M0FNU>) offsets(%g : tensor<3xi64>)
      outs(%r, %rf : tensor<?x256xf8E4M3FN>, tensor<?x1x32x4x4xf8E8M0FNU>)
      block_size = 128 {tag} -> tensor<?x256xf8E4M3FN>, tensor<?x1x32x4x4xf8E8M0FNU>
  return %0#1 : tensor<4x64x1xf8E8M0FNU>
}

// CHECK-LABEL: func @spreads
// CHECK:         mx.fold ins(%{{.*}}) outs(%{{.*}}) block_size = row spreads {tag} -> tensor<64x512xf8E5M2>, tensor<64x1xf8E8M0FNU>, tensor<64x1xi8>
// CHECK:         mx.fused_quantize ins(%{{.*}}) outs(%{{.*}}) axes = [1, 0] block_size = row spreads amax scale_rounding = even
func.func @spreads(%x: tensor<64x512xf8E5M2>, %s: tensor<64x16xf8E8M0FNU>, %f: tensor<64x1xf8E8M0FNU>, %d: tensor<64x1xi8>,
                   %y: memref<?x512xf32>, %e0: memref<?x512xf8E4M3FN>, %f0: memref<?x1xf8E8M0FNU>, %d0: memref<?x1xi8>,
                   %e1: memref<512x?xf8E4M3FN>, %f1: memref<512x1xf8E8M0FNU>, %d1: memref<1x512xi8>, %m: memref<f32>) -> tensor<64x1xi8> {
  %0:3 = mx.fold ins(%x, %s : tensor<64x512xf8E5M2>, tensor<64x16xf8E8M0FNU>) outs(%x, %f, %d : tensor<64x512xf8E5M2>, tensor<64x1xf8E8M0FNU>, tensor<64x1xi8>)
      block_size = row spreads {tag} -> tensor<64x512xf8E5M2>, tensor<64x1xf8E8M0FNU>, tensor<64x1xi8>
  mx.fused_quantize ins(%y : memref<?x512xf32>)
      outs(%e0, %f0, %d0, %e1, %f1, %d1, %m : memref<?x512xf8E4M3FN>, memref<?x1xf8E8M0FNU>, memref<?x1xi8>,
           memref<512x?xf8E4M3FN>, memref<512x1xf8E8M0FNU>, memref<1x512xi8>, memref<f32>)
      axes = [1, 0] block_size = row spreads amax scale_rounding = even
  return %0#2 : tensor<64x1xi8>
}

// CHECK-LABEL: func @pack_operand
// CHECK:         mx.pack_operand ins(%{{[^ ,)]+}} : tensor<128x512xf4E2M1FN>)
// CHECK-SAME:      outs(%{{[^ ,)]+}} : tensor<128x512xf4E2M1FN, #mxgpu.fragment_64x64>) -> tensor<128x512xf4E2M1FN, #mxgpu.fragment_64x64>
// CHECK:         mx.matmul ins(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<?x512xbf16>, tensor<128x512xf4E2M1FN, #mxgpu.fragment_64x64>, tensor<128x16xf8E8M0FNU>)
// CHECK:         mx.pack_operand order = #mxgpu.fragment_64x64 ins(%{{[^ ,)]+}} : memref<4x100x96xf8E5M2>) outs(%{{[^ ,)]+}} : memref<4x2x2x128x32xf8E5M2>){{$}}
// CHECK:         mx.grouped_matmul ragged = rows ins(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}} : memref<300x96xbf16>, memref<4x2x2x128x32xf8E5M2>, memref<4x100x3xf8E8M0FNU>)
// CHECK-SAME:      outs(%{{[^ ,)]+}} : memref<300x100xf32>) b_order = #mxgpu.fragment_64x64
func.func @pack_operand(%w: tensor<128x512xf4E2M1FN>, %ws: tensor<128x16xf8E8M0FNU>,
                        %init: tensor<128x512xf4E2M1FN, #mxgpu.fragment_64x64>,
                        %x: tensor<?x512xbf16>, %out: tensor<?x128xbf16>,
                        %e: memref<4x100x96xf8E5M2>, %es: memref<4x100x3xf8E8M0FNU>,
                        %p: memref<4x2x2x128x32xf8E5M2>, %a: memref<300x96xbf16>,
                        %o: memref<4xi32>, %c: memref<300x100xf32>) -> tensor<?x128xbf16> {
  %0 = mx.pack_operand ins(%w : tensor<128x512xf4E2M1FN>)
      outs(%init : tensor<128x512xf4E2M1FN, #mxgpu.fragment_64x64>)
      -> tensor<128x512xf4E2M1FN, #mxgpu.fragment_64x64>
  %1 = mx.matmul ins(%x, %0, %ws : tensor<?x512xbf16>,
        tensor<128x512xf4E2M1FN, #mxgpu.fragment_64x64>, tensor<128x16xf8E8M0FNU>)
      outs(%out : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  mx.pack_operand order = #mxgpu.fragment_64x64 ins(%e : memref<4x100x96xf8E5M2>) outs(%p : memref<4x2x2x128x32xf8E5M2>)
  mx.grouped_matmul ragged = rows ins(%a, %p, %es : memref<300x96xbf16>, memref<4x2x2x128x32xf8E5M2>,
        memref<4x100x3xf8E8M0FNU>) offsets(%o : memref<4xi32>) outs(%c : memref<300x100xf32>) b_order = #mxgpu.fragment_64x64
  return %1 : tensor<?x128xbf16>
}

// CHECK-LABEL: func @matmul_promoted
// CHECK:         mx.matmul
// CHECK-SAME:      block_size = 128 b_block_size = row promote = 128 -> tensor<256x128xbf16>
// CHECK:         mx.matmul
// CHECK-SAME:      block_size = row promote = 256 in_order accumulate
func.func @matmul_promoted(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x4xf8E8M0FNU>, %ra: tensor<256x1xf8E8M0FNU>,
                           %b: tensor<128x512xf8E5M2>, %sb: tensor<128x1xf8E8M0FNU>, %c: tensor<256x128xbf16>) {
  %x = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x4xf8E8M0FNU>, tensor<128x512xf8E5M2>, tensor<128x1xf8E8M0FNU>)
      outs(%c : tensor<256x128xbf16>) block_size = 128 b_block_size = row promote = 128 -> tensor<256x128xbf16>
  %y = mx.matmul ins(%a, %ra, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x1xf8E8M0FNU>, tensor<128x512xf8E5M2>, tensor<128x1xf8E8M0FNU>)
      outs(%c : tensor<256x128xbf16>) block_size = row promote = 256 in_order accumulate -> tensor<256x128xbf16>
  return
}

// CHECK-LABEL: func @matmul
// CHECK:         mx.matmul ins(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>)
// CHECK-SAME:      outs(%{{[^ ,)]+}} : tensor<256x128xbf16>) -> tensor<256x128xbf16> epilogue {
// CHECK:         ^bb0(%[[ACC:.*]]: f32, %{{[^ ,)]+}}: index, %{{[^ ,)]+}}: index):
// CHECK:           mx.yield %{{[^ ,)]+}} : bf16
func.func @matmul(%a: tensor<256x512xf8E4M3FN>, %sa: tensor<256x16xf8E8M0FNU>,
                  %b: tensor<128x512xf8E4M3FN>, %sb: tensor<128x16xf8E8M0FNU>,
                  %init: tensor<256x128xbf16>, %c0_5: f32) -> tensor<256x128xbf16> {
  %c = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>,
                     tensor<128x512xf8E4M3FN>, tensor<128x16xf8E8M0FNU>)
      outs(%init : tensor<256x128xbf16>) -> tensor<256x128xbf16>
      epilogue {
      ^bb0(%acc: f32, %row: index, %col: index):
        %half = arith.mulf %acc, %c0_5 : f32
        %y = arith.truncf %half : f32 to bf16
        mx.yield %y : bf16
      }
  return %c : tensor<256x128xbf16>
}

// A 16-bit activation operand has no scales.
// CHECK-LABEL: func @matmul_weights
// CHECK:         mx.matmul ins(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<?x512xbf16>, tensor<128x512xf4E2M1FN>, tensor<128x16xf8E8M0FNU>)
// CHECK-SAME:      outs({{.*}} : tensor<?x128xbf16>) -> tensor<?x128xbf16>
// CHECK:         mx.matmul ins(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<?x512xf16>, tensor<128x512xf4E2M1FN>, tensor<128x32xf8E4M3FN>)
// CHECK-SAME:      block_size = 16
func.func @matmul_weights(%x: tensor<?x512xbf16>, %h: tensor<?x512xf16>, %w: tensor<128x512xf4E2M1FN>,
                          %sw: tensor<128x16xf8E8M0FNU>, %nw: tensor<128x32xf8E4M3FN>,
                          %init: tensor<?x128xbf16>) -> (tensor<?x128xbf16>, tensor<?x128xbf16>) {
  %y = mx.matmul ins(%x, %w, %sw : tensor<?x512xbf16>, tensor<128x512xf4E2M1FN>, tensor<128x16xf8E8M0FNU>)
      outs(%init : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  %z = mx.matmul ins(%h, %w, %nw : tensor<?x512xf16>, tensor<128x512xf4E2M1FN>, tensor<128x32xf8E4M3FN>)
      outs(%init : tensor<?x128xbf16>) block_size = 16 -> tensor<?x128xbf16>
  return %y, %z : tensor<?x128xbf16>, tensor<?x128xbf16>
}

// If only operand `b` has no scales, `ins` lists `a`, the scales of `a`, and `b`.
// CHECK-LABEL: func @matmul_by_numbers
// CHECK:         mx.matmul ins(%arg0, %arg1, %arg4 : tensor<?x512xf4E2M1FN>, tensor<?x16xf8E8M0FNU>, tensor<128x512xbf16>)
// CHECK:         mx.matmul ins(%arg0, %arg2, %arg4 : tensor<?x512xf4E2M1FN>, tensor<?x32xf8E4M3FN>, tensor<128x512xbf16>)
// CHECK-SAME:      block_size = 16
// CHECK:         mx.grouped_matmul ragged = rows ins(%arg0, %arg3, %arg5 : tensor<?x512xf4E2M1FN>, tensor<?x16xf8E8M0FNU, {{.*}}>, tensor<4x128x512xbf16>)
func.func @matmul_by_numbers(%a: tensor<?x512xf4E2M1FN>, %sa: tensor<?x16xf8E8M0FNU>, %na: tensor<?x32xf8E4M3FN>,
                             %ra: tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>,
                             %v: tensor<128x512xbf16>, %vs: tensor<4x128x512xbf16>, %o: tensor<4xi32>,
                             %init: tensor<?x128xbf16>) -> (tensor<?x128xbf16>, tensor<?x128xbf16>, tensor<?x128xbf16>) {
  %x = mx.matmul ins(%a, %sa, %v : tensor<?x512xf4E2M1FN>, tensor<?x16xf8E8M0FNU>, tensor<128x512xbf16>)
      outs(%init : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  %y = mx.matmul ins(%a, %na, %v : tensor<?x512xf4E2M1FN>, tensor<?x32xf8E4M3FN>, tensor<128x512xbf16>)
      outs(%init : tensor<?x128xbf16>) block_size = 16 -> tensor<?x128xbf16>
  %z = mx.grouped_matmul ragged = rows ins(%a, %ra, %vs : tensor<?x512xf4E2M1FN>, tensor<?x16xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>, tensor<4x128x512xbf16>)
      offsets(%o : tensor<4xi32>) outs(%init : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  return %x, %y, %z : tensor<?x128xbf16>, tensor<?x128xbf16>, tensor<?x128xbf16>
}

// Without scales on either side the reduction may have any size.
// CHECK-LABEL: func @matmul_numbers
// CHECK:         mx.matmul ins(%{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<?x500xbf16>, tensor<128x500xbf16>) outs({{.*}} : tensor<?x128xbf16>) -> tensor<?x128xbf16>
// CHECK:         mx.grouped_matmul ragged = reduction ins(%{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<64x896xbf16>, tensor<48x896xbf16>) offsets(%{{[^ ,)]+}} : tensor<4xi32>)
func.func @matmul_numbers(%x: tensor<?x500xbf16>, %v: tensor<128x500xbf16>, %init: tensor<?x128xbf16>,
                          %a: tensor<64x896xbf16>, %b: tensor<48x896xbf16>, %o: tensor<4xi32>,
                          %sums: tensor<4x64x48xf32>) -> (tensor<?x128xbf16>, tensor<4x64x48xf32>) {
  %y = mx.matmul ins(%x, %v : tensor<?x500xbf16>, tensor<128x500xbf16>) outs(%init : tensor<?x128xbf16>) -> tensor<?x128xbf16>
  %z = mx.grouped_matmul ragged = reduction ins(%a, %b : tensor<64x896xbf16>, tensor<48x896xbf16>) offsets(%o : tensor<4xi32>)
      outs(%sums : tensor<4x64x48xf32>) -> tensor<4x64x48xf32>
  return %y, %z : tensor<?x128xbf16>, tensor<4x64x48xf32>
}

// CHECK-LABEL: func @routing
// CHECK:         %[[G:.*]]:4 = mx.group_rows ins(%{{[^ ,)]+}} : tensor<?x8xi64>)
// CHECK-SAME:      outs({{.*}} : tensor<?xi32>, tensor<?xi32>, tensor<32xi32>, tensor<i32>) -> tensor<?xi32>, tensor<?xi32>, tensor<32xi32>, tensor<i32>
// CHECK:         mx.combine ins(%{{[^ ,)]+}} : tensor<?x64xbf16>) rows(%[[G]]#0 : tensor<?xi32>) offsets(%[[G]]#2 : tensor<32xi32>)
// CHECK-SAME:      outs(%{{[^ ,)]+}} : tensor<?x64xf32>) order = fixed -> tensor<?x64xf32>
// CHECK:         mx.group_rows ins(%{{[^ ,)]+}} : memref<?x1xi32>) outs({{.*}} : memref<?xi32>, memref<?xi32>, memref<?xi32>, memref<i32>){{$}}
func.func @routing(%ids: tensor<?x8xi64>, %r: tensor<?xi32>, %e: tensor<32xi32>, %c: tensor<i32>, %z: tensor<?x64xbf16>,
                   %y: tensor<?x64xf32>, %mids: memref<?x1xi32>, %mr: memref<?xi32>, %mc: memref<i32>) -> tensor<?x64xf32> {
  %g:4 = mx.group_rows ins(%ids : tensor<?x8xi64>) outs(%r, %r, %e, %c : tensor<?xi32>, tensor<?xi32>, tensor<32xi32>, tensor<i32>)
      -> tensor<?xi32>, tensor<?xi32>, tensor<32xi32>, tensor<i32>
  %s = mx.combine ins(%z : tensor<?x64xbf16>) rows(%g#0 : tensor<?xi32>) offsets(%g#2 : tensor<32xi32>)
      outs(%y : tensor<?x64xf32>) order = fixed -> tensor<?x64xf32>
  mx.group_rows ins(%mids : memref<?x1xi32>) outs(%mr, %mr, %mr, %mc : memref<?xi32>, memref<?xi32>, memref<?xi32>, memref<i32>)
  return %s : tensor<?x64xf32>
}

// CHECK-LABEL: func @grouped_matmul_weights
// CHECK:         mx.grouped_matmul ragged = rows masked ins(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<4x?x64xbf16>, tensor<4x48x64xf6E2M3FN>, tensor<4x48x2xf8E8M0FNU>)
func.func @grouped_matmul_weights(%x: tensor<4x?x64xbf16>, %w: tensor<4x48x64xf6E2M3FN>, %sw: tensor<4x48x2xf8E8M0FNU>,
                                  %o: tensor<4xi32>, %init: tensor<4x?x48xf32>) -> tensor<4x?x48xf32> {
  %y = mx.grouped_matmul ragged = rows masked
      ins(%x, %w, %sw : tensor<4x?x64xbf16>, tensor<4x48x64xf6E2M3FN>, tensor<4x48x2xf8E8M0FNU>)
      offsets(%o : tensor<4xi32>) outs(%init : tensor<4x?x48xf32>) -> tensor<4x?x48xf32>
  return %y : tensor<4x?x48xf32>
}

// CHECK-LABEL: func @matmul_mixed
// CHECK:         mx.matmul ins({{[^:]*}} : memref<2x?x?xf8E5M2>, memref<2x?x?xf8E8M0FNU>, memref<2x?x?xf4E2M1FN>, memref<2x?x?x32x4x4xf8E8M0FNU>)
// CHECK-SAME:      alpha(%{{[^ ,)]+}}) outs(%{{[^ ,)]+}} : memref<2x?x?xf32>) accumulate{{$}}
func.func @matmul_mixed(%a: memref<2x?x?xf8E5M2>, %sa: memref<2x?x?xf8E8M0FNU>,
                        %b: memref<2x?x?xf4E2M1FN>, %sb: memref<2x?x?x32x4x4xf8E8M0FNU>,
                        %alpha: f32, %c: memref<2x?x?xf32>) {
  mx.matmul ins(%a, %sa, %b, %sb : memref<2x?x?xf8E5M2>, memref<2x?x?xf8E8M0FNU>,
                memref<2x?x?xf4E2M1FN>, memref<2x?x?x32x4x4xf8E8M0FNU>)
      alpha(%alpha) outs(%c : memref<2x?x?xf32>) accumulate
  return
}

// Matmuls without rows or without a reduction are valid.
// CHECK-LABEL: func @matmul_empty
// CHECK:         mx.matmul ins({{.*}} : tensor<0x0xf8E4M3FN>, tensor<0x0xf8E8M0FNU>, tensor<5x0xf8E4M3FN>, tensor<5x0xf8E8M0FNU>)
func.func @matmul_empty(%a: tensor<0x0xf8E4M3FN>, %sa: tensor<0x0xf8E8M0FNU>,
                        %b: tensor<5x0xf8E4M3FN>, %sb: tensor<5x0xf8E8M0FNU>,
                        %init: tensor<0x5xf16>) -> tensor<0x5xf16> {
  %c = mx.matmul ins(%a, %sa, %b, %sb : tensor<0x0xf8E4M3FN>, tensor<0x0xf8E8M0FNU>,
                     tensor<5x0xf8E4M3FN>, tensor<5x0xf8E8M0FNU>)
      outs(%init : tensor<0x5xf16>) -> tensor<0x5xf16>
  return %c : tensor<0x5xf16>
}

// CHECK-LABEL: func @grouped_matmul_rows
// CHECK:         mx.grouped_matmul ragged = rows ins(
// CHECK-SAME:      offsets(%{{[^ ,)]+}} : tensor<4xi32>) outs(%{{[^ ,)]+}} : tensor<300x48xbf16>) -> tensor<300x48xbf16>
// CHECK:         mx.grouped_matmul ragged = rows
// CHECK-SAME:      tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>, tensor<4x1x1x32x4x4xf8E8M0FNU>
func.func @grouped_matmul_rows(%a: tensor<300x64xf8E4M3FN>, %sa: tensor<300x2xf8E8M0FNU>,
                               %b: tensor<4x48x64xf8E4M3FN>, %sb: tensor<4x48x2xf8E8M0FNU>,
                               %ta: tensor<6x1x32x4x4xf8E8M0FNU>, %tb: tensor<4x1x1x32x4x4xf8E8M0FNU>,
                               %o: tensor<4xi32>, %init: tensor<300x48xbf16>) -> tensor<300x48xbf16> {
  %c = mx.grouped_matmul ragged = rows
      ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>, tensor<300x2xf8E8M0FNU>,
          tensor<4x48x64xf8E4M3FN>, tensor<4x48x2xf8E8M0FNU>) offsets(%o : tensor<4xi32>)
      outs(%init : tensor<300x48xbf16>) -> tensor<300x48xbf16>
  %d = mx.grouped_matmul ragged = rows
      ins(%a, %ta, %b, %tb : tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>,
          tensor<4x48x64xf8E4M3FN>, tensor<4x1x1x32x4x4xf8E8M0FNU>) offsets(%o : tensor<4xi32>)
      outs(%c : tensor<300x48xbf16>) -> tensor<300x48xbf16>
  return %d : tensor<300x48xbf16>
}

// CHECK-LABEL: func @grouped_matmul_reduction
// CHECK:         mx.grouped_matmul ragged = reduction
// CHECK-SAME:      outs(%{{[^ ,)]+}} : tensor<4x64x48xf32>) accumulate -> tensor<4x64x48xf32>
func.func @grouped_matmul_reduction(
    %a: tensor<64x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>,
    %sa: tensor<64x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>,
    %b: tensor<48x896xf8E5M2>, %sb: tensor<48x28xf8E8M0FNU>,
    %o: tensor<4xi32>, %init: tensor<4x64x48xf32>) -> tensor<4x64x48xf32> {
  %c = mx.grouped_matmul ragged = reduction
      ins(%a, %sa, %b, %sb : tensor<64x896xf8E4M3FN, #mx.ragged<groups = 4, align = 128>>,
          tensor<64x28xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = 4>>,
          tensor<48x896xf8E5M2>, tensor<48x28xf8E8M0FNU>) offsets(%o : tensor<4xi32>)
      outs(%init : tensor<4x64x48xf32>) accumulate -> tensor<4x64x48xf32>
  return %c : tensor<4x64x48xf32>
}

// CHECK-LABEL: func @quantize_prologue
// CHECK:         mx.fused_quantize ins(%{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<8x64xbf16>, tensor<8x64xf32>)
// CHECK-SAME:      -> tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>, tensor<8x64xf8E5M2>, tensor<8x2xf8E8M0FNU> prologue {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: bf16, %[[B:.*]]: f32, %{{.*}}: index, %{{.*}}: index):
// CHECK:           mx.yield %[[A]], %{{.*}} : bf16, f32
func.func @quantize_prologue(%x: tensor<8x64xbf16>, %y: tensor<8x64xf32>, %e: tensor<8x64xf8E4M3FN>,
                             %d: tensor<8x64xf8E5M2>, %f: tensor<8x2xf8E8M0FNU>) -> tensor<8x64xf8E5M2> {
  %r:4 = mx.fused_quantize ins(%x, %y : tensor<8x64xbf16>, tensor<8x64xf32>)
      outs(%e, %f, %d, %f : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>, tensor<8x64xf8E5M2>, tensor<8x2xf8E8M0FNU>)
      -> tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>, tensor<8x64xf8E5M2>, tensor<8x2xf8E8M0FNU>
      prologue {
      ^bb0(%a: bf16, %b: f32, %row: index, %col: index):
        %c = arith.mulf %b, %b : f32
        mx.yield %a, %c : bf16, f32
      }
  return %r#2 : tensor<8x64xf8E5M2>
}

// CHECK-LABEL: func @quantize_quantized
// CHECK:         mx.fused_quantize ins(%{{[^ ,)]+}}, %{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<?x64xf8E4M3FN>, tensor<?x64xbf16>, tensor<?x64xf4E2M1FN>)
// CHECK-SAME:      input_scales(%{{[^ ,)]+}}, %{{[^ ,)]+}} : tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<?x1x32x4x4xf8E4M3FN>)
// CHECK-SAME:      gather(%{{[^ ,)]+}} : tensor<96xi32>)
// CHECK-NEXT:    ^bb0(%{{.*}}: f16, %{{.*}}: bf16, %{{.*}}: f32, %{{.*}}: index, %{{.*}}: index):
func.func @quantize_quantized(%x: tensor<?x64xf8E4M3FN>, %s: tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>,
                              %y: tensor<?x64xbf16>, %z: tensor<?x64xf4E2M1FN>, %t: tensor<?x1x32x4x4xf8E4M3FN>,
                              %i: tensor<96xi32>, %e: tensor<96x64xf8E4M3FN>, %f: tensor<96x2xf8E8M0FNU>)
    -> tensor<96x64xf8E4M3FN> {
  %r:2 = mx.fused_quantize ins(%x, %y, %z : tensor<?x64xf8E4M3FN>, tensor<?x64xbf16>, tensor<?x64xf4E2M1FN>)
      input_scales(%s, %t : tensor<?x2xf8E8M0FNU, #mx.scale_layout<sf_128x4>>, tensor<?x1x32x4x4xf8E4M3FN>)
      gather(%i : tensor<96xi32>) outs(%e, %f : tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>)
      -> tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU> prologue {
      ^bb0(%a: f16, %b: bf16, %c: f32, %row: index, %col: index):
        mx.yield %c : f32
      }
  return %r#0 : tensor<96x64xf8E4M3FN>
}

// CHECK-LABEL: func @quantize_passed_on
// CHECK:         mx.fused_quantize ragged = rows ins(%{{[^ ,)]+}} : tensor<?x64xf8E4M3FN>)
// CHECK-SAME:      input_scales(%{{[^ ,)]+}} : tensor<?x2xf8E8M0FNU>) gather(%{{[^ ,)]+}} : tensor<256xi32>)
// CHECK-SAME:      axes = [1, 0]
// CHECK-NOT:     prologue
func.func @quantize_passed_on(%x: tensor<?x64xf8E4M3FN>, %s: tensor<?x2xf8E8M0FNU>, %i: tensor<256xi32>,
                              %o: tensor<4xi32>, %e: tensor<256x64xf8E4M3FN>, %f: tensor<6x1x32x4x4xf8E8M0FNU>,
                              %g: tensor<64x768xf8E4M3FN>, %h: tensor<1x6x32x4x4xf8E8M0FNU>) -> tensor<256x64xf8E4M3FN> {
  %r:4 = mx.fused_quantize ragged = rows ins(%x : tensor<?x64xf8E4M3FN>) input_scales(%s : tensor<?x2xf8E8M0FNU>)
      gather(%i : tensor<256xi32>) offsets(%o : tensor<4xi32>)
      outs(%e, %f, %g, %h : tensor<256x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>,
                            tensor<64x768xf8E4M3FN>, tensor<1x6x32x4x4xf8E8M0FNU>) axes = [1, 0]
      -> tensor<256x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>, tensor<64x768xf8E4M3FN>, tensor<1x6x32x4x4xf8E8M0FNU>
  return %r#0 : tensor<256x64xf8E4M3FN>
}

// CHECK-LABEL: func @quantize_gathered_squares
// CHECK:         mx.fused_quantize ins(%{{[^ ,)]+}} : tensor<?x64xbf16>) gather(%{{[^ ,)]+}} : tensor<96xi32>)
// CHECK-SAME:      outs({{.*}}) axes = [1, 0] square scale_rounding = floor
func.func @quantize_gathered_squares(%x: tensor<?x64xbf16>, %i: tensor<96xi32>, %e: tensor<96x64xf8E4M3FN>,
                                     %f: tensor<96x2xf8E8M0FNU>, %g: tensor<64x96xf8E4M3FN>, %h: tensor<64x3xf8E8M0FNU>)
    -> tensor<96x64xf8E4M3FN> {
  %r:4 = mx.fused_quantize ins(%x : tensor<?x64xbf16>) gather(%i : tensor<96xi32>)
      outs(%e, %f, %g, %h : tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>, tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>)
      axes = [1, 0] square scale_rounding = floor
      -> tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>, tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  return %r#0 : tensor<96x64xf8E4M3FN>
}

// CHECK-LABEL: func @quantize_and_amax
// CHECK:         mx.fused_quantize ins(%{{[^ ,)]+}} : tensor<64x64xbf16>)
// CHECK-SAME:      axes = [1, 0] square amax scale_rounding = floor
// CHECK:         mx.fused_quantize ins(%{{[^ ,)]+}} : memref<?x64xf32>) outs({{.*}}, memref<f32>) amax{{$}}
func.func @quantize_and_amax(%x: tensor<64x64xbf16>, %e: tensor<64x64xf8E4M3FN>, %f: tensor<64x2xf8E8M0FNU>,
                             %m: tensor<f32>, %y: memref<?x64xf32>, %e1: memref<?x64xf8E4M3FN>,
                             %f1: memref<?x2xf8E8M0FNU>, %m1: memref<f32>)
    -> tensor<f32> {
  %r:5 = mx.fused_quantize ins(%x : tensor<64x64xbf16>)
      outs(%e, %f, %e, %f, %m : tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E4M3FN>,
                                tensor<64x2xf8E8M0FNU>, tensor<f32>)
      axes = [1, 0] square amax scale_rounding = floor
      -> tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<64x64xf8E4M3FN>, tensor<64x2xf8E8M0FNU>, tensor<f32>
  mx.fused_quantize ins(%y : memref<?x64xf32>) outs(%e1, %f1, %m1 : memref<?x64xf8E4M3FN>, memref<?x2xf8E8M0FNU>, memref<f32>) amax
  return %r#4 : tensor<f32>
}

// Each destination is either elements and scales, or their dequantized values.
// CHECK-LABEL: func @dequantized(
// CHECK:         mx.fused_quantize ins(%{{.*}} : tensor<256x512xbf16>) outs(%{{.*}} : tensor<256x512xbf16>) dequantized = [f8E4M3FN] -> tensor<256x512xbf16>
// CHECK:         mx.fused_quantize ins(%{{.*}}) global_scale(%{{.*}}) decode_factors(%{{.*}}) seed(%{{.*}}) outs(%{{.*}} : tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN>, tensor<512x256xf32>, tensor<f32>) axes = [1, 0] block_size = 16 amax dequantized = [none, f4E2M1FN] -> tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN>, tensor<512x256xf32>, tensor<f32>
func.func @dequantized(%x: tensor<256x512xbf16>, %e: f32, %s: i64, %y: tensor<256x512xbf16>, %o0: tensor<256x512xf4E2M1FN>, %o1: tensor<256x32xf8E4M3FN>, %z: tensor<512x256xf32>, %m: tensor<f32>) -> (tensor<256x512xbf16>, tensor<512x256xf32>) {
  %0 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) outs(%y : tensor<256x512xbf16>) dequantized = [f8E4M3FN] -> tensor<256x512xbf16>
  %1:4 = mx.fused_quantize ins(%x : tensor<256x512xbf16>) global_scale(%e) decode_factors(%e) seed(%s) outs(%o0, %o1, %z, %m : tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN>, tensor<512x256xf32>, tensor<f32>) axes = [1, 0] block_size = 16 amax dequantized = [none, f4E2M1FN] -> tensor<256x512xf4E2M1FN>, tensor<256x32xf8E4M3FN>, tensor<512x256xf32>, tensor<f32>
  return %0, %1#2 : tensor<256x512xbf16>, tensor<512x256xf32>
}

// CHECK-LABEL: func @where
// CHECK:         mx.row_classes ins(%{{.*}}, %{{.*}} : tensor<?x4xi8>, tensor<4x96xi8>) outs(%{{.*}}, %{{.*}} : tensor<?xi32>, tensor<3xi32>) axes = [1, 0] limit = 8 -> tensor<?xi32>, tensor<3xi32>
// CHECK:         mx.fused_quantize ins(%{{.*}} : tensor<?x512xbf16>) if_any(%{{.*}}#0, %{{.*}}#1 : tensor<?xi32>, tensor<3xi32>) outs(
// CHECK:         mx.matmul ins({{.*}}) where narrow(%{{.*}}#0, %{{.*}}#1 : tensor<?xi32>, tensor<3xi32>) outs(
// CHECK:         mx.row_classes ins(%{{.*}} : memref<2x64x4xi8>) outs(%{{.*}} : memref<2x2xi32>) axes = [1] limit = 0{{$}}
// CHECK:         mx.grouped_matmul ragged = rows ins({{.*}}) offsets({{.*}}) where wide(%{{.*}}, %{{.*}} : memref<2xi32>, memref<4x2xi32>) outs({{.*}}) accumulate
func.func @where(%x: tensor<?x512xbf16>, %w: tensor<96x512xbf16>, %p: tensor<?x4xi8>, %r: tensor<4x96xi8>, %i: tensor<?xi32>, %j: tensor<3xi32>,
                 %e: tensor<?x512xf8E4M3FN>, %f: tensor<?x16xf8E8M0FNU>, %o: tensor<?x96xf32>, %q: memref<2x64x4xi8>, %k: memref<2x2xi32>,
                 %a: memref<64x64xbf16>, %b: memref<4x48x64xbf16>, %n: memref<4xi32>, %l: memref<2xi32>, %m: memref<4x2xi32>,
                 %y: memref<64x48xf32>) -> (tensor<?x96xf32>, tensor<?x512xf8E4M3FN>, tensor<?x16xf8E8M0FNU>) {
  %c:2 = mx.row_classes ins(%p, %r : tensor<?x4xi8>, tensor<4x96xi8>) outs(%i, %j : tensor<?xi32>, tensor<3xi32>) axes = [1, 0] limit = 8 -> tensor<?xi32>, tensor<3xi32>
  %0:2 = mx.fused_quantize ins(%x : tensor<?x512xbf16>) if_any(%c#0, %c#1 : tensor<?xi32>, tensor<3xi32>) outs(%e, %f : tensor<?x512xf8E4M3FN>, tensor<?x16xf8E8M0FNU>)
    -> tensor<?x512xf8E4M3FN>, tensor<?x16xf8E8M0FNU>
  %1 = mx.matmul ins(%x, %w : tensor<?x512xbf16>, tensor<96x512xbf16>) where narrow(%c#0, %c#1 : tensor<?xi32>, tensor<3xi32>) outs(%o : tensor<?x96xf32>) -> tensor<?x96xf32>
  mx.row_classes ins(%q : memref<2x64x4xi8>) outs(%k : memref<2x2xi32>) axes = [1] limit = 0
  mx.grouped_matmul ragged = rows ins(%a, %b : memref<64x64xbf16>, memref<4x48x64xbf16>) offsets(%n : memref<4xi32>)
    where wide(%l, %m : memref<2xi32>, memref<4x2xi32>) outs(%y : memref<64x48xf32>) accumulate
  return %1, %0#0, %0#1 : tensor<?x96xf32>, tensor<?x512xf8E4M3FN>, tensor<?x16xf8E8M0FNU>
}
