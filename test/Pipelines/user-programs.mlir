// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir --split-input-file --verify-diagnostics --mx-to-nvvm -o %t

// Compiles typical user programs. Operations without a dedicated kernel run as
// simple kernels, with a remark that names the reason. Unsupported programs are
// refused at the user's operation, with the reason and a remedy.

// -----

// TEMPLATE types
!m = tensor<128x256xbf16>
!w = tensor<128x256xbf16>
!e = tensor<128x256xf8E4M3FN>
!s = tensor<128x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!l = tensor<128x8xf8E8M0FNU>
!e4 = tensor<128x256xf4E2M1FN>
!s4 = tensor<128x16xf8E4M3FN, #mx.scale_layout<sf_128x4>>
!y = tensor<128x128xf32>
!f = tensor<128x256xf32>
// BLOCK function
// END

// -----

// CASES types function
func.func @weight_only(%x: !m, %e: !e, %s: !s) -> !y {
  %w0 = tensor.empty() : !w
  %w = mx.dequantize ins(%e, %s : !e, !s) outs(%w0 : !w) -> !w
  %z = arith.constant 0.0 : f32
  %y0 = tensor.empty() : !y
  %y1 = linalg.fill ins(%z : f32) outs(%y0 : !y) -> !y
  // expected-remark @below {{'linalg.matmul' runs as a simple kernel, one thread for each element of its result, since its operands are not in block formats: quantize both for mx.matmul, or run mx-opt --mx-quantize-matmuls (docs/guide/Import.md)}}
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%x, %w : !m, !w) outs(%y1 : !y) -> !y
  return %y : !y
}

// expected-note @below {{b_scales is defined here}}
func.func @nvfp4_mxfp8(%a: !e4, %as: !s4, %b: !e, %bs: !s) -> !y {
  %0 = tensor.empty() : !y
  // expected-error @below {{'mx.matmul' op expected b_scales of type 'f8E4M3FN' like a_scales, found 'f8E8M0FNU': quantize both operands with one scale type}}
  %y = mx.matmul ins(%a, %as, %b, %bs : !e4, !s4, !e, !s) outs(%0 : !y) -> !y
  return %y : !y
}

func.func @const_scales(%x: !m, %w: !e) -> !y {
  // expected-remark @below {{'linalg.fill' runs as a simple kernel, one thread for each element of its result}}
  %s = arith.constant dense<1.0> : !l
  %t0 = tensor.empty() : !s
  %t = mx.relayout ins(%s : !l) outs(%t0 : !s) -> !s
  %qe0 = tensor.empty() : !e
  %qs0 = tensor.empty() : !s
  %q:2 = mx.quantize ins(%x : !m) outs(%qe0, %qs0 : !e, !s) -> !e, !s
  %0 = tensor.empty() : !y
  %y = mx.matmul ins(%q#0, %q#1, %w, %t : !e, !s, !e, !s) outs(%0 : !y) -> !y
  return %y : !y
}

func.func @nvfp4_amax(%x: !m) -> (!e4, !s4) {
  %a0 = tensor.empty() : tensor<f32>
  %a = mx.amax ins(%x : !m) outs(%a0 : tensor<f32>) -> tensor<f32>
  %amax = tensor.extract %a[] : tensor<f32>
  %c = arith.constant 2688.0 : f32
  %g = arith.divf %c, %amax : f32
  %e0 = tensor.empty() : !e4
  %s0 = tensor.empty() : !s4
  %q:2 = mx.quantize ins(%x : !m) global_scale(%g) outs(%e0, %s0 : !e4, !s4) -> !e4, !s4
  return %q#0, %q#1 : !e4, !s4
}

func.func @accumulate(%x: !m, %w: !w, %acc: !y) -> !y {
  %qe0 = tensor.empty() : !e
  %qs0 = tensor.empty() : !s
  %q:2 = mx.quantize ins(%x : !m) outs(%qe0, %qs0 : !e, !s) -> !e, !s
  %pe0 = tensor.empty() : !e
  %ps0 = tensor.empty() : !s
  %p:2 = mx.quantize ins(%w : !m) outs(%pe0, %ps0 : !e, !s) -> !e, !s
  %y = mx.matmul ins(%q#0, %q#1, %p#0, %p#1 : !e, !s, !e, !s) outs(%acc : !y) accumulate -> !y
  %z0 = tensor.empty() : !y
  // expected-remark @below {{'linalg.generic' runs as a simple kernel, one thread for each element of its result, since the matmul accumulates into its outs: pass that tensor to this operation as an input instead}}
  %z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%y : !y) outs(%z0 : !y) {
  ^bb0(%in: f32, %old: f32):
    %z = arith.constant 0.0 : f32
    %r = arith.maximumf %in, %z : f32
    linalg.yield %r : f32
  } -> !y
  return %z : !y
}

func.func @dequantize_scale(%e: !e, %s: !s) -> !f {
  %0 = tensor.empty() : !f
  %d = mx.dequantize ins(%e, %s : !e, !s) outs(%0 : !f) -> !f
  %z0 = tensor.empty() : !f
  // expected-remark @below {{'linalg.generic' runs as a simple kernel, one thread for each element of its result}}
  %z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%d : !f) outs(%z0 : !f) {
  ^bb0(%in: f32, %old: f32):
    %c = arith.constant 2.0 : f32
    %r = arith.mulf %in, %c : f32
    linalg.yield %r : f32
  } -> !f
  return %z : !f
}

