//===- MXQuantizeOps.td - Quantization and dequantization --*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MX_IR_MXQUANTIZEOPS_TD
#define MX_DIALECT_MX_IR_MXQUANTIZEOPS_TD

include "mx/Dialect/MX/IR/MXBase.td"

def MX_QuantizeOp : MX_StructuredOp<"quantize"> {
  let summary = "quantize a tensor in blocks with a shared scale";
  let description = [{
    Divides the last two dimensions of the input into blocks along an axis,
    computes a scale for each block (a power of two, E4M3 for NVFP4, or f32), and
    rounds `x / scale` to the element type. Without `block_size`, the type of the
    scales determines the block size: 32 elements with `f8E8M0FNU`, 16 with
    `f8E4M3FN`, 128 with `f32`. `block_size = 128x128` with `f32` or `f8E8M0FNU`
    scales writes a scale for each block of 128 rows and 128 columns.

    `axes` selects the axis of the blocks: 1 for the last dimension, 0 for the
    second to last. The destinations of each axis are elements and scales, with
    the quantized axis innermost, so axis 0 is written transposed. With both
    axes the input is read once.

    | axes | outs for an input `[b...] x R x C` |
    |---|---|
    | `[1]` | elements `[b...] x R x C`, scales `[b...] x R x C/block` |
    | `[0]` | elements `[b...] x C x R`, scales `[b...] x C x R/block` |
    | `[1, 0]` | the tensors for `[1]`, then the tensors for `[0]` |

    The scale of a block depends on the largest magnitude `m` of its elements
    (NaN > Inf > finite). The scale is byte 255 if `m` is NaN and byte 254 if
    `m` is infinite. Otherwise `scale_rounding` determines the scale, with `max`
    the largest value of the element type and `emax` the exponent of `max`:

    - `exact`, for `f32` scales only: `m / max`, rounded to f32;
    - `ceil`: `m * (1 / max)`, rounded up to a power of two; nothing saturates;
    - `floor` (OCP MX v1.0): `2^(floor(log2(m)) - emax)`;
    - `even`: like `floor`, after rounding `m` to the element's mantissa;
    - `fit` (TOSA 1.1): the least power of two for which `m` rounds to an
      element without saturation. This equals `even` except for `f8E4M3FN`,
      which has the threshold 464, the largest number that rounds to 448.

    Elements are `round_to_nearest_even(x * 2^(127 - byte))`, saturated. NaN
    becomes the NaN of the element type, the largest value of a type without
    NaN, or 0 in MXINT8. The scale of a block with a NaN is also NaN.
    Padding of the layout is written as 0.

    For NVFP4 (`f4E2M1FN` with `f8E4M3FN` scales, block 16), `global_scale` is
    the per-tensor encode factor.

    With a `seed`, elements are rounded stochastically to one of the two
    neighbors, such that the expected value is the exact quotient. The random
    number of an element is the first word of Philox-4x32-10, with `seed` as key
    and the element's linear index in the input as counter (low words first).
    Both orientations use the same random numbers. If a 24-bit significand loses
    d bits, the d low bits of the random word are added before truncation. If d
    exceeds 32, the last d - 32 bits are dropped before the addition.
    Saturation, NaN, the sign of zero and scales are unaffected.

    With `square`, blocks have as many rows as columns, except at the edges.
    Both orientations then share their scales, and the elements of one
    orientation are the transposed elements of the other, which is useful for
    weights. The shapes of scale tensors are unchanged: each scale is repeated
    for all rows (axis 1) or columns (axis 0) of its square.

    `ragged` is the dimension of the *input* divided by expert groups: `rows`
    for the second to last, `reduction` for the last. Ragged inputs require
    `offsets`, the cumulative ends of the expert groups, in device memory. The
    destinations of axis 1 have the same kind as the input. The destinations of
    axis 0 are transposed and have the other kind. For a `T x N` input with
    ragged rows, `axes = [1, 0]` therefore writes a tensor with ragged rows and
    a transposed tensor with a ragged reduction. With G expert groups and an
    input of shape `T x N` (ragged rows) or `N x T` (ragged reduction):

    | kind | elements | scales |
    |---|---|---|
    | `rows` | `T x N` | `T x N/block`, tiled: `(T/128 + G) x ceil(N/block/4) x 32x4x4` |
    | `reduction` | `N x cap` | `N x cap/block`, `cap = roundup(T + 127 * G, 128)` |

    `mx-generalize-quantize` converts this operation to `mx.fused_quantize`,
    which is the form used by fusion.

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
    OptionalAttr<MX_BlockShapeAttr>:$block_shape,
    UnitAttr:$square,
    OptionalAttr<MX_ScaleRoundingAttr>:$scale_rounding);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    (`ragged` `=` $ragged^)?
    `ins` `(` $input `:` type($input) `)`
    (`global_scale` `(` $global_scale^ `)`)?
    (`seed` `(` $seed^ `)`)?
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    `outs` `(` $outs `:` type($outs) `)`
    (`axes` `=` $axes^)?
    (`block_size` `=` custom<BlockSize>($block_shape)^)? (`square` $square^)?
    (`scale_rounding` `=` $scale_rounding^)?
    attr-dict (`->` type($results)^)?
  }];
  let builders = [
    /// Creates the destinations. `sizes` of the input are computed if omitted.
    OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$elementType,
      "::mlir::Type":$scaleType,
      CArg<"::llvm::ArrayRef<int64_t>", "{1}">:$axes,
      CArg<"std::optional<::mx::ScaleRounding>", "std::nullopt">:$scaleRounding,
      CArg<"::mx::ScaleLayoutKind", "::mx::ScaleLayoutKind::Linear">:$layout,
      CArg<"::mlir::Value", "{}">:$globalScale,
      CArg<"::mx::RaggedKind", "::mx::RaggedKind::None">:$ragged,
      CArg<"::mlir::Value", "{}">:$offsets,
      CArg<"::llvm::ArrayRef<::mlir::OpFoldResult>", "{}">:$sizes)>
  ];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = dpsDeclaration # raggedDeclaration #
      destinationDeclaration # [{
    /// A destination consists of the elements and scales for an axis.
    unsigned getNumDestinations() { return getAxes().size(); }
    unsigned getElementsNumber(unsigned i) { return 2 * i; }
    ::mx::QuantizeOut getOut(unsigned number) {
      using Kind = ::mx::QuantizeOut::Kind;
      return {number % 2 ? Kind::Scales : Kind::Elements, 0, number / 2};
    }
    ::llvm::ArrayRef<int64_t> getQuantizedShape() {
      return getInput().getType().getShape();
    }
    ::mx::BlockShape getBlockSize() {
      return getBlockShape().value_or(::mx::BlockShape(::mx::getBlockFormat(
          ::mlir::getElementTypeOrSelf(getScales(0))).blockSize));
    }
    ::mlir::Type getScaleType(unsigned i) {
      return ::mlir::getElementTypeOrSelf(getScales(i));
    }
    /// Replaces this operation by the equivalent mx.fused_quantize.
    FusedQuantizeOp generalize(::mlir::RewriterBase &rewriter);
  }];
}

