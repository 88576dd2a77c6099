//===- MXGPUQuantizeOps.td - Quantization and reductions ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUQUANTIZEOPS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUQUANTIZEOPS_TD

include "mx/Dialect/MXGPU/IR/MXGPUBase.td"

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

def MXGPU_LoadBlockOp : MXGPU_Op<"load_block"> {
  let summary = "load consecutive elements of a row, or zeros outside the tensor";
  let description = [{
    The elements are all inside or all outside of the tensor, and aligned to 16
    bytes or to their total size; rows may be strided. 4- and 6-bit elements are
    read from a matrix of bytes (i8). A byte holds two 4-bit elements.
    `in_bounds` asserts that the elements are inside and omits the comparison.

    `vector.transfer_read` compares each element with the bounds, and does not
    support 4-bit and 6-bit elements in bytes.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source,
                       Index:$row, Index:$column, UnitAttr:$in_bounds);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = [{
    $source `` `[` $row `,` $column `]` (`in_bounds` $in_bounds^)? attr-dict
    `:` type($source) `->` type($result)
  }];
}

def MXGPU_QuantizeBlockOp : MXGPU_Op<"quantize_block", [
    Pure, AttrSizedOperandSegments]> {
  let summary = "compute the scale of a block and round its elements";
  let description = [{
    Quantizes one block along a row, as defined by `mx.quantize`. The block is
    in the registers of one thread or, with `lanes(n)`, of n adjacent lanes of a
    warp. Successive lanes hold successive elements, or successive rows of a
    square block, and all lanes receive the scale. If `amax`, the largest
    magnitude of the block, is given, a thread may hold any part of the block.
    `encode` is NVFP4's per-tensor factor. `seed` enables stochastic rounding;
    `first` is the linear index of the thread's first element in the tensor.

    Example: blocks of 32 elements, shared by two lanes.

    ```mlir
    %q, %f = mxgpu.quantize_block %x scale_rounding = ceil lanes(2)
        : vector<16xbf16> -> vector<16xf8E4M3FN>, f8E8M0FNU
    ```
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$input,
                       Optional<F32>:$encode,
                       Optional<I64>:$seed, Optional<Index>:$first,
                       Optional<F32>:$amax,
                       MXGPU_ScaleRoundingAttr:$scale_rounding,
                       DefaultValuedAttr<I64Attr, "1">:$lanes);
  let results = (outs AnyVectorOfNonZeroRank:$elements, AnyFloat:$scale);
  let builders = [
    OpBuilder<(ins "::mlir::TypeRange":$types, "::mlir::Value":$input,
                   "::mx::ScaleRounding":$rounding), [{
      build($_builder, $_state, types, input, /*encode=*/::mlir::Value(),
            /*seed=*/::mlir::Value(), /*first=*/::mlir::Value(),
            /*amax=*/::mlir::Value(), rounding, /*lanes=*/1);
    }]>
  ];
  let assemblyFormat = [{
    $input (`encode` `(` $encode^ `)`)? (`seed` `(` $seed^ `at` $first `)`)?
    (`amax` `(` $amax^ `)`)?
    `scale_rounding` `=` `` $scale_rounding (`lanes` `(` $lanes^ `)`)? attr-dict
    `:` type($input) `->` type($elements) `,` type($scale)
  }];
}

def MXGPU_QuantizeColumnsOp : MXGPU_Op<"quantize_columns", [
    Pure, AttrSizedOperandSegments]> {
  let summary = "quantize blocks along columns";
  let description = [{
    Quantizes columns in a thread's registers, as defined by `mx.quantize` along
    axis 0. Each input column is a block with its own scale in `scales`. The
    column becomes a row of `elements`, so `elements` is transposed. `encode` is
    NVFP4's per-tensor factor. With `rows(n)`, in which n is signed, blocks end
    before row n. Row n and later rows are treated as zeros, which quantize to 0
    even if a scale is NaN. With `lanes(n)`, n adjacent lanes of a warp hold the
    columns of a square with a single scale. With `lanes(n) folded`, they hold
    successive rows of the same columns, which share n times as long a block.
    `seed` enables stochastic rounding; `first` is the linear index of the first
    element in the tensor, and `stride` the distance between rows.

    Example:

    ```mlir
    %q, %f = mxgpu.quantize_columns %x scale_rounding = ceil
        : vector<32x2xbf16> -> vector<2x32xf8E4M3FN>, vector<2xf8E8M0FNU>
    ```
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$input,
                       Optional<F32>:$encode, Optional<Index>:$rows,
                       Optional<I64>:$seed, Optional<Index>:$first,
                       Optional<Index>:$stride,
                       MXGPU_ScaleRoundingAttr:$scale_rounding,
                       DefaultValuedAttr<I64Attr, "1">:$lanes,
                       UnitAttr:$folded);
  let results = (outs AnyVectorOfNonZeroRank:$elements,
                      AnyVectorOfNonZeroRank:$scales);
  let assemblyFormat = [{
    $input (`encode` `(` $encode^ `)`)? (`rows` `(` $rows^ `)`)?
    (`seed` `(` $seed^ `at` $first `by` $stride `)`)?
    `scale_rounding` `=` `` $scale_rounding
    (`lanes` `(` $lanes^ `)`)? (`folded` $folded^)? attr-dict
    `:` type($input) `->` type($elements) `,` type($scales)
  }];
}

def MXGPU_ThreadAmaxOp : MXGPU_Op<"thread_amax", [Pure]> {
  let summary = "compute the largest magnitude of a thread's elements";
  let description = [{
    Computes the maximum magnitude over all elements of the vectors, as defined
    by `mx.amax`. With `as_integers`, the op emits the instructions that NVFP4
    quantizers use for a block, otherwise the instructions of other quantizers.
    A quantization of the same vector can therefore share the instructions.
    `column(i)` selects column i of a matrix with rows of 32 bits.

    Example:

    ```mlir
    %m = mxgpu.thread_amax %x, %y : vector<8xbf16>, vector<8xbf16>
    ```
  }];
  let arguments = (ins Variadic<AnyVectorOfNonZeroRank>:$values,
                       UnitAttr:$as_integers, OptionalAttr<I64Attr>:$column);
  let results = (outs F32:$result);
  let assemblyFormat = [{
    $values (`as_integers` $as_integers^)? (`column` `(` $column^ `)`)?
    attr-dict `:` type($values)
  }];
}

def MXGPU_LoadRelaxedOp : MXGPU_Op<"load_relaxed"> {
  let summary = "load an earlier value of a growing maximum";
  let description = [{
    Other warps may have increased the value in the meantime. The load can be
    issued long before its use, so that no thread stalls. `memref.load` would
    race with the writes of other warps (PTX ISA, ld.relaxed).

    Example:

    ```mlir
    %known = mxgpu.load_relaxed %dest : memref<f32>
    ```
  }];
  let arguments = (ins Arg<MemRefRankOf<[F32], [0]>, "", [MemRead]>:$source);
  let results = (outs F32:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
  let hasVerifier = 0;
}

def MXGPU_AtomicMaxOp : MXGPU_Op<"atomic_max"> {
  let summary = "update a maximum with the values of a warp";
  let description = [{
    Replaces `dest` with the maximum of `dest` and the `value` of every lane of
    a warp. All lanes take part. Values are results of `mxgpu.thread_amax`; NaN
    is the largest. Other warps may update `dest` concurrently. A warp skips the
    write if its maximum does not exceed `known`, a result of
    `mxgpu.load_relaxed`.

    LLVM expands `maximumf` of `memref.atomic_rmw` to a compare-and-swap loop
    for this target. This op compares the bits of magnitudes as unsigned
    integers, with NaN the largest, once per warp.

    Example:

    ```mlir
    mxgpu.atomic_max %m above %known into %dest : memref<f32>
    ```
  }];
  let arguments = (ins F32:$value, F32:$known,
                       Arg<MemRefRankOf<[F32], [0]>, "", [MemRead, MemWrite]>:$dest);
  let assemblyFormat =
      "$value `above` $known `into` $dest attr-dict `:` type($dest)";
  let hasVerifier = 0;
}

def MXGPU_StoreBlockOp : MXGPU_Op<"store_block"> {
  let summary = "store consecutive elements of a row if they are inside the tensor";
  let description = [{
    The elements are all inside or all outside of the tensor, and aligned to 16
    bytes or to their total size. 4- and 6-bit elements are written to a matrix
    of bytes (i8). A byte holds two 4-bit elements. `vector.transfer_write` does
    not fit, for the reasons listed at `mxgpu.load_block`.
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$value,
                       Arg<AnyMemRef, "", [MemWrite]>:$dest,
                       Index:$row, Index:$column);
  let assemblyFormat = [{
    $value `,` $dest `` `[` $row `,` $column `]` attr-dict
    `:` type($value) `,` type($dest)
  }];
}

def MXGPU_LoadScaleOp : MXGPU_Op<"load_scale"> {
  let summary = "load the scale of a block, or 0 outside the tensor";
  let description = [{
    Loads the scale at `row` and `block` from a matrix of scales, possibly
    strided, or from scale tiles,
    `tiles of rows x tiles of blocks x 32 x 4 x 4`. The scales must be constant
    during the kernel.

    Example:

    ```mlir
    %f = mxgpu.load_scale %scales[%row, %block]
        : memref<?x?x32x4x4xf8E8M0FNU> -> f8E8M0FNU
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source,
                       Index:$row, Index:$block);
  let results = (outs AnyFloat:$result);
  let assemblyFormat = [{
    $source `` `[` $row `,` $block `]` attr-dict
    `:` type($source) `->` type($result)
  }];
}

def MXGPU_DequantizeBlockOp : MXGPU_Op<"dequantize_block", [Pure]> {
  let summary = "multiply elements by the scale of their block";
  let description = [{
    Dequantizes elements of one block, as defined by `mx.dequantize`: multiplies
    exactly by the scale, and by NVFP4's factor `decode`, and rounds once. For a
    vector of rank 2, each row is a block with its own scale.

    Example:

    ```mlir
    %x = mxgpu.dequantize_block %q by %f
        : vector<8xf8E4M3FN>, f8E8M0FNU -> vector<8xbf16>
    %y = mxgpu.dequantize_block %p by %fs
        : vector<2x32xf8E4M3FN>, vector<2xf8E8M0FNU> -> vector<2x32xbf16>
    ```
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$input,
                       AnyTypeOf<[AnyFloat, AnyVectorOfNonZeroRank]>:$scale,
                       Optional<F32>:$decode);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = [{
    $input `by` $scale (`decode` `(` $decode^ `)`)? attr-dict
    `:` type($input) `,` type($scale) `->` type($result)
  }];
}

def MXGPU_PermuteBlockOp : MXGPU_Op<"permute_block", [
    Pure, SameOperandsAndResultType]> {
  let summary = "permute elements across lanes to `#mxgpu.k_order`";
  let description = [{
    Each lane holds eight adjacent elements, and successive lanes hold
    successive elements. With `run = 16`, eight lanes hold a block of 64. With
    `run = 8`, four lanes hold a block of 32. The number of a block's first lane
    is a multiple of the block's lane count. With `run = 16`, lane `2 t + u`
    receives the eight elements of `#mxgpu.k_order` that start at `8 (4 u + t)`:
    its elements `2 p` and `2 p + 1` are elements `2 t` and `2 t + 1` of lane `2
    p + u`. With `run = 8`, elements `2 p` and `2 p + 1` of lane t are elements
    `2 t` and `2 t + 1` of lane p. All lanes of a warp execute the op together.

    Example:

    ```mlir
    %y = mxgpu.permute_block %x run = 16 : vector<8xbf16>
    ```
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$input, I64Attr:$run);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = "$input `run` `=` $run attr-dict `:` type($input)";
}

def MXGPU_StoreScalesOp : MXGPU_Op<"store_scales"> {
  let summary = "store the scales of a warp's lanes";
  let description = [{
    Each set of `lanes` adjacent lanes holds one scale, at `row` and `block` of
    `rows x blocks` scales. Four adjacent sets of at most 8 lanes hold four
    scales of a row, starting at a block that is a multiple of 4.

    `dest` is a matrix of scales, or scale tiles,
    `tiles of rows x tiles of blocks x 32 x 4 x 4`, in which these four scales
    are adjacent bytes and stored together. Larger sets store single bytes.
    Every byte of a tile that contains a scale is written, with 0 beyond the
    last row and block. Spreads (i8) are stored to a matrix like scales.

    Example:

    ```mlir
    mxgpu.store_scales %f into %dest[%row, %block] of(%rows, %blocks) lanes(2)
        : f8E8M0FNU into memref<?x?x32x4x4xf8E8M0FNU>
    ```
  }];
  let arguments = (ins AnyTypeOf<[AnyFloat, I8]>:$scale,
                       Arg<AnyMemRef, "", [MemWrite]>:$dest,
                       Index:$row, Index:$block, Index:$rows, Index:$blocks,
                       DefaultValuedAttr<I64Attr, "1">:$lanes);
  let assemblyFormat = [{
    $scale `into` $dest `` `[` $row `,` $block `]`
    `of` `(` $rows `,` $blocks `)` (`lanes` `(` $lanes^ `)`)? attr-dict
    `:` type($scale) `into` type($dest)
  }];
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

def MXGPU_ReduceLanesOp : MXGPU_Op<"reduce_lanes", [
    Pure, SameOperandsAndResultType]> {
  let summary = "reduce a value over the lanes of a warp";
  let description = [{
    All lanes of a warp take part and receive the same result. With `lanes(n)`,
    every n adjacent lanes reduce their own values. `maximum` and `minimum` are `arith.maximumf` and `arith.minimumf`, which propagate NaN.

    The order of additions is fixed to make results reproducible to the bit:
    first lanes at distance 16, then 8, and so on. `gpu.subgroup_reduce` leaves
    the order to its lowering and supports only integers here.

    Example:

    ```mlir
    %sum = mxgpu.reduce_lanes add %x : f32
    ```
  }];
  let arguments = (ins MXGPU_ReduceKindAttr:$kind, F32:$value,
                       DefaultValuedAttr<I64Attr, "32">:$lanes);
  let results = (outs F32:$result);
  let assemblyFormat = [{
    $kind $value (`lanes` `(` $lanes^ `)`)? attr-dict `:` type($value)
  }];
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUQUANTIZEOPS_TD