func.func @elementwise_alone(%x: !f) -> !f {
  %z0 = tensor.empty() : !f
  // expected-remark @below {{'linalg.generic' runs as a simple kernel, one thread for each element of its result}}
  %z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : !f) outs(%z0 : !f) {
  ^bb0(%in: f32, %old: f32):
    %z = arith.constant 0.0 : f32
    %r = arith.maximumf %in, %z : f32
    linalg.yield %r : f32
  } -> !f
  return %z : !f
}

func.func @broadcast(%x: !m, %w: !w, %b: tensor<128xf32>) -> !y {
  %0 = tensor.empty() : !y
  // expected-remark @below {{'linalg.broadcast' runs as a simple kernel, one thread for each element of its result}}
  %z = linalg.broadcast ins(%b : tensor<128xf32>) outs(%0 : !y) dimensions = [0]
  return %z : !y
}

func.func @transpose(%x: !f) -> tensor<256x128xf32> {
  %0 = tensor.empty() : tensor<256x128xf32>
  // expected-remark @below {{'linalg.transpose' runs as a simple kernel, one thread for each element of its result}}
  %z = linalg.transpose ins(%x : !f) outs(%0 : tensor<256x128xf32>) permutation = [1, 0]
  return %z : tensor<256x128xf32>
}

func.func @pad(%x: tensor<100x256xbf16>) -> (!e, !s) {
  %c = arith.constant 0.0 : bf16
  // expected-remark @below {{'linalg.map' runs as a simple kernel, one thread for each element of its result}}
  // expected-remark @below {{'memref.copy' runs as a simple kernel, one thread for each element of its result}}
  %p = tensor.pad %x low[0, 0] high[28, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : bf16
  } : tensor<100x256xbf16> to !m
  %qe0 = tensor.empty() : !e
  %qs0 = tensor.empty() : !s
  %q:2 = mx.quantize ins(%p : !m) outs(%qe0, %qs0 : !e, !s) -> !e, !s
  return %q#0, %q#1 : !e, !s
}

func.func @fill1(%x: !m) -> !y {
  %c = arith.constant 1.0 : f32
  %0 = tensor.empty() : !y
  // expected-remark @below {{'linalg.fill' runs as a simple kernel, one thread for each element of its result}}
  %z = linalg.fill ins(%c : f32) outs(%0 : !y) -> !y
  return %z : !y
}

func.func @softmax(%x: !f) -> !f {
  %0 = tensor.empty() : !f
  // expected-remark @below {{'linalg.fill' runs as a simple kernel, one thread for each element of its result}}
  // expected-remark @below {{'linalg.generic' runs as a simple kernel, one thread for each element of its result}}
  %z = linalg.softmax dimension(1) ins(%x : !f) outs(%0 : !f) -> !f
  return %z : !f
}

// -----

