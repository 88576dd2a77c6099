//===- MergeQuantizations.cpp - Merging of quantizations ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Merges two quantizations of the same or related inputs, or a quantization and
// the amax of its input. The merged operation replaces the first operation, so
// the operands of the second operation must be movable before the first.
//===----------------------------------------------------------------------===//

#include "FusePrologues.h"
#include "FusedRegionBuilder.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mx;
using namespace mx::detail;

//===----------------------------------------------------------------------===//
// Two quantizations
//===----------------------------------------------------------------------===//

/// Returns true if two quantizations differ only in inputs, axes and
/// destinations. Rejects quantizations with dequantized destinations.
static bool haveSameRecipe(FusedQuantizeOp a, FusedQuantizeOp b) {
  return a.getNumResults() && b.getNumResults() && !a.getDequantized() &&
         !b.getDequantized() && a.getRagged() == b.getRagged() &&
         a.getOffsets() == b.getOffsets() &&
         a.getGlobalScale() == b.getGlobalScale() &&
         a.getSeed() == b.getSeed() && a.getGather() == b.getGather() &&
         a.getSquare() == b.getSquare() && a.getConcat() == b.getConcat() &&
         a.getBlockSize() == b.getBlockSize() &&
         a.getScaleType(0) == b.getScaleType(0) &&
         a.getSpreads() == b.getSpreads() &&
         llvm::equal(a.getIfAny(), b.getIfAny()) &&
         a.getRounding() == b.getRounding() &&
         a->getDiscardableAttrDictionary() == b->getDiscardableAttrDictionary();
}

static bool haveSamePrologue(FusedQuantizeOp a, FusedQuantizeOp b) {
  if (a.getSources() != b.getSources() ||
      a.getPrologue().size() != b.getPrologue().size())
    return false;
  return a.getPrologue().empty() ||
         OperationEquivalence::isRegionEquivalentTo(
             &a.getPrologue().front(), &b.getPrologue().front(),
             OperationEquivalence::IgnoreLocations);
}

/// Returns true if `op` or its regions use an operation that cannot move before
/// `place`, because the operation does not dominate `place` and has side
/// effects or is a call.
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

/// Returns the position for an operation that replaces both operations, or null
/// if the operands of the second cannot be moved before the first.
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

/// Appends the amax destinations of `op` or, if `op` has none, new destinations
/// that no operation reads.
static void appendAmaxOuts(IRRewriter &rewriter, FusedQuantizeOp op,
                           SmallVectorImpl<Value> &outs) {
  if (op.getAmax()) {
    llvm::append_range(outs, op.getAmaxOuts());
    return;
  }
  for (unsigned value = 0; value < op.getNumValues(); ++value)
    outs.push_back(tensor::EmptyOp::create(
        rewriter, op.getLoc(), ArrayRef<int64_t>{}, rewriter.getF32Type()));
}

/// Replaces the results of `op` by the results of `merged` with the same
/// destinations. The amax results of `merged` for value `firstValue` and later
/// values replace those of `op`.
static void replaceByDestinations(IRRewriter &rewriter, FusedQuantizeOp op,
                                  FusedQuantizeOp merged,
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

/// Creates a quantization of the same inputs. If `op` copies a quantized input
/// along rows, the new quantization has no prologue, because a prologue would
/// requantize the input.
static FusedQuantizeOp quantizeAlike(IRRewriter &rewriter, Operation *place,
                                     FusedQuantizeOp op, ArrayRef<int64_t> axes,
                                     ArrayRef<Value> outs, bool hasAmax) {
  if (op.isPassedOn()) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(place);
    return op.createAlike(rewriter, op.getLoc(), op.getInputs(),
                          op.getInputScales(), axes, outs, hasAmax,
                          /*hasPrologue=*/false);
  }
  FusedRegionBuilder prologue(rewriter, place);
  SmallVector<Value> values = prologue.inlinePrologue(op);
  return prologue.finish(op, axes, outs, hasAmax, values);
}

bool mx::detail::mergeAxes(IRRewriter &rewriter, FusedQuantizeOp first,
                           FusedQuantizeOp second) {
  if (first.getAxes().size() != 1 || second.getAxes().size() != 1 ||
      first.getAxis(0) == second.getAxis(0) || !haveSameRecipe(first, second) ||
      !haveSamePrologue(first, second))
    return false;
  Operation *place = findCommonPlace(rewriter, first, second);
  if (!place)
    return false;
  SmallVector<Value> outs;
  SmallVector<unsigned> destinations[2];
  // With a single axis, each value has a single destination.
  FusedQuantizeOp both[] = {first, second};
  for (unsigned value = 0; value < first.getNumValues(); ++value)
    for (auto [i, op] : llvm::enumerate(both)) {
      destinations[i].push_back(outs.size() / first.getDestinationSize());
      llvm::append_range(outs, op.getDestination(value));
    }
  bool hasAmax = first.getAmax() || second.getAmax();
  llvm::append_range(outs, (first.getAmax() ? first : second).getAmaxOuts());
  int64_t axes[] = {first.getAxis(0), second.getAxis(0)};
  FusedQuantizeOp merged =
      quantizeAlike(rewriter, place, first, axes, outs, hasAmax);
  replaceByDestinations(rewriter, second, merged, destinations[1], 0);
  replaceByDestinations(rewriter, first, merged, destinations[0], 0);
  return true;
}

static linalg::LinalgOp getElementwise(Value tensor) {
  auto op = tensor.getDefiningOp<linalg::LinalgOp>();
  return op && isElementwise(op) ? op : linalg::LinalgOp();
}

/// Returns true if both quantizations can share reads: the inputs of one are a
/// subset of the other's inputs, or one elementwise operation computes all
/// inputs.
static bool haveRelatedInputs(FusedQuantizeOp a, FusedQuantizeOp b) {
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

int64_t mx::detail::getValueBits(FusedQuantizeOp op) {
  Block *prologue = op.getPrologueBlock();
  if (!prologue)
    return op.getSources()[0].numberType.getIntOrFloatBitWidth();
  int64_t bits = 0;
  for (Value value : cast<YieldOp>(prologue->getTerminator()).getValues())
    bits += value.getType().getIntOrFloatBitWidth();
  return bits;
}

bool mx::detail::mergeValues(IRRewriter &rewriter, FusedQuantizeOp first,
                             FusedQuantizeOp second) {
  if (first.getAxes() != second.getAxes() || first.getGlobalScale() ||
      first.getConcat() || first.isPassedOn() || second.isPassedOn() ||
      !isOfMatrix(first) ||
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
  FusedQuantizeOp merged =
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

bool mx::detail::mergeAmax(IRRewriter &rewriter, AmaxOp amax,
                           FusedQuantizeOp op) {
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
  FusedQuantizeOp merged = op.createAlike(
      rewriter, rewriter.getFusedLoc({amax.getLoc(), op.getLoc()}),
      op.getInputs(), /*inputScales=*/{}, op.getAxes(), outs, /*hasAmax=*/true,
      /*hasPrologue=*/false);
  rewriter.replaceOp(amax, merged->getResults().take_back());
  rewriter.replaceOp(op, merged->getResults().take_front(op.getNumResults()));
  ++numPrologues;
  return true;
}
