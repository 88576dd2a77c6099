//===- MXGPUFragmentViewOps.td - Fragments of shared memory --*- tablegen -*-=//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Loads of operands and scales from shared memory to fragments, and changes of
// fragment layouts.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUFRAGMENTVIEWOPS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUFRAGMENTVIEWOPS_TD

include "mx/Dialect/MXGPU/IR/MXGPUBase.td"

def MXGPU_LoadFragmentOp : MXGPU_NamedOp<"load_fragment", "fragment"> {
  let summary = "load a fragment from shared memory";
  let description = [{
    Each thread of the role loads its elements of a box of the result's shape at
    `row` and `column`, multiples of that shape, and undoes the swizzle. Panels
    of a buffer form one matrix: panel i is the i-th slice of each row.

    The buffer has the element type of the fragment, or contains bytes (i8). A
    byte holds two 4-bit elements, the first in the low half, or one 6-bit
    element in the low bits. Columns are counted in elements. Adjacent columns
    are loaded up to 16 bytes at a time.

    `thread` is the number of the thread in the layout. The default is the
    number within the role, set by `mxgpu-lower-coordinates`. A different
    numbering, used consistently for all loads and stores of the fragment, can
    avoid bank conflicts between adjacent threads.

    With `matrices`, each instruction loads 8 to 32 rows of 16 bytes for a warp.
    Each lane receives a word of every 8 rows, so four lanes share a row (PTX
    ISA, ldmatrix). All lanes of a warp load together.

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
  let summary = "reinterpret the registers of a fragment under another layout";
  let description = [{
    The registers keep their values, and only the matrix positions of their
    elements change. The op costs nothing. It can permute the columns of a
    reduction, if both operands of an MMA use the same order. It can transpose
    an accumulator, because `B A^T` is the transpose of `A B^T`. The shape may
    change, for example for packed weights loaded as bytes.

    Examples: the second op transposes a 64 x 16 wgmma accumulator.

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
    partial accumulator of a work tile over a split of the reduction, and stores
    the partial accumulator in shared memory. CTA 0 reads all partial
    accumulators (PTX ISA, distributed shared memory) and returns their sum,
    added register by register in rank order. The other CTAs return their own
    partial accumulators.

    With `distributed` each CTA adds some of the registers, four at a time: with
    n CTAs and V registers, CTA r adds registers from `V / 4 * r / n * 4` up to
    the first register of CTA r + 1. The other registers of CTA r keep partial
    sums.

    All threads of the role execute the op in all CTAs of the cluster, and no
    other threads of the kernel synchronize the cluster. `mxgpu.end_partials`
    must follow. Uses of the sum may precede it, but the other CTAs then wait
    for these uses.

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
    Afterwards the CTAs may exit or write the next partial accumulators. In each
    CTA of the cluster, all threads of the role that executes
    `mxgpu.add_partials` wait.
  }];
  let assemblyFormat = "attr-dict";
}

def MXGPU_ExtractRowsOp : MXGPU_Op<"extract_rows", [Pure]> {
  let summary = "extract rows of a fragment";
  let description = [{
    The result has the operand's layout without one register mode that counts
    rows. It contains the rows for which this mode has the value `index`, and
    renumbers these rows. Every thread keeps some of its registers.

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
  let summary = "concatenate the rows of fragments";
  let description = [{
    Inverse of `mxgpu.extract_rows`: the operands have the layout of the result
    without one register mode that counts rows. Value i of this mode selects
    operand i.

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
  let summary = "load the scales of a thread's elements of a fragment";
  let description = [{
    Loads the scales of a fragment whose type follows `for`. The fragment starts
    at row `row` and block `block` of the buffer, which are multiples of the
    fragment's rows and blocks. If the fragment covers whole tiles of rows plus
    half a tile, `row` is a multiple of 64, and the rows of a thread are less
    than 64 apart. With `block(n)`, a block is n columns. The result contains
    one row for each row of the thread and, in each row, one scale for each
    block that the thread's columns touch. Rows and blocks are in ascending
    order. With `extent`, the scales of block `extent` and later blocks of the
    fragment are zero bits, regardless of memory.

    The buffer holds tiles of 128 rows by 4 blocks in the tensor core layout of
    sm_100a: the scale of row r and block b of a tile is byte
    `r % 32 * 16 + r / 32 * 4 + b` of 512. The buffer is one tile, `512` or
    `2x256`, or a matrix of tiles, `m x n x 512` or `m x n x 2 x 256`. Adjacent
    blocks of a row are loaded together. `thread` is defined as in
    `mxgpu.load_fragment`.

    Matrix instructions that read scales from registers define a layout for
    scale fragments. With `block(1)`, the type after `for` is a scale fragment
    with one column per block, and the result has this type.

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
