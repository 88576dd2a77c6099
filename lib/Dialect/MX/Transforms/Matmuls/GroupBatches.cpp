//===- GroupBatches.cpp - Batched matmuls as grouped matmuls --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel for ragged rows multiplies each expert group by its own matrix. With
// `masked`, A, the result and the scales have the layout of a batch. A batch is
// the special case in which each expert group uses all its rows.
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

/// Maximum number of matrices with constant counts. For larger batches a launch
/// writes the counts, because constants occupy memory in the program and the
/// compiler.
static constexpr int64_t kMostConstantCounts = 1 << 16;

/// Returns the number of rows of A, repeated for each matrix.
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

/// Returns a group of all batch dimensions, followed by each matrix dimension.
static SmallVector<ReassociationIndices> groupDimensions(int64_t rank) {
  ReassociationIndices batch(llvm::to_vector(llvm::seq<int64_t>(0, rank - 2)));
  return {batch, {rank - 2}, {rank - 1}};
}

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

/// Rewrites a matmul with a single batch dimension.
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

/// Returns true if all tensors have the same rank and results have no layout.
/// At most one batch dimension may be dynamic, because only the product of the
/// batch sizes is compared at run time.
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
      op.getRowClasses(), op.getOut(), RaggedKind::Rows, /*masked=*/true,
      op.getBlockSize(), op.getBBlockSizeAttr(), op.getPromoteAttr(),
      op.getInOrder(), /*columns=*/{}, /*num_b=*/1, op.getWhereAttr(),
      op.getAccumulate(), ScaleRounding::Ceil, op.getAOrderAttr(),
      op.getBOrderAttr(),
      /*epilogueCount=*/op.getEpilogue().size());
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
