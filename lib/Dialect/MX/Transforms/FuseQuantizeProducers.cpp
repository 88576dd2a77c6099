//===- FuseQuantizeProducers.cpp - Read once what is quantized ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A quantizer runs at the speed of memory, so that reading its input once
// instead of twice, or not storing it at all, is what can be won. Four steps,
// repeated as long as one applies:
//
// - a quantization gives the largest magnitude of its input too;
// - two quantizations of the same along different axes become one;
// - two whose inputs are related become one of several values;
// - an elementwise operation that only a quantization uses becomes its
// producer.
//
// All but the first write a new producer from the bodies of what they replace.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;
using namespace mx;

namespace mx {
#define GEN_PASS_DEF_MXFUSEQUANTIZEPRODUCERS
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

//===----------------------------------------------------------------------===//
// What can be fused
//===----------------------------------------------------------------------===//

/// How the producer gets at an operand of an elementwise operation.
namespace {
enum class Access {
  Number,  ///< not a tensor
  Element, ///< another input
  Extract, ///< a tensor that is read in the region
  None
};
} // namespace

/// Reads along rows only: the column is the last index or none, as a kernel
/// that holds consecutive columns of a row wants it.
static bool isReadAlongRows(AffineMap map) {
  int64_t previous =
      int64_t(map.getNumDims()) - 3; // batches have no number in a region
  for (AffineExpr expr : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || int64_t(dim.getPosition()) <= previous)
      return false;
    previous = dim.getPosition();
  }
  return true;
}

static Access getAccess(linalg::LinalgOp op, OpOperand *operand) {
  auto type = dyn_cast<RankedTensorType>(operand->get().getType());
  if (!type)
    return Access::Number;
  if (type.getEncoding())
    return Access::None;
  AffineMap map = op.getMatchingIndexingMap(operand);
  if (map.isIdentity() &&
      isa<Float32Type, BFloat16Type, Float16Type>(type.getElementType()))
    return Access::Element;
  return isReadAlongRows(map) ? Access::Extract : Access::None;
}

/// Operations that a producer may hold.
static bool isInlinable(Operation &op, unsigned numLoops) {
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return index.getDim() + 2 >= numLoops;
  return isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) &&
         op.getNumRegions() == 0;
}

/// An operation on tensors that computes each element of its results from the
/// elements at the same place.
static bool isElementwise(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumLoops() < 2 ||
      op.getNumParallelLoops() != op.getNumLoops())
    return false;
  bool hasElements = false;
  for (OpOperand *input : op.getDpsInputOperands()) {
    Access access = getAccess(op, input);
    if (access == Access::None)
      return false;
    hasElements |= access == Access::Element;
  }
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!op.getMatchingIndexingMap(&init).isIdentity() ||
        op.payloadUsesValueFromOperand(&init))
      return false;
  return hasElements &&
         llvm::all_of(op.getBlock()->without_terminator(), [&](Operation &op2) {
           return isInlinable(op2, op.getNumLoops());
         });
}

/// Whether what an element becomes depends on its row or column.
static bool usesPlaces(linalg::LinalgOp op) {
  return !op.getBlock()->getOps<linalg::IndexOp>().empty() ||
         llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
           return getAccess(op, input) == Access::Extract;
         });
}

//===----------------------------------------------------------------------===//
// Producers
//===----------------------------------------------------------------------===//

namespace {

/// The region of a new quantization, made of the bodies of others.
class ProducerBuilder {
public:
  ProducerBuilder(IRRewriter &rewriter, Operation *place)
      : rewriter(rewriter), place(place), block(std::make_unique<Block>()) {
    Type index = rewriter.getIndexType();
    row = block->addArgument(index, place->getLoc());
    column = block->addArgument(index, place->getLoc());
  }

  /// What `op` yields, or its input.
  SmallVector<Value> inlineProducer(QuantizeOp op) {
    Block *producer = op.getProducerBlock();
    if (!producer)
      return {getElement(op.getInput())};
    IRMapping mapping;
    mapping.map(producer->getArguments().take_back(2),
                ArrayRef<Value>{row, column});
    for (auto [input, argument] :
         llvm::zip(op.getInputs(), producer->getArguments()))
      if (!argument.use_empty())
        mapping.map(argument, getElement(input));
    return clone(*producer, mapping);
  }

  /// From now on the results of `op` are computed where they are needed.
  void inlineElementwise(linalg::LinalgOp op) {
    IRMapping mapping;
    for (OpOperand *input : op.getDpsInputOperands())
      mapping.map(op.getMatchingBlockArgument(input), access(op, input));
    locations.push_back(op.getLoc());
    SmallVector<Value> values = clone(*op.getBlock(), mapping);
    for (auto [result, value] : llvm::zip_equal(op->getResults(), values))
      elements[result] = value;
  }

