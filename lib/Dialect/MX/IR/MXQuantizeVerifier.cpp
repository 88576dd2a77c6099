//===- MXQuantizeVerifier.cpp - Verifier of mx.quantize -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// As in MXVerifiers.cpp, checks have the numbers of docs/reference/Spec.md.
//
//===----------------------------------------------------------------------===//

#include "MXChecks.h"
#include "mx/BlockFormats/BlockFormat.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::detail;

RaggedKind QuantizeOp::getRaggedOfAxis(int64_t axis) {
  RaggedKind ragged = getRaggedOrNone();
  if (axis == 1 || ragged == RaggedKind::None)
    return ragged;
  return ragged == RaggedKind::Rows ? RaggedKind::Reduction : RaggedKind::Rows;
}

static LogicalResult verifyAxes(QuantizeOp op) {
  ArrayRef<int64_t> axes = op.getAxes();
  bool distinct = axes.size() == 1 || (axes.size() == 2 && axes[0] != axes[1]);
  if (distinct &&
      llvm::all_of(axes, [](int64_t a) { return a == 0 || a == 1; }))
    return success();
  return op.emitOpError("expected axes to be 0, 1 or both, found [")
         << axes << "]";
}

/// The type that is quantized, or that a region gets.
static bool isNumber(Type type) {
  return isa<Float32Type, BFloat16Type, Float16Type>(type);
}

/// The scales of an input that is quantized already.
static LogicalResult verifyInputScales(QuantizeOp op,
                                       const QuantizeSource &source) {
  Named input{source.tensor, "input"}, scales{source.scales, "input_scales"};
  int64_t block = source.getBlockSize();
  // quantize C28
  if (failed(verifyBlock(op, input, scales.elementType(), block)) ||
      // quantize C29
      failed(verifyMultiple(op, input, input.rank() - 1, block)))
    return failure();
  SmallVector<int64_t> shape(input.type().getShape());
  if (!ShapedType::isDynamic(shape.back()))
    shape.back() /= block;
  if (failed(verifyScaleShape(op, scales, shape, RaggedKind::None,
                              /*groups=*/0)))
    return failure();
  // quantize C30
  return verifyScaleLayout(op, scales, input.rank(), RaggedKind::None,
                           /*groups=*/0);
}

/// There are inputs, of one shape, and only a prologue takes several.
static LogicalResult verifyInputs(QuantizeOp op) {
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

/// Inputs of elements have scales. Without a prologue rows are copied, and no
/// operand says what NVFP4's elements are multiplied by.
static LogicalResult verifyInputScales(QuantizeOp op) {
  int64_t found = op.getInputScales().size();
  int64_t expected = 0;
  SmallVector<QuantizeSource> sources = op.getSources();
  for (const QuantizeSource &source : sources)
    expected += !isNumber(getElementTypeOrSelf(source.tensor));
  if (found != expected) // quantize C25
    return op.emitOpError("expected input_scales for each input of elements, "
                          "which are ")
           << expected << ", found " << found;
  if (expected == 0)
    return success();
  // quantize C26
  if (op.isPassedOn() &&
      getBlockFormat(getElementTypeOrSelf(op.getInputScales()[0]))
          .hasTensorFactor)
    return op.emitOpError("expected a prologue with input_scales of f8E4M3FN, "
                          "found none");
  if (op.getRaggedOrNone() == RaggedKind::Reduction) // quantize C27
    return op.emitOpError("expected expert groups of rows, or none, with "
                          "input_scales, found ragged = reduction");
  for (const QuantizeSource &source : sources)
    if (source.scales && failed(verifyInputScales(op, source)))
      return failure();
  return success();
}

/// What the prologue takes and yields. `numValues` is set to the number of
/// tensors that are quantized.
static LogicalResult verifyPrologue(QuantizeOp op, size_t &numValues) {
  SmallVector<Type> elements;
  for (const QuantizeSource &source : op.getSources()) {
    if (source.numberType && !isNumber(source.numberType)) // quantize C31
      return op.emitOpError("expected the prologue's argument of a quantized "
                            "input to be f32, bf16 or f16, found ")
             << source.numberType;
    // Where the argument is missing, any of them may be expected.
    if (!source.numberType) {
      elements.push_back(Float32Type::get(op.getContext()));
      continue;
    }
    elements.push_back(source.numberType);
  }
  // quantize C19
  if (failed(verifyRegion(op, "prologue", op.getPrologue(), elements)))
    return failure();
  numValues = 1;
  if (op.getPrologue().empty())
    return success();
  // quantize C20
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

/// Concatenated values: several of one type, whose columns no groups divide.
static LogicalResult verifyConcat(QuantizeOp op, size_t numValues) {
  if (numValues < 2) // quantize C32
    return op.emitOpError("expected a prologue that yields 2 values or more "
                          "with concat, found ")
           << (op.getPrologue().empty() ? "none" : std::to_string(numValues));
  TypeRange types = op.getPrologueBlock()->getTerminator()->getOperandTypes();
  if (!llvm::all_equal(types)) // quantize C33
    return op.emitOpError("expected the prologue to yield values of one type "
                          "with concat, found (")
           << types << ")";
  if (op.getRaggedOrNone() == RaggedKind::Reduction) // quantize C34
    return op.emitOpError(
        "expected expert groups of rows, or none, with concat, "
        "found ragged = reduction");
  return success();
}

/// There is one entry for each destination, and some of them are dequantized.
static LogicalResult verifyDequantized(QuantizeOp op, size_t numDestinations) {
  ArrayRef<Attribute> entries = op.getDequantizedAttr().getValue();
  if (entries.size() != numDestinations) // quantize C35
    return op.emitOpError("expected dequantized to have an entry for each of ")
           << numDestinations << " destinations, found " << entries.size();
  // quantize C36
  for (Attribute entry : entries)
    if (Type type = cast<TypeAttr>(entry).getValue();
        !isa<NoneType>(type) && !getPowerOfTwoFormat().takes(type))
      return op.emitOpError("expected entries of dequantized to be none, ")
             << getPowerOfTwoFormat().listElements() << ", found " << type;
  return success();
}

/// There is a factor for each dequantized destination of NVFP4, or none.
static LogicalResult verifyDecodeFactors(QuantizeOp op) {
  size_t found = op.getDecodeFactors().size(), all = op.getNumDequantized();
  if (found && found != all) // quantize C37
    return op.emitOpError("expected decode_factors for each of ")
           << all << " dequantized destinations, or none, found " << found;
  if (found && !op.getGlobalScale()) // quantize C38
    return op.emitOpError("expected decode_factors with global_scale only, "
                          "found them without");
  return success();
}

/// What is written in place of elements and scales.
static LogicalResult verifyDequantizedOut(QuantizeOp op, unsigned index) {
  Named out{op.getElements(index), "outs"};
  Type type = op.getElementType(index);
  // quantize C39
  int64_t block = op.getBlockSize();
  const BlockFormat *format = findBlockFormat(block);
  if (!format || !format->takes(type))
    return op.emitOpError("expected block_size 32, or 16 with f4E2M1FN, to "
                          "dequantize ")
           << type << ", found " << block;
  if (!isNumber(out.elementType())) // quantize C40
    return errorAt(op, out) << "expected f32, bf16 or f16 where elements are "
                               "dequantized, found "
                            << out.elementType();
  return verifyNoEncoding(op, out);
}

/// The types of the elements and scales of one value and axis.
static LogicalResult verifyWrittenTypes(QuantizeOp op, unsigned index) {
  Named elements{op.getElements(index), "elements"};
  Named scales{op.getScales(index), "scales"};
  if (!getPowerOfTwoFormat().takes(elements.elementType())) // quantize C5
    return errorAt(op, elements) << "expected elements of type "
                                 << getPowerOfTwoFormat().listElements()
                                 << ", found " << elements.elementType();
  // quantize C6
  if (!findBlockFormat(scales.elementType()))
    return errorAt(op, scales) << "expected scales of type " << listScaleTypes()
                               << ", found " << scales.elementType();
  // quantize C7
  return verifyBlock(op, elements, scales.elementType(), op.getBlockSize());
}

/// What is copied has the format that the input has, a scale for each row.
static LogicalResult verifyCopied(QuantizeOp op, unsigned index) {
  Type input = getElementTypeOrSelf(op.getInput()),
       found = op.getElementType(index);
  int64_t block = op.getSources()[0].getBlockSize();
  // quantize C41
  if (found != input || static_cast<int64_t>(op.getBlockSize()) != block)
    return op.emitOpError("expected elements of ")
           << input << " and block_size " << block
           << ", those of the input, along axis 1 without a prologue, found "
           << found << " and " << op.getBlockSize()
           << ": a prologue that yields its argument quantizes them again";
  if (op.getSquare()) // quantize C42
    return op.emitOpError("expected no square along axis 1 with input_scales "
                          "and without a prologue, found one");
  return success();
}

/// Types and shapes of what is written of one value and axis.
static LogicalResult verifyDestination(QuantizeOp op, unsigned index) {
  int64_t axis = op.getAxis(index);
  bool isDequantized = op.isDequantized(index);
  Named input{op.getInput(), "input"};
  Named elements{op.getElements(index), isDequantized ? "outs" : "elements"};
  RaggedKind ragged = op.getRaggedOfAxis(axis);
  int64_t groups = op.getOffsets() ? getNumExperts(op.getOffsets()) : 0;

  if (failed(isDequantized ? verifyDequantizedOut(op, index)
                           : verifyWrittenTypes(op, index)) ||
      (op.isCopied(index) && failed(verifyCopied(op, index))))
    return failure();
  Type scaleType = op.getScaleType(index);
  bool hasFactor = getBlockFormat(scaleType).hasTensorFactor;
  if (hasFactor != bool(op.getGlobalScale())) // quantize C8
    return op.emitOpError("expected global_scale with f8E4M3FN scales only, "
                          "found ")
           << (hasFactor ? "none" : "it") << " with scales of type "
           << scaleType;
  if (hasFactor && op.getScaleRounding() != ScaleRounding::Ceil) // quantize C9
    return op.emitOpError("expected scale_rounding = ceil with f8E4M3FN "
                          "scales, found ")
           << stringifyScaleRounding(op.getScaleRounding());

  SmallVector<int64_t> quantized = op.getQuantizedShape();
  int64_t rank = input.rank();
  int64_t rows = rank - 2 + (axis == 1 ? 0 : 1);
  int64_t blocked = rank - 2 + (axis == 1 ? 1 : 0);
  // quantize C12
  if (ragged != RaggedKind::Reduction &&
      failed(verifyMultiple(op,
                            blocked == 0 && op.getGather()
                                ? Named{op.getGather(), "gather"}
                                : input,
                            blocked, op.getBlockSize())))
    return failure();
  SmallVector<int64_t> shape(ArrayRef<int64_t>(quantized).drop_back(2));
  shape.push_back(quantized[rows]);
  shape.push_back(ragged == RaggedKind::Reduction
                      ? getRaggedCapacity(quantized[blocked], groups)
                      : quantized[blocked]);
  if (failed(verifyShape(op, elements, shape))) // quantize C13
    return failure();
  if (isDequantized)
    return success();
  if (!ShapedType::isDynamic(shape.back()))
    shape.back() /= op.getBlockSize();
  Named scales{op.getScales(index), "scales"};
  // quantize C14
  if (failed(verifyScaleShape(op, scales, shape, ragged, groups)) ||
      // quantize C15
      failed(verifyScaleLayout(op, scales, rank, ragged, groups)))
    return failure();
  // quantize C16
  return verifyElementEncoding(op, elements, ragged, groups);
}

LogicalResult QuantizeOp::verify() {
  if (failed(verifyForm(*this)) || // quantize C1
      failed(verifyInputs(*this))) // quantize C18
    return failure();
  Named input{getInput(), "input"};
  if (failed(verifyMinRank(*this, input)) || // quantize C2
      failed(verifyAxes(*this)) ||           // quantize C3
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
  // quantize C4
  if (getOuts().size() + getNumDequantized() !=
      (2 * getAxes().size() + getAmax()) * numValues) {
    InFlightDiagnostic diag =
        emitOpError("expected elements and scales in outs for each of ");
    if (numValues != 1)
      diag << numValues << " values and ";
    diag << getAxes().size() << " axes";
    if (getDequantized())
      diag << ", or one tensor where they are dequantized";
    if (getAmax())
      diag << ", and an amax for each value";
    return diag << ", found " << getOuts().size() << " outs";
  }
  // quantize C24
  for (Value magnitude : getAmaxOuts())
    if (auto type = cast<ShapedType>(magnitude.getType());
        type.getRank() != 0 || !type.getElementType().isF32())
      return errorAt(*this, {magnitude, "amax"})
             << "expected amax of rank 0 and type f32, found " << type;
  if (failed(verifyRagged(*this, getRagged(), getOffsets())) || // quantize C10
      (getRagged() && failed(verifyRank(*this, input, 2))) ||   // quantize C11
      (getGather() && failed(verifyRank(*this, input, 2))))     // quantize C22
    return failure();
  if (getSquare() && getOffsets()) // quantize C23
    return emitOpError("expected no expert groups with square, found ragged = ")
           << stringifyRaggedKind(*getRagged());
  // quantize C17
  for (Value each : getInputs())
    if (failed(verifyNoEncoding(*this, {each, "input"})))
      return failure();
  if (getGlobalScale() && numValues != 1) // quantize C21
    return emitOpError("expected the prologue to yield 1 value with "
                       "global_scale, found ")
           << numValues;
  if (failed(verifyDecodeFactors(*this)))
    return failure();
  for (unsigned i = 0; i < getNumDestinations(); ++i)
    if (failed(verifyDestination(*this, i)))
      return failure();
  return success();
}