def MX_FusedQuantizeOp : MX_StructuredOp<"fused_quantize", [AttrSizedOperandSegments,
                                               RecursiveMemoryEffects]> {
  let summary = "quantization fused with surrounding operations";
  let description = [{
    Passes create this operation from `mx.quantize` and surrounding operations.
    It is defined like `mx.quantize`, with the following additions. `block_size`
    is explicit, because `outs` may lack scales.

    With `gather`, row `i` of the quantized matrix is row `gather[i]` of every
    input, or a row of zeros if the index is out of range, such as -1. This
    sorts tokens by expert, with padding between groups, without a copy. All
    other features (`ragged`, the prologue, random numbers) refer to the
    gathered rows. The input must have rank 2.

    With `spreads` elements and scales of wide blocks are followed by the spread
    of each block, an unsigned byte (`i8`), row-major in the order of the input's
    blocks, so along axis 0 in the transposed shape of the scales. It is the
    difference between the largest and the smallest scale of its groups of
    32 elements ([Spec.md](Spec.md#folded-operands)).

    With `if_any` the operation is skipped, and results are unspecified, if all
    words of the operands are 0. They are `mx.row_classes`.

    With `amax` the elements and scales are followed by a scalar destination for
    each value: the largest magnitude of the quantized values, as defined by
    `mx.amax`. The maximum includes the zero rows of a gather, excludes rows
    outside all expert groups, and overwrites the destination. NVFP4 and delayed
    scaling can then compute their next factor without another pass over the
    input.

    The optional `prologue` region computes the values to quantize without
    storing them. All inputs must have the same shape. The arguments of the
    region are one element of each input, and the row and column within the last
    two dimensions of the input, also for axis 0. The region yields one or more
    values of type f32, bf16 or f16, which are quantized separately. If a pass
    fuses a producer, the value has the type of the replaced tensor, which
    preserves the rounding. `outs` lists, for each value in turn, the elements
    and scales of each axis and, with `amax`, ends with a scalar for each value.
    The region is not evaluated for padding, which is 0.

    With `concat` the values of a prologue, two or more of the same type, are
    concatenated along the last dimension, like `tensor.concat`. For V values
    and inputs of shape `R x C`, the quantized tensor is `R x V*C`. `outs`,
    random numbers, `global_scale` and `amax` refer to the concatenated tensor.
    For example, the two gradients of a SwiGLU become one operand of the next
    matmul.

    With `dequantized`, destinations receive dequantized values (fake
    quantization, or QDQ) instead of elements and scales, for training that
    simulates a format or for bf16 matmuls. For each destination, the list
    contains `none` or the element type to round to. A dequantized destination
    is a single tensor of f32, bf16 or f16 with the shape of the elements, and
    receives the result of `mx.dequantize`, with 0 as padding of a ragged
    reduction. For NVFP4, `decode_factors` is empty or lists the `global_scale`
    operand of `mx.dequantize` for each dequantized destination.

    Inputs may be already quantized. Each tensor of elements among the inputs is
    then paired with the next tensor of `input_scales`. Their blocks divide the
    last dimension (`f8E8M0FNU` for 32 elements, or `f8E4M3FN` for 16 elements
    of `f4E2M1FN`; the static shape of linear scales may imply wider blocks), and
    the scales may have any layout without expert groups. A
    prologue receives the value of `mx.dequantize` in the type of its argument:
    f32, bf16 or f16. This requantizes a tensor to another format, or along
    another axis, without storing dequantized values.

    Without a prologue, a quantized input with `f8E8M0FNU` scales is passed
    through. Destinations of axis 1 have the same format, and receive a byte
    copy of elements and scales. For axis 0 the bf16 values of `mx.dequantize`
    are quantized. Rows without a source in `gather`, and padding, are 0. Tokens
    that were quantized before they were sent thus become both operands of a
    grouped matmul. In contrast, a prologue that yields its argument also
    requantizes along axis 1: a block's scale shrinks if its elements are at
    most half the largest number.

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
    Variadic<MX_RowBits>:$if_any,
    Variadic<MX_TensorOrMemRef>:$outs,
    OptionalAttr<MX_RaggedKindAttr>:$ragged,
    DefaultValuedAttr<DenseI64ArrayAttr, "{1}">:$axes,
    DefaultValuedAttr<MX_BlockShapeAttr, "::mx::BlockShape(32)">:$block_size,
    UnitAttr:$spreads,
    UnitAttr:$square,
    UnitAttr:$amax,
    UnitAttr:$concat,
    OptionalAttr<TypeArrayAttr>:$dequantized,
    OptionalAttr<MX_ScaleRoundingAttr>:$scale_rounding);
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
    (`if_any` `(` $if_any^ `:` type($if_any) `)`)?
    `outs` `(` $outs `:` type($outs) `)`
    (`axes` `=` $axes^)? (`block_size` `=` custom<BlockSize>($block_size)^)?
    (`spreads` $spreads^)? (`square` $square^)? (`amax` $amax^)?
    (`concat` $concat^)?
    (`dequantized` `=` $dequantized^)?
    (`scale_rounding` `=` $scale_rounding^)?
    attr-dict (`->` type($results)^)? (`prologue` $prologue^)?
  }];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = dpsDeclaration # raggedDeclaration #
      destinationDeclaration # prologueDeclaration # [{
    /// Returns the first input, which is the only input without a prologue.
    ::mlir::TypedValue<::mlir::ShapedType> getInput() {
      return ::llvm::cast<::mlir::TypedValue<::mlir::ShapedType>>(
          getInputs()[0]);
    }
    /// Returns all inputs, paired with their scales if quantized.
    ::llvm::SmallVector<::mx::QuantizeSource> getSources();
    /// Returns true if the input is quantized and no prologue changes it, so
    /// elements and scales are copied.
    bool isPassedOn() {
      return !getInputScales().empty() && getPrologue().empty();
    }
    /// Returns true if a destination copies the input's elements and scales, or
    /// their dequantized values.
    bool isCopied(unsigned i) { return isPassedOn() && getAxis(i) == 1; }
    /// Returns the shape of the quantized tensor: the input's shape with the
    /// gathered rows and the columns of all concatenated values.
    ::llvm::SmallVector<int64_t> getQuantizedShape();
    /// Returns the number of concatenated values, 1 without `concat`.
    int64_t getNumConcatenated() {
      return getConcat()
                 ? getPrologueBlock()->getTerminator()->getNumOperands()
                 : 1;
    }
    /// Returns the number of quantized tensors: the input, each value of the
    /// prologue, or their concatenation.
    unsigned getNumValues() {
      return (getOuts().size() + getNumDequantized()) /
             (getDestinationSize() * getAxes().size() + getAmax());
    }
    /// Returns the number of tensors of a destination that is not dequantized.
    unsigned getDestinationSize() { return getSpreads() ? 3 : 2; }
    /// A destination consists of elements, scales and optional spreads, or is a
    /// dequantized tensor.
    /// Destinations are ordered by value, then by axis, and followed by the
    /// largest magnitudes.
    unsigned getNumDestinations() {
      return getNumValues() * getAxes().size();
    }
    unsigned getValueOf(unsigned i) { return i / getAxes().size(); }
    /// Returns true if a destination receives dequantized values.
    bool isDequantized(unsigned i) { return bool(getDequantizedType(i)); }
    /// Returns the element type of a dequantized destination, or null.
    ::mlir::Type getDequantizedType(unsigned i);
    unsigned getNumDequantized();
    /// Sets the element types of all destinations, and the decode factors of
    /// dequantized destinations.
    void setDequantizedTypes(::llvm::ArrayRef<::mlir::Type> types,
                             ::mlir::ValueRange decodeFactors);
    /// Returns the decode factor of a dequantized destination, or null.
    ::mlir::Value getDecodeFactor(unsigned i);
    /// Returns the element type, even of a dequantized destination.
    ::mlir::Type getElementType(unsigned i) {
      ::mlir::Type type = getDequantizedType(i);
      return type ? type : ::mlir::getElementTypeOrSelf(getElements(i));
    }
    ::mlir::Type getScaleType(unsigned i);
    /// Return all tensors of a destination, and their results.
    ::mlir::OperandRange getDestination(unsigned i) {
      return getOuts().slice(getElementsNumber(i),
                             isDequantized(i) ? 1 : getDestinationSize());
    }
    ::mlir::ResultRange getDestinationResults(unsigned i) {
      return getResults().slice(getElementsNumber(i),
                                isDequantized(i) ? 1 : getDestinationSize());
    }
    /// Returns the spreads of a destination, or null.
    ::mlir::Value getSpreadsOf(unsigned i) {
      return getSpreads() ? getDestination(i)[2] : ::mlir::Value();
    }
    /// Returns the tensors of all destinations.
    ::mlir::OperandRange getDestinations() {
      return getOuts().take_front(getAmaxNumber(0));
    }
    /// Return the destinations of the largest magnitudes, empty without `amax`.
    ::mlir::OperandRange getAmaxOuts() {
      return getOuts().drop_front(getAmaxNumber(0));
    }
    ::mlir::ResultRange getAmaxResults() {
      return getResults().drop_front(getAmaxNumber(0));
    }
    /// Return positions in `outs` and in the results.
    unsigned getElementsNumber(unsigned i);
    unsigned getAmaxNumber(unsigned value) {
      return getElementsNumber(getNumDestinations()) + value;
    }
    /// Describes the destination at index `number` of `outs`.
    ::mx::QuantizeOut getOut(unsigned number);
    unsigned getDestinationOf(::mx::QuantizeOut out) {
      return out.value * getAxes().size() + out.axis;
    }
    /// Creates the same quantization of other tensors, optionally with largest
    /// magnitudes and an empty prologue region.
    FusedQuantizeOp createAlike(::mlir::OpBuilder &builder, ::mlir::Location loc,
                           ::mlir::ValueRange inputs,
                           ::mlir::ValueRange inputScales,
                           ::llvm::ArrayRef<int64_t> axes,
                           ::mlir::ValueRange outs, bool hasAmax,
                           bool hasPrologue);
  }];
}

