//===- MXOps.td - Operations of the mx dialect -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_MXOPS_TD
#define MX_DIALECT_MX_IR_MXOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mx/Dialect/MX/IR/MXAttrs.td"

class MX_Op<string opMnemonic, list<Trait> traits = []>
    : Op<MX_Dialect, opMnemonic, traits>;

/// Operands of a destination-style operation: ranked tensors, or memrefs once
/// the function is bufferized.
def MX_TensorOrMemRef : AnyTypeOf<[AnyRankedTensor, AnyMemRef],
    "ranked tensor or memref", "::mlir::ShapedType">;

/// An operation that writes its `outs`: results are the written tensors, and
/// there are none when the operation works on memrefs.
class MX_StructuredOp<string opMnemonic, list<Trait> traits = []>
    : MX_Op<opMnemonic, !listconcat([
        AttrSizedOperandSegments, DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
          ["reifyResultShapes"]>], traits)> {
  let hasVerifier = 1;
  code dpsDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutsMutable();
    }
  }];
  let extraClassDeclaration = dpsDeclaration;
}

def MX_QuantizeOp : MX_StructuredOp<"quantize"> {
  let summary = "quantize a tensor in blocks that share a scale";
  let description = [{
    Divides the last two dimensions of the input into blocks of `block_size`
    elements along an axis, gives each block a power-of-two (or, for NVFP4,
    E4M3) scale, and rounds `x / scale` to the element type.

    `axes` names the axis of the blocks: 1 for the last dimension, 0 for the
    one before. Each axis has two destinations: elements and scales, both with
    the quantized axis innermost, so that axis 0 is written transposed. With
    both axes the input is read once.

    | axes | outs for an input `[b...] x R x C` |
    |---|---|
    | `[1]` | elements `[b...] x R x C`, scales `[b...] x R x ceil(C/block)` |
    | `[0]` | elements `[b...] x C x R`, scales `[b...] x C x ceil(R/block)` |
    | `[1, 0]` | both of the first row, then both of the second |

    Semantics of a block with absolute maximum a (NaN > Inf > finite):
    scale byte 255 if a is NaN, 254 if it is infinite, else by
    `scale_rounding`:

    - `ceil`: round_up(a * (1 / max)) to a power of two; nothing saturates;
    - `floor` (OCP MX v1.0): 2^(floor(log2(a)) - emax);
    - `even`: `floor` of a rounded to the element's mantissa.

    Elements are `round_to_nearest_even(x * 2^(127 - byte))`, saturated; NaN
    becomes the type's NaN, or its largest value where it has none. Slack of the layout is
    written as 0.

    NVFP4 (`f4E2M1FN` with `f8E4M3FN` scales, block 16) takes the per-tensor
    encode factor as `global_scale`.

    With `offsets` (cumulative group ends, on the device) the destinations have
    the ragged layout that their types name.

    Example:

    ```mlir
    %q, %s = mx.quantize ins(%x : tensor<256x512xbf16>)
        outs(%e, %f : tensor<256x512xf8E4M3FN>,
                      tensor<256x16xf8E8M0FNU, #mx.scale_layout<tcgen05>>)
        axes = [1] block_size = 32 scale_rounding = ceil
    ```
  }];
  let arguments = (ins
    MX_TensorOrMemRef:$input,
    Optional<F32>:$global_scale,
    Optional<MX_TensorOrMemRef>:$offsets,
    Variadic<MX_TensorOrMemRef>:$outs,
    DefaultValuedAttr<DenseI64ArrayAttr, "{1}">:$axes,
    DefaultValuedAttr<I64Attr, "32">:$block_size,
    DefaultValuedAttr<MX_ScaleRoundingAttr, "::mx::ScaleRounding::Ceil">:$scale_rounding);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)`
    (`global_scale` `(` $global_scale^ `)`)?
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    `outs` `(` $outs `:` type($outs) `)`
    (`axes` `=` $axes^)? (`block_size` `=` $block_size^)?
    (`scale_rounding` `=` $scale_rounding^)?
    attr-dict (`->` type($results)^)?
  }];
}

def MX_DequantizeOp : MX_StructuredOp<"dequantize"> {
  let summary = "multiply each element by the scale of its block";
  let description = [{
    `out[i, j] = round(element[i, j] * scale[i, j / block_size])`, one rounding
    to the result type; NaN becomes the result type's canonical NaN.

    Example:

    ```mlir
    %x = mx.dequantize ins(%q, %s : tensor<256x512xf8E4M3FN>,
                                    tensor<256x16xf8E8M0FNU>)
        outs(%init : tensor<256x512xbf16>)
    ```
  }];
  let arguments = (ins
    MX_TensorOrMemRef:$input, MX_TensorOrMemRef:$scales,
    Optional<F32>:$global_scale,
    Variadic<MX_TensorOrMemRef>:$outs,
    DefaultValuedAttr<I64Attr, "32">:$block_size);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `,` $scales `:` type($input) `,` type($scales) `)`
    (`global_scale` `(` $global_scale^ `)`)?
    `outs` `(` $outs `:` type($outs) `)`
    (`block_size` `=` $block_size^)? attr-dict (`->` type($results)^)?
  }];
}

def MX_RelayoutOp : MX_StructuredOp<"relayout"> {
  let summary = "write the same scales in another physical layout";
  let description = [{
    The logical scales do not change; slack of the destination's layout is
    written as 0.

    Example:

    ```mlir
    %t = mx.relayout ins(%s : tensor<256x16xf8E8M0FNU>)
        outs(%init : tensor<256x16xf8E8M0FNU, #mx.scale_layout<tcgen05>>)
    ```
  }];
  let arguments = (ins
    MX_TensorOrMemRef:$input,
    Optional<MX_TensorOrMemRef>:$offsets,
    Variadic<MX_TensorOrMemRef>:$outs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)`
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    `outs` `(` $outs `:` type($outs) `)` attr-dict (`->` type($results)^)?
  }];
  let hasCanonicalizer = 1;
}

