//===- SameSizes.cpp - Sizes of dimensions that are put together ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Where several dimensions become one, the product compares their numbers of
// elements alone: 2 x 3 matrices would pass for 3 x 2.
//
//===----------------------------------------------------------------------===//

#include "Import.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;
using namespace mx;
using namespace mx::import;

namespace {

/// A size: a number or, of a tensor that is given, its dimension.
struct Size {
  OpFoldResult number;
  Value tensor;
  int64_t dim = 0;

  bool operator==(const Size &other) const {
    return number == other.number && tensor == other.tensor && dim == other.dim;
  }
};

} // namespace

/// The size that a tensor is made with, which keeps its producer free of uses.
static Size getSize(Value tensor, int64_t dim) {
  while (true) {
    auto type = cast<RankedTensorType>(tensor.getType());
    if (!type.isDynamicDim(dim))
      return {
          Builder(type.getContext()).getIndexAttr(type.getDimSize(dim)), {}, 0};
    if (auto op = tensor.getDefiningOp<DestinationStyleOpInterface>()) {
      tensor = op.getTiedOpOperand(cast<OpResult>(tensor))->get();
      continue;
    }
    auto empty = tensor.getDefiningOp<tensor::EmptyOp>();
    if (!empty)
      return {{}, tensor, dim};
    Value size = empty.getDynamicSize(dim);
    auto dimOp = size.getDefiningOp<tensor::DimOp>();
    std::optional<int64_t> index =
        dimOp ? dimOp.getConstantIndex() : std::nullopt;
    if (!index || !isa<RankedTensorType>(dimOp.getSource().getType()))
      return {size, {}, 0};
    tensor = dimOp.getSource();
    dim = *index;
  }
}

static Value makeValue(OpBuilder &builder, Location loc, const Size &size) {
  if (size.tensor)
    return tensor::DimOp::create(builder, loc, size.tensor, size.dim);
  return getValueOrCreateConstantIndexOp(builder, loc, size.number);
}

/// Whether a dimension follows loops of `group` alone.
static bool isPartOf(const Index &dim, const Index &group) {
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
      if (!isPartOf(dim, group) || same == other.dims.end())
        continue;
      unsigned j = same - other.dims.begin();
      if (!(getSize(leaf.tensor, i) == getSize(other.tensor, j)))
        doubtful.push_back({i, j});
    }
    // Of one the number of elements tells.
    if (doubtful.size() < 2)
      continue;
    for (auto [i, j] : doubtful) {
      Value expected = makeValue(builder, loc, getSize(other.tensor, j));
      Value found = makeValue(builder, loc, getSize(leaf.tensor, i));
      Value isSame = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::eq, expected, found);
      auto requirement =
          mxgpu::RequireOp::create(builder, loc, isSame,
                                   ("expected dimension " + Twine(i) + " of " +
                                    name + " to be %lld, found %lld")
                                       .str(),
                                   ValueRange{expected, found});
      if (requirements)
        requirements->push_back(requirement);
    }
  }
}
