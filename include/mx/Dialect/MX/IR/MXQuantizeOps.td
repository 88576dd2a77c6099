//===- MXQuantizeOps.td - Quantizing, and the way back -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_MXQUANTIZEOPS_TD
#define MX_DIALECT_MX_IR_MXQUANTIZEOPS_TD

include "mx/Dialect/MX/IR/MXBase.td"

def MX_QuantizeOp : MX_StructuredOp<"quantize"> {
  let summary = "quantize a tensor in blocks that share a scale";
  let description = [{
    Divides the last two dimensions of the input into blocks along an axis,
    gives each block a power-of-two (or, for NVFP4, E4M3) scale, and rounds
    `x / scale` to the element type. The type of the scales determines the
    block: 32 elements with `f8E8M0FNU`, 16 with `f8E4M3FN`.

    `axes` names the axis of the blocks: 1 for the last dimension, 0 for the one
    before. Each axis has two destinations: elements and scales, both with the
    quantized axis innermost, so that axis 0 is written transposed. With both
    axes the input is read once.

    | axes | outs for an input `[b...] x R x C` |
    |---|---|
    | `[1]` | elements `[b...] x R x C`, scales `[b...] x R x C/block` |
    | `[0]` | elements `[b...] x C x R`, scales `[b...] x C x R/block` |
    | `[1, 0]` | both of the first row, then both of the second |

    Semantics of a block with absolute maximum a (NaN > Inf > finite):
    scale byte 255 if a is NaN, 254 if it is infinite, else by
    `scale_rounding`:

    - `ceil`: round_up(a * (1 / max)) to a power of two; nothing saturates;
    - `floor` (OCP MX v1.0): 2^(floor(log2(a)) - emax);
    - `even`: `floor` of a rounded to the element's mantissa;
    - `fit` (TOSA 1.1): the least power of two with which a is rounded to an
      element. That is `even` but for `f8E4M3FN`, where 464, the largest number
      that is rounded to 448, decides.

    Elements are `round_to_nearest_even(x * 2^(127 - byte))`, saturated; NaN
    becomes the type's NaN, or its largest value if the type has none, and 0 in
    MXINT8: the NaN scale of its block records that it was NaN. Padding of the
    layout is written as 0.

    NVFP4 (`f4E2M1FN` with `f8E4M3FN` scales, block 16) takes the per-tensor
    encode factor as `global_scale`.

    With a `seed` elements are rounded stochastically instead: to one of the two
    neighbours, with probabilities that make the expected value the exact
    quotient. The random number of an element is the first word of
    Philox-4x32-10 for the key `seed` (low word first) and the element's linear
    index in the input (low word first) as counter: both orientations use the
    same one. If a 24-bit significand loses d bits, the d low bits of the word
    are added to it before truncation; if d is above 32, the last d - 32 bits
    are dropped first, and the word is added to the rest. Saturation, NaN, the
    sign of zero and the scales are the same as without a seed.

    With `square` a scale belongs to as many rows as columns, fewer at the
    edges. Both orientations then have the same scales, and the elements of one
    are those of the other transposed, which is useful for weights. The scale tensors have their usual shapes: each scale is written
    once for every line of its square.

    `ragged` says which dimension of the *input* expert groups divide: `rows` for
    the one before the last, `reduction` for the last. It requires `offsets`,
    the cumulative ends of the expert groups, which are known only on the device. The
    destinations of axis 1 have the same kind; those of axis 0 are transposed
    and have the other kind. So `axes = [1, 0]` writes a `T x N` input with
    ragged rows once with ragged rows and, transposed, once with a ragged
    reduction. With G expert groups and an input `T x N` (`N x T`):

    | kind | elements | scales |
    |---|---|---|
    | `rows` | `T x N` | `T x N/block`, tiled: `(T/128 + G) x ceil(N/block/4) x 32x4x4` |
    | `reduction` | `N x cap` | `N x cap/block`, `cap = roundup(T + 127 * G, 128)` |

    Fusion works on `mx.fused_quantize`, which `mx-generalize-quantize` makes of
    this operation.

    Examples:

    ```mlir
    %q, %s = mx.quantize ins(%x : tensor<256x512xbf16>)
        outs(%e, %f : tensor<256x512xf8E4M3FN>,
                      tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
        axes = [1] scale_rounding = ceil
        -> tensor<256x512xf8E4M3FN>,
           tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>

    %q, %s = mx.quantize ragged = rows ins(%x : tensor<300x64xbf16>)
        offsets(%o : tensor<4xi32>)
        outs(%e, %f : tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>)
        -> tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>
    ```
  }];
  let arguments = (ins
    MX_FloatTensorOrMemRef:$input,
    Optional<F32>:$global_scale,
    Optional<I64>:$seed,
    Optional<MX_Offsets>:$offsets,
    Variadic<MX_TensorOrMemRef>:$outs,
    OptionalAttr<MX_RaggedKindAttr>:$ragged,
    DefaultValuedAttr<DenseI64ArrayAttr, "{1}">:$axes,
    UnitAttr:$square,
    DefaultValuedAttr<MX_ScaleRoundingAttr, "::mx::ScaleRounding::Ceil">:$scale_rounding);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    (`ragged` `=` $ragged^)?
    `ins` `(` $input `:` type($input) `)`
    (`global_scale` `(` $global_scale^ `)`)?
    (`seed` `(` $seed^ `)`)?
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    `outs` `(` $outs `:` type($outs) `)`
    (`axes` `=` $axes^)? (`square` $square^)?
    (`scale_rounding` `=` $scale_rounding^)?
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    /// Creates the destinations. `sizes` are those of the input; by default
    /// they are read from it.
    OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$elementType,
      "::mlir::Type":$scaleType,
      CArg<"::llvm::ArrayRef<int64_t>", "{1}">:$axes,
      CArg<"::mx::ScaleRounding", "::mx::ScaleRounding::Ceil">:$scaleRounding,
      CArg<"::mx::ScaleLayoutKind", "::mx::ScaleLayoutKind::Linear">:$layout,
      CArg<"::mlir::Value", "{}">:$globalScale,
      CArg<"::mx::RaggedKind", "::mx::RaggedKind::None">:$ragged,
      CArg<"::mlir::Value", "{}">:$offsets,
      CArg<"::llvm::ArrayRef<::mlir::OpFoldResult>", "{}">:$sizes)>
  ];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = dpsDeclaration # raggedDeclaration #
      destinationDeclaration # [{
    /// A destination is the elements and scales of an axis.
    unsigned getNumDestinations() { return getAxes().size(); }
    unsigned getElementsNumber(unsigned i) { return 2 * i; }
    ::mx::QuantizeOut getOut(unsigned number) {
      using Kind = ::mx::QuantizeOut::Kind;
      return {number % 2 ? Kind::Scales : Kind::Elements, 0, number / 2};
    }
    ::llvm::ArrayRef<int64_t> getQuantizedShape() {
      return getInput().getType().getShape();
    }
    int64_t getBlockSize() {
      return ::mx::getBlockFormat(
          ::mlir::getElementTypeOrSelf(getScales(0))).blockSize;
    }
    /// Replaces this operation by the one that fusion works on.
    FusedQuantizeOp generalize(::mlir::RewriterBase &rewriter);
  }];
}

