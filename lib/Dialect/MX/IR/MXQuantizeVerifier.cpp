//===- MXQuantizeVerifier.cpp - Verifiers of quantizations ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comments such as "quantize C1" cite constraints of docs/reference/Spec.md.
//===----------------------------------------------------------------------===//

#include "MXChecks.h"

using namespace mlir;
using namespace mx;
using namespace mx::detail;

//===----------------------------------------------------------------------===//
// mx.quantize, and checks shared with mx.fused_quantize
//===----------------------------------------------------------------------===//

RaggedKind mx::getRaggedOfAxis(RaggedKind ragged, int64_t axis) {
  if (axis == 1 || ragged == RaggedKind::None)
    return ragged;
  return ragged == RaggedKind::Rows ? RaggedKind::Reduction : RaggedKind::Rows;
}

static LogicalResult verifyAxes(Operation *op, ArrayRef<int64_t> axes) {
  bool distinct = axes.size() == 1 || (axes.size() == 2 && axes[0] != axes[1]);
  if (distinct &&
      llvm::all_of(axes, [](int64_t a) { return a == 0 || a == 1; }))
    return success();
  return op->emitOpError("expected axes to be 0, 1 or both, found [")
         << axes << "]";
}

template <typename OpT>
static LogicalResult verifyExperts(OpT op, const Named &input) {
  if (failed(
          verifyRagged(op, op.getRagged(), op.getOffsets())) || // quantize C10
      (op.getRagged() && failed(verifyRank(op, input, 2))))     // quantize C11
    return failure();
  if (op.getSquare() && op.getOffsets()) // quantize C18
    return op.emitOpError("expected no expert groups with 'square', found "
                          "ragged = ")
           << stringifyRaggedKind(*op.getRagged());
  return success();
}

/// Checks the element and scale types of a destination. Without `block`, the
/// scale type determines the block size.
static LogicalResult verifyWrittenTypes(Operation *op, Named elements,
                                        Named scales,
                                        std::optional<BlockShape> block) {
  if (!getPowerOfTwoFormat().takes(elements.elementType())) // quantize C5
    return errorAt(op, elements) << "expected elements of type "
                                 << getPowerOfTwoFormat().listElements()
                                 << ", found " << elements.elementType();
  // quantize C6
  const BlockFormat *format = findBlockFormat(scales.elementType());
  if (!format)
    return errorAt(op, scales) << "expected scales of type " << listScaleTypes()
                               << ", found " << scales.elementType();
  // quantize C7
  // fused_quantize C2
  return verifyBlock(op, elements, scales.elementType(),
                     block.value_or(BlockShape(format->blockSize)));
}