def MX_MatmulOp : MX_StructuredOp<"matmul"> {
  let summary = "block-scaled matrix product with the second operand transposed";
  let description = [{
    `C[m, n] = sum over k of (A[m, k] * SA[m, k / block]) * (B[n, k] * SB[n, k / block])`
    with exact products and f32 accumulation. Both operands are K-major.

    With `accumulate` the product is added to `outs`; without it `outs` gives
    the shape only and is not read. `alpha` multiplies the accumulator (tensor
    scales of NVFP4). The optional `epilogue` region maps the f32 accumulator
    and its row and column to the stored element.

    Example:

    ```mlir
    %c = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>,
          tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>,
          tensor<128x16xf8E8M0FNU>)
        outs(%init : tensor<256x128xbf16>)
    ```
  }];
  let arguments = (ins
    MX_TensorOrMemRef:$a, MX_TensorOrMemRef:$a_scales,
    MX_TensorOrMemRef:$b, MX_TensorOrMemRef:$b_scales,
    Optional<F32>:$alpha,
    Variadic<MX_TensorOrMemRef>:$outs,
    DefaultValuedAttr<I64Attr, "32">:$block_size,
    UnitAttr:$accumulate);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region MaxSizedRegion<1>:$epilogue);
  let assemblyFormat = [{
    `ins` `(` $a `,` $a_scales `,` $b `,` $b_scales `:`
      type($a) `,` type($a_scales) `,` type($b) `,` type($b_scales) `)`
    (`alpha` `(` $alpha^ `)`)?
    `outs` `(` $outs `:` type($outs) `)`
    (`block_size` `=` $block_size^)? (`accumulate` $accumulate^)?
    attr-dict (`->` type($results)^)? (`epilogue` $epilogue^)?
  }];
}

def MX_GroupedMatmulOp : MX_StructuredOp<"grouped_matmul"> {
  let summary = "block-scaled matrix products over ragged groups";
  let description = [{
    `offsets` holds the cumulative ends of the groups, on the device.

    - `ragged = rows`: group g owns rows `offsets[g-1] .. offsets[g]` of A and
      C and its own `B[g]`: `C[m, n] = sum_k A[m, k] * B[g, n, k]`.
    - `ragged = reduction`: group g owns a slice of K and its own
      `C[g, m, n] = sum over k in group g of A[m, k] * B[n, k]`.

    A group without rows writes nothing; a group without reduction elements
    writes zeros, or leaves the accumulated value.

    Example:

    ```mlir
    %c = mx.grouped_matmul ragged = rows
        ins(%a, %sa, %b, %sb : ...) offsets(%o : tensor<8xi32>)
        outs(%init : tensor<1024x128xbf16>)
    ```
  }];
  let arguments = (ins
    MX_TensorOrMemRef:$a, MX_TensorOrMemRef:$a_scales,
    MX_TensorOrMemRef:$b, MX_TensorOrMemRef:$b_scales,
    MX_TensorOrMemRef:$offsets,
    Optional<F32>:$alpha,
    Variadic<MX_TensorOrMemRef>:$outs,
    MX_RaggedKindAttr:$ragged,
    DefaultValuedAttr<I64Attr, "32">:$block_size,
    UnitAttr:$accumulate);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region MaxSizedRegion<1>:$epilogue);
  let assemblyFormat = [{
    `ragged` `=` $ragged
    `ins` `(` $a `,` $a_scales `,` $b `,` $b_scales `:`
      type($a) `,` type($a_scales) `,` type($b) `,` type($b_scales) `)`
    `offsets` `(` $offsets `:` type($offsets) `)`
    (`alpha` `(` $alpha^ `)`)?
    `outs` `(` $outs `:` type($outs) `)`
    (`block_size` `=` $block_size^)? (`accumulate` $accumulate^)?
    attr-dict (`->` type($results)^)? (`epilogue` $epilogue^)?
  }];
}

def MX_YieldOp : MX_Op<"yield", [Pure, Terminator,
    ParentOneOf<["MatmulOp", "GroupedMatmulOp"]>]> {
  let summary = "terminate an epilogue region with the element to store";
  let arguments = (ins AnyFloat:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

#endif // MX_DIALECT_MX_IR_MXOPS_TD