  /// Replaces `alike` by a quantization of `values` before `place`.
  QuantizeOp finish(QuantizeOp alike, ArrayRef<int64_t> axes,
                    ArrayRef<Value> outs, bool hasAmax,
                    ArrayRef<Value> values) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToEnd(block.get());
    YieldOp::create(rewriter, place->getLoc(), values);
    rewriter.setInsertionPoint(place);
    locations.push_back(place->getLoc());
    QuantizeOp op =
        alike.createAlike(rewriter, rewriter.getFusedLoc(locations), inputs,
                          axes, outs, hasAmax, /*hasProducer=*/true);
    op.getProducer().front().push_back(block.release());
    return op;
  }

private:
  Value getElement(Value tensor) {
    Value &element = elements[tensor];
    if (!element) {
      element = block->insertArgument(
          unsigned(inputs.size()),
          cast<RankedTensorType>(tensor.getType()).getElementType(),
          tensor.getLoc());
      inputs.push_back(tensor);
    }
    return element;
  }

  Value access(linalg::LinalgOp op, OpOperand *operand) {
    switch (getAccess(op, operand)) {
    case Access::Number:
      return operand->get();
    case Access::Element:
      return getElement(operand->get());
    case Access::Extract: {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToEnd(block.get());
      SmallVector<Value> indices;
      for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults())
        indices.push_back(getIndex(cast<AffineDimExpr>(expr).getPosition(),
                                   op.getNumLoops()));
      return tensor::ExtractOp::create(rewriter, op.getLoc(), operand->get(),
                                       indices);
    }
    case Access::None:
      break;
    }
    llvm_unreachable("isElementwise refuses it");
  }

  Value getIndex(unsigned loop, unsigned numLoops) {
    return loop + 1 == numLoops ? column : row;
  }

  SmallVector<Value> clone(Block &body, IRMapping &mapping) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToEnd(block.get());
    for (Operation &op : body.without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(op)) {
        auto parent = cast<linalg::LinalgOp>(body.getParentOp());
        mapping.map(index.getResult(),
                    getIndex(index.getDim(), parent.getNumLoops()));
        continue;
      }
      rewriter.clone(op, mapping);
    }
    SmallVector<Value> values;
    for (Value value : body.getTerminator()->getOperands())
      values.push_back(mapping.lookupOrDefault(value));
    return values;
  }

  IRRewriter &rewriter;
  Operation *place;
  std::unique_ptr<Block> block;
  Value row, column;
  SmallVector<Value> inputs;
  SmallVector<Location> locations;
  /// What stands for the elements of a tensor.
  DenseMap<Value, Value> elements;
};

} // namespace

//===----------------------------------------------------------------------===//
// Two quantizations
//===----------------------------------------------------------------------===//

/// All but inputs, axes and destinations.
static bool haveSameRecipe(QuantizeOp a, QuantizeOp b) {
  return a.getNumResults() && b.getNumResults() &&
         a.getRagged() == b.getRagged() && a.getOffsets() == b.getOffsets() &&
         a.getGlobalScale() == b.getGlobalScale() &&
         a.getSeed() == b.getSeed() && a.getGather() == b.getGather() &&
         a.getSquare() == b.getSquare() &&
         a.getBlockSize() == b.getBlockSize() &&
         a.getScaleRounding() == b.getScaleRounding() &&
         a->getDiscardableAttrDictionary() == b->getDiscardableAttrDictionary();
}

static bool haveSameProducer(QuantizeOp a, QuantizeOp b) {
  if (a.getInputs() != b.getInputs() ||
      a.getProducer().size() != b.getProducer().size())
    return false;
  return a.getProducer().empty() ||
         OperationEquivalence::isRegionEquivalentTo(
             &a.getProducer().front(), &b.getProducer().front(),
             OperationEquivalence::IgnoreLocations);
}

/// Where one operation can stand for two of a block: before the first, if what
/// the second uses can be moved there; null if not.
static Operation *findCommonPlace(IRRewriter &rewriter, Operation *first,
                                  Operation *second) {
  DominanceInfo dominance(first->getParentOp());
  return succeeded(
             moveOperationDependencies(rewriter, second, first, dominance))
             ? first
             : nullptr;
}

/// Appends where the largest magnitudes of an operation's values go; nobody
/// reads those that it did not have.
static void appendMagnitudes(IRRewriter &rewriter, QuantizeOp op,
                             SmallVectorImpl<Value> &outs) {
  if (op.getAmax()) {
    llvm::append_range(outs, op.getMagnitudes());
    return;
  }
  for (unsigned value = 0; value < op.getNumValues(); ++value)
    outs.push_back(tensor::EmptyOp::create(
        rewriter, op.getLoc(), ArrayRef<int64_t>{}, rewriter.getF32Type()));
}

