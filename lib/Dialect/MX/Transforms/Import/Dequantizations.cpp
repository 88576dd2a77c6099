//===- Dequantizations.cpp - Import of dequantizations --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Import.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mx;
using namespace mx::import;

namespace {

/// Dimensions of mx.dequantize, and the order of the result's dimensions.
struct DequantizePlan {
  Indices rows;
  Index columns;
  Blocks blocks;
  SmallVector<int64_t> order;
  int64_t numColumns = 0;
};

} // namespace

/// Returns true if `op` computes products, with or without scales.
static bool multiplies(Operation *op) {
  if (op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return false;
  if (isa<arith::ScalingExtFOp, arith::MulFOp>(op))
    return true;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumParallelLoops() != generic.getNumLoops() ||
      !generic.hasPureTensorSemantics())
    return false;
  bool through = false;
  Value value = generic.getBody()->getTerminator()->getOperand(0);
  return isa_and_present<arith::ScalingExtFOp, arith::MulFOp>(
      skipConversions(value, through).getDefiningOp());
}

/// Tries dimensions [first, end) of the result as columns.
static Reason tryColumns(const Factor &factor, ArrayRef<Index> dims,
                         int64_t first, int64_t end, const Options &options,
                         DequantizePlan &plan) {
  plan = {};
  for (int64_t dim : llvm::seq<int64_t>(dims.size()))
    if (dim < first || dim >= end) {
      plan.rows.push_back(dims[dim]);
      plan.order.push_back(dim);
    }
  llvm::append_range(plan.order, llvm::seq(first, end));
  plan.columns = flatten(dims.slice(first, end - first));
  plan.numColumns = end - first;
  Indices groups = plan.rows;
  groups.push_back(plan.columns);
  FailureOr<Arrangement> found = arrange(factor.elements.dims, groups);
  if (failed(found) || !found->isInOrder())
    return "its elements and its result are ordered differently";
  return findBlocks(factor, plan.rows, plan.columns, options, plan.blocks);
}

static Reason planDequantize(const Factor &factor, ArrayRef<Index> dims,
                             const Options &options, DequantizePlan &plan) {
  int64_t rank = dims.size();
  Reason first;
  for (int64_t begin = rank; begin-- > 0;) {
    Reason why = tryColumns(factor, dims, begin, rank, options, plan);
    if (why.empty())
      return {};
    if (first.empty())
      first = why;
  }
  for (int64_t dim = 0; dim + 1 < rank; ++dim)
    if (tryColumns(factor, dims, dim, dim + 1, options, plan).empty())
      return {};
  return first;
}

/// Reshapes the result of mx.dequantize to `type`.
static Value restoreShape(OpBuilder &builder, Location loc, Value numbers,
                          ArrayRef<OpFoldResult> sizes,
                          const DequantizePlan &plan) {
  SmallVector<OpFoldResult> moved;
  for (int64_t dim : plan.order)
    moved.push_back(sizes[dim]);
  int64_t numRows = plan.rows.size();
  if (numRows == 0)
    numbers = tensor::CollapseShapeOp::create(
        builder, loc, numbers, ArrayRef<ReassociationIndices>{{0, 1}});
  if (plan.numColumns > 1) {
    SmallVector<ReassociationIndices> groups;
    for (int64_t row : llvm::seq(numRows))
      groups.push_back({row});
    groups.emplace_back();
    llvm::append_range(groups.back(),
                       llvm::seq(numRows, numRows + plan.numColumns));
    numbers = expandToSizes(builder, loc, numbers, groups, moved);
  }
  if (llvm::is_sorted(plan.order))
    return numbers;
  return transposeTensor(builder, loc, numbers,
                         invertPermutationVector(plan.order));
}

static Reason checkTypes(const Factor &factor, Type result,
                         const Options &options) {
  if (Reason why = checkResult(result); !why.empty())
    return why;
  if (!isElementType(factor.elements.element))
    return "mx does not support elements of " +
           printType(factor.elements.element);
  if (factor.throughF16 && !options.wideF16)
    return "its scaled values are f16, which has a smaller range than their "
           "scales; use wide-f16 to keep the range of the scales";
  return {};
}

LogicalResult mx::import::importDequantization(Operation *op,
                                               const Options &options,
                                               Reason &why) {
  if (!multiplies(op))
    return failure();
  Value result = op->getResult(0);
  auto type = cast<RankedTensorType>(result.getType());
  Indices dims = getLoops(type.getShape());
  Factor factor = traceFactor(result, dims, why);
  if (!factor.scales)
    return failure();
  if (why = checkTypes(factor, type, options); !why.empty())
    return failure();
  DequantizePlan plan;
  if (why = planDequantize(factor, dims, options, plan); !why.empty())
    return failure();
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Indices rows = plan.rows;
  if (rows.empty())
    rows.emplace_back();
  Indices groups = rows;
  groups.push_back(plan.columns);
  Value elements = arrangeTensor(builder, loc, factor.elements, groups);
  Value scales = arrangeScales(builder, loc, *factor.scales, rows, plan.blocks);
  auto generic = dyn_cast<linalg::GenericOp>(op);
  Value same = generic ? generic.getDpsInits()[0] : op->getOperand(0);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, same);
  Value numbers =
      dequantize(builder, loc, elements, scales, type.getElementType());
  numbers = restoreShape(builder, loc, numbers, sizes, plan);
  result.replaceAllUsesWith(castTensor(builder, loc, numbers, type));
  options.dead->insert(op);
  return success();
}

LogicalResult mx::import::refuseRest(Operation *op, const Options &,
                                     Reason &why) {
  if (isa<arith::ScalingTruncFOp>(op))
    why = "arith.scaling_truncf uses a scale that the program computes; use "
          "mx.quantize if its recipes include the computation of the scale";
  else if (isa<arith::ScalingExtFOp>(op))
    why = "arith.scaling_extf is imported only on tensors, and in the body of "
          "an elementwise linalg operation or a linalg matmul";
  return failure();
}
