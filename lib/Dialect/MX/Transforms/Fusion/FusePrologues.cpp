//===- FusePrologues.cpp - Fusion of producers into quantizations ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantizers are memory bound. Fusion avoids storing their input or reading it
// twice. Six steps are repeated while any applies:
//
//   - a quantization also returns the amax of its input;
//   - quantizations of the same input along different axes are merged;
//   - quantizations with related inputs become a quantization with several
//     values;
//   - concatenated tensors become a quantization with `concat`;
//   - an elementwise operation without other users becomes the prologue;
//   - a dequantization without other users becomes a quantized input.
//
// All steps except the first build a prologue from the bodies of replaced
// operations.
//===----------------------------------------------------------------------===//

#include "FusePrologues.h"
#include "FusedRegionBuilder.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;
using namespace mx;
using namespace mx::detail;

namespace mx {
#define GEN_PASS_DEF_MXFUSEPROLOGUES
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

//===----------------------------------------------------------------------===//
// Producers of the input of a quantization
//===----------------------------------------------------------------------===//

bool mx::detail::isOfMatrix(FusedQuantizeOp op) {
  return op.getInput().getType().getRank() == 2;
}

/// Returns true if `op` reads the elements of a tensor without scales.
static bool readsNumbersOf(FusedQuantizeOp op, Value tensor) {
  return llvm::any_of(op.getSources(), [&](const QuantizeSource &source) {
    return source.tensor == tensor && !source.scales;
  });
}

/// Returns an obstacle if `prologue` has users other than `op`, or if `op`
/// reads its results other than as plain inputs.
static Obstacle findOtherUse(FusedQuantizeOp op, Operation *prologue) {
  for (OpOperand &use : prologue->getUses()) {
    if (use.getOwner() != op)
      return {"its result has another use", use.getOwner()};
    if (!readsNumbersOf(op, use.get()) ||
        llvm::is_contained(op.getOuts(), use.get()))
      return {"the quantization does not read its result as plain values", op};
  }
  return {};
}

/// Replaces a quantization and a producer by a quantization with the prologue
/// that `builder` started.
static void finishFusion(IRRewriter &rewriter, FusedRegionBuilder &builder,
                         FusedQuantizeOp op, Operation *prologue) {
  SmallVector<Value> values = builder.inlinePrologue(op);
  FusedQuantizeOp fused = builder.finish(
      op, op.getAxes(), SmallVector<Value>(op.getOuts()), op.getAmax(), values);
  rewriter.replaceOp(op, fused->getResults());
  ++numPrologues;
  rewriter.eraseOp(prologue);
}

Obstacle mx::findPrologueObstacle(linalg::LinalgOp prologue,
                                  FusedQuantizeOp op) {
  if (!isOfMatrix(op))
    return {"the quantization is batched and supports no prologue", op};
  if (Obstacle found = findElementwiseObstacle(prologue))
    return found;
  if (Obstacle found = findOtherUse(op, prologue))
    return found;
  // Gathered rows have different indices.
  if (op.getGather() && usesPlaces(prologue))
    return {"it uses row or column indices, which the gather changes", op};
  if (!op.getNumResults())
    return {"the quantization operates on memrefs", op};
  return {};
}

/// Fuses an elementwise operation without users other than `op`.
static bool fuseElementwiseInput(IRRewriter &rewriter, FusedQuantizeOp op,
                                 Value input) {
  auto prologue = input.getDefiningOp<linalg::LinalgOp>();
  if (!prologue || findPrologueObstacle(prologue, op))
    return false;
  FusedRegionBuilder builder(rewriter, op);
  builder.inlineElementwise(prologue);
  finishFusion(rewriter, builder, op, prologue);
  return true;
}

/// quantize(dequantize(x)) -> quantize of the elements and scales of x
static bool fuseDequantize(IRRewriter &rewriter, FusedQuantizeOp op,
                           Value input) {
  auto prologue = input.getDefiningOp<DequantizeOp>();
  if (!prologue || findOtherUse(op, prologue) || !canInline(prologue) ||
      op.getRaggedOrNone() == RaggedKind::Reduction)
    return false;
  FusedRegionBuilder builder(rewriter, op);
  builder.inlineDequantize(prologue);
  finishFusion(rewriter, builder, op, prologue);
  return true;
}

/// Returns the tensors whose insertion side by side builds `tensor`, from left
/// to right. Returns an empty list if they do not cover `tensor`.
static SmallVector<Value> getInsertedColumns(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t last = type.getRank() - 1, end = type.getDimSize(last);
  SmallVector<Value> slices;
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
        (!slices.empty() && !isEqualConstantIntOrValueArray(lines, sizes)))
      return {};
    sizes = std::move(lines);
    slices.push_back(insert.getSource());
    tensor = insert.getDest();
  }
  auto empty = tensor.getDefiningOp<tensor::EmptyOp>();
  if (!empty || slices.empty() || end != 0)
    return {};
  SmallVector<OpFoldResult> lines = empty.getMixedSizes();
  lines.pop_back();
  if (!isEqualConstantIntOrValueArray(lines, sizes))
    return {};
  return llvm::to_vector(llvm::reverse(slices));
}

static SmallVector<Value> getColumnsSideBySide(Value tensor) {
  auto concat = tensor.getDefiningOp<tensor::ConcatOp>();
  if (!concat)
    return getInsertedColumns(tensor);
  bool isLast =
      int64_t(concat.getDim()) + 1 == concat.getResultType().getRank();
  return isLast ? SmallVector<Value>(concat.getInputs()) : SmallVector<Value>();
}

