//===- MXLayouts.cpp - Shapes of scales and ragged tensors ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Extends the layout arithmetic of Support to dynamic sizes.
//===----------------------------------------------------------------------===//

#include "mx/Dialect/MX/IR/MX.h"

using namespace mlir;
using namespace mx;

/// Returns the layout of physical scales with so many more dimensions than the
/// elements, or none.
static std::optional<ScaleLayoutKind> getLayoutOfRank(int64_t excess) {
  if (excess == kScaleTileRank)
    return ScaleLayoutKind::Sf128x4;
  if (excess == 1)
    return ScaleLayoutKind::MNMajor;
  return std::nullopt;
}

ScaleRounding mx::getDefaultRounding(Type scale, BlockShape shape) {
  const BlockFormat *format = findBlockFormat(scale, shape);
  return format && format->isExact ? ScaleRounding::Exact : ScaleRounding::Ceil;
}

bool mx::isMaterialized(ShapedType scales, int64_t logicalRank) {
  return getLayoutOfRank(scales.getRank() - logicalRank).has_value();
}

ScaleLayoutKind mx::getLayoutKind(ShapedType scales, int64_t logicalRank) {
  return getLayoutOfRank(scales.getRank() - logicalRank)
      .value_or(ScaleLayoutAttr::get(scales).getKind());
}

SmallVector<int64_t> mx::getMaterializedShape(ScaleLayoutKind kind,
                                              ArrayRef<int64_t> logical,
                                              RaggedKind ragged,
                                              int64_t groups) {
  int64_t rows = logical[logical.size() - 2], blocks = logical.back();
  if (kind == ScaleLayoutKind::MNMajor) {
    SmallVector<int64_t> shape(logical.drop_back(2));
    shape.append(
        {blocks,
         ShapedType::isDynamic(rows) ? rows : ceilDiv(rows, kMNMajorRows),
         kMNMajorRows});
    return shape;
  }
  bool dynamicRows =
      ShapedType::isDynamic(rows) ||
      (ragged == RaggedKind::Rows && ShapedType::isDynamic(groups));
  SmallVector<int64_t> shape(logical.drop_back(2));
  shape.push_back(dynamicRows ? ShapedType::kDynamic
                  : ragged == RaggedKind::Rows
                      ? raggedRowsTileRowCount(rows, groups)
                      : scaleTileRowCount(rows));
  shape.push_back(ShapedType::isDynamic(blocks) ? blocks
                                                : scaleTileColumnCount(blocks));
  llvm::append_range(shape, kScaleTileShape);
  return shape;
}

bool mx::hasMXEncoding(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa_and_present<ScaleLayoutAttr, OperandOrderAttrInterface,
                                   RaggedAttr>(tensor.getEncoding());
}

RankedTensorType mx::getMaterializedType(RankedTensorType type) {
  if (!hasMXEncoding(type))
    return type;
  if (OperandOrderAttrInterface order = getOrder(type))
    return RankedTensorType::get(order.getStoredShape(type.getShape()),
                                 type.getElementType());
  auto layout = dyn_cast<ScaleLayoutAttr>(type.getEncoding());
  if (!layout || layout.getKind() == ScaleLayoutKind::Linear)
    return RankedTensorType::get(type.getShape(), type.getElementType());
  return RankedTensorType::get(
      getMaterializedShape(layout.getKind(), type.getShape(),
                           layout.getRagged(), layout.getGroups()),
      type.getElementType());
}

bool mx::hasTiledLayout(RankedTensorType type) {
  return getMaterializedType(type).getRank() != type.getRank();
}

int64_t mx::getRaggedCapacity(int64_t total, int64_t groups) {
  if (ShapedType::isDynamic(total) || ShapedType::isDynamic(groups))
    return ShapedType::kDynamic;
  return roundUp(raggedReductionCapacity(total, groups), kRaggedReductionAlign);
}

int64_t mx::getNumExperts(Value offsets) {
  return cast<ShapedType>(offsets.getType()).getDimSize(0);
}
