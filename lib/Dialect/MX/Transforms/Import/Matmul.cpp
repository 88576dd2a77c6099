//===- Matmul.cpp - Import of matmuls -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collapses row, column and reduction dimensions to a single dimension each.
//===----------------------------------------------------------------------===//

#include "Import.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mx;
using namespace mx::import;

namespace {

/// Dimensions of an operand of mx.matmul.
struct Side2D {
  const Factor *factor = nullptr;
  /// Rows of the operand. The rows of B are the columns of the result.
  Index rows;
  /// Blocks of the scales along the reduction.
  Blocks blocks;
};

struct Plan {
  /// An index for each batch dimension.
  Indices batch;
  Side2D a, b;
  Index reduction;
  /// True if the matmul computes the transposed result.
  bool isTransposed = false;
  int64_t block = kPowerOfTwoBlockSize;

  Indices getGroups(Index first, Index last) const {
    Indices groups = batch;
    groups.push_back(std::move(first));
    groups.push_back(std::move(last));
    return groups;
  }
};

} // namespace

static Reason planOperands(const Matmul &matmul, Plan &plan) {
  LoopPlan loops;
  if (Reason why =
          planLoops(matmul.left.elements.dims, matmul.right.elements.dims,
                    matmul.out, matmul.reductions, loops);
      !why.empty())
    return why;
  plan.a = {&matmul.left, loops.left, {}};
  plan.b = {&matmul.right, loops.right, {}};
  if (!loops.isLeftFirst)
    std::swap(plan.a, plan.b);
  plan.batch = loops.batch;
  plan.reduction = loops.reduction;
  return {};
}

static Reason checkFactor(Side2D &side, const Plan &plan,
                          const Options &options) {
  const Factor &factor = *side.factor;
  if (cast<RankedTensorType>(factor.elements.tensor.getType()).getEncoding())
    return "an operand has an encoding";
  Indices rows = plan.batch;
  rows.push_back(side.rows);
  Indices groups = plan.getGroups(side.rows, plan.reduction);
  FailureOr<Arrangement> found = arrange(factor.elements.dims, groups);
  if (failed(found))
    return "the dimensions of an operand cannot be collapsed to rows and a "
           "reduction dimension";
  Type element = factor.elements.element;
  if (!found->isInOrder() && element.getIntOrFloatBitWidth() < 8)
    return "elements of " + printType(element) +
           " would have to be transposed: the reduction dimension must be the "
           "last dimension";
  if (!factor.scales)
    return isa<BFloat16Type, Float16Type>(element)
               ? ""
               : "one operand has scales, and the other is " +
                     printType(element) + " instead of bf16 or f16";
  if (!isElementType(element))
    return "mx does not support elements of " + printType(element);
  if (factor.throughF16 && !options.wideF16)
    return "its scaled values are f16, which has a smaller range than their "
           "scales; use wide-f16 to keep the range of the scales";
  return findBlocks(factor, rows, plan.reduction, options, side.blocks);
}

static Reason makePlan(const Matmul &matmul, const Options &options,
                       Plan &plan) {
  if (Reason why = planOperands(matmul, plan); !why.empty())
    return why;
  for (Side2D *side : {&plan.a, &plan.b})
    if (Reason why = checkFactor(*side, plan, options); !why.empty())
      return why;
  // An operand without scales must be A.
  if (plan.a.factor->scales && !plan.b.factor->scales) {
    std::swap(plan.a, plan.b);
    // If an operand is a vector, the result needs no transposition.
    plan.isTransposed = !plan.a.rows.empty() && !plan.b.rows.empty();
  }
  if (plan.b.factor->scales)
    plan.block = getBlockFormat(plan.b.factor->scales->element).blockSize;
  if (plan.a.factor->scales &&
      plan.a.factor->scales->element != plan.b.factor->scales->element)
    return "its operands have scales of different types";
  return checkResult(matmul.result.getType());
}

namespace {

struct OperandValues {
  Value elements, scales;
};

} // namespace

static OperandValues buildOperand(OpBuilder &builder, Location loc,
                                  const Side2D &side, const Plan &plan,
                                  const Options &options) {
  OperandValues values;
  values.elements = arrangeTensor(builder, loc, side.factor->elements,
                                  plan.getGroups(side.rows, plan.reduction));
  if (!side.factor->scales)
    return values;
  Indices rows = plan.batch;
  rows.push_back(side.rows);
  Value linear =
      arrangeScales(builder, loc, *side.factor->scales, rows, side.blocks);
  values.scales = relayoutScales(builder, loc, linear, options.layout);
  return values;
}

/// Requires that collapsed dimensions have equal sizes in operands and result.
static void requireSizes(OpBuilder &builder, Location loc, const Matmul &matmul,
                         const Plan &plan) {
  Indices groups = plan.getGroups(plan.a.rows, plan.b.rows);
  groups.push_back(plan.reduction);
  const Leaf &left = matmul.left.elements, &right = matmul.right.elements;
  requireSameSizes(builder, loc, right, "the right operand", left, groups);
  if (matmul.left.scales)
    requireSameSizes(builder, loc, *matmul.left.scales,
                     "the scales of the left operand", left, groups);
  if (matmul.right.scales)
    requireSameSizes(builder, loc, *matmul.right.scales,
                     "the scales of the right operand", right, groups);
  auto root = dyn_cast<DestinationStyleOpInterface>(matmul.root);
  if (!root)
    return;
  Value out = root.getDpsInits()[0];
  Leaf written{out, matmul.out, getElementTypeOrSelf(out)};
  requireSameSizes(builder, loc, written, "the result", left, groups);
  const Side2D &side = plan.a.factor == &matmul.right ? plan.a : plan.b;
  requireSameSizes(builder, loc, written, "the result", right, side.rows);
}

