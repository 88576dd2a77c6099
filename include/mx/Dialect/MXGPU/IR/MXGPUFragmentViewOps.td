//===- MXGPUFragmentViewOps.td - Operands from shared memory -*- tablegen -*-=//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the threads of a role read of operands and their scales, as the layout
// of a fragment says, and fragments under another layout.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUFRAGMENTVIEWOPS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUFRAGMENTVIEWOPS_TD

include "mx/Dialect/MXGPU/IR/MXGPUBase.td"

def MXGPU_LoadFragmentOp : MXGPU_NamedOp<"load_fragment", "fragment"> {
  let summary = "read a fragment from shared memory";
  let description = [{
    Each thread of the role reads the elements that the layout gives it, of the
    box of the result's shape that begins at `row` and `column`, multiples of
    that shape, where the swizzle has put them. Panels of a buffer are one
    matrix: panel i holds the i-th slice of each row.

    The buffer has the fragment's elements, or is of bytes (i8), each of which
    holds two elements of 4 bits, the first in its lower half, or one of 6 bits,
    in the lower bits. Columns count elements. A run of adjacent columns is read
    up to 16 bytes at a time.

    `thread` is the number by which the layout knows the thread. Without it
    `mxgpu-lower-coordinates` gives the thread's number within its role. Another
    order of these numbers, the same wherever the fragment is read or written,
    can keep accesses of adjacent threads out of each other's banks.

    With `matrices` warps load rows of 16 bytes, 8 to 32 by each instruction,
    and lanes get a word of each 8 (PTX ISA, ldmatrix): four lanes share a row,
    and the lanes of a warp have 8. All lanes of a warp load together.

    Examples:

    ```mlir
    %q = mxgpu.load_fragment %a at [%row, %column] : !a -> !q
    %r = mxgpu.load_fragment %a at [%row, %column] matrices : !a ->
        !mxgpu.fragment<32x32xf8E4M3FN, #mxgpu.fragment_layout<
            threads = [4: 4 columns, 8: 1 row],
            values = [4: 1 column, 2: 8 rows, 2: 16 columns, 2: 16 rows]>>
    ```
  }];
  let arguments = (ins Arg<MXGPU_BufferType, "", [MemRead<MXGPU_SharedMemory>]>:$buffer,
                       Index:$row, Index:$column, Optional<Index>:$thread,
                       UnitAttr:$matrices);
  let results = (outs MXGPU_FragmentType:$result);
  let assemblyFormat = [{
    $buffer `at` `[` $row `,` $column `]` (`thread` `(` $thread^ `)`)?
    (`matrices` $matrices^)? attr-dict
    `:` type($buffer) `->` type($result)
  }];
}

def MXGPU_RelabelFragmentOp : MXGPU_Op<"relabel_fragment", [Pure]> {
  let summary = "the same registers under another layout";
  let description = [{
    Register v of thread t holds what it held, and the result's layout says which
    element that is. Rows or columns have thereby changed places, without an
    instruction: the elements of a reduction may come in any order that both
    operands of an MMA agree on. Rows may become columns: the accumulator of
    B times the transpose of A is that of A times the transpose of B. The matrix
    may have another shape, as the bytes of packed weights have that are read
    as they lie.

    Examples: the second is of a 64 x 16 accumulator of wgmma.

    ```mlir
    %y = mxgpu.relabel_fragment %x : !x -> !y
    %t = mxgpu.relabel_fragment %accumulator
        : !accumulator -> !mxgpu.fragment<16x64xf32,
        #mxgpu.fragment_layout<threads = [4: 2 rows, 8: 2 columns, 4: 16 columns],
                               values = [2: 1 row, 2: 1 column, 2: 8 rows]>>
    ```
  }];
  let arguments = (ins MXGPU_FragmentType:$fragment);
  let results = (outs MXGPU_FragmentType:$result);
  let assemblyFormat = "$fragment attr-dict `:` type($fragment) `->` type($result)";
  let hasFolder = 1;
}

def MXGPU_AddPartialsOp : MXGPU_NamedOp<"add_partials", "added", [
    AllTypesMatch<["accumulator", "result"]>,
    MemoryEffects<[MemRead<MXGPU_SharedMemory>, MemWrite<MXGPU_SharedMemory>]>]> {
  let summary = "add the partial accumulators of a cluster";
  let description = [{
    In a kernel with `cluster_splits(n)` each CTA of a cluster computes a
    partial accumulator of a work tile, over its split of the reduction, and
    puts it into its shared memory. CTA 0 reads them there (PTX ISA, distributed
    shared memory): register v of its thread t is the sum over all CTAs, added
    in the order of their ranks. The result of the other CTAs is their own
    partial accumulator.
    With `distributed` each CTA adds some registers, four at a time: with n CTAs
    and V registers, CTA r adds registers `V / 4 * r / n * 4` up to the first of
    CTA r + 1. Its other registers are partial.
    All threads of the role take part, in all CTAs of the cluster, and no other
    threads of the kernel wait for the cluster. `mxgpu.end_partials` follows
    the last use of the sum that other CTAs may wait for.

    `thread` is the thread's number within its role.

    Example:

    ```mlir
    %all = mxgpu.add_partials %accumulator thread(%thread) : !accumulator
    scf.if %is_first {
      // stores %all
    }
    mxgpu.end_partials
    ```
  }];
  let arguments = (ins MXGPU_FragmentType:$accumulator, Index:$thread,
                       UnitAttr:$distributed);
  let results = (outs MXGPU_FragmentType:$result);
  let assemblyFormat = [{
    $accumulator `thread` `(` $thread `)` (`distributed` $distributed^)?
    attr-dict `:` type($accumulator)
  }];
}

