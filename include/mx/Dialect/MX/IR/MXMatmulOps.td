//===- MXMatmulOps.td - Matmuls ----------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_MXMATMULOPS_TD
#define MX_DIALECT_MX_IR_MXMATMULOPS_TD

include "mx/Dialect/MX/IR/MXBase.td"

def MX_MatmulOp : MX_StructuredOp<"matmul", [AttrSizedOperandSegments,
    RecursiveMemoryEffects, MX_MatmulOpInterface]> {
  let summary = "block-scaled matmul with the second operand transposed";
  let description = [{
    Computes `C[m, n]` as the sum over k of
    `(A[m, k] * SA[m, k / block]) * (B[n, k] * SB[n, k / block])`, with exact
    products and f32 accumulation. Both operands are K-major: A is
    `[b...] x M x K`, B is `[b...] x N x K`, `outs` is `[b...] x M x N`.

    `alpha` multiplies the sum, for instance by the per-tensor scales of NVFP4.
    With `accumulate` the result is added to `outs`; without `accumulate`,
    `outs` only determines the shape. The optional `epilogue` region maps the
    f32 accumulator and its row and column in the matrix to the stored element.
    Without an epilogue the accumulator is rounded to the element type of
    `outs`.

    Without `a_scales`, A is an unscaled bf16 or f16 matrix, for instance
    activations that multiply quantized weights B.

    Without `b_scales`, B is an unscaled bf16 matrix and A is quantized; the
    operands are then `a`, `a_scales` and `b`.

    Without any scales, both operands are bf16, for instance dequantized values,
    and `block_size` is omitted.

    An operand may be stored in an order of `mx.pack_operand`. Its encoding
    specifies the order before materialization; `a_order` and `b_order` specify
    the order afterwards. Results do not depend on the order. The order of A
    must keep the shape.

    With `in_order` a result is one sum in ascending order of k, so its bits
    depend on its rows of A and B only: not on the number of rows, their place
    or the schedule. Schedules that split or permute the reduction are refused.

    With `where` only the elements of a class are computed, and the other
    elements of `outs` stay. The operands are the `mx.row_classes` of A and B.
    An element is *wide* if its row of A or its row of B is wide, otherwise
    *narrow*.

    Example:

    ```mlir
    %c = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>,
          tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>,
          tensor<128x16xf8E8M0FNU>)
        outs(%init : tensor<256x128xbf16>) -> tensor<256x128xbf16>
        epilogue {
        ^bb0(%acc: f32, %row: index, %col: index):
          %half = arith.mulf %acc, %c0_5 : f32
          %y = arith.truncf %half : f32 to bf16
          mx.yield %y : bf16
        }

    %y = mx.matmul ins(%x, %w, %sw : tensor<?x512xbf16>,
          tensor<128x512xf4E2M1FN>, tensor<128x16xf8E8M0FNU>)
        outs(%out : tensor<?x128xbf16>) -> tensor<?x128xbf16>

    %w = mx.matmul ins(%a, %sa, %v : tensor<256x512xf8E4M3FN>,
          tensor<256x16xf8E8M0FNU>, tensor<128x512xbf16>)
        outs(%init : tensor<256x128xbf16>) -> tensor<256x128xbf16>

    %z = mx.matmul ins(%x, %v : tensor<?x512xbf16>, tensor<128x512xbf16>)
        outs(%out : tensor<?x128xbf16>) -> tensor<?x128xbf16>
    ```
  }];
  let arguments = (ins
    MX_LeftOperandTensorOrMemRef:$a, Optional<MX_ScaleTensorOrMemRef>:$a_scales,
    MX_RightOperandTensorOrMemRef:$b, Optional<MX_ScaleTensorOrMemRef>:$b_scales,
    Optional<F32>:$alpha,
    Variadic<MX_RowBits>:$row_classes,
    MX_FloatTensorOrMemRef:$out,
    DefaultValuedAttr<MX_BlockShapeAttr, "::mx::BlockShape(32)">:$block_size,
    OptionalAttr<MX_BlockShapeAttr>:$b_block_size, OptionalAttr<I64Attr>:$promote,
    UnitAttr:$in_order,
    OptionalAttr<MX_RowClassAttr>:$where,
    UnitAttr:$accumulate,
    OptionalAttr<MX_OperandOrderAttrInterface>:$a_order,
    OptionalAttr<MX_OperandOrderAttrInterface>:$b_order);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let regions = (region VariadicRegion<SizedRegion<1>>:$epilogue);
  let assemblyFormat = [{
    `ins` `(` custom<ScaledOperands>($a, $a_scales, $b, $b_scales,
      type($a), type($a_scales), type($b), type($b_scales)) `)`
    (`alpha` `(` $alpha^ `)`)?
    (`where` $where `(` $row_classes^ `:` type($row_classes) `)`)?
    `outs` `(` $out `:` type($out) `)`
    (`block_size` `=` custom<BlockSize>($block_size)^)?
    (`b_block_size` `=` custom<BlockSize>($b_block_size)^)?
    (`promote` `=` $promote^)? (`in_order` $in_order^)?
    (`accumulate` $accumulate^)? (`a_order` `=` $a_order^)?
    (`b_order` `=` $b_order^)? attr-dict (`->` type($result)^)?
    (`epilogue` $epilogue^)?
  }];
  // Derives the block size from the scales; a memref `out` yields no result.
  let builders = [OpBuilder<(ins
    "::mlir::Value":$a, "::mlir::Value":$aScales, "::mlir::Value":$b,
    "::mlir::Value":$bScales, "::mlir::Value":$out,
    CArg<"::mx::EpilogueBody", "nullptr">:$epilogue,
    CArg<"::mlir::Value", "{}">:$alpha, CArg<"bool", "false">:$accumulate)>];
  // A missing epilogue is an absent region rather than an empty region, because
  // mlir::clone, called by the cast folding of destination-style operations,
  // requires a block in each region.
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutMutable(); }
    ::mlir::ShapedType getOutType() { return getOut().getType(); }
    ::mx::MatmulOpInterface createAlike(::mlir::OpBuilder &builder,
        ::mlir::Location loc, ::mlir::ValueRange outs,
        ::mx::EpilogueBody epilogue, int64_t numB);
    ::mlir::Value getExpertOffsets() { return {}; }
    std::optional<std::pair<int64_t, int64_t>> getColumnRange() { return {}; }
    ::mx::RaggedKind getRaggedOrNone() { return ::mx::RaggedKind::None; }
    ::mlir::Value getScatterRows() { return {}; }
    bool isMasked() { return false; }
    int64_t getNumB() { return 1; }
    ::mlir::Value getResultScales() { return {}; }
    ::mx::ScaleRounding getResultScaleRounding() {
      return ::mx::ScaleRounding::Ceil;
    }
    bool readsOuts() { return getAccumulate() || getWhere(); }
  }];
  let hasCanonicalizer = 1;
}