/// Checks the recipe and the shapes of destination `index`. Blocks must divide
/// a dimension of `blockedOperand`.
template <typename OpT>
static LogicalResult verifyDestination(OpT op, unsigned index, Type scaleType,
                                       const Named &blockedOperand,
                                       StringRef name = "elements") {
  int64_t axis = op.getAxis(index);
  Named elements{op.getElements(index), name};
  RaggedKind ragged = op.getRaggedOfAxis(axis);
  int64_t groups = op.getOffsets() ? getNumExperts(op.getOffsets()) : 0;
  const BlockFormat &format = getBlockFormat(scaleType, op.getBlockSize());
  bool hasFactor = format.hasTensorFactor;
  if (hasFactor != bool(op.getGlobalScale())) // quantize C8
    return op.emitOpError("expected ")
           << (hasFactor ? "a" : "no") << " global_scale with scales of type "
           << scaleType << ", found "
           << (hasFactor ? "none" : "a global_scale");
  // quantize C9
  ScaleRounding rounding = op.getRounding();
  bool isExact = rounding == ScaleRounding::Exact;
  if (isPowerOfTwoScale(scaleType)
          ? isExact
          : rounding != ScaleRounding::Ceil && !(isExact && format.isExact))
    return op.emitOpError("expected scale_rounding = ceil")
           << (format.isExact                 ? " or exact"
               : isPowerOfTwoScale(scaleType) ? ", floor, even or fit"
                                              : "")
           << " with " << scaleType << " scales, found "
           << stringifyScaleRounding(rounding);
  // quantize C7
  if (op.getSquare() &&
      (format.blockRows > 1 || format.blockSize == BlockFormat::kWhole))
    return op.emitOpError("expected no attribute 'square' with scales of type ")
           << scaleType << ", which apply to " << format.describeBlock();

  SmallVector<int64_t> quantized(op.getQuantizedShape());
  int64_t rank = quantized.size();
  int64_t rows = rank - 2 + (axis == 1 ? 0 : 1);
  int64_t blocked = rank - 2 + (axis == 1 ? 1 : 0);
  // quantize C12
  if (ragged != RaggedKind::Reduction &&
      failed(verifyMultiple(op, blockedOperand, blocked, op.getBlockSize())))
    return failure();
  SmallVector<int64_t> shape(ArrayRef<int64_t>(quantized).drop_back(2));
  shape.push_back(quantized[rows]);
  shape.push_back(ragged == RaggedKind::Reduction
                      ? getRaggedCapacity(quantized[blocked], groups)
                      : quantized[blocked]);
  if (failed(verifyShape(op, elements, shape))) // quantize C13
    return failure();
  if (op.getOut(op.getElementsNumber(index)).kind !=
      QuantizeOut::Kind::Elements)
    return success();
  // quantize C14
  // quantize C15
  if (failed(verifyScales(op, {op.getScales(index), "scales"}, shape,
                          op.getBlockSize(), ragged, groups)))
    return failure();
  // quantize C16
  return verifyElementEncoding(op, elements, ragged, groups);
}