def MX_FusedQuantizeOp : MX_StructuredOp<"fused_quantize", [AttrSizedOperandSegments,
                                               RecursiveMemoryEffects]> {
  let summary = "quantization fused with the operations around it";
  let description = [{
    Created by passes from `mx.quantize` and the operations around it. The
    semantics are those of `mx.quantize`, with these additions. `block_size` is
    the block of the scales, which `outs` lacks if they are not written.

    With `gather`, row i of the quantized matrix is row `gather[i]` of every
    input, or a row of zeros if there is no such row, as for -1. This puts
    tokens in the order of their experts, with padding between groups, without a copy. Everything
    else (`ragged`, the prologue, the random numbers) refers to the gathered
    rows. The input has rank 2.

    With `amax` there is one more destination for each value, a scalar that
    follows all elements and scales: the largest magnitude of the quantized
    values, as `mx.amax` defines it. It includes the zero rows of a gather but
    not rows of no expert group, and ignores the previous contents of the destination.
    The next factor, for NVFP4 or delayed scaling, then needs no additional
    read.

    The optional `prologue` region computes the values to quantize, so that they
    need not be stored. Its arguments are the elements of all inputs, which have
    the same shape, then the row and the column (within the last two dimensions
    of the input, also for axis 0). It yields one or more values, each quantized
    separately. The type of a value, f32, bf16 or f16, is that of the tensor
    that it replaces, whose rounding is kept. `outs` lists, for each value in
    turn, the elements and scales of each axis, and then, with `amax`, a scalar
    for each value. The region is evaluated for existing elements only: padding
    is 0, not the region's result for 0.

    With `concat` the values of a prologue, two or more of one type, are
    concatenated: the quantized tensor is the one that `tensor.concat` along the
    last dimension would give, `R x V*C` for V values and inputs `R x C`.
    `outs`, the random numbers, `global_scale` and `amax` refer to that tensor.
    For example, the two gradients of a SwiGLU become the operand of the next
    matmul.

    With `dequantized` destinations are not stored as elements and scales, but
    as the values that these stand for (fake quantization, or QDQ): a training
    that simulates a format, or a matmul of bf16, takes them as they are. There
    is an entry for each destination: `none`, or the element type to round to.
    The latter has one tensor in `outs`, of f32, bf16 or f16 and with the shape
    that the elements would have, and gets what `mx.dequantize` would give, with
    the padding of a ragged reduction as 0. For NVFP4, `decode_factors` are what
    `mx.dequantize` takes as `global_scale`, one for each of these destinations
    or none at all. Everything else is as without it.

    Inputs may be quantized already: tensors of elements, each with the next one
    of `input_scales`, for blocks along the last dimension (`f8E8M0FNU` for 32
    elements, or `f8E4M3FN` for 16 elements of `f4E2M1FN`), in any layout
    without expert groups. A prologue gets the value that `mx.dequantize` would give,
    in the type of its argument: f32, bf16 or f16. This requantizes a tensor to
    another format, or along another axis, without storing the dequantized
    values.

    Without a prologue such an input, with scales of `f8E8M0FNU`, is passed on.
    Along axis 1 the destinations have its format, and its elements and scales
    are copied, byte for byte. Along axis 0 the values that `mx.dequantize`
    gives in bf16 are quantized. In rows that a `gather` leaves out, and in
    padding, elements and scales are 0. Rows that were quantized before they
    were sent so become both operands of a grouped matmul. A prologue that
    yields its argument quantizes along axis 1 too: a block whose largest
    element is at most half of the largest number then has a smaller scale.

    Examples:

    ```mlir
    %q, %s, %m = mx.fused_quantize ins(%x : tensor<256x512xbf16>)
        outs(%e, %f, %init : tensor<256x512xf8E4M3FN>,
                             tensor<256x16xf8E8M0FNU>, tensor<f32>) amax
        -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<f32>

    %q, %s = mx.fused_quantize ins(%x, %y : tensor<8x64xbf16>, tensor<8x64xbf16>)
        outs(%e, %f : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>)
        -> tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
        prologue {
        ^bb0(%a: bf16, %b: bf16, %row: index, %col: index):
          %product = arith.mulf %a, %b : bf16
          mx.yield %product : bf16
        }

    %y = mx.fused_quantize ins(%x : tensor<256x512xbf16>)
        outs(%init : tensor<256x512xbf16>) dequantized = [f8E4M3FN]
        -> tensor<256x512xbf16>

    %q, %s = mx.fused_quantize ins(%w : tensor<64x96xf8E4M3FN>)
        input_scales(%f : tensor<64x3xf8E8M0FNU>)
        outs(%e, %g : tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>)
        axes = [0] -> tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>
        prologue {
        ^bb0(%a: bf16, %row: index, %col: index):
          mx.yield %a : bf16
        }

    %q:4 = mx.fused_quantize ragged = rows ins(%w : tensor<64x96xf8E4M3FN>)
        input_scales(%f : tensor<64x3xf8E8M0FNU>)
        gather(%rows : tensor<256xi32>) offsets(%o : tensor<4xi32>)
        outs(%e, %g, %et, %gt : tensor<256x96xf8E4M3FN>,
             tensor<6x1x32x4x4xf8E8M0FNU>, tensor<96x768xf8E4M3FN>,
             tensor<1x6x32x4x4xf8E8M0FNU>) axes = [1, 0]
        -> tensor<256x96xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>,
           tensor<96x768xf8E4M3FN>, tensor<1x6x32x4x4xf8E8M0FNU>

    %q, %s = mx.fused_quantize ins(%x, %y : tensor<8x64xbf16>, tensor<8x64xbf16>)
        outs(%e, %f : tensor<8x128xf8E4M3FN>, tensor<8x4xf8E8M0FNU>)
        concat -> tensor<8x128xf8E4M3FN>, tensor<8x4xf8E8M0FNU>
        prologue {
        ^bb0(%a: bf16, %b: bf16, %row: index, %col: index):
          mx.yield %a, %b : bf16, bf16
        }
    ```
  }];
  let arguments = (ins
    Variadic<MX_QuantizableTensorOrMemRef>:$inputs,
    Variadic<MX_ScaleTensorOrMemRef>:$input_scales,
    Optional<F32>:$global_scale,
    Variadic<F32>:$decode_factors,
    Optional<I64>:$seed,
    Optional<MX_Offsets>:$gather,
    Optional<MX_Offsets>:$offsets,
    Variadic<MX_TensorOrMemRef>:$outs,
    OptionalAttr<MX_RaggedKindAttr>:$ragged,
    DefaultValuedAttr<DenseI64ArrayAttr, "{1}">:$axes,
    DefaultValuedAttr<I64Attr, "32">:$block_size,
    UnitAttr:$square,
    UnitAttr:$amax,
    UnitAttr:$concat,
    OptionalAttr<TypeArrayAttr>:$dequantized,
    DefaultValuedAttr<MX_ScaleRoundingAttr, "::mx::ScaleRounding::Ceil">:$scale_rounding);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region VariadicRegion<SizedRegion<1>>:$prologue);
  let assemblyFormat = [{
    (`ragged` `=` $ragged^)?
    `ins` `(` $inputs `:` type($inputs) `)`
    (`input_scales` `(` $input_scales^ `:` type($input_scales) `)`)?
    (`global_scale` `(` $global_scale^ `)`)?
    (`decode_factors` `(` $decode_factors^ `)`)?
    (`seed` `(` $seed^ `)`)?
    (`gather` `(` $gather^ `:` type($gather) `)`)?
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    `outs` `(` $outs `:` type($outs) `)`
    (`axes` `=` $axes^)? (`block_size` `=` custom<BlockSize>($block_size)^)?
    (`square` $square^)? (`amax` $amax^)? (`concat` $concat^)?
    (`dequantized` `=` $dequantized^)?
    (`scale_rounding` `=` $scale_rounding^)?
    attr-dict (`->` type($results)^)? (`prologue` $prologue^)?
  }];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = dpsDeclaration # raggedDeclaration #
      destinationDeclaration # prologueDeclaration # [{
    /// The first input; the only one without a prologue.
    ::mlir::TypedValue<::mlir::ShapedType> getInput() {
      return ::llvm::cast<::mlir::TypedValue<::mlir::ShapedType>>(
          getInputs()[0]);
    }
    /// All inputs, with the scales of those that are quantized already.
    ::llvm::SmallVector<::mx::QuantizeSource> getSources();
    /// Whether the input is quantized already and no prologue changes it: rows
    /// are then its elements and scales.
    bool isPassedOn() {
      return !getInputScales().empty() && getPrologue().empty();
    }
    /// Whether a destination is a copy of the input's elements and scales, or
    /// what these stand for.
    bool isCopied(unsigned i) { return isPassedOn() && getAxis(i) == 1; }
    /// The shape of what is quantized: that of the input, with as many rows as
    /// are gathered, and the columns of all values that lie side by side.
    ::llvm::SmallVector<int64_t> getQuantizedShape();
    /// Values that lie side by side in what is quantized: 1 without `concat`.
    int64_t getNumConcatenated() {
      return getConcat()
                 ? getPrologueBlock()->getTerminator()->getNumOperands()
                 : 1;
    }
    /// What is quantized: the input, or each value of the prologue, or, with
    /// `concat`, all of them together.
    unsigned getNumValues() {
      return (getOuts().size() + getNumDequantized()) /
             (2 * getAxes().size() + getAmax());
    }
    /// A destination is a pair of elements and scales, or one tensor that they
    /// are dequantized to. First come those of the first value, axis by axis,
    /// then those of the next; after them the largest magnitudes.
    unsigned getNumDestinations() {
      return getNumValues() * getAxes().size();
    }
    unsigned getValueOf(unsigned i) { return i / getAxes().size(); }
    /// Whether the elements of a destination are written as the values that
    /// they stand for, without their scales.
    bool isDequantized(unsigned i) { return bool(getDequantizedType(i)); }
    /// The type of the elements that are dequantized, null if they are written.
    ::mlir::Type getDequantizedType(unsigned i);
    unsigned getNumDequantized();
    /// Sets those of all destinations, and the factors of those that are
    /// dequantized.
    void setDequantizedTypes(::llvm::ArrayRef<::mlir::Type> types,
                             ::mlir::ValueRange decodeFactors);
    /// What the values of a dequantized destination are multiplied by, if
    /// anything.
    ::mlir::Value getDecodeFactor(unsigned i);
    /// What elements and scales are, written or not.
    ::mlir::Type getElementType(unsigned i) {
      ::mlir::Type type = getDequantizedType(i);
      return type ? type : ::mlir::getElementTypeOrSelf(getElements(i));
    }
    ::mlir::Type getScaleType(unsigned i);
    /// All that is written of a destination, and what was written there.
    ::mlir::OperandRange getDestination(unsigned i) {
      return getOuts().slice(getElementsNumber(i), isDequantized(i) ? 1 : 2);
    }
    ::mlir::ResultRange getDestinationResults(unsigned i) {
      return getResults().slice(getElementsNumber(i), isDequantized(i) ? 1 : 2);
    }
    /// All that is written of all of them.
    ::mlir::OperandRange getDestinations() {
      return getOuts().take_front(getAmaxNumber(0));
    }
    /// Where the largest magnitude of each value goes; empty without `amax`.
    ::mlir::OperandRange getAmaxOuts() {
      return getOuts().drop_front(getAmaxNumber(0));
    }
    ::mlir::ResultRange getAmaxResults() {
      return getResults().drop_front(getAmaxNumber(0));
    }
    /// Places in outs, and of results.
    unsigned getElementsNumber(unsigned i);
    unsigned getAmaxNumber(unsigned value) {
      return getElementsNumber(getNumDestinations()) + value;
    }
    /// What is at such a place, and the destination that it belongs to.
    ::mx::QuantizeOut getOut(unsigned number);
    unsigned getDestinationOf(::mx::QuantizeOut out) {
      return out.value * getAxes().size() + out.axis;
    }
    /// The same quantization of other tensors, with largest magnitudes and an
    /// empty region for a prologue if asked for.
    FusedQuantizeOp createAlike(::mlir::OpBuilder &builder, ::mlir::Location loc,
                           ::mlir::ValueRange inputs,
                           ::mlir::ValueRange inputScales,
                           ::llvm::ArrayRef<int64_t> axes,
                           ::mlir::ValueRange outs, bool hasAmax,
                           bool hasPrologue);
  }];
}

