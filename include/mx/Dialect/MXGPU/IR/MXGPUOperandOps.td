//===- MXGPUOperandOps.td - Operands in registers ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What makes operands of matrix instructions from what threads hold.
//
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXGPU_IR_MXGPUOPERANDOPS_TD
#define MX_DIALECT_MXGPU_IR_MXGPUOPERANDOPS_TD

include "mx/Dialect/MXGPU/IR/MXGPUFragmentOps.td"

def MXGPU_DequantizeFragmentOp : MXGPU_FragmentOp<"dequantize_fragment"> {
  let summary = "multiply the elements of a fragment by the scales of their blocks";
  let description = [{
    Each element times the scale of its block, rounded once to bf16, to nearest
    even. A block is `block` adjacent columns of a row; the first one begins
    with the fragment. Of the scales, row i belongs to the i-th row that the
    thread holds, and column j to the j-th block that its columns touch, both in
    ascending order (`fragment_layout`'s `getRowOffsets` and `getBlocks`).

    Elements of 6 bits take a byte each, whose upper two bits say nothing.
    Elements of 4 bits take half a byte, the first one the low half. A scale of
    f8E8M0FNU with byte s is 2^(s - 127), and NaN if s is 255. One of f8E4M3FN
    (NVFP4, whose elements are f4E2M1FN) is the number without its sign bit, and
    NaN if the rest is 0x7F.

    - Nothing is flushed to zero: subnormal elements, scales and results count.
    - The product is exact, and the rounding changes nothing, but in two cases.
      Elements of f8E4M3FN with scales below 2^-124, and of f8E5M2 with scales
      below 2^-117, can have bits below 2^-133, the last of bf16. Products of
      2^128 and more are infinite.
    - Infinities of f8E5M2 stay infinite.
    - NaN elements and scales give NaN, of any sign and payload.

    The result may have its registers in another order than the input.

    With `reference` the result is f16, and a scale with byte s counts as
    2^(s - reference). That is exact for elements of f8E4M3FN, and NaN for those
    that are NaN, where scales lie within a range: bytes from reference - 14 to
    reference + 7. Blocks with scales below it are zero, whatever their
    elements; scales above it are for the caller to keep out.

    With `finite` no element may be NaN, which is not checked, and the result is
    bf16 again, by scales that count as 2^(s - reference). That is exact for
    bytes from reference - 124 to reference + 7, and from reference - 117 on
    results but 0 are normal numbers. Others are for the caller to keep out, but
    of blocks of zeros, for which bytes from reference - 246 on will do.

    Examples: what a thread holds of 64 columns of two rows.

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
  let summary = "whether scales of a tile lie within a range, and where";
  let description = [{
    Row `tile` of the table, or its last one, says which scales (f8E8M0FNU) a
    tile of 128 rows has, of all the reduction or of a group's segment, but for
    blocks whose elements are all zero: for each quarter of its blocks,
    the largest byte times 2^16, plus 255 less the smallest one, or plus 0 if
    there is none. The numbers may be given as bytes, the lowest first. A row is
    16 bytes at a multiple of 16. `reference` is what
    `mxgpu.dequantize_fragment` takes: the largest byte less 7. The tile `fits`
    if its bytes span 12 at most and the reference lies from 87 to 162: then
    operands but 0 are normal numbers of f16, and no sum of their products
    leaves the range of f32, nor its normal numbers, whether operands are
    relative to the reference or not. So both give the same bits.

    With `bf16` the window is that of `mxgpu.dequantize_fragment` with `finite`,
    and the reference 127 at least. The tile fits if its largest byte is 169 at
    most, and its smallest one reference - 54 at least, which gives the same
    bits for the same reasons. All tiles that fit otherwise do so too.

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
