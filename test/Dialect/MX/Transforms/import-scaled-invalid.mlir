// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir --split-input-file --verify-diagnostics --mx-import-scaled -o /dev/null

// Reports why a pattern is not imported.

#id = affine_map<(r, k) -> (r, k)>
#by8 = affine_map<(r, k) -> (r, k floordiv 8)>
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @small_blocks(%a: tensor<8x64xf8E4M3FN>, %s: tensor<8x8xf8E8M0FNU>) -> tensor<8x64xf32> {
  %e = tensor.empty() : tensor<8x64xf32>
  // expected-remark @below {{not imported: each scale applies to 8 elements, not to a multiple of 32 as required for scales of type f8E8M0FNU}}
  %r = linalg.generic {indexing_maps = [#id, #by8, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %s : tensor<8x64xf8E4M3FN>, tensor<8x8xf8E8M0FNU>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%p: f8E4M3FN, %q: f8E8M0FNU, %o: f32):
    %v = arith.scaling_extf %p, %q : f8E4M3FN, f8E8M0FNU to f32
    linalg.yield %v : f32
  } -> tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}

func.func @single(%a: tensor<16xf8E4M3FN>, %s: tensor<16xf8E8M0FNU>) -> tensor<16xf32> {
  // expected-remark @below {{not imported: each scale applies to 1 element, not to a multiple of 32}}
  %r = arith.scaling_extf %a, %s : tensor<16xf8E4M3FN>, tensor<16xf8E8M0FNU> to tensor<16xf32>
  return %r : tensor<16xf32>
}

func.func @wide_scales(%a: tensor<16xf8E4M3FN>, %s: tensor<16xf32>) -> tensor<16xf32> {
  // expected-remark @below {{not imported: the scales of arith.scaling_extf are f32, but the operation uses only their exponents: use f8E8M0FNU scales, or multiply the results of two arith.extf}}
  %r = arith.scaling_extf %a, %s : tensor<16xf8E4M3FN>, tensor<16xf32> to tensor<16xf32>
  return %r : tensor<16xf32>
}

func.func @not_tensors(%a: vector<32xf8E4M3FN>, %s: vector<32xf8E8M0FNU>) -> vector<32xf32> {
  // expected-remark @below {{not imported: arith.scaling_extf is imported only on tensors, and in the body of an elementwise linalg operation or a linalg matmul}}
  %r = arith.scaling_extf %a, %s : vector<32xf8E4M3FN>, vector<32xf8E8M0FNU> to vector<32xf32>
  return %r : vector<32xf32>
}

func.func @truncation(%a: tensor<32xf32>, %s: tensor<32xf8E8M0FNU>) -> tensor<32xf8E4M3FN> {
  // expected-remark @below {{not imported: arith.scaling_truncf uses a scale that the program computes}}
  %r = arith.scaling_truncf %a, %s : tensor<32xf32>, tensor<32xf8E8M0FNU> to tensor<32xf8E4M3FN>
  return %r : tensor<32xf8E4M3FN>
}

func.func @narrow_transposed(%a: tensor<64x8xf4E2M1FN>, %s: tensor<2x8xf8E8M0FNU>, %x: tensor<4x64xbf16>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-remark @below {{not imported: elements of f4E2M1FN would have to be transposed: the reduction dimension must be the last dimension}}
  %r = linalg.generic {indexing_maps = [#mk, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (k floordiv 32, n)>, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %a, %s : tensor<4x64xbf16>, tensor<64x8xf4E2M1FN>, tensor<2x8xf8E8M0FNU>) outs(%c : tensor<4x8xf32>) {
  ^bb0(%p: bf16, %q: f4E2M1FN, %w: f8E8M0FNU, %o: f32):
    %u = arith.extf %p : bf16 to f32
    %v = arith.scaling_extf %q, %w : f4E2M1FN, f8E8M0FNU to f32
    %m = arith.mulf %u, %v : f32
    %z = arith.addf %o, %m : f32
    linalg.yield %z : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

func.func @interleaved(%a: tensor<4x64x6xf8E4M3FN>, %s: tensor<4x2x6xf8E8M0FNU>, %x: tensor<5x64xbf16>, %c: tensor<4x5x6xf32>) -> tensor<4x5x6xf32> {
  // expected-remark @below {{not imported: the dimensions of its result are not contiguous batch, row and column dimensions, in this order}}
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, l, k) -> (i, k, l)>, affine_map<(i, j, l, k) -> (i, k floordiv 32, l)>, affine_map<(i, j, l, k) -> (j, k)>, affine_map<(i, j, l, k) -> (i, j, l)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %s, %x : tensor<4x64x6xf8E4M3FN>, tensor<4x2x6xf8E8M0FNU>, tensor<5x64xbf16>) outs(%c : tensor<4x5x6xf32>) {
  ^bb0(%q: f8E4M3FN, %w: f8E8M0FNU, %p: bf16, %o: f32):
    %u = arith.extf %p : bf16 to f32
    %v = arith.scaling_extf %q, %w : f8E4M3FN, f8E8M0FNU to f32
    %m = arith.mulf %u, %v : f32
    %z = arith.addf %o, %m : f32
    linalg.yield %z : f32
  } -> tensor<4x5x6xf32>
  return %r : tensor<4x5x6xf32>
}

// The two operands store blocks, and elements within a block, in different orders.
func.func @orders(%a: tensor<4x2x32xf8E4M3FN>, %s: tensor<4x2xf8E8M0FNU>, %x: tensor<5x32x2xbf16>, %c: tensor<4x5xf32>) -> tensor<4x5xf32> {
  // expected-remark @below {{not imported: its operands have their reduction dimensions in different orders}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, o, i) -> (m, o, i)>, affine_map<(m, n, o, i) -> (m, o)>, affine_map<(m, n, o, i) -> (n, i, o)>, affine_map<(m, n, o, i) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %s, %x : tensor<4x2x32xf8E4M3FN>, tensor<4x2xf8E8M0FNU>, tensor<5x32x2xbf16>) outs(%c : tensor<4x5xf32>) {
  ^bb0(%q: f8E4M3FN, %w: f8E8M0FNU, %p: bf16, %o: f32):
    %u = arith.extf %p : bf16 to f32
    %v = arith.scaling_extf %q, %w : f8E4M3FN, f8E8M0FNU to f32
    %m = arith.mulf %u, %v : f32
    %z = arith.addf %o, %m : f32
    linalg.yield %z : f32
  } -> tensor<4x5xf32>
  return %r : tensor<4x5xf32>
}

func.func @dynamic_blocks(%a: tensor<8x?x?xf4E2M1FN>, %b: tensor<16x?x?xf4E2M1FN>, %sa: tensor<8x?xf8E8M0FNU>, %sb: tensor<16x?xf8E8M0FNU>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-remark @below {{not imported: its block size is not known; use dynamic-blocks to assume a block size of 32}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, o, i) -> (m, o, i)>, affine_map<(m, n, o, i) -> (n, o, i)>, affine_map<(m, n, o, i) -> (m, o)>, affine_map<(m, n, o, i) -> (n, o)>, affine_map<(m, n, o, i) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a, %b, %sa, %sb : tensor<8x?x?xf4E2M1FN>, tensor<16x?x?xf4E2M1FN>, tensor<8x?xf8E8M0FNU>, tensor<16x?xf8E8M0FNU>) outs(%c : tensor<8x16xf32>) {
  ^bb0(%p: f4E2M1FN, %q: f4E2M1FN, %sp: f8E8M0FNU, %sq: f8E8M0FNU, %o: f32):
    %x = arith.scaling_extf %p, %sp : f4E2M1FN, f8E8M0FNU to f32
    %y = arith.scaling_extf %q, %sq : f4E2M1FN, f8E8M0FNU to f32
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

func.func @unranked(%a: tensor<*xf32>, %q: tensor<*xf8E5M2>, %s: tensor<*xf8E8M0FNU>) -> (tensor<*xf8E5M2>, tensor<*xf32>, tensor<*xf32>) {
  // expected-remark @below {{not imported: the rank of its operands is not known; try tosa-infer-shapes}}
  %0:2 = tosa.cast_to_block_scaled %a {block_size = BLOCK_SIZE_32} : (tensor<*xf32>) -> (tensor<*xf8E5M2>, tensor<*xf8E8M0FNU>)
  // expected-remark @below {{not imported: the rank of its operands is not known}}
  %1 = tosa.cast_from_block_scaled %q, %s {block_size = BLOCK_SIZE_32} : (tensor<*xf8E5M2>, tensor<*xf8E8M0FNU>) -> tensor<*xf32>
  // expected-remark @below {{not imported: the rank of its operands is not known}}
  %2 = tosa.matmul_t_block_scaled %q, %s, %q, %s {block_size = BLOCK_SIZE_32} : (tensor<*xf8E5M2>, tensor<*xf8E8M0FNU>, tensor<*xf8E5M2>, tensor<*xf8E8M0FNU>) -> tensor<*xf32>
  return %0#0, %1, %2 : tensor<*xf8E5M2>, tensor<*xf32>, tensor<*xf32>
}

func.func @unknown_batch(%a: tensor<?x8x64xf8E5M2>, %sa: tensor<?x8x2xf8E8M0FNU>, %b: tensor<?x16x64xf8E5M2>, %sb: tensor<?x16x2xf8E8M0FNU>) -> tensor<?x8x16xf32> {
  // expected-remark @below {{not imported: the number of matrices of its second operand is not known: a single matrix would be broadcast}}
  %r = tosa.matmul_t_block_scaled %a, %sa, %b, %sb {block_size = BLOCK_SIZE_32} : (tensor<?x8x64xf8E5M2>, tensor<?x8x2xf8E8M0FNU>, tensor<?x16x64xf8E5M2>, tensor<?x16x2xf8E8M0FNU>) -> tensor<?x8x16xf32>
  return %r : tensor<?x8x16xf32>
}

// Without scales there is no remark.
func.func @others(%a: tensor<8x64xf32>, %b: tensor<64x16xf32>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %s = arith.mulf %a, %a : tensor<8x64xf32>
  %r = linalg.matmul ins(%s, %b : tensor<8x64xf32>, tensor<64x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

// The second operand is also summed over a dimension missing in the first operand.
func.func @other_sum(%a: tensor<8x64x3xf8E4M3FN>, %s: tensor<8x2x3xf8E8M0FNU>, %x: tensor<4x64xbf16>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-remark @below {{not imported: its reduction dimensions are not the dimensions that both operands contain and the result does not}}
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k, l) -> (m, k)>, affine_map<(m, n, k, l) -> (n, k, l)>, affine_map<(m, n, k, l) -> (n, k floordiv 32, l)>, affine_map<(m, n, k, l) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%x, %a, %s : tensor<4x64xbf16>, tensor<8x64x3xf8E4M3FN>, tensor<8x2x3xf8E8M0FNU>) outs(%c : tensor<4x8xf32>) {
  ^bb0(%p: bf16, %q: f8E4M3FN, %w: f8E8M0FNU, %o: f32):
    %u = arith.extf %p : bf16 to f32
    %v = arith.scaling_extf %q, %w : f8E4M3FN, f8E8M0FNU to f32
    %m = arith.mulf %u, %v : f32
    %z = arith.addf %o, %m : f32
    linalg.yield %z : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// The scales of the second operand may have more columns than the matmul reads.

func.func @first_of_three(%a: tensor<4x32xf4E2M1FN>, %b: tensor<16x32xf4E2M1FN>, %as: tensor<4x1xf8E8M0FNU>, %bs: tensor<16x3xf8E8M0FNU>, %c: tensor<4x16xf32>) -> tensor<4x16xf32> {
  // expected-remark @below {{not imported: its operands are not imported: its elements or scales are not read completely, or their indices are not quotients and remainders of loop indices}}
  %r = linalg.generic {indexing_maps = [#mk, #nk, affine_map<(m, n, k) -> (m, 0)>, affine_map<(m, n, k) -> (n, 0)>, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b, %as, %bs : tensor<4x32xf4E2M1FN>, tensor<16x32xf4E2M1FN>, tensor<4x1xf8E8M0FNU>, tensor<16x3xf8E8M0FNU>) outs(%c : tensor<4x16xf32>) {
  ^bb0(%p: f4E2M1FN, %q: f4E2M1FN, %sp: f8E8M0FNU, %sq: f8E8M0FNU, %sum: f32):
    %x = arith.scaling_extf %p, %sp : f4E2M1FN, f8E8M0FNU to f32
    %w = arith.scaling_extf %q, %sq : f4E2M1FN, f8E8M0FNU to f32
    %xw = arith.mulf %x, %w : f32
    %next = arith.addf %sum, %xw : f32
    linalg.yield %next : f32
  } -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

func.func @dynamic_scales(%a: tensor<4x32xf4E2M1FN>, %b: tensor<16x32xf4E2M1FN>, %as: tensor<4x1xf8E8M0FNU>, %bs: tensor<16x?xf8E8M0FNU>, %c: tensor<4x16xf32>) -> tensor<4x16xf32> {
  // expected-remark @below {{not imported: its operands are not imported: its elements or scales are not read completely, or their indices are not quotients and remainders of loop indices}}
  %r = linalg.generic {indexing_maps = [#mk, #nk, affine_map<(m, n, k) -> (m, 0)>, affine_map<(m, n, k) -> (n, 0)>, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b, %as, %bs : tensor<4x32xf4E2M1FN>, tensor<16x32xf4E2M1FN>, tensor<4x1xf8E8M0FNU>, tensor<16x?xf8E8M0FNU>) outs(%c : tensor<4x16xf32>) {
  ^bb0(%p: f4E2M1FN, %q: f4E2M1FN, %sp: f8E8M0FNU, %sq: f8E8M0FNU, %sum: f32):
    %x = arith.scaling_extf %p, %sp : f4E2M1FN, f8E8M0FNU to f32
    %w = arith.scaling_extf %q, %sq : f4E2M1FN, f8E8M0FNU to f32
    %xw = arith.mulf %x, %w : f32
    %next = arith.addf %sum, %xw : f32
    linalg.yield %next : f32
  } -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

func.func @two_of_four(%a: tensor<4x64xf4E2M1FN>, %b: tensor<16x64xf4E2M1FN>, %as: tensor<4x2xf8E8M0FNU>, %bs: tensor<16x4xf8E8M0FNU>, %c: tensor<4x16xf32>) -> tensor<4x16xf32> {
  // expected-remark @below {{not imported: its operands are not imported: its elements or scales are not read completely, or their indices are not quotients and remainders of loop indices}}
  %r = linalg.generic {indexing_maps = [#mk, #nk, affine_map<(m, n, k) -> (m, k floordiv 32)>, affine_map<(m, n, k) -> (n, k floordiv 32)>, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b, %as, %bs : tensor<4x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<4x2xf8E8M0FNU>, tensor<16x4xf8E8M0FNU>) outs(%c : tensor<4x16xf32>) {
  ^bb0(%p: f4E2M1FN, %q: f4E2M1FN, %sp: f8E8M0FNU, %sq: f8E8M0FNU, %sum: f32):
    %x = arith.scaling_extf %p, %sp : f4E2M1FN, f8E8M0FNU to f32
    %w = arith.scaling_extf %q, %sq : f4E2M1FN, f8E8M0FNU to f32
    %xw = arith.mulf %x, %w : f32
    %next = arith.addf %sum, %xw : f32
    linalg.yield %next : f32
  } -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// TEMPLATE scaled
// SET element = f8E4M3FN
// SET result = 8x64xf32
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @f(%a: tensor<8x64x${element}>, %s: tensor<8x2xf8E8M0FNU>, %x: tensor<4x64xf32>, %x16: tensor<4x64xbf16>, %c: tensor<4x8xf32>) -> tensor<${result}> {
  %e = tensor.empty() : tensor<8x2x32xf8E8M0FNU>
  %w = linalg.broadcast ins(%s : tensor<8x2xf8E8M0FNU>) outs(%e : tensor<8x2x32xf8E8M0FNU>) dimensions = [2]
  %b = tensor.collapse_shape %w [[0], [1, 2]] : tensor<8x2x32xf8E8M0FNU> into tensor<8x64xf8E8M0FNU>
  // BLOCK body
  // END
  return %r : tensor<${result}>
}

// -----

// CASES scaled body
// SET element = f8E4M3FNUZ
// expected-remark @below {{not imported: mx does not support elements of f8E4M3FNUZ}}
%r = arith.scaling_extf %a, %b : tensor<8x64xf8E4M3FNUZ>, tensor<8x64xf8E8M0FNU> to tensor<8x64xf32>

// SET result = 8x64xf16
// expected-remark @below {{not imported: its scaled values are f16, which has a smaller range than their scales; use wide-f16 to keep the range of the scales}}
%r = arith.scaling_extf %a, %b : tensor<8x64xf8E4M3FN>, tensor<8x64xf8E8M0FNU> to tensor<8x64xf16>

// SET result = 8x64xf64
// expected-remark @below {{not imported: its result is f64 instead of f32, bf16 or f16}}
%r = arith.scaling_extf %a, %b : tensor<8x64xf8E4M3FN>, tensor<8x64xf8E8M0FNU> to tensor<8x64xf64>

// The matmul is not imported, but its scaled operand is dequantized.
// SET result = 4x8xf32
%y = arith.scaling_extf %a, %b : tensor<8x64xf8E4M3FN>, tensor<8x64xf8E8M0FNU> to tensor<8x64xf32>
// expected-remark @below {{not imported: one operand has scales, and the other is f32 instead of bf16 or f16}}
%r = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %y : tensor<4x64xf32>, tensor<8x64xf32>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>

// A rounding to bf16 before the matmul must be kept.
// SET result = 4x8xf32
%y = arith.scaling_extf %a, %b : tensor<8x64xf8E4M3FN>, tensor<8x64xf8E8M0FNU> to tensor<8x64xf32>
%t = arith.truncf %x : tensor<4x64xf32> to tensor<4x64xbf16>
%z = arith.extf %t : tensor<4x64xbf16> to tensor<4x64xf32>
%r = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%z, %y : tensor<4x64xf32>, tensor<8x64xf32>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>

// Reading the bits of f16 values as bf16 would change the values.
// SET result = 4x8xf32
// expected-remark @below {{not imported: its scaled values are f16}}
%h = arith.scaling_extf %a, %b : tensor<8x64xf8E4M3FN>, tensor<8x64xf8E8M0FNU> to tensor<8x64xf16>
%y = arith.bitcast %h : tensor<8x64xf16> to tensor<8x64xbf16>
%r = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x16, %y : tensor<4x64xbf16>, tensor<8x64xbf16>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
