//===- FlattenContraction.cpp - Flattening of contractions to matmuls -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Import.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mx;
using namespace mx::import;

namespace {

/// Dimensions of the flat contraction: batch, rows, columns, reduction.
struct FlatLoops {
  LoopPlan plan;
  bool hasBatch;

  explicit FlatLoops(LoopPlan given)
      : plan(std::move(given)), hasBatch(!plan.batch.empty()) {}

  /// Returns the dimensions of an operand or of the result.
  Indices getGroups(const Index &first, const Index &second) const {
    Indices groups;
    if (hasBatch)
      groups.push_back(flatten(plan.batch));
    groups.push_back(first);
    groups.push_back(second);
    return groups;
  }

  /// Returns a map of dimensions 0 (rows), 1 (columns) and 2 (reduction).
  AffineMap getMap(MLIRContext *context, unsigned first,
                   unsigned second) const {
    SmallVector<AffineExpr> exprs;
    if (hasBatch)
      exprs.push_back(getAffineDimExpr(0, context));
    for (unsigned dim : {first, second})
      exprs.push_back(getAffineDimExpr(dim + hasBatch, context));
    return AffineMap::get(3 + hasBatch, 0, exprs, context);
  }
};

struct FlatOperand {
  Leaf leaf;
  Indices groups;
  AffineMap map;
};

} // namespace

/// Flattens `tensor`, with rows as dimension `row`, and keeps the order of rows
/// and reduction. Fails if row and reduction dimensions are interleaved.
static FailureOr<FlatOperand> flattenOperand(const FlatLoops &loops,
                                             Value tensor, Indices dims,
                                             const Index &rows, unsigned row) {
  MLIRContext *context = tensor.getContext();
  FlatOperand operand{{tensor, dims, getElementTypeOrSelf(tensor)}, {}, {}};
  for (bool isTransposed : {false, true}) {
    const Index &reduction = loops.plan.reduction;
    operand.groups = isTransposed ? loops.getGroups(reduction, rows)
                                  : loops.getGroups(rows, reduction);
    operand.map = isTransposed ? loops.getMap(context, 2, row)
                               : loops.getMap(context, row, 2);
    FailureOr<Arrangement> found = arrange(dims, operand.groups);
    if (succeeded(found) && found->isInOrder())
      return operand;
  }
  return failure();
}

/// Returns the sizes of a result with the map `out`, from the operands.
static SmallVector<OpFoldResult> getSizesFrom(OpBuilder &builder, Location loc,
                                              ArrayRef<FlatOperand> operands,
                                              ValueRange tensors,
                                              AffineMap out) {
  SmallVector<OpFoldResult> sizes;
  for (AffineExpr expr : out.getResults())
    for (auto [operand, tensor] : llvm::zip(operands, tensors))
      if (auto at = operand.map.getResultPosition(expr)) {
        sizes.push_back(tensor::getMixedSize(builder, loc, tensor, *at));
        break;
      }
  return sizes;
}

static Value makeZeros(OpBuilder &builder, Location loc,
                       ArrayRef<OpFoldResult> sizes, Type element) {
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  return linalg::FillOp::create(builder, loc, zero,
                                makeEmpty(builder, loc, sizes, element))
      .getResult(0);
}

std::optional<FlatContraction>
mx::import::flattenContraction(linalg::LinalgOp op) {
  // Contractions of vectors are not matmuls.
  auto kinds = linalg::inferContractionDims(op);
  if (failed(kinds) || kinds->m.empty() || kinds->n.empty())
    return std::nullopt;
  SmallVector<Indices, 3> dims;
  Indices loops = getLoops(getLoopSizes(op));
  for (AffineMap map : op.getIndexingMapsArray()) {
    FailureOr<Indices> found = evaluate(map, loops);
    if (failed(found))
      return std::nullopt;
    dims.push_back(*found);
  }
  LoopPlan plan;
  if (!planLoops(dims[0], dims[1], dims[2], getReductions(op, loops), plan)
           .empty())
    return std::nullopt;
  FlatLoops flat(plan);
  Value init = op.getDpsInits()[0];
  FailureOr<FlatOperand> a =
      flattenOperand(flat, op.getDpsInputs()[0], dims[0], plan.left, 0);
  FailureOr<FlatOperand> b =
      flattenOperand(flat, op.getDpsInputs()[1], dims[1], plan.right, 1);
  Indices out = plan.isLeftFirst ? flat.getGroups(plan.left, plan.right)
                                 : flat.getGroups(plan.right, plan.left);
  if (failed(a) || failed(b) || failed(arrange(dims[2], out)))
    return std::nullopt;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  FlatContraction contraction;
  Type element = getElementTypeOrSelf(init);
  Leaf written{init, dims[2], element};
  requireSameSizes(builder, loc, b->leaf, "the right operand", a->leaf,
                   b->groups, &contraction.requirements);
  requireSameSizes(builder, loc, written, "the result", a->leaf, out,
                   &contraction.requirements);
  requireSameSizes(builder, loc, written, "the result", b->leaf, plan.right,
                   &contraction.requirements);
  MLIRContext *context = builder.getContext();
  AffineMap outMap = plan.isLeftFirst ? flat.getMap(context, 0, 1)
                                      : flat.getMap(context, 1, 0);
  Value inputs[] = {arrangeTensor(builder, loc, a->leaf, a->groups),
                    arrangeTensor(builder, loc, b->leaf, b->groups)};
  Value flatInit =
      isZeros(init)
          ? makeZeros(builder, loc,
                      getSizesFrom(builder, loc, {*a, *b}, inputs, outMap),
                      element)
          : arrangeTensor(builder, loc, written, out);
  auto contract = linalg::ContractOp::create(
      builder, loc, TypeRange{flatInit.getType()}, ValueRange(inputs),
      ValueRange{flatInit},
      builder.getAffineMapArrayAttr({a->map, b->map, outMap}));
  contract->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  Value result = expandTensor(builder, loc, contract->getResult(0), dims[2],
                              tensor::getMixedSizes(builder, loc, init), out);
  contraction.op = cast<linalg::LinalgOp>(contract.getOperation());
  contraction.result =
      castTensor(builder, loc, result, op->getResult(0).getType());
  return contraction;
}

void mx::import::eraseContraction(const FlatContraction &flat) {
  SmallVector<Operation *> unused;
  for (mxgpu::RequireOp requirement : flat.requirements) {
    unused.push_back(requirement.getCondition().getDefiningOp());
    requirement->erase();
  }
  llvm::append_values(unused, flat.result.getDefiningOp(), flat.op);
  eraseDead(unused);
}
