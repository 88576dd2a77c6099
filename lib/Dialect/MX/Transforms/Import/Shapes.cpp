//===- Shapes.cpp - Tensors as products want them -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Import.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mx;
using namespace mx::import;

Value mx::import::makeEmpty(OpBuilder &builder, Location loc,
                            ArrayRef<OpFoldResult> sizes, Type element,
                            Attribute encoding) {
  return tensor::EmptyOp::create(builder, loc, sizes, element, encoding);
}

Value mx::import::transposeTensor(OpBuilder &builder, Location loc,
                                  Value tensor, ArrayRef<int64_t> order) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, tensor),
                            moved;
  for (int64_t dim : order)
    moved.push_back(sizes[dim]);
  Value empty = makeEmpty(builder, loc, moved, getElementTypeOrSelf(tensor));
  return linalg::TransposeOp::create(builder, loc, tensor, empty, order)
      ->getResult(0);
}

Value mx::import::transposeLast(OpBuilder &builder, Location loc,
                                Value tensor) {
  int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
  auto order = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::swap(order[rank - 1], order[rank - 2]);
  return transposeTensor(builder, loc, tensor, order);
}

/// The bits of integers as numbers of `element`.
static Value castBits(OpBuilder &builder, Location loc, Value tensor,
                      Type element) {
  if (getElementTypeOrSelf(tensor) == element)
    return tensor;
  auto type = cast<RankedTensorType>(tensor.getType());
  Value empty = makeEmpty(builder, loc,
                          tensor::getMixedSizes(builder, loc, tensor), element);
  SmallVector<AffineMap> maps(2,
                              builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, empty.getType(), tensor, empty, maps, loops,
             [&](OpBuilder &body, Location inner, ValueRange arguments) {
               Value bits =
                   arith::BitcastOp::create(body, inner, element, arguments[0]);
               linalg::YieldOp::create(body, inner, bits);
             })
      .getResult(0);
}

SmallVector<ReassociationIndices>
mx::import::getUnitGroups(ArrayRef<int64_t> counts) {
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices units;
  for (auto [i, count] : llvm::enumerate(counts)) {
    if (count == 0 && !groups.empty()) {
      groups.back().push_back(i);
      continue;
    }
    units.push_back(i);
    if (count)
      groups.push_back(std::exchange(units, {}));
  }
  return groups;
}

/// The dimensions of each group that has some.
static SmallVector<ReassociationIndices> getGroups(ArrayRef<int64_t> counts) {
  SmallVector<ReassociationIndices> groups;
  int64_t next = 0;
  for (int64_t count : counts) {
    if (count)
      llvm::append_range(groups.emplace_back(),
                         llvm::seq<int64_t>(next, next + count));
    next += count;
  }
  return groups;
}

static bool isOneEach(ArrayRef<ReassociationIndices> groups) {
  return llvm::all_of(groups, [](const ReassociationIndices &group) {
    return group.size() == 1;
  });
}

Value mx::import::arrangeTensor(OpBuilder &builder, Location loc,
                                const Leaf &leaf, ArrayRef<Index> groups) {
  FailureOr<Arrangement> found = arrange(leaf.dims, groups);
  if (failed(found))
    return {};
  Value tensor = leaf.tensor;
  if (!found->isInOrder())
    tensor = transposeTensor(builder, loc, tensor, found->order);
  SmallVector<ReassociationIndices> dims = getGroups(found->counts);
  if (!isOneEach(dims))
    tensor = tensor::CollapseShapeOp::create(builder, loc, tensor, dims);
  if (llvm::is_contained(found->counts, 0)) {
    SmallVector<OpFoldResult> sizes,
        given = tensor::getMixedSizes(builder, loc, tensor);
    size_t next = 0;
    for (int64_t count : found->counts)
      sizes.push_back(count ? given[next++] : builder.getIndexAttr(1));
    tensor = expandToSizes(builder, loc, tensor, getUnitGroups(found->counts),
                           sizes);
  }
  return castBits(builder, loc, tensor, leaf.element);
}

