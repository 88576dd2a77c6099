//===- FusePrologues.cpp - Read once what is quantized --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A quantizer is bound by memory, so the gain is in reading its input once
// instead of twice, or in not storing it at all. Six steps are repeated as long
// as one applies:
//
// - a quantization gives the largest magnitude of its input too;
// - two quantizations of the same along different axes become one;
// - two whose inputs are related become one of several values;
// - tensors that are put side by side to be quantized become values that are;
// - an elementwise operation that only a quantization uses becomes its
//   prologue;
// - what only a quantization dequantizes becomes a quantized input.
//
// All but the first write a new prologue from the bodies of what they replace.
//
//===----------------------------------------------------------------------===//

#include "FusedRegionBuilder.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "llvm/ADT/Statistic.h"

using namespace mlir;
using namespace mx;

static llvm::TrackingStatistic
    numPrologues("mx-fuse-prologues", "numPrologues",
                 "Operations computed where results are quantized");

namespace mx {
#define GEN_PASS_DEF_MXFUSEPROLOGUES
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

//===----------------------------------------------------------------------===//
// Two quantizations
//===----------------------------------------------------------------------===//

/// All but inputs, axes and destinations.
static bool haveSameRecipe(QuantizeOp a, QuantizeOp b) {
  return a.getNumResults() && b.getNumResults() &&
         a.getRagged() == b.getRagged() && a.getOffsets() == b.getOffsets() &&
         a.getGlobalScale() == b.getGlobalScale() &&
         a.getSeed() == b.getSeed() && a.getGather() == b.getGather() &&
         a.getSquare() == b.getSquare() && a.getConcat() == b.getConcat() &&
         a.getBlockSize() == b.getBlockSize() &&
         a.getScaleRounding() == b.getScaleRounding() &&
         a->getDiscardableAttrDictionary() == b->getDiscardableAttrDictionary();
}

static bool haveSamePrologue(QuantizeOp a, QuantizeOp b) {
  if (a.getSources() != b.getSources() ||
      a.getPrologue().size() != b.getPrologue().size())
    return false;
  return a.getPrologue().empty() ||
         OperationEquivalence::isRegionEquivalentTo(
             &a.getPrologue().front(), &b.getPrologue().front(),
             OperationEquivalence::IgnoreLocations);
}

/// Whether an operation that `op` or its regions use, and that does not yet
/// come before `place`, accesses memory or calls a function: it cannot be moved
/// there.
static bool needsEffectsAfter(Operation *place, Operation *op,
                              DominanceInfo &dominance) {
  BackwardSliceOptions options;
  options.omitUsesFromAbove = false;
  options.filter = [&](Operation *other) {
    return !dominance.properlyDominates(other, place);
  };
  SetVector<Operation *> slice;
  return failed(getBackwardSlice(op, &slice, options)) ||
         !llvm::all_of(slice, isMemoryEffectFree);
}

/// Where one operation can replace two of a block: before the first, if what
/// the second uses can be moved there; otherwise null.
static Operation *findCommonPlace(IRRewriter &rewriter, Operation *first,
                                  Operation *second) {
  DominanceInfo dominance(first->getParentOp());
  if (needsEffectsAfter(first, second, dominance))
    return nullptr;
  return succeeded(
             moveOperationDependencies(rewriter, second, first, dominance))
             ? first
             : nullptr;
}

/// Appends where the largest magnitudes of an operation's values go; nobody
/// reads those that it did not have.
static void appendAmaxOuts(IRRewriter &rewriter, QuantizeOp op,
                           SmallVectorImpl<Value> &outs) {
  if (op.getAmax()) {
    llvm::append_range(outs, op.getAmaxOuts());
    return;
  }
  for (unsigned value = 0; value < op.getNumValues(); ++value)
    outs.push_back(tensor::EmptyOp::create(
        rewriter, op.getLoc(), ArrayRef<int64_t>{}, rewriter.getF32Type()));
}

/// Replaces the results of `op` by those of `merged` with the same
/// destinations, and by the magnitudes of values from `firstValue` on.
static void replaceByDestinations(IRRewriter &rewriter, QuantizeOp op,
                                  QuantizeOp merged,
                                  ArrayRef<unsigned> destinations,
                                  unsigned firstValue) {
  SmallVector<Value> results;
  for (unsigned destination : destinations)
    llvm::append_range(results, merged.getDestinationResults(destination));
  if (op.getAmax())
    llvm::append_range(
        results, merged.getAmaxResults().slice(firstValue, op.getNumValues()));
  rewriter.replaceOp(op, results);
  ++numPrologues;
}

/// quantize(x) axes = [1] and quantize(x) axes = [0] -> axes = [1, 0]
static bool mergeAxes(IRRewriter &rewriter, QuantizeOp first,
                      QuantizeOp second) {
  if (first.getAxes().size() != 1 || second.getAxes().size() != 1 ||
      first.getAxis(0) == second.getAxis(0) || !haveSameRecipe(first, second) ||
      !haveSamePrologue(first, second))
    return false;
  Operation *place = findCommonPlace(rewriter, first, second);
  if (!place)
    return false;
  SmallVector<Value> outs;
  SmallVector<unsigned> destinations[2];
  // Each has one axis, so one destination for each value.
  QuantizeOp both[] = {first, second};
  for (unsigned value = 0; value < first.getNumValues(); ++value)
    for (auto [i, op] : llvm::enumerate(both)) {
      destinations[i].push_back(outs.size() / 2);
      llvm::append_range(outs, op.getDestination(value));
    }
  bool hasAmax = first.getAmax() || second.getAmax();
  llvm::append_range(outs, (first.getAmax() ? first : second).getAmaxOuts());
  FusedRegionBuilder prologue(rewriter, place);
  SmallVector<Value> values = prologue.inlinePrologue(first);
  QuantizeOp merged = prologue.finish(
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
  SmallVector<QuantizeSource> sources = a.getSources();
  if (llvm::all_of(b.getSources(), [&](const QuantizeSource &source) {
        return llvm::is_contained(sources, source);
      }))
    return true;
  linalg::LinalgOp op = getElementwise(a.getInput());
  auto isResult = [&](Value input) {
    return input.getDefiningOp() == op.getOperation();
  };
  return op && llvm::all_of(a.getInputs(), isResult) &&
         llvm::all_of(b.getInputs(), isResult);
}

/// Bits that an element of each value has, together.
static int64_t getValueBits(QuantizeOp op) {
  Block *prologue = op.getPrologueBlock();
  if (!prologue)
    return getElementTypeOrSelf(op.getInput()).getIntOrFloatBitWidth();
  int64_t bits = 0;
  for (Value value : cast<YieldOp>(prologue->getTerminator()).getValues())
    bits += value.getType().getIntOrFloatBitWidth();
  return bits;
}

/// quantize(x), quantize(y) -> quantize(x, y) with two values
static bool mergeValues(IRRewriter &rewriter, QuantizeOp first,
                        QuantizeOp second) {
  if (first.getAxes() != second.getAxes() || first.getGlobalScale() ||
      first.getConcat() ||
      first.getInput().getType().getShape() !=
          second.getInput().getType().getShape() ||
      !haveSameRecipe(first, second) || !haveRelatedInputs(first, second))
    return false;
  Operation *place = findCommonPlace(rewriter, first, second);
  if (!place)
    return false;
  FusedRegionBuilder prologue(rewriter, place);
  SmallVector<Value> values = prologue.inlinePrologue(first);
  llvm::append_range(values, prologue.inlinePrologue(second));
  unsigned count = first.getNumDestinations();
  SmallVector<Value> outs(first.getDestinations());
  llvm::append_range(outs, second.getDestinations());
  bool hasAmax = first.getAmax() || second.getAmax();
  if (hasAmax) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(place);
    appendAmaxOuts(rewriter, first, outs);
    appendAmaxOuts(rewriter, second, outs);
  }
  QuantizeOp merged =
      prologue.finish(first, first.getAxes(), outs, hasAmax, values);
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
  if (!amax.getNumResults() || !op.getNumResults() || op.getPrologueBlock() ||
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
      op.getInputs(), /*inputScales=*/{}, op.getAxes(), outs, /*hasAmax=*/true,
      /*hasPrologue=*/false);
  rewriter.replaceOp(amax, merged->getResults().take_back());
  rewriter.replaceOp(op, merged->getResults().take_front(op.getNumResults()));
  ++numPrologues;
  return true;
}

//===----------------------------------------------------------------------===//
// A quantization and what computes its input
//===----------------------------------------------------------------------===//

/// Whether `op` reads a tensor's elements as plain numbers, without scales.
static bool readsNumbersOf(QuantizeOp op, Value tensor) {
  return llvm::any_of(op.getSources(), [&](const QuantizeSource &source) {
    return source.tensor == tensor && !source.scales;
  });
}

/// What else than `op` uses what `prologue` computes, or not as inputs:
/// destinations that it is the last to use are none.
static Obstacle findOtherUse(QuantizeOp op, Operation *prologue) {
  for (OpOperand &use : prologue->getUses()) {
    if (use.getOwner() != op)
      return {"its result has another use", use.getOwner()};
    if (!readsNumbersOf(op, use.get()) ||
        llvm::is_contained(op.getOuts(), use.get()))
      return {"the quantization does not take its result as numbers", op};
  }
  return {};
}

/// Replaces a quantization, and what computed an input of it, by one whose
/// prologue `builder` has begun.
static void finishFusion(IRRewriter &rewriter, FusedRegionBuilder &builder,
                         QuantizeOp op, Operation *prologue) {
  SmallVector<Value> values = builder.inlinePrologue(op);
  QuantizeOp fused = builder.finish(
      op, op.getAxes(), SmallVector<Value>(op.getOuts()), op.getAmax(), values);
  rewriter.replaceOp(op, fused->getResults());
  ++numPrologues;
  rewriter.eraseOp(prologue);
}

Obstacle mx::findPrologueObstacle(linalg::LinalgOp prologue, QuantizeOp op) {
  if (Obstacle found = findElementwiseObstacle(prologue))
    return found;
  if (Obstacle found = findOtherUse(op, prologue))
    return found;
  // Gathered rows have different row numbers.
  if (op.getGather() && usesPlaces(prologue))
    return {"it depends on rows or columns, which a gather renumbers", op};
  if (!op.getNumResults())
    return {"the quantization is one of memrefs", op};
  return {};
}

/// Fuses an elementwise operation whose results nothing but `op` uses.
static bool fuseElementwise(IRRewriter &rewriter, QuantizeOp op, Value input) {
  auto prologue = input.getDefiningOp<linalg::LinalgOp>();
  if (!prologue || findPrologueObstacle(prologue, op))
    return false;
  FusedRegionBuilder builder(rewriter, op);
  builder.inlineElementwise(prologue);
  finishFusion(rewriter, builder, op, prologue);
  return true;
}

/// quantize(dequantize(x)) -> quantize of the elements and scales of x
static bool fuseDequantize(IRRewriter &rewriter, QuantizeOp op, Value input) {
  auto prologue = input.getDefiningOp<DequantizeOp>();
  if (!prologue || findOtherUse(op, prologue) || !canInline(prologue) ||
      op.getOffsets())
    return false;
  FusedRegionBuilder builder(rewriter, op);
  builder.inlineDequantize(prologue);
  finishFusion(rewriter, builder, op, prologue);
  return true;
}

/// The tensors, from left to right, that were concatenated to one that has
/// nothing else in it; empty if there are none.
static SmallVector<Value> getInsertedColumns(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t last = type.getRank() - 1, end = type.getDimSize(last);
  SmallVector<Value> parts;
  SmallVector<OpFoldResult> sizes;
  while (auto insert = tensor.getDefiningOp<tensor::InsertSliceOp>()) {
    RankedTensorType source = insert.getSourceType();
    end -= source.getDimSize(source.getRank() - 1);
    SmallVector<OpFoldResult> place = insert.getMixedOffsets();
    bool isBeside =
        source.getRank() == type.getRank() && insert.hasUnitStride() &&
        isConstantIntValue(place.pop_back_val(), end) &&
        llvm::all_of(place, [](OpFoldResult i) { return isZeroInteger(i); });
    SmallVector<OpFoldResult> lines = insert.getMixedSizes();
    lines.pop_back();
    if (!isBeside ||
        (!parts.empty() && !isEqualConstantIntOrValueArray(lines, sizes)))
      return {};
    sizes = std::move(lines);
    parts.push_back(insert.getSource());
    tensor = insert.getDest();
  }
  auto empty = tensor.getDefiningOp<tensor::EmptyOp>();
  if (!empty || parts.empty() || end != 0)
    return {};
  SmallVector<OpFoldResult> lines = empty.getMixedSizes();
  lines.pop_back();
  if (!isEqualConstantIntOrValueArray(lines, sizes))
    return {};
  return llvm::to_vector(llvm::reverse(parts));
}

static SmallVector<Value> getColumnsSideBySide(Value tensor) {
  auto concat = tensor.getDefiningOp<tensor::ConcatOp>();
  if (!concat)
    return getInsertedColumns(tensor);
  bool isLast =
      int64_t(concat.getDim()) + 1 == concat.getResultType().getRank();
  return isLast ? SmallVector<Value>(concat.getInputs()) : SmallVector<Value>();
}

/// Erases `op` and what only it used, as far as that has no effects.
static void eraseUnused(IRRewriter &rewriter, Operation *op) {
  if (!op || !isOpTriviallyDead(op))
    return;
  SmallVector<Value> operands(op->getOperands());
  rewriter.eraseOp(op);
  for (Value operand : operands)
    if (operand.use_empty())
      eraseUnused(rewriter, operand.getDefiningOp());
}

/// Whether the numbers of one input are what is quantized.
static bool quantizesInput(QuantizeOp op) {
  Block *prologue = op.getPrologueBlock();
  if (!prologue || op.getInputs().size() != 1)
    return !prologue;
  return prologue->getTerminator()->getOperands() ==
         ValueRange(prologue->getArgument(0));
}

/// quantize(concat(x, y) along the last dimension) -> quantize(x, y) concat
static bool fuseConcat(IRRewriter &rewriter, QuantizeOp op, Value input) {
  if (!quantizesInput(op) || !input.hasOneUse() || !readsNumbersOf(op, input) ||
      op.getConcat() || op.getRaggedOrNone() == RaggedKind::Reduction)
    return false;
  SmallVector<Value> parts = getColumnsSideBySide(input);
  auto isAlike = [&](Value part) {
    return part.getType() == parts[0].getType();
  };
  if (parts.size() < 2 || !llvm::all_of(parts, isAlike))
    return false;
  // All of one width, which is a multiple of the block.
  int64_t columns =
      cast<RankedTensorType>(parts[0].getType()).getShape().back();
  if (ShapedType::isDynamic(columns) || columns % op.getBlockSize() != 0)
    return false;
  FusedRegionBuilder builder(rewriter, op);
  SmallVector<Value> values = builder.getElements(parts);
  QuantizeOp fused = builder.finish(
      op, op.getAxes(), SmallVector<Value>(op.getOuts()), op.getAmax(), values);
  fused.setConcat(true);
  rewriter.replaceOp(op, fused->getResults());
  ++numPrologues;
  eraseUnused(rewriter, input.getDefiningOp());
  return true;
}

static bool fuseInput(IRRewriter &rewriter, QuantizeOp op) {
  return op.getNumResults() &&
         llvm::any_of(llvm::to_vector(op.getInputs()), [&](Value input) {
           return fuseConcat(rewriter, op, input) ||
                  fuseElementwise(rewriter, op, input) ||
                  fuseDequantize(rewriter, op, input);
         });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

using Merge = function_ref<bool(IRRewriter &, QuantizeOp, QuantizeOp)>;

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

static bool fuseFirstPrologue(IRRewriter &rewriter, Operation *root) {
  WalkResult result = root->walk([&](QuantizeOp op) {
    return fuseInput(rewriter, op) ? WalkResult::interrupt()
                                   : WalkResult::advance();
  });
  return result.wasInterrupted();
}

namespace {
struct FusePrologues final : mx::impl::MXFuseProloguesBase<FusePrologues> {
  using MXFuseProloguesBase::MXFuseProloguesBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    auto mergeFewValues = [&](IRRewriter &rewriter, QuantizeOp first,
                              QuantizeOp second) {
      bool isTooMuch =
          valueBits && getValueBits(first) + getValueBits(second) > valueBits;
      return !isTooMuch && mergeValues(rewriter, first, second);
    };
    Operation *root = getOperation();
    while (mergeFirstAmax(rewriter, root) ||
           mergeFirst(rewriter, root, mergeAxes) ||
           mergeFirst(rewriter, root, mergeFewValues) ||
           fuseFirstPrologue(rewriter, root)) {
    }
    RewritePatternSet patterns(&getContext());
    QuantizeOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(root, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