llvm::SetVector<Operation *> mx::detail::getDefiningOps(ValueRange values) {
  llvm::SetVector<Operation *> ops;
  for (Value value : values)
    if (Operation *op = value.getDefiningOp())
      ops.insert(op);
  return ops;
}

void mx::detail::eraseUnused(IRRewriter &rewriter,
                             llvm::SetVector<Operation *> ops) {
  // The set contains each operation once, so an operation with several results
  // is not erased twice.
  while (!ops.empty()) {
    Operation *op = ops.pop_back_val();
    if (!isOpTriviallyDead(op))
      continue;
    for (Operation *operand : getDefiningOps(op->getOperands()))
      ops.insert(operand);
    rewriter.eraseOp(op);
  }
}

/// Returns true if the quantized values are the elements of a single input.
static bool quantizesInput(FusedQuantizeOp op) {
  Block *prologue = op.getPrologueBlock();
  if (!prologue || op.getInputs().size() != 1)
    return !prologue;
  return prologue->getTerminator()->getOperands() ==
         ValueRange(prologue->getArgument(0));
}

/// quantize(concat(x, y) along the last dimension) -> quantize(x, y) concat
static bool fuseConcat(IRRewriter &rewriter, FusedQuantizeOp op, Value input,
                       int64_t multiple) {
  if (!quantizesInput(op) || !input.hasOneUse() || !readsNumbersOf(op, input) ||
      op.getConcat() || op.getRaggedOrNone() == RaggedKind::Reduction)
    return false;
  SmallVector<Value> slices = getColumnsSideBySide(input);
  auto isAlike = [&](Value slice) {
    return slice.getType() == slices[0].getType();
  };
  if (slices.size() < 2 || !llvm::all_of(slices, isAlike))
    return false;
  // All tensors must have the same width, a multiple of the block and of the
  // tile width.
  int64_t columns =
      cast<RankedTensorType>(slices[0].getType()).getShape().back();
  if (ShapedType::isDynamic(columns) || columns % op.getBlockSize() != 0 ||
      columns % multiple != 0)
    return false;
  FusedRegionBuilder builder(rewriter, op);
  SmallVector<Value> values = builder.getElements(slices);
  FusedQuantizeOp fused = builder.finish(
      op, op.getAxes(), SmallVector<Value>(op.getOuts()), op.getAmax(), values);
  fused.setConcat(true);
  rewriter.replaceOp(op, fused->getResults());
  ++numPrologues;
  eraseUnused(rewriter, getDefiningOps(input));
  return true;
}

bool mx::detail::fuseInput(IRRewriter &rewriter, FusedQuantizeOp op,
                           int64_t concatMultiple) {
  return op.getNumResults() && isOfMatrix(op) &&
         llvm::any_of(llvm::to_vector(op.getInputs()), [&](Value input) {
           return fuseConcat(rewriter, op, input, concatMultiple) ||
                  fuseElementwiseInput(rewriter, op, input) ||
                  fuseDequantize(rewriter, op, input);
         });
}

llvm::TrackingStatistic
    mx::detail::numPrologues("mx-fuse-prologues", "numPrologues",
                             "Operations computed where results are quantized");

using Merge =
    function_ref<bool(IRRewriter &, FusedQuantizeOp, FusedQuantizeOp)>;

/// Merges the first pair of mergeable quantizations in a block.
static bool mergeFirst(IRRewriter &rewriter, Operation *root, Merge merge) {
  SmallVector<FusedQuantizeOp> ops;
  root->walk([&](FusedQuantizeOp op) { ops.push_back(op); });
  for (auto [i, first] : llvm::enumerate(ops))
    for (FusedQuantizeOp second : ArrayRef(ops).drop_front(i + 1))
      if (first->getBlock() == second->getBlock() &&
          merge(rewriter, first, second))
        return true;
  return false;
}

static bool mergeFirstAmax(IRRewriter &rewriter, Operation *root) {
  SmallVector<AmaxOp> maxima;
  SmallVector<FusedQuantizeOp> ops;
  root->walk([&](AmaxOp op) { maxima.push_back(op); });
  root->walk([&](FusedQuantizeOp op) { ops.push_back(op); });
  for (AmaxOp amax : maxima)
    for (FusedQuantizeOp op : ops)
      if (mergeAmax(rewriter, amax, op))
        return true;
  return false;
}

static bool fuseFirstPrologue(IRRewriter &rewriter, Operation *root,
                              int64_t concatMultiple) {
  WalkResult result = root->walk([&](FusedQuantizeOp op) {
    return fuseInput(rewriter, op, concatMultiple) ? WalkResult::interrupt()
                                                   : WalkResult::advance();
  });
  return result.wasInterrupted();
}

namespace {
struct FusePrologues final : mx::impl::MXFuseProloguesBase<FusePrologues> {
  using MXFuseProloguesBase::MXFuseProloguesBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    auto mergeFewValues = [&](IRRewriter &rewriter, FusedQuantizeOp first,
                              FusedQuantizeOp second) {
      bool isTooMuch =
          valueBits && getValueBits(first) + getValueBits(second) > valueBits;
      return !isTooMuch && mergeValues(rewriter, first, second);
    };
    Operation *root = getOperation();
    generalizeQuantizations(root);
    while (mergeFirstAmax(rewriter, root) ||
           mergeFirst(rewriter, root, mergeAxes) ||
           mergeFirst(rewriter, root, mergeFewValues) ||
           fuseFirstPrologue(rewriter, root, concatMultiple)) {
    }
    RewritePatternSet patterns(&getContext());
    FusedQuantizeOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(root, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