def MX_GroupedMatmulOp : MX_StructuredOp<"grouped_matmul", [AttrSizedOperandSegments,
    RecursiveMemoryEffects, MX_MatmulOpInterface]> {
  let summary = "block-scaled matmuls over expert groups";
  let description = [{
    `offsets` holds the cumulative ends of the G expert groups, on the device.

    - `ragged = rows`: expert group g owns rows `offsets[g-1] .. offsets[g]` of
      A and C, and the matrix `B[g]`: `C[m, n] = sum_k A[m, k] * B[g, n, k]`. A
      is `T x K`, B is `G x N x K`, `outs` is `T x N`.
    - `ragged = reduction`: expert group g owns a segment of K and the matrix
      `C[g, m, n] = sum over k in group g of A[m, k] * B[n, k]`. A is
      `M x cap`, B is `N x cap`, `outs` is `G x M x N`. The segment of group g
      starts at `p[g] = sum of roundup(n[i], 128) for i < g`, with n[i] the size
      of group i, and `cap = roundup(T + 127 * G, 128)`.

    A group without rows writes nothing. For a group without reduction elements
    the accumulators are zero, so the group writes zeros or, with `accumulate`,
    keeps `outs`; an epilogue is applied as usual. Rows outside all expert
    groups are unspecified.

    Scales, orders, `alpha`, `where`, `accumulate` and `epilogue` are defined as
    in `mx.matmul`. The row and column arguments of the epilogue are the row of A
    and the column in the group's matrix (`rows`), or indices into `outs[g]`
    (`reduction`).

    If both operands are unscaled, the padding columns of a segment of K must be
    zeros in both operands, because the kernels multiply them.

    With `masked` each expert group has a fixed capacity, as in a decoder: A is
    `G x M x K`, `outs` is `G x M x N`, scales have the layout of a batch of G
    matrices, and `offsets` holds the number of used rows of each group, clamped
    to M. The remaining rows belong to no expert group. Row and column arguments
    of the epilogue are indices into the group's matrix.

    With `ragged = rows`, results may have other forms:

    - With `columns = [n0, n1]` only columns n0 to n1 - 1 are computed, and the
      other columns of `outs` stay. `mx.collect` thus sends columns before the
      matmul computes the others.
    - With `num_b = V` each matrix of B consists of V stacked matrices, so B is
      `G x V*N x K`. The epilogue, which is required, receives V accumulators,
      one for row n of each of the stacked matrices. A single matmul can thus
      compute gate and up projections.
    - With two `outs`, elements and `f8E8M0FNU` scales, the result of the
      epilogue (f32, bf16 or f16; without an epilogue, the f32 accumulator) is
      quantized along its rows like `mx.quantize ragged = rows`, with
      `scale_rounding`. All bytes of the scale layout are written.
    - With `scatter`, row m of the result is added to row `scatter[m]` of
      `outs`, an f32 tensor with any number of rows. This adds the results of a
      token's experts. Rows with an index that is negative or out of range for
      `outs` are skipped. The order of additions to an element is unspecified,
      so sums of three or more may differ in their last bits.

    Examples:

    ```mlir
    %c = mx.grouped_matmul ragged = rows
        ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>,
          tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>,
          tensor<4x48x2xf8E8M0FNU>) offsets(%o : tensor<4xi32>)
        outs(%init : tensor<300x48xbf16>) -> tensor<300x48xbf16>

    %h, %f = mx.grouped_matmul ragged = rows
        ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>,
          tensor<300x2xf8E8M0FNU>, tensor<4x256x64xf8E4M3FN>,
          tensor<4x256x2xf8E8M0FNU>) offsets(%o : tensor<4xi32>)
        outs(%e, %s : tensor<300x128xf8E4M3FN>,
          tensor<300x4xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>)
        num_b = 2
        -> tensor<300x128xf8E4M3FN>,
           tensor<300x4xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = 4>>
        epilogue {
        ^bb0(%gate: f32, %up: f32, %row: index, %col: index):
          %product = arith.mulf %gate, %up : f32
          mx.yield %product : f32
        }

    %y = mx.grouped_matmul ragged = rows
        ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>,
          tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>,
          tensor<4x48x2xf8E8M0FNU>) offsets(%o : tensor<4xi32>)
        scatter(%tokens : tensor<300xi32>)
        outs(%sums : tensor<150x48xf32>) -> tensor<150x48xf32>
    ```
  }];
  let arguments = (ins
    MX_LeftOperandTensorOrMemRef:$a, Optional<MX_ScaleTensorOrMemRef>:$a_scales,
    MX_RightOperandTensorOrMemRef:$b, Optional<MX_ScaleTensorOrMemRef>:$b_scales,
    MX_Offsets:$offsets,
    Optional<F32>:$alpha,
    Optional<MX_Offsets>:$scatter,
    Variadic<MX_RowBits>:$row_classes,
    Variadic<MX_MatmulTensorOrMemRef>:$outs,
    MX_RaggedKindAttr:$ragged,
    UnitAttr:$masked,
    DefaultValuedAttr<MX_BlockShapeAttr, "::mx::BlockShape(32)">:$block_size,
    OptionalAttr<MX_BlockShapeAttr>:$b_block_size, OptionalAttr<I64Attr>:$promote,
    UnitAttr:$in_order,
    OptionalAttr<DenseI64ArrayAttr>:$columns,
    DefaultValuedAttr<I64Attr, "1">:$num_b,
    OptionalAttr<MX_RowClassAttr>:$where,
    UnitAttr:$accumulate,
    DefaultValuedAttr<MX_ScaleRoundingAttr, "::mx::ScaleRounding::Ceil">:$scale_rounding,
    OptionalAttr<MX_OperandOrderAttrInterface>:$a_order,
    OptionalAttr<MX_OperandOrderAttrInterface>:$b_order);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region VariadicRegion<SizedRegion<1>>:$epilogue);
  let assemblyFormat = [{
    `ragged` `=` $ragged (`masked` $masked^)?
    `ins` `(` custom<ScaledOperands>($a, $a_scales, $b, $b_scales,
      type($a), type($a_scales), type($b), type($b_scales)) `)`
    `offsets` `(` $offsets `:` type($offsets) `)`
    (`alpha` `(` $alpha^ `)`)?
    (`scatter` `(` $scatter^ `:` type($scatter) `)`)?
    (`where` $where `(` $row_classes^ `:` type($row_classes) `)`)?
    `outs` `(` $outs `:` type($outs) `)`
    (`block_size` `=` custom<BlockSize>($block_size)^)?
    (`b_block_size` `=` custom<BlockSize>($b_block_size)^)?
    (`promote` `=` $promote^)? (`in_order` $in_order^)?
    (`columns` `=` $columns^)? (`num_b` `=` $num_b^)?
    (`accumulate` $accumulate^)? (`scale_rounding` `=` $scale_rounding^)?
    (`a_order` `=` $a_order^)? (`b_order` `=` $b_order^)?
    attr-dict (`->` type($results)^)? (`epilogue` $epilogue^)?
  }];
  let builders = [OpBuilder<(ins
    "::mlir::Value":$a, "::mlir::Value":$aScales, "::mlir::Value":$b,
    "::mlir::Value":$bScales, "::mlir::Value":$offsets,
    "::mlir::ValueRange":$outs, "::mx::RaggedKind":$ragged,
    CArg<"::mx::EpilogueBody", "nullptr">:$epilogue,
    CArg<"int64_t", "1">:$numB, CArg<"::mlir::Value", "{}">:$alpha,
    CArg<"bool", "false">:$accumulate)>];
  let extraClassDeclaration = dpsDeclaration # [{
    ::mlir::Value getOut() { return getOuts().front(); }
    ::mlir::Value getResult() {
      return getResults().empty() ? ::mlir::Value() : getResults().front();
    }
    ::mx::MatmulOpInterface createAlike(::mlir::OpBuilder &builder,
        ::mlir::Location loc, ::mlir::ValueRange outs,
        ::mx::EpilogueBody epilogue, int64_t numB);
    ::mlir::Value getExpertOffsets() { return getOffsets(); }
    std::optional<std::pair<int64_t, int64_t>> getColumnRange() {
      if (std::optional<::llvm::ArrayRef<int64_t>> range = getColumns())
        return std::pair((*range)[0], (*range)[1]);
      return std::nullopt;
    }
    ::mx::RaggedKind getRaggedOrNone() { return getRagged(); }
    ::mlir::Value getScatterRows() { return getScatter(); }
    bool isMasked() { return getMasked(); }
    ::mlir::Value getResultScales() {
      return getOuts().size() > 1 ? getOuts()[1] : ::mlir::Value();
    }
    ::mx::ScaleRounding getResultScaleRounding() { return getScaleRounding(); }
    bool readsOuts() {
      return getAccumulate() || getScatter() || getWhere() || getColumns();
    }
  }];
}

