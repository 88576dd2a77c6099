//===- MXGPUFragmentOps.td - Fragments and epilogues -------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUFRAGMENTOPS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUFRAGMENTOPS_TD

include "mx/Dialect/MXGPU/IR/MXGPUBase.td"

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

/// Pure operation on a fragment, or on a thread's part of a fragment.
class MXGPU_FragmentOp<string mnemonic, list<Trait> traits = []>
    : MXGPU_Op<mnemonic, !listconcat([Pure], traits)>;

/// Operation that returns the matrix coordinate of a thread's row or run.
class MXGPU_CoordinateOp<string mnemonic> : MXGPU_FragmentOp<mnemonic> {
  let arguments = (ins I64Attr:$number, TypeAttrOf<MXGPU_FragmentType>:$fragment);
  let results = (outs Index:$result);
  let assemblyFormat = "$number `of` $fragment attr-dict";
}

def MXGPU_FragmentRowOp : MXGPU_CoordinateOp<"fragment_row"> {
  let summary = "return the matrix row of a thread's row";
  let description = [{
    The rows of a thread are numbered, starting with the row of register 0.

    Example:

    ```mlir
    %row = mxgpu.fragment_row 1 of !accumulator
    ```
  }];
}

def MXGPU_FragmentColumnOp : MXGPU_CoordinateOp<"fragment_column"> {
  let summary = "return the first matrix column of a thread's run";
  let description = [{
    A thread's runs of adjacent columns are numbered, starting with the run of
    register 0. All rows of the thread have the same runs.

    Example:

    ```mlir
    %column = mxgpu.fragment_column 3 of !accumulator
    ```
  }];
  let hasFolder = 1;
}

def MXGPU_ToRowsOp : MXGPU_FragmentOp<"to_rows"> {
  let summary = "convert a fragment to vectors, one for each row of a thread";
  let description = [{
    Each vector contains the columns of a row in ascending order.

    Example: a wgmma accumulator.

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
  let summary = "convert the rows of a thread to a fragment";
  let description = [{
    Inverse of `mxgpu.to_rows`.

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
  let summary = "extract adjacent columns of a fragment";
  let description = [{
    Returns columns, starting at `column`, which is a multiple of the result's
    column count. Registers are not addressable, so `column` must be a constant
    when the op is lowered; `mxgpu-unroll-fragments` unrolls the enclosing
    loops.

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
  let summary = "create a fragment of zeros";
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
  let summary = "load columns of an accumulator from tensor memory";
  let description = [{
    Loads columns, starting at `column`. Each thread of the role loads a row: a
    warp reads its own 32 lanes of tensor memory, a lane per thread (PTX ISA,
    tcgen05 data movement shape .32x32b). If `empty` is true, the accumulator
    was never written, and the elements are zero.

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
  let summary = "return the accumulator column at a position of the read order";
  let description = [{
    Epilogues read the shared columns of overlapping accumulators first, so that
    the next accumulator can be written early (`mxgpu-overlap-epilogues`). A
    place is a position in this order. Place 0 is the first shared column of the
    stage. Columns at place `overlap` and later places may be read after the
    release of the stage. Without overlap, the column equals the place.

    An accumulator may contain the results of `num_b` matrices B with equal
    column counts. The op then returns a column of the result for matrix `b`.
    All results use the same order, which depends on the result that contains
    the shared columns.

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
    /// Columns of each matrix B.
    int64_t getWidth();
    /// isRest returns true if the place is provably after the shared columns,
    /// isShared if it is provably among them.
    bool isRest();
    bool isShared();
  }];
}

def MXGPU_StoreFragmentOp : MXGPU_Op<"store_fragment"> {
  let summary = "store consecutive elements of a row within bounds";
  let description = [{
    If `when` is true for a thread, the thread writes to row `row`, starting at
    column `column`, up to the last column of `dest`. The elements may have any
    alignment. `aligned(n)` asserts that all columns exist and that the first is
    aligned to n bytes (4, 8, 16 or 32); elements are then written n bytes at a
    time, without allocation in the L1 cache. With `add`, f32 elements are added
    atomically to `dest`, so threads may share rows (PTX ISA, red). `cache` sets
    the L2 eviction priority.

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
  let summary = "load a vector from a tile in shared memory";
  let description = [{
    Loads a box of the result's shape at `row` and `column`, which are multiples
    of that shape, and undoes the swizzle. A vector of rank 1 is part of one
    row. Panels of a buffer form one matrix: panel i is the i-th slice of each
    row. With `rows(n)`, row n and later rows are returned as zeros; n is
    signed.

    With `lanes(n)`, n adjacent lanes load successive parts of a block, at the
    same banks. Each lane reads its words in another order, which avoids bank
    conflicts, and returns them in order.

    Examples: The first op loads 32 elements of one row. The second op loads two
    columns of 32 rows.

    ```mlir
    %x = mxgpu.load_shared %x at [%row, %column] : !buffer -> vector<32xbf16>
    %y = mxgpu.load_shared %x at [%row, %column] : !buffer -> vector<32x2xbf16>
    ```
  }];
  let arguments = (ins Arg<MXGPU_BufferType, "", [MemRead<MXGPU_SharedMemory>]>:$buffer,
                       Index:$row, Index:$column, Optional<Index>:$rows,
                       DefaultValuedAttr<I64Attr, "1">:$lanes);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = [{
    $buffer `at` `[` $row `,` $column `]`
    (`rows` `(` $rows^ `)`)? (`lanes` `(` $lanes^ `)`)? attr-dict
    `:` type($buffer) `->` type($result)
  }];
}

def MXGPU_StoreSharedOp : MXGPU_Op<"store_shared", [AttrSizedOperandSegments]> {
  let summary = "store fragments or vectors to shared memory";
  let description = [{
    Each thread stores its part of a fragment, permuted by the swizzle of the
    buffer. A ring with `scope = warp` belongs to a single warp, and its buffer
    holds the rows of that warp. A ring with `scope = cta` belongs to all
    threads of a role, and its buffer, a matrix or panels of a matrix, has the
    shape of the fragment. With `scope = pair`, the role runs in both CTAs, and
    each CTA fills such a buffer.

    With `at`, each thread stores a vector to a ring that all threads of the
    role share. Row and column are multiples of the vector's shape.

    If all threads of a role share the fragment, `thread` is defined as in
    `mxgpu.load_fragment`.

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
    /// Returns true if all threads of a role share the fragment.
    bool isOfRole();
  }];
}

def MXGPU_StoreScaleOp : MXGPU_Op<"store_scale"> {
  let summary = "store a scale to a scale tile in shared memory";
  let description = [{
    The buffer is a tile of 128 rows by 4 scales in the tensor core layout: the
    scale of row r and block b is byte `r % 32 * 16 + r / 32 * 4 + b` of 512
    (PTX ISA, tcgen05 scale factor layouts). A buffer of `m x n x 512` bytes is
    a matrix of such tiles.

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
  let summary = "copy a buffer to consecutive bytes of global memory";
  let description = [{
    `coords` are the leading indices of the first byte in `dest`; omitted
    indices are 0. The stage becomes empty once the copy has read it. A buffer
    with several tiles is copied one `tile` at a time. With `when` the copy is
    conditional; the condition must be uniform over the threads.

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
  let summary = "store the leading rows of a buffer to a matrix";
  let description = [{
    If the uniform condition holds, the threads of the role copy the first
    `rows` rows of the buffer (signed; values below 1 copy nothing) to `dest` at
    `row` and `column`, clipped to the bounds of `dest`. Used for partial tiles,
    which a bulk copy would overrun.

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
  let summary = "copy a buffer to a box of a tensor";
  let description = [{
    `coords` is the first element of the box, outermost dimension first.
    Elements outside the tensor are dropped. With `add` the elements are added
    to the tensor, each with a single rounding. The stage becomes empty once the
    copy has read it. A buffer with several boxes (panels, or rows of panels) is
    copied one `box` at a time. With `when` the copy is conditional; the
    condition must be uniform over the threads, or over a warp that owns the
    ring. For one matrix of a batch the box has a leading dimension of 1 before
    the dimensions of the buffer. `cache` sets the L2 eviction priority.

    Example:

    ```mlir
    mxgpu.tma_store %buffer to %map[%row, %column] : !buffer, !mxgpu.tensor_map<32x32xf32, sw128>
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