// TEMPLATE matmul
// SET function = @const_weights(%x: !m) -> !y
!m = tensor<128x256xbf16>
!w = tensor<128x256xbf16>
!e = tensor<128x256xf8E4M3FN>
!s = tensor<128x8xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!l = tensor<128x8xf8E8M0FNU>
!e4 = tensor<128x256xf4E2M1FN>
!s4 = tensor<128x16xf8E4M3FN, #mx.scale_layout<sf_128x4>>
!y = tensor<128x128xf32>
!f = tensor<128x256xf32>
func.func ${function} {
  // BLOCK weights
  // END
  %qe0 = tensor.empty() : !e
  %qs0 = tensor.empty() : !s
  %q:2 = mx.quantize ins(%x : !m) outs(%qe0, %qs0 : !e, !s) -> !e, !s
  %pe0 = tensor.empty() : !e
  %ps0 = tensor.empty() : !s
  %p:2 = mx.quantize ins(%w : !m) outs(%pe0, %ps0 : !e, !s) -> !e, !s
  %y0 = tensor.empty() : !y
  %y = mx.matmul ins(%q#0, %q#1, %p#0, %p#1 : !e, !s, !e, !s) outs(%y0 : !y) -> !y
  // BLOCK use
  // END
}

// -----

// CASES matmul use
return %y : !y
// BLOCK weights
// expected-remark @below {{'linalg.fill' runs as a simple kernel, one thread for each element of its result}}
%w = arith.constant dense<2.0> : !w

// SET function = @second_use(%x: !m, %w: !w) -> (!y, !y)
%z0 = tensor.empty() : !y
// expected-remark @below {{'linalg.generic' runs as a simple kernel, one thread for each element of its result, since the matmul's result has another use}}
%z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%y : !y) outs(%z0 : !y) {
^bb0(%in: f32, %old: f32):
  %z = arith.constant 0.0 : f32
  %r = arith.maximumf %in, %z : f32
  linalg.yield %r : f32
} -> !y
return %y, %z : !y, !y

// SET function = @reads_outs(%x: !m, %w: !w, %acc: !y) -> !y
// expected-remark @below {{'linalg.generic' runs as a simple kernel, one thread for each element of its result, since its region reads the contents of outs: pass these contents as an input}}
%z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%y : !y) outs(%acc : !y) {
^bb0(%in: f32, %old: f32):
  %r = arith.addf %in, %old : f32
  linalg.yield %r : f32
} -> !y
return %z : !y

// SET function = @transposed(%x: !m, %w: !w) -> !y
%z0 = tensor.empty() : !y
// expected-remark @below {{'linalg.generic' runs as a simple kernel, one thread for each element of its result, since input 0 is read by (d0, d1) -> (d1, d0), which is not a subset of its loops in order}}
%z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%y : !y) outs(%z0 : !y) {
^bb0(%in: f32, %old: f32):
  linalg.yield %in : f32
} -> !y
return %z : !y

// SET function = @addf(%x: !m, %w: !w, %b: !y) -> !y
%z = arith.addf %y, %b : !y
return %z : !y

// SET function = @slice_returned(%x: !m, %w: !w) -> tensor<128x64xf32>
// expected-remark @below {{'memref.copy' runs as a simple kernel, one thread for each element of its result}}
%z = tensor.extract_slice %y[0, 64] [128, 64] [1, 1] : !y to tensor<128x64xf32>
return %z : tensor<128x64xf32>

// SET function = @insert_slice(%x: !m, %w: !w) -> tensor<128x256xf32>
%0 = tensor.empty() : !f
// expected-remark @below {{'memref.copy' runs as a simple kernel, one thread for each element of its result}}
%z = tensor.insert_slice %y into %0[0, 128] [128, 128] [1, 1] : !y into !f
return %z : !f

// SET function = @concat(%x: !m, %w: !w) -> tensor<128x256xf32>
%y20 = tensor.empty() : !y
%y2 = mx.matmul ins(%p#0, %p#1, %q#0, %q#1 : !e, !s, !e, !s) outs(%y20 : !y) -> !y
// expected-remark @below {{'memref.copy' runs as a simple kernel, one thread for each element of its result}}
%z = tensor.concat dim(1) %y, %y2 : (!y, !y) -> !f
return %z : !f

// SET function = @extract(%x: !m, %w: !w) -> f32
%c = arith.constant 3 : index
// expected-error @below {{'memref.load' op expected tensors to stay in device memory, where the host cannot read an element}}
%z = tensor.extract %y[%c, %c] : !y
return %z : f32