LogicalResult QuantizeOp::verify() {
  Named input{getInput(), "input"};
  if (failed(verifyForm(*this)) ||           // quantize C1
      failed(verifyMinRank(*this, input)) || // quantize C2
      failed(verifyAxes(*this, getAxes())))  // quantize C3
    return failure();
  if (getOuts().size() != 2 * getAxes().size()) // quantize C4
    return emitOpError("expected elements and scales in outs for each of ")
           << getAxes().size() << " axes, found " << getOuts().size()
           << " outs";
  if (failed(verifyExperts(*this, input)) ||
      failed(verifyNoEncoding(*this, input))) // quantize C17
    return failure();
  for (unsigned i = 0; i < getNumDestinations(); ++i) {
    Type scaleType = getElementTypeOrSelf(getScales(i));
    if (failed(verifyWrittenTypes(*this, {getElements(i), "elements"},
                                  {getScales(i), "scales"}, getBlockShape())))
      return failure();
    if (Type first = getElementTypeOrSelf(getScales(0));
        scaleType != first) // quantize C7
      return emitOpError("expected scales of one type for both axes, found ")
             << first << " and " << scaleType;
    if (failed(verifyDestination(*this, i, scaleType, input)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// mx.fused_quantize
//===----------------------------------------------------------------------===//

/// Returns true for types of quantized values and prologue arguments.
static bool isNumber(Type type) {
  return isa<Float32Type, BFloat16Type, Float16Type>(type);
}

static LogicalResult verifyInputScales(FusedQuantizeOp op,
                                       const QuantizeSource &source) {
  Named input{source.tensor, "input"}, scales{source.scales, "input_scales"};
  BlockShape block = source.getBlockSize();
  // fused_quantize C12
  if (failed(verifyBlock(op, input, scales.elementType(), block)) ||
      // fused_quantize C13
      failed(verifyMultiple(op, input, input.rank() - 1, block)))
    return failure();
  // fused_quantize C14
  return verifyScales(op, scales, input.type().getShape(), block,
                      RaggedKind::None, /*groups=*/0);
}

/// Requires inputs of equal shape; several inputs require a prologue.
static LogicalResult verifyInputs(FusedQuantizeOp op) {
  size_t count = op.getInputs().size();
  bool hasPrologue = !op.getPrologue().empty();
  if (count == 0 || (count > 1 && !hasPrologue))
    return op.emitOpError("expected 1 input")
           << (hasPrologue ? " or more" : " without a prologue") << ", found "
           << count;
  for (Value input : op.getInputs())
    if (failed(verifyShape(op, {input, "input"},
                           op.getInput().getType().getShape())))
      return failure();
  return success();
}

/// Requires scales for quantized inputs. Without a prologue, rows are copied.
/// In this case NVFP4 is rejected, because the tensor factor is unknown.
static LogicalResult verifyInputScales(FusedQuantizeOp op) {
  int64_t found = op.getInputScales().size();
  int64_t expected = 0;
  SmallVector<QuantizeSource> sources = op.getSources();
  for (const QuantizeSource &source : sources)
    expected += !isNumber(getElementTypeOrSelf(source.tensor));
  if (found != expected) // fused_quantize C9
    return op.emitOpError("expected ")
           << expected << " input_scales, one for each quantized input, found "
           << found;
  if (expected == 0)
    return success();
  // fused_quantize C10
  if (op.isPassedOn() &&
      getBlockFormat(getElementTypeOrSelf(op.getInputScales()[0]))
          .hasTensorFactor)
    return op.emitOpError(
        "expected a prologue with input_scales of type f8E4M3FN, "
        "found none");
  if (op.getRaggedOrNone() == RaggedKind::Reduction) // fused_quantize C11
    return op.emitOpError("expected ragged = rows or no expert groups with "
                          "input_scales, found ragged = reduction");
  for (const QuantizeSource &source : sources)
    if (source.scales && failed(verifyInputScales(op, source)))
      return failure();
  return success();
}

/// Verifies arguments and results of the prologue. Sets `numValues` to the
/// number of quantized tensors.
static LogicalResult verifyPrologue(FusedQuantizeOp op, size_t &numValues) {
  SmallVector<Type> elements;
  for (const QuantizeSource &source : op.getSources()) {
    if (source.numberType && !isNumber(source.numberType)) // fused_quantize C15
      return op.emitOpError("expected the prologue argument for a quantized "
                            "input to be f32, bf16 or f16, found ")
             << source.numberType;
    // A missing argument fails below. The message then expects an f32 argument.
    if (!source.numberType) {
      elements.push_back(Float32Type::get(op.getContext()));
      continue;
    }
    elements.push_back(source.numberType);
  }
  // fused_quantize C4
  if (failed(verifyRegion(op, "prologue", op.getPrologue(), elements)))
    return failure();
  numValues = 1;
  if (op.getPrologue().empty())
    return success();
  // fused_quantize C5
  FailureOr<YieldOp> yield = verifyYield(op, "prologue", op.getPrologue());
  if (failed(yield))
    return failure();
  TypeRange types = yield->getValues().getTypes();
  if (types.empty() || !llvm::all_of(types, isNumber))
    return op.emitOpError("expected the prologue to yield f32, bf16 or f16, "
                          "found (")
           << types << ")";
  numValues = types.size();
  return success();
}

/// Checks the rules of `concat`: at least two values of the same type, and no
/// expert groups along columns.
static LogicalResult verifyConcat(FusedQuantizeOp op, size_t numValues) {
  if (numValues < 2) // fused_quantize C16
    return op.emitOpError("expected a prologue that yields at least 2 values "
                          "with 'concat', found ")
           << (op.getPrologue().empty() ? "none" : std::to_string(numValues));
  TypeRange types = op.getPrologueBlock()->getTerminator()->getOperandTypes();
  if (!llvm::all_equal(types)) // fused_quantize C17
    return op.emitOpError("expected the prologue to yield values of one type "
                          "with 'concat', found (")
           << types << ")";
  if (op.getRaggedOrNone() == RaggedKind::Reduction) // fused_quantize C18
    return op.emitOpError(
        "expected ragged = rows or no expert groups with 'concat', "
        "found ragged = reduction");
  return success();
}

/// Requires a valid entry of `dequantized` for each destination.
static LogicalResult verifyDequantized(FusedQuantizeOp op,
                                       size_t numDestinations) {
  ArrayRef<Attribute> entries = op.getDequantizedAttr().getValue();
  if (entries.size() != numDestinations) // fused_quantize C19
    return op.emitOpError(
               "expected 'dequantized' to have an entry for each of ")
           << numDestinations << " destinations, found " << entries.size();
  // fused_quantize C20
  for (Attribute entry : entries)
    if (Type type = cast<TypeAttr>(entry).getValue();
        !isa<NoneType>(type) && !getPowerOfTwoFormat().takes(type))
      return op.emitOpError("expected entries of 'dequantized' to be none, ")
             << getPowerOfTwoFormat().listElements() << ", found " << type;
  return success();
}

/// Requires a decode factor for each dequantized destination, or no factors.
/// Factors require a global scale.
static LogicalResult verifyDecodeFactors(FusedQuantizeOp op) {
  size_t found = op.getDecodeFactors().size(), all = op.getNumDequantized();
  if (found && found != all) // fused_quantize C21
    return op.emitOpError("expected decode_factors for each of ")
           << all << " dequantized destinations, or none, found " << found;
  if (found && !op.getGlobalScale()) // fused_quantize C22
    return op.emitOpError("expected a global_scale with decode_factors, found "
                          "none");
  return success();
}

static LogicalResult verifyDequantizedOut(FusedQuantizeOp op, unsigned index) {
  Named out{op.getElements(index), "outs"};
  Type type = op.getElementType(index);
  // fused_quantize C23
  BlockShape block = op.getBlockSize();
  const BlockFormat *format = findBlockFormat(block);
  if (!format || format->blockRows > 1 || !format->takes(type))
    return op.emitOpError("expected block_size 32, or 16 with f4E2M1FN, to "
                          "dequantize ")
           << type << ", found " << spellBlockSize(block);
  if (!isNumber(out.elementType())) // fused_quantize C24
    return errorAt(op, out) << "expected dequantized outs of type f32, bf16 or "
                               "f16, found "
                            << out.elementType();
  return verifyNoEncoding(op, out);
}

/// Requires that copied rows have the input's format, and that rows do not
/// share scales.
static LogicalResult verifyCopied(FusedQuantizeOp op, unsigned index) {
  Type input = getElementTypeOrSelf(op.getInput()),
       found = op.getElementType(index);
  BlockShape block = op.getSources()[0].getBlockSize();
  // fused_quantize C25
  if (found != input || int64_t(op.getBlockSize()) != int64_t(block))
    return op.emitOpError("expected the input's element type ")
           << input << " and block_size " << spellBlockSize(block)
           << " along axis 1 without a prologue, found " << found << " and "
           << spellBlockSize(op.getBlockSize())
           << ": add a prologue that yields its argument to requantize";
  Type scales = getElementTypeOrSelf(op.getSources()[0].scales);
  if (!op.isDequantized(index) && op.getScaleType(index) != scales)
    return op.emitOpError("expected the input's scale type ")
           << scales << " along axis 1 without a prologue, found "
           << op.getScaleType(index)
           << ": add a prologue that yields its argument to requantize";
  // fused_quantize C26
  if (op.getSquare() ||
      getBlockRows(op.getScaleType(index), op.getBlockSize()) > 1)
    return op.emitOpError("expected no attribute 'square' along axis 1 with "
                          "input_scales and without a prologue");
  return success();
}

/// Rejects spreads of blocks with a single group, of squares, and beside
/// dequantized values.
static LogicalResult verifySpreads(FusedQuantizeOp op) {
  const BlockFormat *format = findBlockFormat(
      getPowerOfTwoFormat().getScaleType(op.getContext()), op.getBlockSize());
  // fused_quantize C27
  if (!format || !format->isFolded || format->blockRows > 1)
    return op.emitOpError("expected block_size 128, 256, 512 or row with "
                          "'spreads', found ")
           << spellBlockSize(op.getBlockSize());
  if (op.getSquare() || op.getDequantized()) // fused_quantize C28
    return op.emitOpError("expected no attribute '")
           << (op.getSquare() ? "square" : "dequantized") << "' with 'spreads'";
  return success();
}

/// Verifies the types and shapes of destination `index`.
static LogicalResult verifyWritten(FusedQuantizeOp op, unsigned index) {
  LogicalResult types =
      op.isDequantized(index)
          ? verifyDequantizedOut(op, index)
          : verifyWrittenTypes(op, {op.getElements(index), "elements"},
                               {op.getScales(index), "scales"},
                               op.getBlockSize());
  if (failed(types) || (op.isCopied(index) && failed(verifyCopied(op, index))))
    return failure();
  int64_t dim = op.getInput().getType().getRank() - (op.getAxis(index) ? 1 : 2);
  Named blocked{op.getInput(), "input"};
  if (dim == 0 && op.getGather())
    blocked = {op.getGather(), "gather"};
  if (failed(verifyDestination(op, index, op.getScaleType(index), blocked,
                               op.isDequantized(index) ? "outs" : "elements")))
    return failure();
  if (!op.getSpreads())
    return success();
  Named elements{op.getElements(index), "elements"};
  return verifySpreads(op, op.getSpreadsOf(index), elements.shape(),
                       op.getBlockSize(),
                       op.getAxis(index)); // fused_quantize C29
}

LogicalResult FusedQuantizeOp::verify() {
  if (failed(verifyForm(*this)) || // quantize C1
      failed(verifyInputs(*this))) // fused_quantize C3
    return failure();
  Named input{getInput(), "input"};
  if (failed(verifyMinRank(*this, input)) ||  // quantize C2
      failed(verifyAxes(*this, getAxes())) || // quantize C3
      failed(verifyInputScales(*this)))
    return failure();
  size_t numValues;
  if (failed(verifyPrologue(*this, numValues)))
    return failure();
  if (getConcat()) {
    if (failed(verifyConcat(*this, numValues)))
      return failure();
    numValues = 1;
  }
  if (getDequantized() &&
      failed(verifyDequantized(*this, getAxes().size() * numValues)))
    return failure();
  if (getSpreads() && failed(verifySpreads(*this)))
    return failure();
  // fused_quantize C1
  if (getOuts().size() + getNumDequantized() !=
      (getDestinationSize() * getAxes().size() + getAmax()) * numValues) {
    InFlightDiagnostic diag = emitOpError("expected elements");
    diag << (getSpreads() ? ", scales and spreads" : " and scales")
         << " in outs for each of ";
    if (numValues != 1)
      diag << numValues << " values and ";
    diag << getAxes().size() << " axes";
    if (getDequantized())
      diag << ", or one tensor for each dequantized destination";
    if (getAmax())
      diag << ", and an amax for each value";
    return diag << ", found " << getOuts().size() << " outs";
  }
  // fused_quantize C8
  for (Value magnitude : getAmaxOuts())
    if (auto type = cast<ShapedType>(magnitude.getType());
        type.getRank() != 0 || !type.getElementType().isF32())
      return errorAt(*this, {magnitude, "amax"})
             << "expected amax of rank 0 and type f32, found " << type;
  if (failed(verifyExperts(*this, input)) ||
      (getGather() && failed(verifyRank(*this, input, 2)))) // fused_quantize C7
    return failure();
  // quantize C17
  for (Value each : getInputs())
    if (failed(verifyNoEncoding(*this, {each, "input"})))
      return failure();
  if (getGlobalScale() && numValues != 1) // fused_quantize C6
    return emitOpError("expected the prologue to yield 1 value with "
                       "global_scale, found ")
           << numValues;
  if (failed(verifyDecodeFactors(*this)))
    return failure();
  for (unsigned i = 0; i < getNumDestinations(); ++i)
    if (failed(verifyWritten(*this, i)))
      return failure();
  return success();
}