def MX_AmaxOp : MX_StructuredOp<"amax", []> {
  let summary = "compute the largest magnitude of a tensor";
  let description = [{
    Computes the largest |x| as f32, NaN (0x7FFFFFFF) if any element is NaN, and
    0 for an empty tensor. The result determines the NVFP4 factor: `mx.quantize`
    uses `global_scale = 448 * 6 / amax`.

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
    `out[i, j] = round(element[i, j] * scale[i, j / block_size])`, with a single
    rounding to the result type. NaN becomes the result type's canonical NaN.

    For NVFP4 the optional `global_scale` is the *decode* factor of the tensor.
    This is the reciprocal of the encode factor that `mx.quantize` uses. The
    multiplication is exact and precedes the rounding.

    With `ragged` and `offsets` the elements and scales have the ragged layout
    (see `mx.quantize`) and the result is contiguous: a ragged reduction
    `N x cap` becomes `N x T`. Elements outside all expert groups are
    unspecified.

    `ragged = reduction padded` keeps the segments in place: the result is
    `N x cap`, with the padding of the input. Segments begin and end at
    multiples of 128 columns. Columns after the last segment are unspecified.

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
    Variadic<MX_DequantizedTensorOrMemRef>:$outs,
    OptionalAttr<MX_RaggedKindAttr>:$ragged,
    UnitAttr:$padded,
    DefaultValuedAttr<MX_BlockShapeAttr, "::mx::BlockShape(32)">:$block_size);
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

def MX_FoldOp : MX_StructuredOp<"fold"> {
  let summary = "share a scale between several blocks of an MX operand";
  let description = [{
    Quantizes the values of 8-bit elements with a scale per 32 elements again,
    with a scale per `block_size` elements (128, 256, 512) or per row. `outs`
    are elements and scales and, with `spreads`, the spread of each wide block
    (see `mx.fused_quantize`). Spec.md defines the result and bounds the error
    of [folded operands](Spec.md#folded-operands). Matmuls on `sm_90a` multiply
    them by FP8 tensor cores.

    With `ragged = rows` and `offsets`, expert groups divide the rows of both
    scale tensors.

    All pipelines begin with `mx-generalize-quantize`, which replaces the
    operation by `mx.dequantize` to f32 and `mx.fused_quantize`. The operation
    has no form on memrefs.

    Example:

    ```mlir
    %q, %f = mx.fold ins(%x, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>)
        outs(%e, %i : tensor<256x512xf8E4M3FN>, tensor<256x4xf8E8M0FNU>)
        block_size = 128 -> tensor<256x512xf8E4M3FN>, tensor<256x4xf8E8M0FNU>
    ```
  }];
  let arguments = (ins
    RankedTensorOf<[F8E4M3FN, F8E5M2]>:$input, RankedTensorOf<[MX_Scale]>:$scales,
    Optional<1DTensorOf<[I32, I64]>>:$offsets,
    Variadic<RankedTensorOf<[F8E4M3FN, F8E5M2, MX_Scale, I8]>>:$outs,
    OptionalAttr<MX_RaggedKindAttr>:$ragged,
    MX_BlockShapeAttr:$block_size,
    UnitAttr:$spreads);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    (`ragged` `=` $ragged^)?
    `ins` `(` $input `,` $scales `:` type($input) `,` type($scales) `)`
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    `outs` `(` $outs `:` type($outs) `)`
    `block_size` `=` custom<BlockSize>($block_size) (`spreads` $spreads^)?
    attr-dict `->` type($results)
  }];
  let extraClassDeclaration = dpsDeclaration # raggedDeclaration # [{
    /// Replaces this operation by mx.dequantize and mx.fused_quantize.
    void expand(::mlir::RewriterBase &rewriter);
  }];
}

