//===- MXGPUOperandOps.td - Operands in registers ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that convert fragments to operands of matrix instructions.
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUOPERANDOPS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUOPERANDOPS_TD

include "mx/Dialect/MXGPU/IR/MXGPUFragmentOps.td"

def MXGPU_DequantizeFragmentOp : MXGPU_FragmentOp<"dequantize_fragment"> {
  let summary = "multiply the elements of a fragment by their block scales";
  let description = [{
    Multiplies each element by the scale of its block and rounds once to bf16,
    to nearest even. A block is `block` adjacent columns of a row; the first
    block begins at the first column of the fragment. Scale `(i, j)` belongs to
    the i-th row of the thread and the j-th block touched by its columns, both
    in ascending order (`getRowOffsets` and `getBlocks` of
    `#mxgpu.fragment_layout`).

    Each 6-bit element occupies a byte, and the upper two bits are ignored. Two
    4-bit elements share a byte, and the first is in the low half. An f8E8M0FNU
    scale with byte s is 2^(s - 127), or NaN if s is 255. An f8E4M3FN scale
    (NVFP4, with f4E2M1FN elements) is read without its sign bit, and is NaN if
    the other bits are 0x7F.

    - Subnormal elements, scales and results are preserved.
    - The result is exact, with two exceptions. First, f8E4M3FN elements with
      scales below 2^-124 and f8E5M2 elements with scales below 2^-117 can
      produce bits below 2^-133, the last bit of bf16. Second, results of 2^128
      and more become infinite.
    - Infinities of f8E5M2 stay infinite.
    - NaN elements and scales produce NaN of unspecified sign and payload.

    The registers of the result may be in a different order than the input's.

    With `reference` the result is f16, and a scale with byte s means 2^(s -
    reference). For f8E4M3FN elements and scale bytes from reference - 14 to
    reference + 7 the result is exact, and NaN elements produce NaN. Blocks with
    smaller scales become zero. The caller must exclude larger scales.

    With `reference` and `finite` the result is bf16, and a scale with byte s
    means 2^(s - reference). Elements must not be NaN, which is not checked.
    Results are exact for bytes from reference - 124 to reference + 7, and
    nonzero results are normal numbers for bytes of at least reference - 117.
    The caller must exclude other bytes, except for blocks of zeros, which allow
    bytes of at least reference - 246.

    Examples: fragments with 64 columns of two rows per thread.

    ```mlir
    %x = mxgpu.dequantize_fragment %q by %s block(32)
        : !mxgpu.fragment<64x64xf8E4M3FN, #a>, vector<2x2xf8E8M0FNU>
        -> !mxgpu.fragment<64x64xbf16, #a>
    %y = mxgpu.dequantize_fragment %q by %s block(32) reference(%r)
        : !mxgpu.fragment<64x64xf8E4M3FN, #a>, vector<2x2xf8E8M0FNU>
        -> !mxgpu.fragment<64x64xf16, #a>
    %z = mxgpu.dequantize_fragment %q by %s block(32) reference(%r) finite
        : !mxgpu.fragment<64x64xf8E4M3FN, #a>, vector<2x2xf8E8M0FNU>
        -> !mxgpu.fragment<64x64xbf16, #a>
    ```
  }];
  let arguments = (ins MXGPU_FragmentType:$input,
                       AnyVectorOfNonZeroRank:$scales, Optional<I32>:$reference,
                       UnitAttr:$finite, I64Attr:$block);
  let results = (outs MXGPU_FragmentType:$result);
  let assemblyFormat = [{
    $input `by` $scales `block` `(` $block `)`
    (`reference` `(` $reference^ `)`)? (`finite` $finite^)? attr-dict
    `:` type($input) `,` type($scales) `->` type($result)
  }];
}

def MXGPU_LoadScaleRangeOp : MXGPU_Op<"load_scale_range"> {
  let summary = "test whether the scales of a tile fit a range, and return its reference";
  let description = [{
    Row `tile` of the table, clamped to the last row, summarizes the scales
    (f8E8M0FNU) of a 128-row tile, over the whole reduction or a group's
    segment. Blocks of zeros are ignored. For each quarter of the blocks the row
    contains a word: the largest byte times 2^16, plus 255 minus the smallest
    byte. If the quarter is empty, the second term is 0. The table may be given
    as bytes in little-endian order. A row is 16 bytes and is aligned to 16
    bytes.

    The result `reference` is the largest byte minus 7, an operand for
    `mxgpu.dequantize_fragment`. The result `fits` is true if the largest and
    the smallest byte of the tile differ by at most 12 and the reference is from
    87 to 162. Nonzero operands are then normal f16 values, and sums of their
    products stay within the normal range of f32, with or without the reference.
    The computations with and without the reference therefore return the same
    bits.

    With `bf16` the range is that of `mxgpu.dequantize_fragment` with `finite`,
    and the reference is at least 127. The tile fits if its largest byte is at
    most 169 and its smallest byte is at least reference - 54; the same argument
    shows that the bits are equal. Tiles that fit without `bf16` also fit here.

    Example:

    ```mlir
    %reference, %fits = mxgpu.load_scale_range %table[%tile] : memref<64x4xi32>
    %other, %wide = mxgpu.load_scale_range %table[%tile] bf16 : memref<64x4xi32>
    ```
  }];
  let arguments = (ins Arg<MemRefRankOf<[I32, I8], [2]>, "", [MemRead]>:$table,
                       Index:$tile, UnitAttr:$bf16);
  let results = (outs I32:$reference, I1:$fits);
  let assemblyFormat = [{
    $table `` `[` $tile `]` (`bf16` $bf16^)? attr-dict `:` type($table)
  }];
}

#endif // MX_DIALECT_MXGPU_IR_MXGPUOPERANDOPS_TD
