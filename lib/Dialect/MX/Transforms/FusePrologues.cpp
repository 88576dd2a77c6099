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

#include "FusePrologues.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;
using namespace mx;
using namespace mx::detail;

llvm::TrackingStatistic
    mx::detail::numPrologues("mx-fuse-prologues", "numPrologues",
                             "Operations computed where results are quantized");

namespace mx {
#define GEN_PASS_DEF_MXFUSEPROLOGUES
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

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

static bool fuseFirstPrologue(IRRewriter &rewriter, Operation *root,
                              int64_t concatMultiple) {
  WalkResult result = root->walk([&](QuantizeOp op) {
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
           fuseFirstPrologue(rewriter, root, concatMultiple)) {
    }
    RewritePatternSet patterns(&getContext());
    QuantizeOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(root, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