Value mx::import::expandToSizes(OpBuilder &builder, Location loc, Value tensor,
                                ArrayRef<ReassociationIndices> groups,
                                ArrayRef<OpFoldResult> sizes) {
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamic;
  dispatchIndexOpFoldResults(sizes, dynamic, shape);
  return tensor::ExpandShapeOp::create(
      builder, loc, RankedTensorType::get(shape, getElementTypeOrSelf(tensor)),
      tensor, groups, sizes);
}

Value mx::import::expandTensor(OpBuilder &builder, Location loc, Value tensor,
                               ArrayRef<Index> dims,
                               ArrayRef<OpFoldResult> sizes,
                               ArrayRef<Index> groups) {
  FailureOr<Arrangement> found = arrange(dims, groups);
  if (failed(found) || !found->isInOrder())
    return {};
  if (llvm::is_contained(found->counts, 0))
    tensor = tensor::CollapseShapeOp::create(builder, loc, tensor,
                                             getUnitGroups(found->counts));
  SmallVector<ReassociationIndices> own = getGroups(found->counts);
  return isOneEach(own) ? tensor
                        : expandToSizes(builder, loc, tensor, own, sizes);
}

Value mx::import::relayoutScales(OpBuilder &builder, Location loc, Value scales,
                                 ScaleLayoutKind layout) {
  if (layout == ScaleLayoutKind::Linear)
    return scales;
  auto encoding = ScaleLayoutAttr::get(builder.getContext(), layout,
                                       RaggedKind::None, /*groups=*/0);
  Value empty =
      makeEmpty(builder, loc, tensor::getMixedSizes(builder, loc, scales),
                getElementTypeOrSelf(scales), encoding);
  return RelayoutOp::create(builder, loc, TypeRange{empty.getType()}, scales,
                            /*offsets=*/Value(), ValueRange{empty},
                            RaggedKindAttr())
      ->getResult(0);
}

Value mx::import::dequantize(OpBuilder &builder, Location loc, Value elements,
                             Value scales, Type result) {
  Value empty = makeEmpty(
      builder, loc, tensor::getMixedSizes(builder, loc, elements), result);
  return DequantizeOp::create(
             builder, loc, TypeRange{empty.getType()}, elements, scales,
             /*global_scale=*/Value(), /*offsets=*/Value(), ValueRange{empty},
             RaggedKindAttr(),
             uint64_t(getBlockOf(getElementTypeOrSelf(scales))))
      ->getResult(0);
}

OpFoldResult mx::import::divideSize(OpBuilder &builder, Location loc,
                                    OpFoldResult size, int64_t divisor) {
  if (std::optional<int64_t> known = getConstantIntValue(size))
    return builder.getIndexAttr(*known / divisor);
  Value by = arith::ConstantIndexOp::create(builder, loc, divisor);
  return arith::DivUIOp::create(builder, loc, cast<Value>(size), by)
      .getResult();
}

Value mx::import::addRow(OpBuilder &builder, Location loc, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getRank() != 1)
    return tensor;
  OpFoldResult sizes[] = {builder.getIndexAttr(1),
                          tensor::getMixedSize(builder, loc, tensor, 0)};
  return tensor::ExpandShapeOp::create(
      builder, loc,
      RankedTensorType::get({1, type.getDimSize(0)}, type.getElementType()),
      tensor, ArrayRef<ReassociationIndices>{{0, 1}}, sizes);
}

Value mx::import::dropRow(OpBuilder &builder, Location loc, Value tensor,
                          int64_t rank) {
  if (rank != 1)
    return tensor;
  return tensor::CollapseShapeOp::create(
      builder, loc, tensor, ArrayRef<ReassociationIndices>{{0, 1}});
}

Value mx::import::castTensor(OpBuilder &builder, Location loc, Value tensor,
                             Type type) {
  if (tensor.getType() == type)
    return tensor;
  return tensor::CastOp::create(builder, loc, type, tensor);
}

void mx::import::eraseDead(ArrayRef<Operation *> ops) {
  // One is erased when it is taken out, so that no other entry is stale.
  llvm::SmallSetVector<Operation *, 8> work(ops.begin(), ops.end());
  while (!work.empty()) {
    Operation *next = work.pop_back_val();
    if (!isOpTriviallyDead(next))
      continue;
    for (Value operand : next->getOperands())
      if (Operation *made = operand.getDefiningOp())
        work.insert(made);
    next->erase();
  }
}
