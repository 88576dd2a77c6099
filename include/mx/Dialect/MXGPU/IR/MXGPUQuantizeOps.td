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
  let summary = "read consecutive elements of a row, or zeros outside the tensor";
  let description = [{
    The elements are either all inside or all outside, and start at a multiple
    of 16 bytes or of their total size; rows may be strided. Elements of 4 and 6
    bits are read from a matrix of bytes (i8), 4-bit elements in pairs. With
    `in_bounds` they are known to be inside, and nothing is compared.

    Not `vector.transfer_read`: it compares each element with the bounds, and
    has no elements of 4 and 6 bits in bytes.
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
    The semantics of `mx.quantize` for one block along a row. The block is in
    the registers of one thread or, with `lanes(n)`, of n adjacent lanes of a
    warp: each lane has the next elements, or the next row of a square, and all
    get the scale. With `amax`, the largest magnitude of the block, a thread may
    hold any part of it. `encode` is NVFP4's factor of the tensor. `seed` selects
    stochastic rounding and comes with the linear index in the tensor of the
    thread's first element.

    Example: blocks of 32 that two lanes share.

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
  let summary = "quantize blocks that are columns";
  let description = [{
    The semantics of `mx.quantize` along axis 0 for some columns in a thread's
    registers. Each column of the input is a block and becomes a row of
    `elements`, which are thereby transposed; `scales` has one scale for each.
    `encode` is NVFP4's factor of the tensor. With `rows(n)` the blocks end
    before row n, a signed number: later rows hold zeros, and their elements are
    0 even if a scale is NaN. With `lanes(n)`, n adjacent lanes of a warp have
    the columns of a square, which share one scale. `seed` selects stochastic
    rounding and comes with the linear index in the tensor of the first element
    and the distance to the element in the next row.

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
                       DefaultValuedAttr<I64Attr, "1">:$lanes);
  let results = (outs AnyVectorOfNonZeroRank:$elements,
                      AnyVectorOfNonZeroRank:$scales);
  let assemblyFormat = [{
    $input (`encode` `(` $encode^ `)`)? (`rows` `(` $rows^ `)`)?
    (`seed` `(` $seed^ `at` $first `by` $stride `)`)?
    `scale_rounding` `=` `` $scale_rounding (`lanes` `(` $lanes^ `)`)? attr-dict
    `:` type($input) `->` type($elements) `,` type($scales)
  }];
}

def MXGPU_ThreadAmaxOp : MXGPU_Op<"thread_amax", [Pure]> {
  let summary = "the largest magnitude of a thread's elements";
  let description = [{
    The largest magnitude of all elements of the vectors, as `mx.amax` defines
    it. With `as_integers` it is computed in the same way as quantizers to NVFP4
    compute that of a block; without it, as other quantizers do. If a vector is
    also quantized, the instructions are then shared.

    Example:

    ```mlir
    %m = mxgpu.thread_amax %x, %y : vector<8xbf16>, vector<8xbf16>
    ```
  }];
  let arguments = (ins Variadic<AnyVectorOfNonZeroRank>:$values,
                       UnitAttr:$as_integers);
  let results = (outs F32:$result);
  let assemblyFormat = [{
    $values (`as_integers` $as_integers^)? attr-dict `:` type($values)
  }];
}

def MXGPU_LoadRelaxedOp : MXGPU_Op<"load_relaxed"> {
  let summary = "an earlier value of a number that warps increase";
  let description = [{
    The current value is at least this one, since the number only increases. It
    is read long before it is needed, so no thread waits for it. Not
    `memref.load`, which races with writes of other warps (PTX ISA, ld.relaxed).

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
  let summary = "update a number with the maximum over a warp";
  let description = [{
    `dest` becomes the maximum of its value and of the `value` of each lane of a
    warp, all of which take part. These are results of `mxgpu.thread_amax`; NaN
    counts as the largest. Other warps may update `dest` at the same time. A
    warp whose maximum does not exceed `known`, a result of
    `mxgpu.load_relaxed`, does not write.

    Not `memref.atomic_rmw`: its `maximumf` is a loop of compare-and-swap in
    LLVM for this target. Magnitudes are compared by their bits, as unsigned
    integers with NaN the largest, once for a warp.

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
  let summary = "write consecutive elements of a row if they are inside the tensor";
  let description = [{
    The elements are either all inside or all outside, and start at a multiple
    of 16 bytes or of their total size. Elements of 4 and 6 bits are written to
    a matrix of bytes (i8), 4-bit elements in pairs. Not `vector.transfer_write`,
    for the reasons of `mxgpu.load_block`.
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
  let summary = "read the scale of a block, or 0 outside the tensor";
  let description = [{
    The scale at `row` and `block` of a matrix of scales, which may have
    strides, or of scale tiles, `tiles of rows x tiles of blocks x 32 x 4 x 4`.
    Nothing writes them while the kernel runs.

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
    The semantics of `mx.dequantize` for elements of one block: the exact
    product with the scale, and with NVFP4's factor `decode`, rounded once.
    A vector of two dimensions has a block in each row, and as many scales.

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
  let summary = "exchange elements so that a reduction is in the order of threads";
  let description = [{
    Adjacent lanes, the first of which is a multiple of their number, have eight
    adjacent elements each: eight lanes of 64 with `run = 16`, four of 32 with
    `run = 8`. Lane `2 t + u` of eight gets elements `8 (4 u + t)` and following
    in `#mxgpu.k_order`: elements `2 p` and `2 p + 1` are
    those that lane `2 p + u` had as `2 t` and `2 t + 1`. Of four lanes, lane t
    gets those of lane p. All lanes of a warp execute it together.

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
  let summary = "write the scales of the lanes of a warp";
  let description = [{
    Each `lanes` adjacent lanes hold one scale each, at `row` and `block`
    of `rows x blocks` scales; four adjacent such sets hold those of a row whose
    first block is a multiple of 4.

    `dest` is a matrix of scales, or scale tiles,
    `tiles of rows x tiles of blocks x 32 x 4 x 4`, in which these four are
    adjacent bytes. All bytes of a tile that has a scale are written: 0 after
    the last row and block.

    Example:

    ```mlir
    mxgpu.store_scales %f into %dest[%row, %block] of(%rows, %blocks) lanes(2)
        : f8E8M0FNU into memref<?x?x32x4x4xf8E8M0FNU>
    ```
  }];
  let arguments = (ins AnyFloat:$scale,
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
  let summary = "the sum, maximum or minimum over the lanes of a warp";
  let description = [{
    All lanes of a warp take part, and all get the same result; the order of the
    additions is fixed. `maximum` and `minimum` are `arith.maximumf` and
    `arith.minimumf`: NaN if any value is NaN.

    Not `gpu.subgroup_reduce`, which leaves the order of a sum to its lowering
    and is for integers here: lanes that are 16 apart are added first, then 8,
    and so on, so that results are specified to the bit.

    Example:

    ```mlir
    %sum = mxgpu.reduce_lanes add %x : f32
    ```
  }];
  let arguments = (ins MXGPU_ReduceKindAttr:$kind, F32:$value);
  let results = (outs F32:$result);
  let assemblyFormat = "$kind $value attr-dict `:` type($value)";
  let hasVerifier = 0;
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUQUANTIZEOPS_TD