/// Gives the users of `op` the results of `merged` that have its destinations,
/// and the magnitudes of values from `firstValue` on.
static void replaceByDestinations(IRRewriter &rewriter, QuantizeOp op,
                                  QuantizeOp merged,
                                  ArrayRef<unsigned> destinations,
                                  unsigned firstValue) {
  SmallVector<Value> results;
  for (unsigned destination : destinations)
    llvm::append_range(results, merged->getResults().slice(2 * destination, 2));
  if (op.getAmax())
    llvm::append_range(
        results, merged->getResults().slice(
                     merged.getMagnitudeNumber(firstValue), op.getNumValues()));
  rewriter.replaceOp(op, results);
}

/// quantize(x) axes = [1] and quantize(x) axes = [0] -> axes = [1, 0]
static bool mergeAxes(IRRewriter &rewriter, QuantizeOp first,
                      QuantizeOp second) {
  if (first.getAxes().size() != 1 || second.getAxes().size() != 1 ||
      first.getAxis(0) == second.getAxis(0) || !haveSameRecipe(first, second) ||
      !haveSameProducer(first, second))
    return false;
  Operation *place = findCommonPlace(rewriter, first, second);
  if (!place)
    return false;
  SmallVector<Value> outs;
  SmallVector<unsigned> destinations[2];
  QuantizeOp both[] = {first, second};
  for (unsigned value = 0; value < first.getNumValues(); ++value)
    for (auto [i, op] : llvm::enumerate(both)) {
      destinations[i].push_back(outs.size() / 2);
      llvm::append_range(outs, op.getOuts().slice(2 * value, 2));
    }
  bool hasAmax = first.getAmax() || second.getAmax();
  llvm::append_range(outs, (first.getAmax() ? first : second).getMagnitudes());
  ProducerBuilder producer(rewriter, place);
  SmallVector<Value> values = producer.inlineProducer(first);
  QuantizeOp merged = producer.finish(
      first, {first.getAxis(0), second.getAxis(0)}, outs, hasAmax, values);
  replaceByDestinations(rewriter, second, merged, destinations[1], 0);
  replaceByDestinations(rewriter, first, merged, destinations[0], 0);
  return true;
}

static linalg::LinalgOp getElementwise(Value tensor) {
  auto op = tensor.getDefiningOp<linalg::LinalgOp>();
  return op && isElementwise(op) ? op : linalg::LinalgOp();
}

/// Whether reading the inputs of one serves the other too: they are among
/// those of the other, or one elementwise operation computes all of them.
static bool haveRelatedInputs(QuantizeOp a, QuantizeOp b) {
  if (b.getInputs().size() > a.getInputs().size())
    std::swap(a, b);
  if (llvm::all_of(b.getInputs(), [&](Value input) {
        return llvm::is_contained(a.getInputs(), input);
      }))
    return true;
  linalg::LinalgOp op = getElementwise(a.getInput());
  auto isResult = [&](Value input) {
    return input.getDefiningOp() == op.getOperation();
  };
  return op && llvm::all_of(a.getInputs(), isResult) &&
         llvm::all_of(b.getInputs(), isResult);
}

/// quantize(x), quantize(y) -> quantize(x, y) with two values
static bool mergeValues(IRRewriter &rewriter, QuantizeOp first,
                        QuantizeOp second) {
  if (first.getAxes() != second.getAxes() || first.getGlobalScale() ||
      first.getInput().getType().getShape() !=
          second.getInput().getType().getShape() ||
      !haveSameRecipe(first, second) || !haveRelatedInputs(first, second))
    return false;
  Operation *place = findCommonPlace(rewriter, first, second);
  if (!place)
    return false;
  ProducerBuilder producer(rewriter, place);
  SmallVector<Value> values = producer.inlineProducer(first);
  llvm::append_range(values, producer.inlineProducer(second));
  unsigned count = first.getNumDestinations();
  SmallVector<Value> outs(first.getOuts().take_front(2 * count));
  llvm::append_range(
      outs, second.getOuts().take_front(2 * second.getNumDestinations()));
  bool hasAmax = first.getAmax() || second.getAmax();
  if (hasAmax) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(place);
    appendMagnitudes(rewriter, first, outs);
    appendMagnitudes(rewriter, second, outs);
  }
  QuantizeOp merged =
      producer.finish(first, first.getAxes(), outs, hasAmax, values);
  auto numbers = llvm::to_vector(
      llvm::seq<unsigned>(0, count + second.getNumDestinations()));
  ArrayRef<unsigned> all = numbers;
  replaceByDestinations(rewriter, second, merged, all.drop_front(count),
                        first.getNumValues());
  replaceByDestinations(rewriter, first, merged, all.take_front(count), 0);
  return true;
}