def MX_AmaxOp : MX_StructuredOp<"amax", []> {
  let summary = "largest magnitude of a tensor";
  let description = [{
    The largest |x|, as f32; NaN (0x7FFFFFFF) if any element is NaN, and 0 for a
    tensor without elements. The factor of NVFP4 is computed from it:
    `mx.quantize` takes `global_scale = 448 * 6 / amax`.

    Example:

    ```mlir
    %m = mx.amax ins(%x : tensor<?x512xbf16>) outs(%init : tensor<f32>)
        -> tensor<f32>
    ```
  }];
  let arguments = (ins MX_FloatTensorOrMemRef:$input,
                       Variadic<MX_ScalarTensorOrMemRef>:$outs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)`
    `outs` `(` $outs `:` type($outs) `)` attr-dict (`->` type($results)^)?
  }];
}

def MX_DequantizeOp : MX_StructuredOp<"dequantize"> {
  let summary = "multiply each element by the scale of its block";
  let description = [{
    `out[i, j] = round(element[i, j] * scale[i, j / block_size])`, one rounding
    to the result type; NaN becomes the result type's canonical NaN.

    For NVFP4 the optional `global_scale` is the tensor's *decode* factor, the
    reciprocal of the factor for `mx.quantize`. It is multiplied exactly, before
    the rounding.

    With `ragged` and `offsets` the elements and scales have the ragged layout
    (see `mx.quantize`) and the result is contiguous: a ragged reduction
    `N x cap` becomes `N x T`. Elements that belong to no expert group are unspecified.

    `ragged = reduction padded` leaves the segments where they are: the result
    is `N x cap`, with segments that begin and end at multiples of 128 columns
    and the padding that the input has there. Columns after the last segment,
    for which the capacity has room, are unspecified.

    Example:

    ```mlir
    %x = mx.dequantize ins(%q, %s : tensor<256x512xf8E4M3FN>,
                                    tensor<256x16xf8E8M0FNU>)
        outs(%init : tensor<256x512xbf16>) -> tensor<256x512xbf16>
    %y = mx.dequantize ragged = reduction padded
        ins(%t, %ts : tensor<64x896xf8E4M3FN>, tensor<64x28xf8E8M0FNU>)
        offsets(%ends : tensor<4xi32>)
        outs(%init_y : tensor<64x896xbf16>) -> tensor<64x896xbf16>
    ```
  }];
  let arguments = (ins
    MX_ElementTensorOrMemRef:$input, MX_ScaleTensorOrMemRef:$scales,
    Optional<F32>:$global_scale,
    Optional<MX_Offsets>:$offsets,
    Variadic<MX_FloatTensorOrMemRef>:$outs,
    OptionalAttr<MX_RaggedKindAttr>:$ragged,
    UnitAttr:$padded,
    DefaultValuedAttr<I64Attr, "32">:$block_size);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    (`ragged` `=` $ragged^ (`padded` $padded^)?)?
    `ins` `(` $input `,` $scales `:` type($input) `,` type($scales) `)`
    (`global_scale` `(` $global_scale^ `)`)?
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    `outs` `(` $outs `:` type($outs) `)`
    (`block_size` `=` custom<BlockSize>($block_size)^)?
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = dpsDeclaration # raggedDeclaration;
}

def MX_RelayoutOp : MX_StructuredOp<"relayout"> {
  let summary = "write the same scales in another physical layout";
  let description = [{
    The logical scales do not change; padding of the destination's layout is
    written as 0.

    With `ragged = rows` and `offsets` one side is linear and the other is
    tiled with ragged rows. Scales of a ragged reduction are one tiled tensor
    over the whole capacity and need no offsets.

    Example:

    ```mlir
    %t = mx.relayout ins(%s : tensor<256x16xf8E8M0FNU>)
        outs(%init : tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>)
        -> tensor<256x16xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
    ```
  }];
  let arguments = (ins
    MX_ScaleTensorOrMemRef:$input,
    Optional<MX_Offsets>:$offsets,
    Variadic<MX_ScaleTensorOrMemRef>:$outs,
    OptionalAttr<MX_RaggedKindAttr>:$ragged);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    (`ragged` `=` $ragged^)?
    `ins` `(` $input `:` type($input) `)`
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    `outs` `(` $outs `:` type($outs) `)` attr-dict (`->` type($results)^)?
  }];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = dpsDeclaration # raggedDeclaration;
}

def MX_PackOperandOp : MX_StructuredOp<"pack_operand"> {
  let summary = "write an operand of matmuls in the order that kernels read";
  let description = [{
    The elements of a matrix, or of a batch, in an order that a strategy
    defines (`OperandOrderAttrInterface`): weights are packed once, ahead of
    time, for all matmuls that read them. The order is the encoding of `outs`
    or, once materialized, the attribute `order`. Padding is written as 0.

    With `scales` the input is elements, and the values of `mx.dequantize` are
    packed. With `ragged = rows` and `offsets` the scales are those of expert
    groups of rows.

    Example:

    ```mlir
    %p = mx.pack_operand ins(%w : tensor<128x512xf4E2M1FN>)
        outs(%init : tensor<128x512xf4E2M1FN, #mxgpu.fragment_64x64>)
        -> tensor<128x512xf4E2M1FN, #mxgpu.fragment_64x64>
    %y = mx.pack_operand order = #mxgpu.k_order<64>
        ins(%q : tensor<?x512xf8E4M3FN>) scales(%s : tensor<?x16xf8E8M0FNU>)
        outs(%out : tensor<?x512xbf16>) -> tensor<?x512xbf16>
    ```
  }];
  let arguments = (ins MX_QuantizableTensorOrMemRef:$input,
    Optional<MX_ScaleTensorOrMemRef>:$scales,
    Optional<MX_Offsets>:$offsets,
    Variadic<MX_QuantizableTensorOrMemRef>:$outs,
    OptionalAttr<MX_OperandOrderAttrInterface>:$order,
    OptionalAttr<MX_RaggedKindAttr>:$ragged,
    DefaultValuedAttr<I64Attr, "32">:$block_size);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    (`order` `=` $order^)? (`ragged` `=` $ragged^)?
    `ins` `(` $input `:` type($input) `)`
    (`scales` `(` $scales^ `:` type($scales) `)`)?
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    `outs` `(` $outs `:` type($outs) `)`
    (`block_size` `=` custom<BlockSize>($block_size)^)?
    attr-dict (`->` type($results)^)?
  }];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = dpsDeclaration # raggedDeclaration # [{
    /// The order of `outs` in either form, or null.
    ::mx::OperandOrderAttrInterface getOutOrder();
  }];
}

#endif // MX_DIALECT_MX_IR_MXQUANTIZEOPS_TD
