//===- NormalizeViews.cpp - Rewriting of views that upstream mishandles ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For memrefs, upstream finds the dropped dimensions of a slice by comparing
// strides of source and result (memref::SubViewOp::getDroppedDims). With
// non-unit or dynamic strides, upstream computes wrong strides or crashes.
// Slices that drop all or no dimensions of size 1 are unambiguous.
//===----------------------------------------------------------------------===//

#include "../Utils/Tensors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;
using namespace mx;

namespace mx {
#define GEN_PASS_DEF_MXNORMALIZEVIEWS
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

/// Returns the dimensions of a slice with static size 1.
static llvm::SmallBitVector getUnits(OffsetSizeAndStrideOpInterface op) {
  ArrayRef<int64_t> sizes = op.getStaticSizes();
  llvm::SmallBitVector units(sizes.size());
  for (auto [dim, size] : llvm::enumerate(sizes))
    units[dim] = size == 1;
  return units;
}

/// Returns true if memref strides do not determine the dropped dimensions. This
/// is the case for slices with strides. It is also the case if longer
/// dimensions separate a kept and a dropped dimension of size 1, and both may
/// have the same dynamic stride.
static bool isUnclear(OffsetSizeAndStrideOpInterface op,
                      const llvm::SmallBitVector &dropped) {
  llvm::SmallBitVector units = getUnits(op);
  if (dropped.none() || dropped == units)
    return false;
  if (!op.hasUnitStride())
    return true;
  bool keepsUnit = false, isApart = false;
  for (unsigned dim : llvm::seq(units.size())) {
    if (dropped[dim] && isApart)
      return true;
    isApart |= keepsUnit && !units[dim];
    keepsUnit |= units[dim] && !dropped[dim];
  }
  return false;
}

namespace {

/// Type of a slice, or of an inserted tensor, without dimensions of size 1.
struct UnitShape {
  RankedTensorType bare;
  /// Dimensions to which each dimension of `bare` expands.
  SmallVector<ReassociationIndices> groups;

  UnitShape(RankedTensorType type, OffsetSizeAndStrideOpInterface op,
            const llvm::SmallBitVector &dropped) {
    llvm::SmallBitVector units = getUnits(op);
    SmallVector<int64_t> counts, shape;
    for (unsigned dim : llvm::seq(units.size())) {
      if (dropped[dim])
        continue;
      if (!units[dim])
        shape.push_back(type.getDimSize(counts.size()));
      counts.push_back(!units[dim]);
    }
    bare = RankedTensorType::get(shape, type.getElementType());
    groups = getUnitReassociation(counts);
  }
};

/// Drops all dimensions of size 1, then adds the kept dimensions.
LogicalResult extractBare(tensor::ExtractSliceOp op,
                          PatternRewriter &rewriter) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  if (op.getType().getEncoding() || !isUnclear(op, dropped))
    return failure();
  UnitShape shape(op.getType(), op, dropped);
  Value bare = tensor::ExtractSliceOp::create(
      rewriter, op.getLoc(), shape.bare, op.getSource(), op.getMixedOffsets(),
      op.getMixedSizes(), op.getMixedStrides());
  SmallVector<OpFoldResult> sizes;
  for (auto [dim, size] : llvm::enumerate(op.getMixedSizes()))
    if (!dropped[dim])
      sizes.push_back(size);
  rewriter.replaceOpWithNewOp<tensor::ExpandShapeOp>(op, op.getType(), bare,
                                                     shape.groups, sizes);
  return success();
}

template <typename InsertOp>
LogicalResult insertBare(InsertOp op, PatternRewriter &rewriter) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  RankedTensorType type = op.getSourceType();
  if (type.getEncoding() || !isUnclear(op, dropped))
    return failure();
  if (std::is_same_v<InsertOp, tensor::ParallelInsertSliceOp>)
    rewriter.setInsertionPoint(op->getParentOp());
  UnitShape shape(type, op, dropped);
  Value bare = tensor::CollapseShapeOp::create(
      rewriter, op.getLoc(), shape.bare, op.getSource(), shape.groups);
  rewriter.modifyOpInPlace(op, [&] { op.getSourceMutable().assign(bare); });
  return success();
}

/// Splits a slice into a slice with the strides and a slice that drops
/// dimensions. The verifier ensures that the strides determine the dropped
/// dimensions.
LogicalResult splitSubView(memref::SubViewOp op, PatternRewriter &rewriter) {
  int64_t rank = op.getSourceType().getRank();
  int64_t numDropped = rank - op.getType().getRank();
  if (!numDropped || op.hasUnitStride() ||
      numDropped == int64_t(getUnits(op).count()))
    return failure();
  Value whole = memref::SubViewOp::create(
      rewriter, op.getLoc(), op.getSource(), op.getMixedOffsets(),
      op.getMixedSizes(), op.getMixedStrides());
  SmallVector<OpFoldResult> zeros(rank, rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(rank, rewriter.getIndexAttr(1));
  rewriter.replaceOpWithNewOp<memref::SubViewOp>(op, op.getType(), whole, zeros,
                                                 op.getMixedSizes(), ones);
  return success();
}

bool hasZero(ArrayRef<int64_t> shape, ArrayRef<int64_t> group) {
  return llvm::any_of(group, [&](int64_t dim) { return shape[dim] == 0; });
}

/// Replaces a tensor without elements by a tensor.empty. Upstream would infer a
/// static size of 0 for the memref, but a dynamic size for the tensor.
LogicalResult collapseEmpty(tensor::CollapseShapeOp op,
                            PatternRewriter &rewriter) {
  Location loc = op.getLoc();
  ArrayRef<int64_t> shape = op.getSrcType().getShape();
  bool isUnclear = false;
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices()))
    isUnclear |= op.getResultType().isDynamicDim(dim) && hasZero(shape, group);
  if (op.getResultType().getEncoding() || !isUnclear)
    return failure();
  SmallVector<Value> sizes;
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    if (!op.getResultType().isDynamicDim(dim))
      continue;
    Value size = arith::ConstantIndexOp::create(rewriter, loc, 1);
    for (int64_t inner : group)
      size = arith::MulIOp::create(
          rewriter, loc, size,
          tensor::DimOp::create(rewriter, loc, op.getSrc(), inner));
    sizes.push_back(size);
  }
  rewriter.replaceOpWithNewOp<tensor::EmptyOp>(op, op.getResultType(), sizes);
  return success();
}

struct NormalizeViews final : mx::impl::MXNormalizeViewsBase<NormalizeViews> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(extractBare);
    patterns.add(insertBare<tensor::InsertSliceOp>);
    patterns.add(insertBare<tensor::ParallelInsertSliceOp>);
    patterns.add(splitSubView);
    patterns.add(collapseEmpty);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
