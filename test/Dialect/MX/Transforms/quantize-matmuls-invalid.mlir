// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir --split-input-file --verify-diagnostics --mx-quantize-matmuls

// Reports why a matmul is not quantized.

func.func @four_bits(%a: tensor<64x96xbf16>, %b: tensor<96x96xbf16>, %c: tensor<64x96xf32>) -> tensor<64x96xf32> {
  // expected-remark @below {{not quantized: its reduction dimension of 96 is not a multiple of 64}}
  %0 = linalg.matmul {mx.recipe = "mxfp4"} ins(%a, %b : tensor<64x96xbf16>, tensor<96x96xbf16>) outs(%c : tensor<64x96xf32>) -> tensor<64x96xf32>
  // expected-remark @below {{not quantized: its reduction dimension of 96 is not a multiple of 128}}
  %1 = linalg.matmul {mx.recipe = ["mxfp4", "mxfp8"]} ins(%a, %b : tensor<64x96xbf16>, tensor<96x96xbf16>) outs(%0 : tensor<64x96xf32>) -> tensor<64x96xf32>
  return %1 : tensor<64x96xf32>
}

func.func @broadcast(%a: tensor<64xf32>, %b: tensor<64x96xf32>, %c: tensor<64x96xf32>) -> tensor<64x96xf32> {
  // expected-remark @below {{not quantized: it does not have exactly one row, one column and one reduction dimension, and at most one batch dimension}}
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%a, %b : tensor<64xf32>, tensor<64x96xf32>) outs(%c : tensor<64x96xf32>) -> tensor<64x96xf32>
  return %r : tensor<64x96xf32>
}

// The two row dimensions are not collapsed if the matmul cannot be quantized.
func.func @rows(%x: tensor<4x8x40xbf16>, %w: tensor<96x40xbf16>, %c: tensor<4x8x96xf32>) -> tensor<4x8x96xf32> {
  // expected-remark @below {{not quantized: its reduction dimension of 40 is not a multiple of 32}}
  %r = linalg.contract indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%x, %w : tensor<4x8x40xbf16>, tensor<96x40xbf16>) outs(%c : tensor<4x8x96xf32>) -> tensor<4x8x96xf32>
  return %r : tensor<4x8x96xf32>
}