/// Returns the destination of the matmul: the initial value, or a new tensor.
static Value buildOut(OpBuilder &builder, Location loc, const Matmul &matmul,
                      const Plan &plan, const OperandValues &a,
                      const OperandValues &b, Type element) {
  if (matmul.init) {
    const Side2D &first = plan.isTransposed ? plan.b : plan.a;
    const Side2D &second = plan.isTransposed ? plan.a : plan.b;
    Value init = arrangeTensor(
        builder, loc,
        {matmul.init, matmul.out, getElementTypeOrSelf(matmul.init)},
        plan.getGroups(first.rows, second.rows));
    return plan.isTransposed ? transposeLast(builder, loc, init) : init;
  }
  int64_t row = plan.batch.size();
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, loc, a.elements);
  sizes.back() = tensor::getMixedSize(builder, loc, b.elements, row);
  return makeEmpty(builder, loc, sizes, element);
}

LogicalResult mx::import::rewriteMatmul(const Matmul &matmul,
                                        const Options &options, Reason &why) {
  Plan plan;
  if (why = makePlan(matmul, options, plan); !why.empty())
    return failure();
  OpBuilder builder(matmul.root);
  Location loc = matmul.root->getLoc();
  // Round the f32 accumulator directly to the type of the rounding.
  Operation *rounding = matmul.init ? nullptr : getRounding(matmul.result);
  Value replaced = rounding ? rounding->getResult(0) : matmul.result;
  requireSizes(builder, loc, matmul, plan);
  OperandValues a = buildOperand(builder, loc, plan.a, plan, options);
  OperandValues b = buildOperand(builder, loc, plan.b, plan, options);
  Value out = buildOut(builder, loc, matmul, plan, a, b,
                       getElementTypeOrSelf(replaced));
  Value result =
      MatmulOp::create(builder, loc, a.elements, a.scales, b.elements, b.scales,
                       out, /*epilogue=*/nullptr, /*alpha=*/Value(),
                       /*accumulate=*/bool(matmul.init))
          .getResult();
  if (plan.isTransposed)
    result = transposeLast(builder, loc, result);
  const Side2D &first = plan.isTransposed ? plan.b : plan.a;
  const Side2D &second = plan.isTransposed ? plan.a : plan.b;
  result =
      expandTensor(builder, loc, result, matmul.out, matmul.getSizes(builder),
                   plan.getGroups(first.rows, second.rows));
  replaced.replaceAllUsesWith(
      castTensor(builder, loc, result, replaced.getType()));
  if (rounding)
    options.dead->insert(rounding);
  options.dead->insert(matmul.root);
  return success();
}

//===----------------------------------------------------------------------===//
// linalg matmuls
//
// Imports any linalg operation (matmul, batch_matmul, contract, generic) with a
// body that adds a product to the result. The body or a preceding operation may
// multiply by the scales.
//===----------------------------------------------------------------------===//

/// Returns the product that a body adds to its result.
static arith::MulFOp findProduct(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInits() != 1 ||
      op->getNumResults() != 1 || op.getNumReductionLoops() == 0)
    return {};
  Block *body = op.getBlock();
  Value old = body->getArgument(op.getNumDpsInputs());
  auto sum =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum || (sum.getLhs() == old) == (sum.getRhs() == old))
    return {};
  Value added = sum.getLhs() == old ? sum.getRhs() : sum.getLhs();
  return added.getDefiningOp<arith::MulFOp>();
}

/// Returns the sizes of a destination from its producer.
static SmallVector<OpFoldResult> getSizesOf(OpBuilder &builder, Value out) {
  while (auto fill = out.getDefiningOp<linalg::FillOp>())
    out = fill.getDpsInits()[0];
  if (auto empty = out.getDefiningOp<tensor::EmptyOp>())
    return empty.getMixedSizes();
  return tensor::getMixedSizes(builder, out.getLoc(), out);
}

/// Adds context to the reason for a remark, if there is a reason.
static LogicalResult giveUp(Reason &why) {
  if (!why.empty())
    why = "its operands are not imported: " + why;
  return failure();
}

LogicalResult mx::import::importContraction(Operation *root,
                                            const Options &options,
                                            Reason &why) {
  auto op = dyn_cast<linalg::LinalgOp>(root);
  arith::MulFOp multiply = op ? findProduct(op) : arith::MulFOp();
  if (!multiply)
    return failure();
  Indices loops = getLoops(getLoopSizes(op));
  FailureOr<Factor> left = traceBody(op, multiply.getLhs(), loops, why);
  FailureOr<Factor> right = traceBody(op, multiply.getRhs(), loops, why);
  if (failed(left) || failed(right) || (!left->scales && !right->scales))
    return giveUp(why);
  FailureOr<Indices> out = evaluateOperand(op, *op.getDpsInitOperand(0), loops);
  if (failed(out)) {
    why = "its loops do not cover all elements of its result";
    return failure();
  }
  Matmul matmul;
  matmul.root = root;
  matmul.left = *left;
  matmul.right = *right;
  matmul.out = *out;
  matmul.reductions = getReductions(op, loops);
  matmul.result = root->getResult(0);
  Value init = op.getDpsInits()[0];
  if (!isZeros(init))
    matmul.init = init;
  matmul.getSizes = [init](OpBuilder &builder) {
    return getSizesOf(builder, init);
  };
  return rewriteMatmul(matmul, options, why);
}
