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
include "mx/Dialect/MX/IR/MXInterfaces.td"

class MX_Op<string opMnemonic, list<Trait> traits = []>
    : Op<MX_Dialect, opMnemonic, traits>;

/// Operands of a destination-style operation: ranked tensors, or memrefs once
/// the function is bufferized.
class MX_ShapedOf<list<Type> types, string summary>
    : AnyTypeOf<[RankedTensorOf<types>, MemRefOf<types>],
                "ranked tensor or memref of " # summary, "::mlir::ShapedType">;
def MX_TensorOrMemRef : AnyTypeOf<[AnyRankedTensor, AnyMemRef],
    "ranked tensor or memref", "::mlir::ShapedType">;
def MX_FloatTensorOrMemRef
    : MX_ShapedOf<[F32, BF16, F16], "f32, bf16 or f16">;
def MX_ScalarTensorOrMemRef
    : AnyTypeOf<[0DTensorOf<[F32]>, MemRefRankOf<[F32], [0]>],
        "tensor or memref of rank 0 of f32", "::mlir::ShapedType">;
def MX_ElementTensorOrMemRef
    : MX_ShapedOf<[F8E4M3FN, F8E5M2, F6E3M2FN, F6E2M3FN, F4E2M1FN, I8],
        "f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN or i8 elements">;
def MX_FloatElementTensorOrMemRef
    : MX_ShapedOf<[F8E4M3FN, F8E5M2, F6E3M2FN, F6E2M3FN, F4E2M1FN],
        "f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN or f4E2M1FN elements">;
def MX_QuantizableTensorOrMemRef
    : MX_ShapedOf<[F32, BF16, F16, F8E4M3FN, F8E5M2, F6E3M2FN, F6E2M3FN,
                   F4E2M1FN, I8],
        "f32, bf16 or f16, or f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN "
        "or i8 elements">;
def MX_ScaleTensorOrMemRef
    : MX_ShapedOf<[F8E8M0FNU, F8E4M3FN], "f8E8M0FNU or f8E4M3FN scales">;
def MX_ProductTensorOrMemRef
    : MX_ShapedOf<[F32, BF16, F16, F8E4M3FN, F8E5M2, F6E3M2FN, F6E2M3FN,
                   F4E2M1FN, F8E8M0FNU],
        "f32, bf16 or f16, or of elements or f8E8M0FNU scales">;
def MX_Offsets
    : AnyTypeOf<[1DTensorOf<[I32, I64]>, MemRefRankOf<[I32, I64], [1]>],
        "tensor or memref of rank 1 of i32 or i64", "::mlir::ShapedType">;

/// An operation that writes its `outs`: results are the written tensors, and
/// there are none when the operation works on memrefs.
class MX_StructuredOp<string opMnemonic,
                      list<Trait> traits = [AttrSizedOperandSegments]>
    : MX_Op<opMnemonic, !listconcat([
        DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<ConditionallySpeculatable>,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
          ["reifyResultShapes"]>], traits)> {
  let hasVerifier = 1;
  code dpsDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getOutsMutable();
    }
    /// The type of the i-th destination.
    ::mlir::ShapedType getOutType(unsigned i = 0) {
      return ::llvm::cast<::mlir::ShapedType>(getOuts()[i].getType());
    }
  }];
  code raggedDeclaration = [{
    /// What the groups divide; `none` for an operation without groups.
    ::mx::RaggedKind getRaggedOrNone() {
      return getRagged().value_or(::mx::RaggedKind::None);
    }
  }];
  code producerDeclaration = [{
    /// The block of the producer, or null where there is none.
    ::mlir::Block *getProducerBlock() {
      return getProducer().empty() ? nullptr : &getProducer().front().front();
    }
  }];
  code epilogueDeclaration = [{
    /// The block of the epilogue, or null where there is none.
    ::mlir::Block *getEpilogueBlock() {
      return getEpilogue().empty() ? nullptr : &getEpilogue().front().front();
    }
  }];
  let extraClassDeclaration = dpsDeclaration;
}

