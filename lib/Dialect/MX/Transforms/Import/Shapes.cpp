//===- Shapes.cpp - Reshaping of operands for matmuls ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Utils/Sizes.h"
#include "Import.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mx;
using namespace mx::import;

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

/// Returns the dimensions of each non-empty group.
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
    tensor = expandToSizes(builder, loc, tensor,
                           getUnitReassociation(found->counts), sizes);
  }
  return castBits(builder, loc, tensor, leaf.element);
}

Value mx::import::expandTensor(OpBuilder &builder, Location loc, Value tensor,
                               ArrayRef<Index> dims,
                               ArrayRef<OpFoldResult> sizes,
                               ArrayRef<Index> groups) {
  FailureOr<Arrangement> found = arrange(dims, groups);
  if (failed(found) || !found->isInOrder())
    return {};
  if (llvm::is_contained(found->counts, 0))
    tensor = tensor::CollapseShapeOp::create(
        builder, loc, tensor, getUnitReassociation(found->counts));
  SmallVector<ReassociationIndices> own = getGroups(found->counts);
  return isOneEach(own) ? tensor
                        : expandToSizes(builder, loc, tensor, own, sizes);
}

//===----------------------------------------------------------------------===//
// Sizes of collapsed dimensions
//===----------------------------------------------------------------------===//

/// Returns true if a dimension only contains loops of `group`.
static bool isWithin(const Index &dim, const Index &group) {
  return !dim.empty() && llvm::all_of(dim, [&](Digit digit) {
    return llvm::any_of(group,
                        [&](Digit other) { return other.loop == digit.loop; });
  });
}

void mx::import::requireSameSizes(
    OpBuilder &builder, Location loc, const Leaf &leaf, const Twine &name,
    const Leaf &other, ArrayRef<Index> groups,
    SmallVectorImpl<mxgpu::RequireOp> *requirements) {
  for (const Index &group : groups) {
    SmallVector<std::pair<unsigned, unsigned>> doubtful;
    for (auto [i, dim] : llvm::enumerate(leaf.dims)) {
      auto *same = llvm::find(other.dims, dim);
      if (!isWithin(dim, group) || same == other.dims.end())
        continue;
      unsigned j = same - other.dims.begin();
      if (!(getSize(leaf.tensor, i) == getSize(other.tensor, j)))
        doubtful.push_back({i, j});
    }
    // If a single size is dynamic, the number of elements determines it.
    if (doubtful.size() < 2)
      continue;
    for (auto [i, j] : doubtful) {
      mxgpu::RequireOp requirement =
          requireSize(builder, loc, i, name,
                      getSize(other.tensor, j).getValue(builder, loc),
                      getSize(leaf.tensor, i).getValue(builder, loc));
      if (requirements)
        requirements->push_back(requirement);
    }
  }
}