def MX_RowClassesOp : MX_StructuredOp<"row_classes"> {
  let summary = "find rows whose scales spread too far for folding";
  let description = [{
    Bit r % 32 of word r / 32 of the i-th result is set if row r of the i-th
    operand is wide: one of its spreads exceeds `limit`. Spreads are those of
    `mx.fused_quantize` and `mx.fold`; along axis 0 their rows are blocks. Bits
    past the last row are 0.

    Example:

    ```mlir
    %c:2 = mx.row_classes ins(%p, %r : tensor<300x4xi8>, tensor<96x1xi8>)
        outs(%i, %j : tensor<10xi32>, tensor<3xi32>) axes = [1, 1] limit = 8
        -> tensor<10xi32>, tensor<3xi32>
    ```
  }];
  let arguments = (ins Variadic<MX_ShapedOf<[I8], "i8">>:$spreads,
                       Variadic<MX_RowBits>:$outs,
                       DenseI64ArrayAttr:$axes, I64Attr:$limit);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $spreads `:` type($spreads) `)`
    `outs` `(` $outs `:` type($outs) `)` `axes` `=` $axes `limit` `=` $limit
    attr-dict (`->` type($results)^)?
  }];
}

def MX_CombineOp : MX_StructuredOp<"combine"> {
  let summary = "add rows to indexed rows of another tensor";
  let description = [{
    Computes `outs[rows[p], :] += input[p, :]` for each row p of an expert group
    or, without `offsets`, for each row. This adds the results of a token's
    experts. Rows with an index that is negative or out of range for `outs` are
    skipped. Rows without additions keep their bits. Additions are in f32.

    With `order = fixed` the rows of a token are added to the row of `outs` one
    by one, in ascending order of p, which makes results reproducible to the bit
    across runs and devices, and the sum is rounded once to the element type of
    `outs`: f32, bf16 or f16. With `order = any`, the default, `outs` is f32,
    the CPU adds rows in ascending order of p, and the order on a GPU is
    unspecified. `mx-fuse-epilogues` can then replace the operation by the
    `scatter` of the matmul that computes the input.

    With `overwrite`, which requires `order = fixed`, the sum starts with the
    first added row in place of the row of `outs`.

    Example:

    ```mlir
    %y = mx.combine ins(%z : tensor<300x48xbf16>)
        rows(%tokens : tensor<300xi32>) offsets(%o : tensor<4xi32>)
        outs(%sums : tensor<150x48xf32>) order = fixed -> tensor<150x48xf32>
    ```
  }];
  let arguments = (ins MX_FloatTensorOrMemRef:$input, MX_Offsets:$rows,
    Optional<MX_Offsets>:$offsets, Variadic<MX_FloatTensorOrMemRef>:$outs,
    DefaultValuedAttr<MX_AdditionOrderAttr, "::mx::AdditionOrder::Any">:$order,
    UnitAttr:$overwrite);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)`
    `rows` `(` $rows `:` type($rows) `)`
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    `outs` `(` $outs `:` type($outs) `)` (`order` `=` $order^)?
    (`overwrite` $overwrite^)?
    attr-dict (`->` type($results)^)?
  }];
}

def MX_GatherRowsOp : MX_StructuredOp<"gather_rows", []> {
  let summary = "copy indexed rows of another tensor";
  let description = [{
    Row i of `outs` becomes row `rows[i]` of `input`, for numbers of any type.
    With an index that is negative or out of range for `input`, row i keeps its
    bits.

    Example: the rows that a rank sends to each of 4 ranks.

    ```mlir
    %sent = mx.gather_rows ins(%x : tensor<?x7168xf8E4M3FN>)
        rows(%tokens : tensor<4096xi32>)
        outs(%o : tensor<4096x7168xf8E4M3FN>) -> tensor<4096x7168xf8E4M3FN>
    ```
  }];
  let arguments = (ins MX_TensorOrMemRef:$input,
    MX_ShapedOf<[I32], "i32">:$rows, Variadic<MX_TensorOrMemRef>:$outs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)`
    `rows` `(` $rows `:` type($rows) `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict (`->` type($results)^)?
  }];
}

def MX_GroupRowsOp : MX_StructuredOp<"group_rows"> {
  let summary = "sort token-expert pairs by expert";
  let description = [{
    `ids[t, j]` is the j-th expert of token t; ids outside [0, experts) are
    ignored. `experts` is the size of `ends`. The other pairs are sorted by
    (expert, t, j). For the p-th pair,

    - `rows[p]` is its token t, and `slots[p]` is `t * k + j`, its index among
      all pairs, with k experts per token;
    - `ends[g]` is the end of the rows of expert g;
    - `count` is the number of pairs.

    In `rows` and `slots`, entry `count` and all later entries are -1. If these
    tensors are too short, the first pairs are kept, and `ends`, but not
    `count`, is clamped to their length. A token that lists an expert twice gets
    two rows.

    With `first`, expert g has the id `first + g` in `ids`. This selects a range
    of experts, for instance the experts of a rank.

    `rows` and `ends` serve as the `gather` and `offsets` of
    `mx.fused_quantize`, and as the `rows` and `offsets` of `mx.combine`.

    Example: an MoE layer that selects 8 of 32 experts for each token.

    ```mlir
    %g:4 = mx.group_rows ins(%ids : tensor<?x8xi32>)
        outs(%r, %s, %e, %c : tensor<?xi32>, tensor<?xi32>, tensor<32xi32>, tensor<i32>)
        -> tensor<?xi32>, tensor<?xi32>, tensor<32xi32>, tensor<i32>
    ```
  }];
  let arguments = (ins MX_ShapedOf<[I32, I64], "i32 or i64">:$ids,
                       Optional<Index>:$first,
                       Variadic<MX_ShapedOf<[I32], "i32">>:$outs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $ids `:` type($ids) `)` (`first` `(` $first^ `)`)?
    `outs` `(` $outs `:` type($outs) `)` attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = dpsDeclaration # [{
    ::mlir::Value getRows() { return getOuts()[0]; }
    ::mlir::Value getSlots() { return getOuts()[1]; }
    ::mlir::Value getEnds() { return getOuts()[2]; }
    ::mlir::Value getCount() { return getOuts()[3]; }
  }];
}

def MX_YieldOp : MX_Op<"yield", [Pure, Terminator,
    ParentOneOf<["MatmulOp", "GroupedMatmulOp", "FusedQuantizeOp"]>]> {
  let summary = "terminate an epilogue or a prologue";
  let description = [{
    An epilogue yields the element to store, in the element type of `outs`. A
    prologue yields one or more values to quantize.

    Example:

    ```mlir
    mx.yield %y : bf16
    ```
  }];
  let arguments = (ins Variadic<AnyFloat>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let extraClassDeclaration = [{
    ::mlir::Value getValue() { return getValues()[0]; }
  }];
}

#endif // MX_DIALECT_MX_IR_MXMATMULOPS_TD