def MX_QuantizeOp : MX_StructuredOp<"quantize", [AttrSizedOperandSegments,
                                               RecursiveMemoryEffects]> {
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
    | `[1]` | elements `[b...] x R x C`, scales `[b...] x R x C/block` |
    | `[0]` | elements `[b...] x C x R`, scales `[b...] x C x R/block` |
    | `[1, 0]` | both of the first row, then both of the second |

    Semantics of a block with absolute maximum a (NaN > Inf > finite):
    scale byte 255 if a is NaN, 254 if it is infinite, else by
    `scale_rounding`:

    - `ceil`: round_up(a * (1 / max)) to a power of two; nothing saturates;
    - `floor` (OCP MX v1.0): 2^(floor(log2(a)) - emax);
    - `even`: `floor` of a rounded to the element's mantissa.

    Elements are `round_to_nearest_even(x * 2^(127 - byte))`, saturated; NaN
    becomes the type's NaN, or its largest value where it has none, and 0 in
    MXINT8: its block's scale says that it was NaN. Slack of the layout is
    written as 0.

    NVFP4 (`f4E2M1FN` with `f8E4M3FN` scales, block 16) takes the per-tensor
    encode factor as `global_scale`.

    With a `seed` elements are rounded stochastically instead: to one of the two
    neighbours, with a probability that makes the expected element the exact
    quotient. The random number of an element is the first word that
    Philox-4x32-10 gives for the key `seed` (low word first) and, as counter,
    the element's linear index in the input (low word first): both orientations
    draw the same one. Of a significand of 24 bits that loses d bits, the d low
    bits of the word are added to it before they are cut off; where d is above
    32, the last d - 32 bits are cut off first, and the word is added to what
    remains. Saturation, NaN and the sign of zero are those of the other mode,
    and so are the scales.

    With `gather`, row i of what is quantized is row `gather[i]` of every input,
    or a row of zeros where that is -1: tokens in the order of their experts,
    with padding between groups, without a copy. The gathered rows are the rows
    of all that follows (of `ragged`, the producer, the random numbers). The
    input has rank 2.

    With `square` a scale is that of `block_size` rows by `block_size` columns,
    fewer at the edges, so that both orientations have the same scales, and the
    elements of one are those of the other transposed, as weights want it. The
    scales have their usual shapes: each is written once for every line of its
    square.

    With `amax` there is one more destination for each value, a number behind
    all elements and scales: the largest magnitude of what is quantized of that
    value, as `mx.amax` defines it. Rows of zeros of a gather count as such, and
    rows of no group do not. What the destination held does not: the next
    factor, of NVFP4 or of delayed scaling, needs no other read.

    The optional `producer` region computes what is quantized, so that it need
    not be stored: its arguments are the elements of all inputs, which have one
    shape, then the row and the column (within the last two dimensions of the
    input, also for axis 0). It yields one value or several, each quantized on
    its own; the type of a value, f32, bf16 or f16, is that of the tensor it
    stands for, whose rounding is kept. `outs` are, for each value in turn, the
    elements and scales of each axis, then with `amax` a number of each. The region sees existing elements only:
    slack is 0 and not what the region makes of 0.

    With `concat` the values of a producer, two or more of one type, lie side by
    side: what is quantized is the one tensor that `tensor.concat` along the
    last dimension would give, `R x V*C` for V values and inputs `R x C`. That
    is what `outs`, the random numbers, `global_scale` and `amax` belong to. The
    two gradients of a SwiGLU become the matrix that the next product takes.

    With a producer, inputs may be quantized already: tensors of elements, each
    of which has the next one of `input_scales`, those of blocks along the last
    dimension (`f8E8M0FNU` of 32 elements, or `f8E4M3FN` of 16 of `f4E2M1FN`),
    in any layout without groups. What the region is given of such an input is
    what `mx.dequantize` gives, in the type that its argument has: f32, bf16 or
    f16. So a tensor is quantized to another format, or along another axis,
    without numbers in memory.

    `ragged` says which dimension of the *input* the groups divide, and goes
    with `offsets`, the cumulative ends of the groups, known on the device
    only: `rows` for the one before the last, `reduction` for the last. The
    destinations of axis 1 have that same kind; those of axis 0, being
    transposed, the other one: a `T x N` input whose rows are ragged is written
    by `axes = [1, 0]` with ragged rows and, transposed, with a ragged
    reduction. With G groups and an input `T x N` (`N x T`):

    | kind | elements | scales |
    |---|---|---|
    | `rows` | `T x N` | `T x N/block`, tiled: `(T/128 + G) x ceil(N/block/4) x 32x4x4` |
    | `reduction` | `N x cap` | `N x cap/block`, `cap = roundup(T + 127 * G, 128)` |

    Examples:

    ```mlir
    %q, %s = mx.quantize ins(%x : tensor<256x512xbf16>)
        outs(%e, %f : tensor<256x512xf8E4M3FN>,
                      tensor<256x16xf8E8M0FNU, #mx.scale_layout<tcgen05>>)
        axes = [1] block_size = 32 scale_rounding = ceil
        -> tensor<256x512xf8E4M3FN>,
           tensor<256x16xf8E8M0FNU, #mx.scale_layout<tcgen05>>

    %q, %s, %m = mx.quantize ins(%x : tensor<256x512xbf16>)
        outs(%e, %f, %init : tensor<256x512xf8E4M3FN>,
                             tensor<256x16xf8E8M0FNU>, tensor<f32>) amax
        -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>, tensor<f32>

    %q, %s = mx.quantize ragged = rows ins(%x : tensor<300x64xbf16>)
        offsets(%o : tensor<4xi32>)
        outs(%e, %f : tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>)
        -> tensor<300x64xf8E4M3FN>, tensor<6x1x32x4x4xf8E8M0FNU>

    %q, %s = mx.quantize ins(%x, %y : tensor<8x64xbf16>, tensor<8x64xbf16>)
        outs(%e, %f : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>)
        -> tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>
        producer {
        ^bb0(%a: bf16, %b: bf16, %row: index, %col: index):
          %product = arith.mulf %a, %b : bf16
          mx.yield %product : bf16
        }

    %q, %s = mx.quantize ins(%w : tensor<64x96xf8E4M3FN>)
        input_scales(%f : tensor<64x3xf8E8M0FNU>)
        outs(%e, %g : tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>)
        axes = [0] -> tensor<96x64xf8E4M3FN>, tensor<96x2xf8E8M0FNU>
        producer {
        ^bb0(%a: bf16, %row: index, %col: index):
          mx.yield %a : bf16
        }

    %q, %s = mx.quantize ins(%x, %y : tensor<8x64xbf16>, tensor<8x64xbf16>)
        outs(%e, %f : tensor<8x128xf8E4M3FN>, tensor<8x4xf8E8M0FNU>)
        concat -> tensor<8x128xf8E4M3FN>, tensor<8x4xf8E8M0FNU>
        producer {
        ^bb0(%a: bf16, %b: bf16, %row: index, %col: index):
          mx.yield %a, %b : bf16, bf16
        }
    ```
  }];
  let arguments = (ins
    Variadic<MX_QuantizableTensorOrMemRef>:$inputs,
    Variadic<MX_ScaleTensorOrMemRef>:$input_scales,
    Optional<F32>:$global_scale,
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
    DefaultValuedAttr<MX_ScaleRoundingAttr, "::mx::ScaleRounding::Ceil">:$scale_rounding);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region VariadicRegion<SizedRegion<1>>:$producer);
  let assemblyFormat = [{
    (`ragged` `=` $ragged^)?
    `ins` `(` $inputs `:` type($inputs) `)`
    (`input_scales` `(` $input_scales^ `:` type($input_scales) `)`)?
    (`global_scale` `(` $global_scale^ `)`)?
    (`seed` `(` $seed^ `)`)?
    (`gather` `(` $gather^ `:` type($gather) `)`)?
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    `outs` `(` $outs `:` type($outs) `)`
    (`axes` `=` $axes^)? (`block_size` `=` $block_size^)? (`square` $square^)?
    (`amax` $amax^)? (`concat` $concat^)?
    (`scale_rounding` `=` $scale_rounding^)?
    attr-dict (`->` type($results)^)? (`producer` $producer^)?
  }];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = dpsDeclaration # raggedDeclaration #
      producerDeclaration # [{
    /// The first input; the only one without a producer.
    ::mlir::TypedValue<::mlir::ShapedType> getInput() {
      return ::llvm::cast<::mlir::TypedValue<::mlir::ShapedType>>(
          getInputs()[0]);
    }
    /// All inputs, with the scales of those that are quantized already.
    ::llvm::SmallVector<::mx::QuantizeSource> getSources();
    /// The shape of what is quantized: that of the input, with as many rows as
    /// are gathered, and the columns of all values that lie side by side.
    ::llvm::SmallVector<int64_t> getQuantizedShape();
    /// Values that lie side by side in what is quantized: 1 without `concat`.
    int64_t getNumConcatenated();
    /// What is quantized: the input, or each value of the producer, or, with
    /// `concat`, all of them together.
    unsigned getNumValues() {
      return getOuts().size() / (2 * getAxes().size() + getAmax());
    }
    /// A destination is a pair of elements and scales. First come those of the
    /// first value, axis by axis, then those of the next; after them the
    /// largest magnitudes.
    unsigned getNumDestinations() {
      return getNumValues() * getAxes().size();
    }
    int64_t getAxis(unsigned i) { return getAxes()[i % getAxes().size()]; }
    unsigned getValueOf(unsigned i) { return i / getAxes().size(); }
    ::mlir::Value getElements(unsigned i) {
      return getOuts()[getElementsNumber(i)];
    }
    ::mlir::Value getScales(unsigned i) { return getOuts()[getScalesNumber(i)]; }
    /// Elements and scales of a destination, and what was written there.
    ::mlir::OperandRange getDestination(unsigned i) {
      return getOuts().slice(getElementsNumber(i), 2);
    }
    ::mlir::ResultRange getDestinationResults(unsigned i) {
      return getResults().slice(getElementsNumber(i), 2);
    }
    /// The elements and scales of all of them.
    ::mlir::OperandRange getDestinations() {
      return getOuts().take_front(2 * getNumDestinations());
    }
    /// Where the largest magnitude of each value goes; empty without `amax`.
    ::mlir::OperandRange getMagnitudes() {
      return getOuts().drop_front(2 * getNumDestinations());
    }
    ::mlir::ResultRange getMagnitudeResults() {
      return getResults().drop_front(2 * getNumDestinations());
    }
    /// Places in outs, and of results.
    unsigned getElementsNumber(unsigned i) { return 2 * i; }
    unsigned getScalesNumber(unsigned i) { return 2 * i + 1; }
    unsigned getMagnitudeNumber(unsigned value) {
      return 2 * getNumDestinations() + value;
    }
    /// What is at such a place, and the destination that it belongs to.
    ::mx::QuantizeOut getOut(unsigned number);
    unsigned getDestinationOf(::mx::QuantizeOut out) {
      return out.value * getAxes().size() + out.axis;
    }
    /// The same quantization of other tensors, with largest magnitudes and an
    /// empty region for a producer if asked for.
    QuantizeOp createAlike(::mlir::OpBuilder &builder, ::mlir::Location loc,
                           ::mlir::ValueRange inputs,
                           ::mlir::ValueRange inputScales,
                           ::llvm::ArrayRef<int64_t> axes,
                           ::mlir::ValueRange outs, bool hasAmax,
                           bool hasProducer);
    /// What the groups divide in the destinations of an axis, which are
    /// transposed for axis 0.
    ::mx::RaggedKind getRaggedOfAxis(int64_t axis);
  }];
}

