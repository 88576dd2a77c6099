//===- MXGPUFragmentOps.td - What threads hold of tiles ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUFRAGMENTOPS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUFRAGMENTOPS_TD

include "mx/Dialect/MXGPU/IR/MXGPUBase.td"

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

/// An operation on what the calling threads hold of a matrix.
class MXGPU_FragmentOp<string mnemonic, list<Trait> traits = []>
    : MXGPU_Op<mnemonic, !listconcat([Pure], traits)>;

/// Where one of the thread's rows or runs lies in the matrix.
class MXGPU_CoordinateOp<string mnemonic> : MXGPU_FragmentOp<mnemonic> {
  let arguments = (ins I64Attr:$number, TypeAttrOf<MXGPU_FragmentType>:$fragment);
  let results = (outs Index:$result);
  let assemblyFormat = "$number `of` $fragment attr-dict";
}

def MXGPU_FragmentRowOp : MXGPU_CoordinateOp<"fragment_row"> {
  let summary = "the matrix row of one of the rows that a thread holds";
  let description = [{
    Rows of a thread are numbered from the one of its register 0.

    Example:

    ```mlir
    %row = mxgpu.fragment_row 1 of !accumulator
    ```
  }];
}

def MXGPU_FragmentColumnOp : MXGPU_CoordinateOp<"fragment_column"> {
  let summary = "the matrix column where a run of a thread's row begins";
  let description = [{
    Runs are numbered from the one of register 0, and are the same in each of
    the thread's rows.

    Example:

    ```mlir
    %column = mxgpu.fragment_column 3 of !accumulator
    ```
  }];
  let hasFolder = 1;
}

def MXGPU_ToRowsOp : MXGPU_FragmentOp<"to_rows"> {
  let summary = "the rows that a thread holds, as vectors";
  let description = [{
    A vector for each of the thread's rows, with its columns in ascending order,
    run after run.

    Example: accumulators of wgmma.

    ```mlir
    %rows:2 = mxgpu.to_rows %accumulator
        : !accumulator -> vector<8xf32>, vector<8xf32>
    ```
  }];
  let arguments = (ins MXGPU_FragmentType:$fragment);
  let results = (outs Variadic<AnyVectorOfNonZeroRank>:$rows);
  let assemblyFormat = "$fragment attr-dict `:` type($fragment) `->` type($rows)";
  let builders = [OpBuilder<(ins "::mlir::Value":$fragment), [{
    auto type = ::llvm::cast<FragmentType>(fragment.getType());
    ::llvm::SmallVector<::mlir::Type> rows(
        type.getLayout().getRowOffsets().size(), type.getRowType());
    build($_builder, $_state, rows, fragment);
  }]>];
  let hasFolder = 1;
}

def MXGPU_FromRowsOp : MXGPU_FragmentOp<"from_rows"> {
  let summary = "a fragment from the rows that each thread holds";
  let description = [{
    The reverse of `mxgpu.to_rows`.

    Example:

    ```mlir
    %c = mxgpu.from_rows %a, %b : vector<8xbf16>, vector<8xbf16> -> !c
    ```
  }];
  let arguments = (ins Variadic<AnyVectorOfNonZeroRank>:$rows);
  let results = (outs MXGPU_FragmentType:$fragment);
  let assemblyFormat = "$rows attr-dict `:` type($rows) `->` type($fragment)";
}

def MXGPU_ExtractColumnsOp : MXGPU_FragmentOp<"extract_columns"> {
  let summary = "some columns of a fragment";
  let description = [{
    The columns from `column` on, a multiple of those that the result has.
    Registers have no addresses: the column must be a constant when the
    operation is lowered, and `mxgpu-unroll-fragments` unrolls loops around it.

    Example:

    ```mlir
    %slice = mxgpu.extract_columns %accumulator at(%c32) : !accumulator -> !slice
    ```
  }];
  let arguments = (ins MXGPU_FragmentType:$fragment, Index:$column);
  let results = (outs MXGPU_FragmentType:$result);
  let assemblyFormat = [{
    $fragment `at` `(` $column `)` attr-dict `:` type($fragment) `->` type($result)
  }];
}