func.func @vector(%a: tensor<64x64xf32>, %b: tensor<64xf32>, %c: tensor<64xf32>) -> tensor<64xf32> {
  // expected-remark @below {{not quantized: it does not have exactly one row, one column and one reduction dimension, and at most one batch dimension}}
  %r = linalg.matvec ins(%a, %b : tensor<64x64xf32>, tensor<64xf32>) outs(%c : tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// -----

// TEMPLATE matmul
// SET a = tensor<64x64xbf16>
// SET b = tensor<64x96xbf16>
// SET c = tensor<64x96xf32>
// SET op = linalg.matmul
func.func @matmul(%a: ${a}, %b: ${b}, %c: ${c}) -> ${c} {
  // BLOCK message
  // END
  %r = ${op} ins(%a, %b : ${a}, ${b}) outs(%c : ${c}) -> ${c}
  return %r : ${c}
}

// -----

// CASES matmul message
// SET a = tensor<64x40xbf16>
// SET b = tensor<40x96xbf16>
// expected-remark @below {{not quantized: its reduction dimension of 40 is not a multiple of 32}}

// SET a = tensor<64x?xbf16>
// SET b = tensor<?x96xbf16>
// expected-remark @below {{not quantized: the size of its reduction dimension is not known; use dynamic-reductions to check the size at run time}}

// SET a = tensor<64x64xi8>
// SET b = tensor<64x96xi8>
// SET c = tensor<64x96xi32>
// expected-remark @below {{not quantized: its operands are not tensors of f32, bf16 or f16 without encoding}}

// SET a = tensor<64x64xf32, "sparse">
// SET b = tensor<64x96xf32>
// expected-remark @below {{not quantized: its operands are not tensors of f32, bf16 or f16 without encoding}}

// SET op = linalg.matmul {mx.recipe = "fp8"}
// expected-error @below {{'linalg.matmul' op expected mx.recipe to be "none", or one or two of the recipes mxfp8, mxfp8-e5m2, mxfp6-e3m2, mxfp6-e2m3, mxfp4, nvfp4, mxfp8-fast, mxfp8-e5m2-fast; found "fp8"}}

// SET op = linalg.matmul {mx.recipe = ["nvfp4", "mxfp4"]}
// expected-error @below {{'linalg.matmul' op expected recipes of one block size for both operands, found nvfp4 and mxfp4}}

// SET op = linalg.matmul {mx.recipe = ["mxfp8-e5m2-fast", "mxfp8"]}
// expected-error @below {{'linalg.matmul' op expected recipes of one block size for both operands, found mxfp8-e5m2-fast and mxfp8}}

// Only 8-bit formats can be folded.
// SET op = linalg.matmul {mx.recipe = "mxfp4-fast"}
// expected-error @below {{'linalg.matmul' op expected mx.recipe to be "none", or one or two of the recipes}}

// Quantized, but not folded.
// SET a = tensor<64x192xbf16>
// SET b = tensor<192x96xbf16>
// SET op = linalg.matmul {mx.recipe = "mxfp8-fast"}
// expected-remark @below {{not folded: its reduction dimension of 192 is not a multiple of 128}}

// -----

// TEMPLATE groups
// SET type = i32
// SET count = 4
// SET carried = %start
func.func @groups(%x: tensor<200x128xbf16>, %w: tensor<4x128x96xbf16>, %ends: tensor<4x${type}>, %starts: tensor<4xindex>, %old: tensor<200x96xf32>) -> tensor<200x96xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %count = arith.constant ${count} : index
  %zero = arith.constant 0.0 : f32
  // BLOCK remark
  // END
  %y:2 = scf.for %g = %c0 to %count step %c1 iter_args(%out = %old, ${carried} = %c0) -> (tensor<200x96xf32>, index) {
    // BLOCK bounds
    %e = tensor.extract %ends[%g] : tensor<4xi32>
    %end = arith.index_cast %e : i32 to index
    // END
    %n = arith.subi %end, %start : index
    %xg = tensor.extract_slice %x[%start, 0] [%n, 128] [1, 1] : tensor<200x128xbf16> to tensor<?x128xbf16>
    %wg = tensor.extract_slice %w[%g, 0, 0] [1, 128, 96] [1, 1, 1] : tensor<4x128x96xbf16> to tensor<128x96xbf16>
    // BLOCK part
    %part = tensor.extract_slice %out[%start, 0] [%n, 96] [1, 1] : tensor<200x96xf32> to tensor<?x96xf32>
    // END
    %r = linalg.matmul {mx.recipe = "none"} ins(%xg, %wg : tensor<?x128xbf16>, tensor<128x96xbf16>) outs(%part : tensor<?x96xf32>) -> tensor<?x96xf32>
    %o = tensor.insert_slice %r into %out[%start, 0] [%n, 96] [1, 1] : tensor<?x96xf32> into tensor<200x96xf32>
    scf.yield %o, %end : tensor<200x96xf32>, index
  }
  return %y#0 : tensor<200x96xf32>
}

// -----

// CASES groups remark
// The start of a group must be the end of the previous group.
// SET type = index
// SET carried = %previous
// expected-remark @below {{not a grouped matmul: the result is neither the rows of an expert group nor its matrix}}
// BLOCK bounds
%end = tensor.extract %ends[%g] : tensor<4xindex>
%start = tensor.extract %starts[%g] : tensor<4xindex>

// SET type = index
// expected-remark @below {{not a grouped matmul: the ends of expert groups are not i32 or i64}}
// BLOCK bounds
%end = tensor.extract %ends[%g] : tensor<4xindex>

// Skips an expert group.
// SET count = 3
// expected-remark @below {{not a grouped matmul: the loop does not visit a static number of expert groups in order}}

// Would overwrite the old contents of other rows.
// expected-remark @below {{not a grouped matmul: rows outside all expert groups would lose their contents}}
// BLOCK part
%empty = tensor.empty(%n) : tensor<?x96xf32>
%part = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x96xf32>) -> tensor<?x96xf32>