def MX_AmaxOp : MX_StructuredOp<"amax", []> {
  let summary = "largest magnitude of a tensor";
  let description = [{
    The largest |x|, as f32; NaN (0x7FFFFFFF) if there is one among them, and 0
    for a tensor without elements. The
    factors of NVFP4 are made from it: `mx.quantize` takes
    `global_scale = 448 * 6 / amax`.

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
    reciprocal of what `mx.quantize` took, and is one more exact factor before
    the rounding.

    With `ragged` and `offsets` the elements and scales have the ragged layout
    (see `mx.quantize`) and the result is contiguous: a ragged reduction
    `N x cap` becomes `N x T`. What belongs to no group is unspecified.

    Example:

    ```mlir
    %x = mx.dequantize ins(%q, %s : tensor<256x512xf8E4M3FN>,
                                    tensor<256x16xf8E8M0FNU>)
        outs(%init : tensor<256x512xbf16>) -> tensor<256x512xbf16>
    ```
  }];
  let arguments = (ins
    MX_ElementTensorOrMemRef:$input, MX_ScaleTensorOrMemRef:$scales,
    Optional<F32>:$global_scale,
    Optional<MX_Offsets>:$offsets,
    Variadic<MX_FloatTensorOrMemRef>:$outs,
    OptionalAttr<MX_RaggedKindAttr>:$ragged,
    DefaultValuedAttr<I64Attr, "32">:$block_size);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    (`ragged` `=` $ragged^)?
    `ins` `(` $input `,` $scales `:` type($input) `,` type($scales) `)`
    (`global_scale` `(` $global_scale^ `)`)?
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    `outs` `(` $outs `:` type($outs) `)`
    (`block_size` `=` $block_size^)? attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = dpsDeclaration # raggedDeclaration;
}

