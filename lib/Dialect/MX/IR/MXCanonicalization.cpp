//===- MXCanonicalization.cpp - Canonicalization of mx operations ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs of relayouts cancel, and the remaining relayouts move into the
// quantizer, which writes the requested layout. dequantize(quantize(x)) is
// never folded to x, because quantization rounds.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mx;

static bool haveSameExperts(RelayoutOp a, RelayoutOp b) {
  return a.getRagged() == b.getRagged() && a.getOffsets() == b.getOffsets();
}

namespace {

/// relayout(x) to the layout of x -> x
LogicalResult foldIdentityRelayout(RelayoutOp op, PatternRewriter &rewriter) {
  if (op.getNumResults() != 1)
    return rewriter.notifyMatchFailure(op, "works on memrefs");
  if (op.getInput().getType() != op.getResultTypes()[0])
    return rewriter.notifyMatchFailure(op, "changes the layout");
  rewriter.replaceOp(op, op.getInput());
  return success();
}

/// relayout(relayout(x)) -> relayout(x) or x
LogicalResult foldRelayoutOfRelayout(RelayoutOp op, PatternRewriter &rewriter) {
  auto inner = op.getInput().getDefiningOp<RelayoutOp>();
  if (!inner || op.getNumResults() != 1)
    return rewriter.notifyMatchFailure(op, "input is not a relayout");
  if (!haveSameExperts(op, inner))
    return rewriter.notifyMatchFailure(op, "expert groups differ");
  if (inner.getInput().getType() == op.getResultTypes()[0]) {
    rewriter.replaceOp(op, inner.getInput());
    return success();
  }
  // No direct relayout exists between two tiled forms with ragged rows, and
  // materialized tensors lack their expert groups.
  if (op.getOffsets())
    return rewriter.notifyMatchFailure(op,
                                       "expert groups have no direct relayout");
  auto type = cast<RankedTensorType>(inner.getInput().getType());
  auto result = cast<RankedTensorType>(op.getResultTypes()[0]);
  if (type.getRank() != result.getRank())
    return rewriter.notifyMatchFailure(op, "a side is materialized");
  auto from = ScaleLayoutAttr::get(type), to = ScaleLayoutAttr::get(result);
  if (from.getRagged() != to.getRagged() || from.getGroups() != to.getGroups())
    return rewriter.notifyMatchFailure(op, "expert groups differ");
  rewriter.modifyOpInPlace(
      op, [&] { op.getInputMutable().assign(inner.getInput()); });
  return success();
}

/// Returns a destination of the type of `out` that dominates `quantize`: `out`,
/// or a new empty tensor with the sizes of `old`.
Value getDestination(PatternRewriter &rewriter, Value out, Value old,
                     Operation *quantize) {
  auto type = cast<RankedTensorType>(out.getType());
  Operation *definingOp = out.getDefiningOp();
  if (definingOp && definingOp->getBlock() == quantize->getBlock() &&
      definingOp->isBeforeInBlock(quantize))
    return out;
  if (!definingOp && out.getParentBlock() == quantize->getBlock())
    return out;
  if (!isa_and_present<tensor::EmptyOp>(definingOp))
    return {};
  auto oldType = cast<RankedTensorType>(old.getType());
  if (!type.hasStaticShape() && type.getRank() != oldType.getRank())
    return {};
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (type.isDynamicDim(i))
      sizes.push_back(
          tensor::DimOp::create(rewriter, quantize->getLoc(), old, i));
  return tensor::EmptyOp::create(rewriter, quantize->getLoc(), type, sizes);
}

/// Folds a relayout of a quantizer's scales into the quantizer.
template <typename OpT>
LogicalResult foldRelayoutIntoQuantize(RelayoutOp op,
                                       PatternRewriter &rewriter) {
  auto quantize = op.getInput().getDefiningOp<OpT>();
  if (!quantize || op.getNumResults() != 1)
    return rewriter.notifyMatchFailure(op, "input is not quantized here");
  if (!op.getInput().hasOneUse())
    return rewriter.notifyMatchFailure(op, "the old layout has other uses");
  unsigned number = cast<OpResult>(op.getInput()).getResultNumber();
  QuantizeOut place = quantize.getOut(number);
  if (place.kind != QuantizeOut::Kind::Scales)
    return rewriter.notifyMatchFailure(op, "input is not a scale tensor");
  RaggedKind ragged = quantize.getRaggedOfAxis(quantize.getAxes()[place.axis]);
  bool rows = ragged == RaggedKind::Rows;
  if (op.getOffsets() != (rows ? quantize.getOffsets() : Value()))
    return rewriter.notifyMatchFailure(op, "expert groups differ");
  auto layout = ScaleLayoutAttr::get(op.getOutType());
  if (layout.getKind() == ScaleLayoutKind::Sf128x4 &&
      layout.getRagged() != ragged)
    return rewriter.notifyMatchFailure(op, "expert groups differ");

  rewriter.setInsertionPoint(quantize);
  Value old = quantize.getOuts()[number];
  Value out = getDestination(rewriter, op.getOuts()[0], old, quantize);
  if (!out)
    return rewriter.notifyMatchFailure(op, "no destination dominates it");
  rewriter.modifyOpInPlace(quantize, [&] {
    quantize.getOutsMutable().slice(number, 1).assign(out);
    quantize->getResult(number).setType(cast<RankedTensorType>(out.getType()));
  });
  rewriter.replaceOp(op, quantize->getResult(number));
  return success();
}

void movePrologue(PatternRewriter &rewriter, FusedQuantizeOp from,
                  FusedQuantizeOp to, const BitVector &values) {
  Region &region = to.getPrologue().front();
  rewriter.inlineRegionBefore(from.getPrologue().front(), region, region.end());
  if (from.getConcat())
    return; // a single value
  auto yield = cast<YieldOp>(region.front().getTerminator());
  SmallVector<Value> kept;
  for (unsigned value : values.set_bits())
    kept.push_back(yield.getValues()[value]);
  rewriter.modifyOpInPlace(yield,
                           [&] { yield.getValuesMutable().assign(kept); });
}

LogicalResult dropUnusedAxis(QuantizeOp op, PatternRewriter &rewriter) {
  ResultRange results = op.getResults();
  auto isUnused = [&](unsigned i) {
    return results[2 * i].use_empty() && results[2 * i + 1].use_empty();
  };
  if (results.size() != 4 || isUnused(0) == isUnused(1))
    return rewriter.notifyMatchFailure(op, "no single axis is unused");
  unsigned kept = isUnused(0);
  ValueRange outs = op.getOuts().slice(2 * kept, 2);
  auto one = QuantizeOp::create(
      rewriter, op.getLoc(), outs.getTypes(), op.getInput(),
      op.getGlobalScale(), op.getSeed(), op.getOffsets(), outs,
      op.getRaggedAttr(), rewriter.getDenseI64ArrayAttr(op.getAxis(kept)),
      op.getBlockShapeAttr(), op.getSquareAttr(), op.getScaleRoundingAttr());
  one->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.replaceAllUsesWith(results.slice(2 * kept, 2), one.getResults());
  rewriter.eraseOp(op);
  return success();
}

/// Drops axes, prologue values and largest magnitudes with unused results.
LogicalResult dropUnusedDestinations(FusedQuantizeOp op,
                                     PatternRewriter &rewriter) {
  BitVector usedAxes(op.getAxes().size()), usedValues(op.getNumValues());
  bool usesAmax = false;
  for (OpResult result : op->getResults()) {
    if (result.use_empty())
      continue;
    QuantizeOut out = op.getOut(result.getResultNumber());
    usedValues.set(out.value);
    if (out.kind == QuantizeOut::Kind::Amax)
      usesAmax = true;
    else
      usedAxes.set(out.axis);
  }
  if (usedValues.none())
    return rewriter.notifyMatchFailure(op, "no result is used");
  if (usedAxes.none()) // an amax needs a quantized value
    usedAxes.set(0);
  if (usedAxes.all() && usedValues.all() && usesAmax == op.getAmax())
    return rewriter.notifyMatchFailure(op, "all results are used");

  SmallVector<int64_t> axes;
  for (unsigned axis : usedAxes.set_bits())
    axes.push_back(op.getAxes()[axis]);
  SmallVector<Value> outs, replaced, factors;
  SmallVector<Type> dequantized;
  for (unsigned i = 0; i < op.getNumDestinations(); ++i) {
    if (!usedAxes[i % usedAxes.size()] || !usedValues[op.getValueOf(i)])
      continue;
    llvm::append_range(outs, op.getDestination(i));
    llvm::append_range(replaced, op.getDestinationResults(i));
    dequantized.push_back(op.getDequantizedType(i));
    if (Value factor = op.getDecodeFactor(i))
      factors.push_back(factor);
  }
  if (usesAmax)
    for (unsigned value : usedValues.set_bits()) {
      outs.push_back(op.getAmaxOuts()[value]);
      replaced.push_back(op.getAmaxResults()[value]);
    }
  bool hasPrologue = !op.getPrologue().empty();
  FusedQuantizeOp kept =
      op.createAlike(rewriter, op.getLoc(), op.getInputs(), op.getInputScales(),
                     axes, outs, usesAmax, hasPrologue);
  kept.setDequantizedTypes(dequantized, factors);
  if (hasPrologue)
    movePrologue(rewriter, op, kept, usedValues);
  for (auto [from, to] : llvm::zip_equal(replaced, kept->getResults()))
    rewriter.replaceAllUsesWith(from, to);
  rewriter.eraseOp(op);
  return success();
}

/// Drops inputs that the prologue does not use. Keeps the last input, which
/// determines the shape.
LogicalResult dropUnusedInputs(FusedQuantizeOp op, PatternRewriter &rewriter) {
  Block *prologue = op.getPrologueBlock();
  if (!prologue)
    return rewriter.notifyMatchFailure(op, "has no prologue");
  for (unsigned i = op.getInputs().size(); i-- > 0;) {
    if (op.getInputs().size() == 1 || !prologue->getArgument(i).use_empty())
      continue;
    SmallVector<Value> inputs, scales;
    for (auto [number, source] : llvm::enumerate(op.getSources())) {
      if (number == i)
        continue;
      inputs.push_back(source.tensor);
      if (source.scales)
        scales.push_back(source.scales);
    }
    rewriter.modifyOpInPlace(op, [&] {
      prologue->eraseArgument(i);
      op.getInputsMutable().assign(inputs);
      op.getInputScalesMutable().assign(scales);
    });
    return success();
  }
  return rewriter.notifyMatchFailure(op, "uses all inputs");
}

/// Folds a prologue that yields its element, unless the prologue dequantizes.
LogicalResult foldIdentityPrologue(FusedQuantizeOp op,
                                   PatternRewriter &rewriter) {
  Block *prologue = op.getPrologueBlock();
  if (!prologue || op.getInputs().size() != 1 || !op.getInputScales().empty() ||
      op.getNumValues() != 1 || op.getConcat() ||
      cast<YieldOp>(prologue->getTerminator()).getValue() !=
          prologue->getArgument(0))
    return rewriter.notifyMatchFailure(op, "does not yield its argument");
  FusedQuantizeOp plain =
      op.createAlike(rewriter, op.getLoc(), op.getInputs(),
                     /*inputScales=*/{}, op.getAxes(), op.getOuts(),
                     op.getAmax(), /*hasPrologue=*/false);
  rewriter.replaceOp(op, plain->getResults());
  return success();
}

/// Returns true if results depend on the contents of the destinations, because
/// of `accumulate` or because rows outside all expert groups keep their
/// contents.
bool readsOuts(MatmulOp op) { return op.readsOuts(); }
template <typename OpT>
bool readsOuts(OpT op) {
  return static_cast<bool>(op.getOffsets());
}

/// op outs(fill outs(init)) -> op outs(init), if the destination only provides
/// the shape.
template <typename OpT>
LogicalResult skipUnreadInit(OpT op, PatternRewriter &rewriter) {
  if (readsOuts(op))
    return rewriter.notifyMatchFailure(op, "the destinations are read");
  for (OpOperand &out : op.getDpsInitsMutable()) {
    auto definingOp = out.get().getDefiningOp<DestinationStyleOpInterface>();
    if (!definingOp)
      continue;
    Value init = definingOp.getTiedOpOperand(cast<OpResult>(out.get()))->get();
    if (init.getType() != out.get().getType())
      continue;
    rewriter.modifyOpInPlace(op, [&] { out.set(init); });
    return success();
  }
  return rewriter.notifyMatchFailure(op, "no destination was computed");
}

} // namespace

void MatmulOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add(skipUnreadInit<MatmulOp>);
}

void QuantizeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  patterns.add(dropUnusedAxis);
  patterns.add(skipUnreadInit<QuantizeOp>);
}

void FusedQuantizeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                  MLIRContext *context) {
  patterns.add(dropUnusedDestinations);
  patterns.add(dropUnusedInputs);
  patterns.add(foldIdentityPrologue);
  patterns.add(skipUnreadInit<FusedQuantizeOp>);
}

void PackOperandOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                MLIRContext *context) {
  patterns.add(skipUnreadInit<PackOperandOp>);
}

void RelayoutOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  patterns.add(foldIdentityRelayout);
  patterns.add(foldRelayoutOfRelayout);
  patterns.add(foldRelayoutIntoQuantize<QuantizeOp>);
  patterns.add(foldRelayoutIntoQuantize<FusedQuantizeOp>);
}
