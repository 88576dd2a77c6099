//===- GroupBatches.cpp - Batches of matmuls as grouped matmuls -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A kernel for groups of rows multiplies each by a matrix of its own, and with
// `masked` takes A, the result and the scales as those of a batch. A batch is
// this with expert groups all of whose rows are used.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "llvm/ADT/Statistic.h"

using namespace mlir;
using namespace mx;

static llvm::TrackingStatistic
    numGrouped("mx-group-batches", "numGrouped",
               "Batches of matmuls that became groups");

namespace mx {
#define GEN_PASS_DEF_MXGROUPBATCHES
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

/// Batches with more matrices have their counts written by a launch: constants
/// of a program are kept in memory, by the compiler too.
static constexpr int64_t kMostConstantCounts = 1 << 16;

/// The rows of A's matrices, once for each.
static Value createCounts(OpBuilder &builder, MatmulOp op) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getA().getType());
  if (!type.isDynamicDim(0) && !type.isDynamicDim(1) &&
      type.getDimSize(0) <= kMostConstantCounts)
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(
            RankedTensorType::get({type.getDimSize(0)}, builder.getI32Type()),
            builder.getI32IntegerAttr(type.getDimSize(1))));
  OpFoldResult batch = tensor::getMixedSize(builder, loc, op.getA(), 0);
  Value empty =
      tensor::EmptyOp::create(builder, loc, {batch}, builder.getI32Type());
  Value rows;
  if (type.isDynamicDim(1))
    rows = arith::IndexCastOp::create(
        builder, loc, builder.getI32Type(),
        tensor::DimOp::create(builder, loc, op.getA(), 1));
  else
    rows = arith::ConstantOp::create(
        builder, loc, builder.getI32IntegerAttr(type.getDimSize(1)));
  return linalg::FillOp::create(builder, loc, rows, empty).getResult(0);
}

/// The dimensions of a batch together, then those of its matrices.
static SmallVector<ReassociationIndices> groupDimensions(int64_t rank) {
  ReassociationIndices batch(llvm::to_vector(llvm::seq<int64_t>(0, rank - 2)));
  return {batch, {rank - 2}, {rank - 1}};
}

/// A tensor whose batch has one dimension.
static Value collapse(OpBuilder &builder, Location loc, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t batch = type.getRank() - 2, size = 1;
  for (int64_t extent : type.getShape().take_front(batch))
    size = ShapedType::isDynamic(size) || ShapedType::isDynamic(extent)
               ? ShapedType::kDynamic
               : size * extent;
  SmallVector<int64_t> shape = {size};
  llvm::append_range(shape, type.getShape().take_back(2));
  return tensor::CollapseShapeOp::create(
      builder, loc,
      RankedTensorType::get(shape, type.getElementType(), type.getEncoding()),
      tensor, groupDimensions(type.getRank()));
}

/// The same matmul of a batch of one dimension.
static MatmulOp collapseBatch(MatmulOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    bool hasBatch = isa<RankedTensorType>(operand.getType());
    operands.push_back(hasBatch ? collapse(builder, loc, operand) : operand);
  }
  Value out = operands[op.getOutMutable().getOperandNumber()];
  MatmulOp collapsed = clone(builder, op, out.getType(), operands);
  auto type = cast<RankedTensorType>(op.getResult().getType());
  op.replaceAllUsesWith(tensor::ExpandShapeOp::create(
      builder, loc, type, collapsed.getResult(),
      groupDimensions(type.getRank()),
      tensor::getMixedSizes(builder, loc, op.getOut())));
  op.erase();
  return collapsed;
}

/// Whether all tensors are batches of matrices of the same dimensions, and none
/// of the results has a layout. Only the product of the dimensions is compared
/// when the program runs: it tells as much as they do if one alone is dynamic.
static bool canCollapse(MatmulOp op) {
  int64_t rank = cast<ShapedType>(op.getA().getType()).getRank();
  llvm::SmallDenseSet<int64_t> open;
  return llvm::all_of(op->getOperandTypes(),
                      [&](Type type) {
                        auto tensor = dyn_cast<RankedTensorType>(type);
                        if (!tensor || tensor.getRank() != rank)
                          return !tensor;
                        for (int64_t dim = 0; dim < rank - 2; ++dim)
                          if (tensor.isDynamicDim(dim))
                            open.insert(dim);
                        return open.size() <= 1;
                      }) &&
         llvm::none_of(op->getResultTypes(), [](Type type) {
           return bool(cast<RankedTensorType>(type).getEncoding());
         });
}

static void groupBatch(MatmulOp op) {
  OpBuilder builder(op);
  Value counts = createCounts(builder, op);
  auto grouped = GroupedMatmulOp::create(
      builder, op.getLoc(), op.getResultTypes(), op.getA(), op.getAScales(),
      op.getB(), op.getBScales(), counts, op.getAlpha(), /*scatter=*/Value(),
      op.getOut(), RaggedKind::Rows, /*masked=*/true, op.getBlockSize(),
      /*num_b=*/1, op.getAccumulate(), ScaleRounding::Ceil, op.getAOrderAttr(),
      op.getBOrderAttr(), /*epilogueCount=*/op.getEpilogue().size());
  grouped->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (auto [from, to] :
       llvm::zip_equal(op->getRegions(), grouped->getRegions()))
    to.takeBody(from);
  op.replaceAllUsesWith(grouped->getResults());
  op.erase();
  ++numGrouped;
}

namespace {
struct GroupBatches final : mx::impl::MXGroupBatchesBase<GroupBatches> {
  void runOnOperation() override {
    getOperation()->walk([](MatmulOp op) {
      auto type = dyn_cast<RankedTensorType>(op.getA().getType());
      if (type && type.getRank() > 3 && canCollapse(op))
        groupBatch(collapseBatch(op));
      if (type && type.getRank() == 3)
        groupBatch(op);
    });
  }
};
} // namespace