def MXGPU_ZeroFragmentOp : MXGPU_FragmentOp<"zero_fragment"> {
  let summary = "a fragment of zeros";
  let description = [{
    Example:

    ```mlir
    %accumulator = mxgpu.zero_fragment : !accumulator
    ```
  }];
  let results = (outs MXGPU_FragmentType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 0;
}

def MXGPU_LoadAccumulatorOp : MXGPU_NamedOp<"load_accumulator", "fragment"> {
  let summary = "read columns of an accumulator in tensor memory";
  let description = [{
    The columns from `column` on, all rows of them: a row for each of the role's
    threads (tensor memory's 32x32b access: a warp reads its own 32 lanes, one
    lane a thread; PTX ISA, tcgen05 data movement shape .32x32b). With `empty`
    true the accumulator was never written, and the elements are zero.

    Example:

    ```mlir
    %x = mxgpu.load_accumulator %d column(%c) empty(%e) : !d -> !fragment
    ```
  }];
  let arguments = (ins Arg<MXGPU_BufferType, "", [MemRead<MXGPU_TensorMemory>]>:$buffer,
                       Index:$column, Optional<I1>:$empty);
  let results = (outs MXGPU_FragmentType:$result);
  let assemblyFormat = [{
    $buffer `column` `(` $column `)` (`empty` `(` $empty^ `)`)?
    attr-dict `:` type($buffer) `->` type($result)
  }];
}

def MXGPU_EpilogueColumnOp : MXGPU_Op<"epilogue_column", [Pure]> {
  let summary = "column of an accumulator that is read at a given place";
  let description = [{
    Accumulators that overlap are read beginning with the columns that they
    share, so that the next one can be written soon (`mxgpu-overlap-epilogues`):
    place 0 is the first shared column, wherever it lies in this stage. The
    columns from place `overlap` on may be read after the stage is released.
    Without overlap column and place are the same.

    Of an accumulator in `num_b`, each of as many adjacent columns, which are
    read together, this is the column of `b`: that of the matrix which has the
    shared columns, and the same of the others.

    Examples:

    ```mlir
    %column = mxgpu.epilogue_column %stage, %place : !stage
    %gate = mxgpu.epilogue_column %stage, %place b 0 of 2 : !stage
    ```
  }];
  let arguments = (ins MXGPU_StageType:$stage, Index:$place,
                       DefaultValuedAttr<I64Attr, "0">:$b,
                       DefaultValuedAttr<I64Attr, "1">:$num_b);
  let results = (outs Index:$result);
  let assemblyFormat = [{
    $stage `,` $place (`b` $b^)? (`of` $num_b^)? attr-dict `:` type($stage)
  }];
  let extraClassDeclaration = [{
    /// Columns of a matrix.
    int64_t getWidth();
    /// Whether the place is known to be after the shared columns, or among
    /// them.
    bool isRest();
    bool isShared();
  }];
}

def MXGPU_StoreFragmentOp : MXGPU_Op<"store_fragment"> {
  let summary = "write consecutive elements of a row, as far as they exist";
  let description = [{
    A thread for which `when` holds writes row `row`, columns `column` and
    following, as far as `dest` has such columns; any alignment of rows is
    taken. With `aligned(n)` all the columns exist, and the first of them starts
    at a multiple of n bytes, 4, 8, 16 or 32: the elements are written n bytes at a
    time, without taking place in the L1 cache. With `add` elements of f32 are
    added to those that `dest` holds, in one piece each, so that rows of several
    threads may be the same (PTX ISA, red). `cache` says what the L2 cache should
    keep.

    Example:

    ```mlir
    mxgpu.store_fragment %y, %c[%row, %column] when(%present) aligned(32)
        : vector<32xbf16>, memref<?x?xbf16>
    ```
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$fragment,
                       Arg<AnyMemRef, "", [MemWrite]>:$dest,
                       Index:$row, Index:$column, I1:$present,
                       OptionalAttr<I64Attr>:$alignment, UnitAttr:$add,
                       DefaultValuedAttr<MXGPU_CacheHintAttr, "::mx::mxgpu::CacheHint::None">:$cache);
  let assemblyFormat = [{
    $fragment `,` $dest `` `[` $row `,` $column `]` `when` `(` $present `)`
    (`aligned` `(` $alignment^ `)`)? (`add` $add^)? (`cache` `=` $cache^)? attr-dict
    `:` type($fragment) `,` type($dest)
  }];
}

def MXGPU_LoadSharedOp : MXGPU_NamedOp<"load_shared", "fragment"> {
  let summary = "read a fragment of a tile in shared memory";
  let description = [{
    The thread reads the rows and columns of its result's shape that begin at
    `row` and `column`, multiples of that shape, where the swizzle has put them.
    A vector of one dimension is part of one row. Panels of a buffer are one
    matrix: panel i holds the i-th slice of each row. With `rows(n)` rows from n
    on, a signed number, are zeros, whatever they hold.

    Example: 32 elements of a row; 32 rows of two columns.

    ```mlir
    %x = mxgpu.load_shared %x at [%row, %column] : !buffer -> vector<32xbf16>
    %y = mxgpu.load_shared %x at [%row, %column] : !buffer -> vector<32x2xbf16>
    ```
  }];
  let arguments = (ins Arg<MXGPU_BufferType, "", [MemRead<MXGPU_SharedMemory>]>:$buffer,
                       Index:$row, Index:$column, Optional<Index>:$rows);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = [{
    $buffer `at` `[` $row `,` $column `]`
    (`rows` `(` $rows^ `)`)? attr-dict
    `:` type($buffer) `->` type($result)
  }];
}

def MXGPU_StoreSharedOp : MXGPU_Op<"store_shared", [AttrSizedOperandSegments]> {
  let summary = "write what threads hold into a buffer";
  let description = [{
    Of a fragment each thread writes what it holds, permuted as the buffer's
    swizzle says. The ring is either a warp's own (`scope = warp`), and the
    buffer has the rows of a warp; or that of all threads of a role
    (`scope = cta`, or `pair` for a role of both CTAs, each of which fills a
    buffer), and the buffer, a matrix or panels of one, has the fragment's
    shape.

    With `at` each thread writes a vector, whose first element has that row
    and column, multiples of the vector's shape. The ring is that of all
    threads of a role.

    `thread` is as for `mxgpu.load_fragment`, of a fragment of a role.

    Examples:

    ```mlir
    mxgpu.store_shared %y, %c : !fragment, !buffer
    mxgpu.store_shared %q, %rows at [%row, %column] : vector<2x32xf8E4M3FN>, !buffer
    ```
  }];
  let arguments = (ins AnyTypeOf<[AnyVectorOfNonZeroRank, MXGPU_FragmentType]>:$value,
                       Arg<MXGPU_BufferType, "", [MemWrite<MXGPU_SharedMemory>]>:$buffer,
                       Variadic<Index>:$coords, Optional<Index>:$thread);
  let assemblyFormat = [{
    $value `,` $buffer (`at` `[` $coords^ `]`)? (`thread` `(` $thread^ `)`)?
    attr-dict `:` type($value) `,` type($buffer)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$buffer,
                                 CArg<"::mlir::ValueRange", "{}">:$coords)>];
  let extraClassDeclaration = [{
    /// Whether it writes a fragment that all threads of a role share.
    bool isOfRole();
  }];
}

def MXGPU_StoreScaleOp : MXGPU_Op<"store_scale"> {
  let summary = "write one scale into a tile of scales in shared memory";
  let description = [{
    The buffer is a tile of 128 rows by 4 scales, as the tensor core reads it:
    the scale of row r and block b is byte `r % 32 * 16 + r / 32 * 4 + b` of
    512 (PTX ISA, tcgen05 scale factor layouts). A buffer of `m x n x 512` bytes
    is a matrix of such tiles.

    Example:

    ```mlir
    mxgpu.store_scale %f, %scales at [%row, %block] : f8E8M0FNU, !buffer
    ```
  }];
  let arguments = (ins AnyFloat:$scale, Arg<MXGPU_BufferType, "", [MemWrite<MXGPU_SharedMemory>]>:$buffer,
                       Index:$row, Index:$block);
  let assemblyFormat = [{
    $scale `,` $buffer `at` `[` $row `,` $block `]` attr-dict
    `:` type($scale) `,` type($buffer)
  }];
}

def MXGPU_BulkStoreOp : MXGPU_Op<"bulk_store", [AttrSizedOperandSegments]> {
  let summary = "copy a buffer to consecutive bytes of memory";
  let description = [{
    `coords` are where the bytes begin, the leading indices of `dest`; those
    that are not given are 0. The stage is empty again when the copy has read it.
    A buffer of several tiles is copied one `tile` at a time, and only `when` a
    condition holds that the threads agree on.

    Example:

    ```mlir
    mxgpu.bulk_store %scales to %f[%tile, %block]
        : !buffer, memref<?x?x32x4x4xf8E8M0FNU>
    ```
  }];
  let arguments = (ins Arg<MXGPU_BufferType, "", [MemRead<MXGPU_SharedMemory>]>:$buffer,
                       Arg<AnyMemRef, "", [MemWrite]>:$dest,
                       Variadic<Index>:$coords, Optional<I1>:$condition,
                       OptionalAttr<I64Attr>:$tile);
  let assemblyFormat = [{
    $buffer (`tile` `(` $tile^ `)`)?
    `to` $dest `` `[` $coords `]` (`when` `(` $condition^ `)`)? attr-dict
    `:` type($buffer) `,` type($dest)
  }];
}

def MXGPU_StoreRowsOp : MXGPU_Op<"store_rows"> {
  let summary = "write the first rows of a buffer to a matrix";
  let description = [{
    The threads of the role write the first `rows` rows of the buffer, none if
    that signed number is below 1, as far as they are in `dest`, to `dest`,
    beginning at `coords`, if a condition holds that they agree on: for tiles
    that a bulk copy would write too much of.

    Example:

    ```mlir
    mxgpu.store_rows %rows to %q[%row, %column] rows(%n) when(%partial)
        : !buffer, memref<?x?xf8E4M3FN>
    ```
  }];
  let arguments = (ins Arg<MXGPU_BufferType, "", [MemRead<MXGPU_SharedMemory>]>:$buffer,
                       Arg<AnyMemRef, "", [MemWrite]>:$dest,
                       Index:$row, Index:$column, Index:$rows, I1:$condition);
  let assemblyFormat = [{
    $buffer `to` $dest `` `[` $row `,` $column `]`
    `rows` `(` $rows `)` `when` `(` $condition `)` attr-dict
    `:` type($buffer) `,` type($dest)
  }];
}

def MXGPU_TmaStoreOp : MXGPU_Op<"tma_store", [
    AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "copy a buffer into a box of a tensor";
  let description = [{
    `coords` are the box's first element, outermost dimension first. What lies
    outside the tensor is not written. With `add` the elements are added to
    those of the tensor, each in one rounding. The stage is empty again when the
    copy has read it. A buffer that holds several boxes, its panels or rows of
    them, is copied one `box` at a time. There is a copy only `when` a condition holds that the
    threads, or those of a warp with a ring of its own, agree on. The box of one
    matrix of several has a leading 1 more than the buffer. `cache` says what the
    L2 cache should keep.

    Example:

    ```mlir
    mxgpu.tma_store %c to %c[%row, %column] : !buffer, !mxgpu.tensor_map<32x32xf32, sw128>
    ```
  }];
  let arguments = (ins Arg<MXGPU_BufferType, "", [MemRead<MXGPU_SharedMemory>]>:$buffer,
                       MXGPU_TensorMapType:$map, Variadic<Index>:$coords,
                       Optional<I1>:$condition, UnitAttr:$add,
                       OptionalAttr<I64Attr>:$box,
                       DefaultValuedAttr<MXGPU_CacheHintAttr, "::mx::mxgpu::CacheHint::None">:$cache);
  let assemblyFormat = [{
    $buffer (`box` `(` $box^ `)`)?
    `to` $map `` `[` $coords `]` (`add` $add^)?
    (`when` `(` $condition^ `)`)? (`cache` `=` $cache^)? attr-dict `:` type($buffer) `,` type($map)
  }];
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUFRAGMENTOPS_TD