def MX_RelayoutOp : MX_StructuredOp<"relayout"> {
  let summary = "write the same scales in another physical layout";
  let description = [{
    The logical scales do not change; slack of the destination's layout is
    written as 0.

    With `ragged = rows` and `offsets` one side is linear and the other is
    tiled with ragged rows. Scales of a ragged reduction are one tiled tensor
    over the whole capacity and need no offsets.

    Example:

    ```mlir
    %t = mx.relayout ins(%s : tensor<256x16xf8E8M0FNU>)
        outs(%init : tensor<256x16xf8E8M0FNU, #mx.scale_layout<tcgen05>>)
        -> tensor<256x16xf8E8M0FNU, #mx.scale_layout<tcgen05>>
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

def MX_MatmulOp : MX_StructuredOp<"matmul", [AttrSizedOperandSegments,
    RecursiveMemoryEffects, MX_ProductOpInterface]> {
  let summary = "block-scaled matrix product with the second operand transposed";
  let description = [{
    `C[m, n] = sum over k of (A[m, k] * SA[m, k / block]) * (B[n, k] * SB[n, k / block])`
    with exact products and f32 accumulation. Both operands are K-major:
    A is `[b...] x M x K`, B is `[b...] x N x K`, `outs` is `[b...] x M x N`.

    `alpha` multiplies the sum (tensor scales of NVFP4). With `accumulate` the
    product is then added to `outs`; without it `outs` gives the shape only and
    is not read. The optional `epilogue` region maps the f32 accumulator
    and its row and column in the matrix to the stored element; without it the
    accumulator is rounded to the element type of `outs`.

    Example:

    ```mlir
    %c = mx.matmul ins(%a, %sa, %b, %sb : tensor<256x512xf8E4M3FN>,
          tensor<256x16xf8E8M0FNU>, tensor<128x512xf8E4M3FN>,
          tensor<128x16xf8E8M0FNU>)
        outs(%init : tensor<256x128xbf16>) -> tensor<256x128xbf16>
        epilogue {
        ^bb0(%acc: f32, %row: index, %col: index):
          %half = arith.mulf %acc, %c0_5 : f32
          %y = arith.truncf %half : f32 to bf16
          mx.yield %y : bf16
        }
    ```
  }];
  let arguments = (ins
    MX_FloatElementTensorOrMemRef:$a, MX_ScaleTensorOrMemRef:$a_scales,
    MX_FloatElementTensorOrMemRef:$b, MX_ScaleTensorOrMemRef:$b_scales,
    Optional<F32>:$alpha,
    Variadic<MX_FloatTensorOrMemRef>:$outs,
    DefaultValuedAttr<I64Attr, "32">:$block_size,
    UnitAttr:$accumulate);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region VariadicRegion<SizedRegion<1>>:$epilogue);
  let assemblyFormat = [{
    `ins` `(` $a `,` $a_scales `,` $b `,` $b_scales `:`
      type($a) `,` type($a_scales) `,` type($b) `,` type($b_scales) `)`
    (`alpha` `(` $alpha^ `)`)?
    `outs` `(` $outs `:` type($outs) `)`
    (`block_size` `=` $block_size^)? (`accumulate` $accumulate^)?
    attr-dict (`->` type($results)^)? (`epilogue` $epilogue^)?
  }];
  // An absent region rather than an empty one: upstream's mlir::clone, which
  // the cast folding of destination-style operations calls, needs a block.
  let extraClassDeclaration = dpsDeclaration # epilogueDeclaration # [{
    ::mlir::Value getResultTensor() { return getOuts().front(); }
    ::mlir::Value getGroupOffsets() { return {}; }
    ::mx::RaggedKind getRaggedOrNone() { return ::mx::RaggedKind::None; }
    ::mlir::Value getScatterRows() { return {}; }
    bool isMasked() { return false; }
    int64_t getNumParts() { return 1; }
    ::mlir::Value getResultScales() { return {}; }
    ::mx::ScaleRounding getResultScaleRounding() {
      return ::mx::ScaleRounding::Ceil;
    }
    bool readsOuts() { return getAccumulate(); }
  }];
  let hasCanonicalizer = 1;
}

def MX_GroupedMatmulOp : MX_StructuredOp<"grouped_matmul", [AttrSizedOperandSegments,
    RecursiveMemoryEffects, MX_ProductOpInterface]> {
  let summary = "block-scaled matrix products over ragged groups";
  let description = [{
    `offsets` holds the cumulative ends of the G groups, on the device.

    - `ragged = rows`: group g owns rows `offsets[g-1] .. offsets[g]` of A and
      C and its own `B[g]`: `C[m, n] = sum_k A[m, k] * B[g, n, k]`.
      A is `T x K`, B is `G x N x K`, `outs` is `T x N`.
    - `ragged = reduction`: group g owns a slice of K and its own
      `C[g, m, n] = sum over k in group g of A[m, k] * B[n, k]`.
      A is `M x cap`, B is `N x cap`, `outs` is `G x M x N`; the slice of
      group g starts at `p[g] = sum of roundup(n[i], 128) for i < g`, and
      `cap = roundup(T + 127 * G, 128)`.

    A group without rows writes nothing; a group without reduction elements
    writes zeros (through the epilogue), or leaves the accumulated value. Rows
    that belong to no group are unspecified.

    Scales, `alpha`, `accumulate` and `epilogue` are those of `mx.matmul`; row
    and column count within the rows of A and a matrix of B (`rows`) or within
    `outs[g]` (`reduction`).

    With `masked` groups of rows have fixed places: A is `G x M x K`, `outs`
    `G x M x N`, with scales of so many matrices, and `offsets` holds how many of
    the M rows each group has, as a decoder fills them. The rows behind belong
    to no group; more than M count as M. Row and column count within a matrix.

    Groups of rows may have results of other forms:

    - With `parts = V` each matrix of B is V matrices one below the other,
      `G x V*N x K`, and the epilogue, which there must be, is given the V sums
      of row n of each part: gate and up projection become one product.
    - With two `outs`, elements and `f8E8M0FNU` scales, what the epilogue yields
      (f32, bf16 or f16; without one, the f32 sum) is quantized along its rows
      as `mx.quantize ragged = rows` does it, by `scale_rounding`. All bytes
      that the scale layout defines are written.
    - With `scatter`, row m of the product is added to row `scatter[m]` of
      `outs`, which is f32 and may have any number of rows: the sum over the
      experts of a token. Rows whose number is negative or not below the rows of
      `outs` are left out. The order of additions to one element is
      unspecified, so that sums of three and more may differ in their last bits.

    Examples:

    ```mlir
    %c = mx.grouped_matmul ragged = rows
        ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>,
          tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>,
          tensor<4x48x2xf8E8M0FNU>) offsets(%o : tensor<4xi32>)
        outs(%init : tensor<300x48xbf16>) -> tensor<300x48xbf16>

    %h, %f = mx.grouped_matmul ragged = rows
        ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>,
          tensor<300x2xf8E8M0FNU>, tensor<4x256x64xf8E4M3FN>,
          tensor<4x256x2xf8E8M0FNU>) offsets(%o : tensor<4xi32>)
        outs(%e, %s : tensor<300x128xf8E4M3FN>,
          tensor<300x4xf8E8M0FNU, #mx.scale_layout<tcgen05, ragged = rows, groups = 4>>)
        parts = 2
        -> tensor<300x128xf8E4M3FN>,
           tensor<300x4xf8E8M0FNU, #mx.scale_layout<tcgen05, ragged = rows, groups = 4>>
        epilogue {
        ^bb0(%gate: f32, %up: f32, %row: index, %col: index):
          %product = arith.mulf %gate, %up : f32
          mx.yield %product : f32
        }

    %y = mx.grouped_matmul ragged = rows
        ins(%a, %sa, %b, %sb : tensor<300x64xf8E4M3FN>,
          tensor<300x2xf8E8M0FNU>, tensor<4x48x64xf8E4M3FN>,
          tensor<4x48x2xf8E8M0FNU>) offsets(%o : tensor<4xi32>)
        scatter(%tokens : tensor<300xi32>)
        outs(%sums : tensor<150x48xf32>) -> tensor<150x48xf32>
    ```
  }];
  let arguments = (ins
    MX_FloatElementTensorOrMemRef:$a, MX_ScaleTensorOrMemRef:$a_scales,
    MX_FloatElementTensorOrMemRef:$b, MX_ScaleTensorOrMemRef:$b_scales,
    MX_Offsets:$offsets,
    Optional<F32>:$alpha,
    Optional<MX_Offsets>:$scatter,
    Variadic<MX_ProductTensorOrMemRef>:$outs,
    MX_RaggedKindAttr:$ragged,
    UnitAttr:$masked,
    DefaultValuedAttr<I64Attr, "32">:$block_size,
    DefaultValuedAttr<I64Attr, "1">:$parts,
    UnitAttr:$accumulate,
    DefaultValuedAttr<MX_ScaleRoundingAttr, "::mx::ScaleRounding::Ceil">:$scale_rounding);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region VariadicRegion<SizedRegion<1>>:$epilogue);
  let assemblyFormat = [{
    `ragged` `=` $ragged (`masked` $masked^)?
    `ins` `(` $a `,` $a_scales `,` $b `,` $b_scales `:`
      type($a) `,` type($a_scales) `,` type($b) `,` type($b_scales) `)`
    `offsets` `(` $offsets `:` type($offsets) `)`
    (`alpha` `(` $alpha^ `)`)?
    (`scatter` `(` $scatter^ `:` type($scatter) `)`)?
    `outs` `(` $outs `:` type($outs) `)`
    (`block_size` `=` $block_size^)? (`parts` `=` $parts^)?
    (`accumulate` $accumulate^)? (`scale_rounding` `=` $scale_rounding^)?
    attr-dict (`->` type($results)^)? (`epilogue` $epilogue^)?
  }];
  // An absent region rather than an empty one: upstream's mlir::clone, which
  // the cast folding of destination-style operations calls, needs a block.
  let extraClassDeclaration = dpsDeclaration # epilogueDeclaration # [{
    ::mlir::Value getResultTensor() { return getOuts().front(); }
    ::mlir::Value getGroupOffsets() { return getOffsets(); }
    ::mx::RaggedKind getRaggedOrNone() { return getRagged(); }
    ::mlir::Value getScatterRows() { return getScatter(); }
    bool isMasked() { return getMasked(); }
    int64_t getNumParts() { return getParts(); }
    ::mlir::Value getResultScales() {
      return getOuts().size() > 1 ? getOuts()[1] : ::mlir::Value();
    }
    ::mx::ScaleRounding getResultScaleRounding() { return getScaleRounding(); }
    bool readsOuts() { return getAccumulate() || getScatter(); }
  }];
}

def MX_CombineOp : MX_StructuredOp<"combine"> {
  let summary = "add rows to the rows that a list names";
  let description = [{
    `outs[rows[p], :] += input[p, :]` for each row p of a group, or without
    `offsets` for each row: a token is the sum of what its experts say. Rows
    whose number is negative or not below the rows of `outs` are left out. The
    additions are f32; their order is that of p on the CPU, and unspecified on a
    GPU.

    `mx-fuse-products` makes it the `scatter` of the product that computes the
    input.

    Example:

    ```mlir
    %y = mx.combine ins(%z : tensor<300x48xbf16>)
        rows(%tokens : tensor<300xi32>) offsets(%o : tensor<4xi32>)
        outs(%sums : tensor<150x48xf32>) -> tensor<150x48xf32>
    ```
  }];
  let arguments = (ins MX_FloatTensorOrMemRef:$input, MX_Offsets:$rows,
                       Optional<MX_Offsets>:$offsets,
                       Variadic<MX_ShapedOf<[F32], "f32">>:$outs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)`
    `rows` `(` $rows `:` type($rows) `)`
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    `outs` `(` $outs `:` type($outs) `)` attr-dict (`->` type($results)^)?
  }];
}

def MX_YieldOp : MX_Op<"yield", [Pure, Terminator,
    ParentOneOf<["MatmulOp", "GroupedMatmulOp", "QuantizeOp"]>]> {
  let summary = "terminate an epilogue or a producer";
  let description = [{
    An epilogue yields the element to store, of the element type of `outs`; a
    producer yields one or more numbers to quantize.

    Example:

    ```mlir
    mx.yield %y : bf16
    ```
  }];
  let arguments = (ins Variadic<AnyFloat>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let extraClassDeclaration = [{
    /// The only value.
    ::mlir::Value getValue() { return getValues()[0]; }
  }];
}

#endif // MX_DIALECT_MX_IR_MXOPS_TD
