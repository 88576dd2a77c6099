//===- Tensors.cpp - Utilities for tensors around matmuls -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Tensors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mx;

bool mx::isFloatTensor(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  return type && !type.getEncoding() &&
         isa<Float32Type, BFloat16Type, Float16Type>(type.getElementType());
}

bool mx::isZeros(Value tensor) {
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>())
    return matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
  return matchPattern(tensor, m_AnyZeroFloat());
}

/// Returns true if the operation only applies arith.truncf to each element.
static bool isTruncation(linalg::GenericOp op) {
  auto body = op.getBody()->without_terminator();
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }) ||
      !llvm::hasSingleElement(body))
    return false;
  auto truncation = dyn_cast<arith::TruncFOp>(*body.begin());
  return truncation && truncation.getIn() == op.getBody()->getArgument(0) &&
         op.getBody()->getTerminator()->getOperand(0) == truncation;
}

Operation *mx::getRounding(Value value) {
  if (!getElementTypeOrSelf(value).isF32() || !value.hasOneUse())
    return nullptr;
  Operation *user = *value.getUsers().begin();
  auto generic = dyn_cast<linalg::GenericOp>(user);
  bool rounds =
      isa<arith::TruncFOp>(user) ||
      (generic && isTruncation(generic) && generic.getDpsInputs()[0] == value);
  return rounds && isFloatTensor(user->getResult(0)) ? user : nullptr;
}

//===----------------------------------------------------------------------===//
// Reshaping
//===----------------------------------------------------------------------===//

Value mx::makeEmpty(OpBuilder &builder, Location loc,
                    ArrayRef<OpFoldResult> sizes, Type element,
                    Attribute encoding) {
  return tensor::EmptyOp::create(builder, loc, sizes, element, encoding);
}

Value mx::transposeTensor(OpBuilder &builder, Location loc, Value tensor,
                          ArrayRef<int64_t> order) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, tensor),
                            moved;
  for (int64_t dim : order)
    moved.push_back(sizes[dim]);
  Value empty = makeEmpty(builder, loc, moved, getElementTypeOrSelf(tensor));
  return linalg::TransposeOp::create(builder, loc, tensor, empty, order)
      ->getResult(0);
}

Value mx::transposeLast(OpBuilder &builder, Location loc, Value tensor) {
  int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
  auto order = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::swap(order[rank - 1], order[rank - 2]);
  return transposeTensor(builder, loc, tensor, order);
}

SmallVector<ReassociationIndices>
mx::getUnitReassociation(ArrayRef<int64_t> counts) {
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

Value mx::expandToSizes(OpBuilder &builder, Location loc, Value tensor,
                        ArrayRef<ReassociationIndices> groups,
                        ArrayRef<OpFoldResult> sizes) {
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamic;
  dispatchIndexOpFoldResults(sizes, dynamic, shape);
  return tensor::ExpandShapeOp::create(
      builder, loc, RankedTensorType::get(shape, getElementTypeOrSelf(tensor)),
      tensor, groups, sizes);
}

Value mx::addRow(OpBuilder &builder, Location loc, Value tensor) {
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

Value mx::dropRow(OpBuilder &builder, Location loc, Value tensor,
                  int64_t rank) {
  if (rank != 1)
    return tensor;
  return tensor::CollapseShapeOp::create(
      builder, loc, tensor, ArrayRef<ReassociationIndices>{{0, 1}});
}

Value mx::castTensor(OpBuilder &builder, Location loc, Value tensor,
                     Type type) {
  if (tensor.getType() == type)
    return tensor;
  return tensor::CastOp::create(builder, loc, type, tensor);
}

Value mx::relayoutScales(OpBuilder &builder, Location loc, Value scales,
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

void mx::eraseDead(ArrayRef<Operation *> ops) {
  // The set contains each operation once, so no stale entry remains after an
  // erasure.
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