//===----------------------------------------------------------------------===//
// A quantization and an amax
//===----------------------------------------------------------------------===//

/// amax(x) and quantize(x) -> quantize(x) amax, if all of x counts and nothing
/// else, and the quantization does not depend on the amax.
static bool mergeAmax(IRRewriter &rewriter, AmaxOp amax, QuantizeOp op) {
  if (!amax.getNumResults() || !op.getNumResults() || op.getProducerBlock() ||
      op.getGather() || op.getOffsets() || op.getInput() != amax.getInput() ||
      op->getBlock() != amax->getBlock())
    return false;
  Operation *first = amax, *second = op;
  if (second->isBeforeInBlock(first))
    std::swap(first, second);
  Operation *place = findCommonPlace(rewriter, first, second);
  if (!place)
    return false;
  SmallVector<Value> outs(op.getOuts());
  if (!op.getAmax())
    llvm::append_range(outs, amax.getOuts());
  rewriter.setInsertionPoint(place);
  QuantizeOp merged = op.createAlike(
      rewriter, rewriter.getFusedLoc({amax.getLoc(), op.getLoc()}),
      op.getInputs(), op.getAxes(), outs, /*hasAmax=*/true,
      /*hasProducer=*/false);
  rewriter.replaceOp(amax, merged->getResults().take_back());
  rewriter.replaceOp(op, merged->getResults().take_front(op.getNumResults()));
  return true;
}

//===----------------------------------------------------------------------===//
// A quantization and what computes its input
//===----------------------------------------------------------------------===//

/// Fuses an elementwise operation whose results nothing but `op` uses.
static bool fuseElementwise(IRRewriter &rewriter, QuantizeOp op) {
  if (!op.getNumResults())
    return false;
  for (Value input : op.getInputs()) {
    linalg::LinalgOp producer = getElementwise(input);
    if (!producer || llvm::any_of(producer->getUsers(),
                                  [&](Operation *user) { return user != op; }))
      continue;
    // Gathered rows have other numbers.
    if (op.getGather() && usesPlaces(producer))
      continue;
    // Destinations that the operation is the last to use are not inputs.
    if (llvm::any_of(producer->getResults(), [&](Value result) {
          return llvm::is_contained(op.getOuts(), result);
        }))
      continue;
    ProducerBuilder builder(rewriter, op);
    builder.inlineElementwise(producer);
    SmallVector<Value> values = builder.inlineProducer(op);
    QuantizeOp fused =
        builder.finish(op, op.getAxes(), SmallVector<Value>(op.getOuts()),
                       op.getAmax(), values);
    rewriter.replaceOp(op, fused->getResults());
    rewriter.eraseOp(producer);
    return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

using Merge = bool (*)(IRRewriter &, QuantizeOp, QuantizeOp);

/// Merges the first two quantizations of a block that can be.
static bool mergeFirst(IRRewriter &rewriter, Operation *root, Merge merge) {
  SmallVector<QuantizeOp> ops;
  root->walk([&](QuantizeOp op) { ops.push_back(op); });
  for (auto [i, first] : llvm::enumerate(ops))
    for (QuantizeOp second : ArrayRef(ops).drop_front(i + 1))
      if (first->getBlock() == second->getBlock() &&
          merge(rewriter, first, second))
        return true;
  return false;
}

static bool mergeFirstAmax(IRRewriter &rewriter, Operation *root) {
  SmallVector<AmaxOp> maxima;
  SmallVector<QuantizeOp> ops;
  root->walk([&](AmaxOp op) { maxima.push_back(op); });
  root->walk([&](QuantizeOp op) { ops.push_back(op); });
  for (AmaxOp amax : maxima)
    for (QuantizeOp op : ops)
      if (mergeAmax(rewriter, amax, op))
        return true;
  return false;
}

static bool fuseFirst(IRRewriter &rewriter, Operation *root) {
  WalkResult result = root->walk([&](QuantizeOp op) {
    return fuseElementwise(rewriter, op) ? WalkResult::interrupt()
                                         : WalkResult::advance();
  });
  return result.wasInterrupted();
}

namespace {
struct FuseQuantizeProducers final
    : mx::impl::MXFuseQuantizeProducersBase<FuseQuantizeProducers> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    Operation *root = getOperation();
    while (mergeFirstAmax(rewriter, root) ||
           mergeFirst(rewriter, root, mergeAxes) ||
           mergeFirst(rewriter, root, mergeValues) ||
           fuseFirst(rewriter, root)) {
    }
    RewritePatternSet patterns(&getContext());
    QuantizeOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(root, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