def MX_RelayoutOp : MX_StructuredOp<"relayout"> {
  let summary = "convert scales to another physical layout";
  let description = [{
    The logical scales are unchanged. Padding of the new layout is 0.

    With `ragged = rows` and `offsets`, one side is linear and the other is
    tiled with ragged rows. Scales of a ragged reduction form a single tiled
    tensor over the whole capacity and need no offsets.

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
  let summary = "store a matmul operand in the order of a kernel strategy";
  let description = [{
    Permutes the elements of a matrix, or of a batch, to an order defined by a
    strategy (`OperandOrderAttrInterface`). Weights are packed once, ahead of
    time, for all matmuls that use them. The order is the encoding of `outs` or,
    once materialized, the attribute `order`. Padding is written as 0.

    With `scales` the input is quantized, and the operation packs its
    dequantized values, as defined by `mx.dequantize`. With `ragged = rows` and
    `offsets` the scales belong to expert groups of rows.

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
    DefaultValuedAttr<MX_BlockShapeAttr, "::mx::BlockShape(32)">:$block_size);
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
    /// Returns the order of `outs` in either form, or null.
    ::mx::OperandOrderAttrInterface getOutOrder();
  }];
}

#endif // MX_DIALECT_MX_IR_MXQUANTIZEOPS_TD