def MXGPU_EndPartialsOp : MXGPU_Op<"end_partials"> {
  let summary = "wait until the partial accumulators have been read";
  let description = [{
    Afterwards the CTAs may end, or write the next partial accumulators. All
    threads of the role of `mxgpu.add_partials` wait, in all CTAs of the cluster.
  }];
  let assemblyFormat = "attr-dict";
}

def MXGPU_ExtractRowsOp : MXGPU_Op<"extract_rows", [Pure]> {
  let summary = "some rows of a fragment";
  let description = [{
    The result's layout is the operand's without one mode of its registers,
    which counts rows: the result has the rows where that mode is `index`,
    numbered anew. Every thread keeps some of its registers.

    Example: the second of two blocks of 64 rows.

    ```mlir
    %block = mxgpu.extract_rows %a[1] :
        !mxgpu.fragment<128x16xbf16, #mxgpu.fragment_layout<
            threads = [4: 2 columns, 8: 1 row, 4: 16 rows],
            values = [2: 1 column, 2: 8 rows, 2: 8 columns, 2: 64 rows]>> ->
        !mxgpu.fragment<64x16xbf16, #mxgpu.fragment_layout<
            threads = [4: 2 columns, 8: 1 row, 4: 16 rows],
            values = [2: 1 column, 2: 8 rows, 2: 8 columns]>>
    ```
  }];
  let arguments = (ins MXGPU_FragmentType:$fragment, I64Attr:$index);
  let results = (outs MXGPU_FragmentType:$result);
  let assemblyFormat = [{
    $fragment `[` $index `]` attr-dict `:` type($fragment) `->` type($result)
  }];
}

def MXGPU_ConcatRowsOp : MXGPU_Op<"concat_rows", [Pure]> {
  let summary = "a fragment of the rows of several";
  let description = [{
    The inverse of `mxgpu.extract_rows`: the operands' layout is the result's
    without one mode of its registers, which counts rows; index i of the mode
    selects operand i.

    Example: the accumulator of two blocks of 64 rows.

    ```mlir
    %accumulator = mxgpu.concat_rows %low, %high : !half -> !whole
    ```
  }];
  let arguments = (ins Variadic<MXGPU_FragmentType>:$fragments);
  let results = (outs MXGPU_FragmentType:$result);
  let assemblyFormat = "$fragments attr-dict `:` type($fragments) `->` type($result)";
}

def MXGPU_LoadFragmentScalesOp : MXGPU_NamedOp<"load_fragment_scales", "scales", [
    AttrSizedOperandSegments]> {
  let summary = "read the scales of a thread's elements of a fragment";
  let description = [{
    The fragment is a box of `for`'s shape. Its first row is `row`, and its first
    column begins block `block`, both of the buffer and multiples of the box's
    rows and blocks; rows that are tiles and half of one begin at a multiple of 64, and
    those of a thread are less than 64 apart. A block is `block(n)` columns. The result has a row for each row
    that the thread holds, and in it the scales of the blocks that its columns
    touch, both in ascending order. With `extent` the fragment's blocks from
    number `extent` on have scales whose bits are 0, whatever memory holds.

    The buffer holds tiles of 128 rows by 4 blocks, as the tensor core of
    sm_100a reads them: the scale of row r and block b of a tile is byte
    `r % 32 * 16 + r / 32 * 4 + b` of 512. It is one tile, `512` or `2x256`, or a
    matrix of tiles, `m x n x 512` or `m x n x 2 x 256`. Blocks of a row that are
    adjacent in memory are read together. `thread` is as for
    `mxgpu.load_fragment`.

    A matrix instruction that takes scales from registers has a layout of its
    own for them: with `block(1)` the fragment is one of scales, with a column
    for each block, and the result is that fragment.

    Examples:

    ```mlir
    %s = mxgpu.load_fragment_scales %sfa at [%row, %block] extent(%n) block(32) for !q
        : !sfa -> vector<4x1xf8E8M0FNU>
    %t = mxgpu.load_fragment_scales %sfa at [%row, %c0] block(1) for !s : !sfa -> !s
    ```
  }];
  let arguments = (ins Arg<MXGPU_BufferType, "", [MemRead<MXGPU_SharedMemory>]>:$buffer,
                       Index:$row, Index:$block, Optional<Index>:$extent,
                       Optional<Index>:$thread, I64Attr:$block_size,
                       TypeAttrOf<MXGPU_FragmentType>:$fragment);
  let results = (outs AnyTypeOf<[AnyVectorOfNonZeroRank,
                                 MXGPU_FragmentType]>:$result);
  let assemblyFormat = [{
    $buffer `at` `[` $row `,` $block `]` (`extent` `(` $extent^ `)`)?
    (`thread` `(` $thread^ `)`)? `block` `(` $block_size `)` `for` $fragment
    attr-dict `:` type($buffer) `->` type($result)
  }];
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUFRAGMENTVIEWOPS_TD
