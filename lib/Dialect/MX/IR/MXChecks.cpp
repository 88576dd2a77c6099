//===- MXChecks.cpp - Checks shared by the mx verifiers -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MXChecks.h"

using namespace mlir;
using namespace mx;
using namespace mx::detail;

/// Maximum size of a dimension. Prevents overflow of sizes in bytes.
static constexpr int64_t kMaxDimension = int64_t{1} << 40;

InFlightDiagnostic mx::detail::errorAt(Operation *op, const Named &operand) {
  InFlightDiagnostic diag = op->emitOpError();
  diag.attachNote(operand.value.getLoc()) << operand.name << " is defined here";
  return diag;
}

LogicalResult mx::detail::verifyForm(Operation *op) {
  Value first;
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<ShapedType>(operand.getType());
    if (!type)
      continue;
    for (int64_t size : type.getShape())
      if (!ShapedType::isDynamic(size) && size > kMaxDimension)
        return op->emitOpError("expected dimensions of at most 2^40, found ")
               << size;
    if (!first)
      first = operand;
    if (isa<MemRefType>(type) != isa<MemRefType>(first.getType()))
      return op->emitOpError("expected all tensors or all memrefs, found ")
             << first.getType() << " and " << type;
  }
  return success();
}

LogicalResult mx::detail::verifyOneOut(Operation *op, OperandRange outs) {
  if (outs.size() != 1)
    return op->emitOpError("expected 1 operand in outs, found ") << outs.size();
  return success();
}

LogicalResult mx::detail::verifyMinRank(Operation *op, const Named &operand) {
  if (operand.rank() < 2)
    return errorAt(op, operand)
           << "expected " << operand.name << " of rank 2 or more, found rank "
           << operand.rank();
  return success();
}

LogicalResult mx::detail::verifyRank(Operation *op, const Named &operand,
                                     int64_t rank) {
  if (operand.rank() != rank)
    return errorAt(op, operand) << "expected " << operand.name << " of rank "
                                << rank << ", found rank " << operand.rank();
  return success();
}

LogicalResult mx::detail::verifyDim(Operation *op, const Named &operand,
                                    int64_t dim, int64_t expected) {
  int64_t found = operand.dim(dim);
  if (ShapedType::isDynamic(expected) || ShapedType::isDynamic(found) ||
      found == expected)
    return success();
  return errorAt(op, operand)
         << "expected dimension " << dim << " of " << operand.name << " to be "
         << expected << ", found " << found;
}

LogicalResult mx::detail::verifyShape(Operation *op, const Named &operand,
                                      ArrayRef<int64_t> expected) {
  if (failed(verifyRank(op, operand, expected.size())))
    return failure();
  for (auto [dim, size] : llvm::enumerate(expected))
    if (failed(verifyDim(op, operand, dim, size)))
      return failure();
  return success();
}

LogicalResult mx::detail::verifyMultiple(Operation *op, const Named &operand,
                                         int64_t dim, int64_t divisor) {
  int64_t size = operand.dim(dim);
  if (ShapedType::isDynamic(size) || divisor == BlockFormat::kWhole ||
      size % divisor == 0)
    return success();
  int64_t below = size / divisor * divisor;
  return errorAt(op, operand)
         << "expected dimension " << dim << " of " << operand.name
         << " to be a multiple of " << divisor << ", found " << size
         << "; the nearest are " << below << " and " << below + divisor;
}

LogicalResult mx::detail::verifyNoEncoding(Operation *op,
                                           const Named &operand) {
  auto tensor = dyn_cast<RankedTensorType>(operand.type());
  if (!tensor || !tensor.getEncoding())
    return success();
  return errorAt(op, operand)
         << "expected " << operand.name << " without encoding, found "
         << tensor.getEncoding();
}

LogicalResult mx::detail::verifyElementEncoding(Operation *op,
                                                const Named &operand,
                                                RaggedKind ragged,
                                                int64_t groups) {
  auto tensor = dyn_cast<RankedTensorType>(operand.type());
  if (ragged != RaggedKind::Reduction || !tensor ||
      !isa_and_present<RaggedAttr>(tensor.getEncoding()))
    return verifyNoEncoding(op, operand);
  auto encoding = cast<RaggedAttr>(tensor.getEncoding());
  if (ShapedType::isDynamic(groups) || encoding.getGroups() == groups)
    return success();
  return errorAt(op, operand) << "expected " << operand.name << " in " << groups
                              << " expert groups, found " << encoding;
}

LogicalResult mx::detail::verifyScaleShape(Operation *op, const Named &scales,
                                           ArrayRef<int64_t> logical,
                                           RaggedKind ragged, int64_t groups) {
  if (isMaterialized(scales.type(), logical.size()))
    return verifyShape(
        op, scales,
        getMaterializedShape(getLayoutKind(scales.type(), logical.size()),
                             logical, ragged, groups));
  return verifyShape(op, scales, logical);
}

LogicalResult mx::detail::verifyScaleLayout(Operation *op, const Named &scales,
                                            int64_t logicalRank,
                                            RaggedKind ragged, int64_t groups) {
  auto tensor = dyn_cast<RankedTensorType>(scales.type());
  if (!tensor || !tensor.getEncoding())
    return success();
  if (isMaterialized(tensor, logicalRank))
    return verifyNoEncoding(op, scales);
  auto layout = dyn_cast<ScaleLayoutAttr>(tensor.getEncoding());
  if (!layout)
    return errorAt(op, scales) << "expected " << scales.name
                               << " with a #mx.scale_layout encoding, found "
                               << tensor.getEncoding();
  bool mayOmit = layout.getKind() != ScaleLayoutKind::Sf128x4;
  if (layout.getRagged() != ragged &&
      !(mayOmit && layout.getRagged() == RaggedKind::None))
    return errorAt(op, scales)
           << "expected " << scales.name
           << " with ragged = " << stringifyRaggedKind(ragged) << ", found "
           << layout;
  if (layout.getRagged() != RaggedKind::None &&
      !ShapedType::isDynamic(groups) && layout.getGroups() != groups)
    return errorAt(op, scales) << "expected " << scales.name << " in " << groups
                               << " expert groups, found " << layout;
  return success();
}

LogicalResult mx::detail::verifyScales(Operation *op, const Named &scales,
                                       ArrayRef<int64_t> elements,
                                       BlockShape block, RaggedKind ragged,
                                       int64_t groups) {
  const BlockFormat &format = getBlockFormat(scales.elementType(), block);
  int64_t blockSize = block;
  bool isWhole = blockSize == BlockFormat::kWhole;
  if ((format.blockRows > 1 && ragged != RaggedKind::None) ||
      (isWhole && ragged == RaggedKind::Reduction))
    return errorAt(op, scales)
           << "expected no expert groups with blocks of "
           << format.describeBlock()
           << ", found ragged = " << stringifyRaggedKind(ragged)
           << ": use a separate matrix for each group";
  // Blocks must not contain elements of two expert groups.
  if (ragged == RaggedKind::Reduction && kRaggedReductionAlign % blockSize)
    return errorAt(op, scales)
           << "expected blocks of at most " << kRaggedReductionAlign
           << " elements with ragged = reduction, because the segments of "
              "expert groups start at multiples of "
           << kRaggedReductionAlign << ", found " << blockSize;
  ScaleLayoutKind kind = getLayoutKind(scales.type(), elements.size());
  if (kind == ScaleLayoutKind::Sf128x4 && !format.hasTiles)
    return errorAt(op, scales)
           << "expected " << scales.name << " of type " << scales.elementType()
           << " in the linear layout, found the tiled type " << scales.type();
  if (kind == ScaleLayoutKind::MNMajor && !format.hasMNMajor)
    return errorAt(op, scales)
           << "expected " << scales.name << " of blocks of "
           << format.describeBlock()
           << " in the linear layout, found mn_major in " << scales.type();
  if (failed(verifyScaleShape(op, scales, format.getScaleShape(elements),
                              ragged, groups)))
    return failure();
  return verifyScaleLayout(op, scales, elements.size(), ragged, groups);
}

LogicalResult mx::detail::verifySpreads(Operation *op, Value spreads,
                                        ArrayRef<int64_t> elements,
                                        BlockShape blockSize, int64_t axis) {
  Named found{spreads, "spreads"};
  Type scale = getPowerOfTwoFormat().getScaleType(op->getContext());
  if (!found.elementType().isSignlessInteger(8))
    return errorAt(op, found)
           << "expected spreads of type i8, found " << found.elementType();
  auto shape = getBlockFormat(scale, blockSize).getScaleShape(elements);
  if (!axis)
    std::swap(shape.back(), shape[shape.size() - 2]);
  if (failed(verifyShape(op, found, shape)))
    return failure();
  return verifyNoEncoding(op, found);
}

LogicalResult mx::detail::verifyOrder(Operation *op, const Named &operand,
                                      OperandOrderAttrInterface order,
                                      ArrayRef<int64_t> logical) {
  auto emitError = [&] { return errorAt(op, operand); };
  if (failed(order.verifyOperand(logical, operand.elementType(), emitError)))
    return failure();
  Named stored{operand.value, operand.name};
  OperandOrderAttrInterface encoding = getOrder(stored.type());
  if (encoding && encoding != order)
    return emitError() << "expected " << operand.name << " in order " << order
                       << ", found " << encoding;
  if (encoding)
    return verifyShape(op, stored, logical);
  if (failed(verifyNoEncoding(op, stored)))
    return failure();
  return verifyShape(op, stored, order.getStoredShape(logical));
}

LogicalResult mx::detail::verifyBlock(Operation *op, const Named &elements,
                                      Type scaleType, BlockShape blockSize) {
  const BlockFormat *found = findBlockFormat(scaleType, blockSize);
  const BlockFormat &format = found ? *found : getBlockFormat(scaleType);
  if (!found)
    return op->emitOpError("expected block_size ")
           << spellBlockSize(BlockShape(format.blockSize))
           << " with scales of type " << scaleType << ", found "
           << spellBlockSize(blockSize);
  if (!format.takes(elements.elementType()))
    return errorAt(op, elements)
           << "expected " << elements.name << " of type "
           << format.listElements() << " with scales of type " << scaleType
           << ", found " << elements.elementType();
  return success();
}

LogicalResult mx::detail::verifyRagged(Operation *op,
                                       std::optional<RaggedKind> ragged,
                                       Value offsets, bool mayBeEmpty) {
  if (ragged.has_value() != bool(offsets))
    return op->emitOpError("expected 'ragged' and 'offsets' together, found "
                           "only ")
           << (offsets ? "offsets" : "ragged");
  if (ragged == RaggedKind::None)
    return op->emitOpError("expected ragged = rows or reduction, found none");
  if (offsets && !mayBeEmpty && getNumExperts(offsets) == 0)
    return op->emitOpError("expected at least 1 expert group, found 0");
  return success();
}

LogicalResult mx::detail::verifyRegion(Operation *op, StringRef name,
                                       MutableArrayRef<Region> regions,
                                       ArrayRef<Type> elements) {
  if (regions.size() > 1)
    return op->emitOpError("expected at most 1 ")
           << name << ", found " << regions.size();
  if (regions.empty())
    return success();
  SmallVector<Type> expected(elements);
  expected.append(2, IndexType::get(op->getContext()));
  TypeRange found = regions.front().front().getArgumentTypes();
  if (llvm::equal(found, expected))
    return success();
  return op->emitOpError("expected ")
         << name << " arguments (" << TypeRange(expected) << "), found ("
         << found << ")";
}

FailureOr<YieldOp> mx::detail::verifyYield(Operation *op, StringRef name,
                                           MutableArrayRef<Region> regions) {
  Block &block = regions.front().front();
  if (!block.empty())
    if (auto yield = dyn_cast<YieldOp>(block.back()))
      return yield;
  op->emitOpError("expected the ") << name << " to end with 'mx.yield'";
  return failure();
}

LogicalResult mx::detail::verifyEpilogue(Operation *op,
                                         MutableArrayRef<Region> epilogue,
                                         Type outElement, bool terminator) {
  if (!terminator)
    return verifyRegion(op, "epilogue", epilogue,
                        Float32Type::get(op->getContext()));
  if (epilogue.empty())
    return success();
  FailureOr<YieldOp> yield = verifyYield(op, "epilogue", epilogue);
  if (failed(yield))
    return failure();
  if (yield->getValues().getTypes() != TypeRange(outElement))
    return op->emitOpError("expected the epilogue to yield ")
           << outElement << ", found " << yield->getValues().getTypes();
  return success();
}
