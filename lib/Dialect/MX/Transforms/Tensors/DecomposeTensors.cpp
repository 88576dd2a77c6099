//===- DecomposeTensors.cpp - Operations on tensors as linalg.generic -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Upstream knows how: this calls its decompositions, and sees to it that what
// they make computes into a tensor of its own and reads numbers as numbers.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "mx/Dialect/MX/IR/Place.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;

namespace mx {
#define GEN_PASS_DEF_MXDECOMPOSETENSORS
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

/// The numbers of a tensor that are all the same one; null if they are not.
static TypedAttr getSplat(Value tensor) {
  DenseElementsAttr elements;
  if (!isa<RankedTensorType>(tensor.getType()) ||
      !matchPattern(tensor, m_Constant(&elements)) || !elements.isSplat())
    return {};
  return dyn_cast<TypedAttr>(elements.getSplatValue<Attribute>());
}

namespace {

/// linalg.softmax and whatever else says what it consists of.
struct Decompose final
    : OpInterfaceRewritePattern<linalg::AggregatedOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(linalg::AggregatedOpInterface op,
                                PatternRewriter &rewriter) const override {
    bool isOnTensors =
        llvm::all_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
    if (!isOnTensors || !op->getNumResults())
      return failure();
    FailureOr<SmallVector<Value>> values = op.decomposeOperation(rewriter);
    if (failed(values))
      return failure();
    rewriter.replaceOp(op, *values);
    return success();
  }
};

LogicalResult lowerPack(linalg::PackOp op, PatternRewriter &rewriter) {
  return linalg::lowerPack(rewriter, op,
                           /*lowerPadLikeWithInsertSlice=*/false);
}

LogicalResult lowerUnPack(linalg::UnPackOp op, PatternRewriter &rewriter) {
  return linalg::lowerUnPack(rewriter, op,
                             /*lowerUnpadLikeWithExtractSlice=*/false);
}

/// Upstream takes an operand for the result's place. Nothing reads it as such,
/// but bufferization may then overwrite it, an argument of the caller's too.
LogicalResult separateResult(linalg::GenericOp op, PatternRewriter &rewriter) {
  bool changed = false;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    Value tensor = init.get();
    if (!isa<RankedTensorType>(tensor.getType()) ||
        op.payloadUsesValueFromOperand(&init) ||
        !llvm::is_contained(op.getDpsInputs(), tensor))
      continue;
    Value empty = tensor::EmptyOp::create(
        rewriter, op.getLoc(),
        tensor::getMixedSizes(rewriter, op.getLoc(), tensor),
        getElementTypeOrSelf(tensor.getType()));
    rewriter.modifyOpInPlace(op, [&] { init.set(empty); });
    changed = true;
  }
  return success(changed);
}

/// A tensor of one number is that number to whoever reads its elements.
LogicalResult readSplat(linalg::GenericOp op, PatternRewriter &rewriter) {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<std::pair<Value, TypedAttr>> numbers;
  llvm::BitVector known(op.getNumDpsInputs() + op.getNumDpsInits());
  for (OpOperand *input : op.getDpsInputOperands()) {
    TypedAttr number = getSplat(input->get());
    if (!number) {
      inputs.push_back(input->get());
      maps.push_back(op.getMatchingIndexingMap(input));
      continue;
    }
    known.set(input->getOperandNumber());
    numbers.push_back({op.getMatchingBlockArgument(input), number});
  }
  for (OpOperand &init : op.getDpsInitsMutable())
    maps.push_back(op.getMatchingIndexingMap(&init));
  // The loops need an operand that gives their extents.
  if (numbers.empty() ||
      !inversePermutation(concatAffineMaps(maps, op.getContext())))
    return failure();
  for (auto [element, number] : numbers)
    rewriter.replaceAllUsesWith(
        element, arith::ConstantOp::create(rewriter, op.getLoc(), number));
  op.getBody()->eraseArguments(known);
  auto reads = linalg::GenericOp::create(
      rewriter, op.getLoc(), op.getResultTypes(), inputs, op.getOutputs(), maps,
      op.getIteratorTypesArray());
  rewriter.inlineRegionBefore(op.getRegion(), reads.getRegion(),
                              reads.getRegion().begin());
  rewriter.replaceOp(op, reads);
  return success();
}

struct DecomposeTensors final
    : mx::impl::MXDecomposeTensorsBase<DecomposeTensors> {
  using MXDecomposeTensorsBase::MXDecomposeTensorsBase;

  void runOnOperation() override {
    apply([](RewritePatternSet &patterns) {
      patterns.add<Decompose>(patterns.getContext());
      patterns.add(lowerPack).add(lowerUnPack);
    });
    apply(linalg::populateElementwiseToLinalgConversionPatterns);
    apply([](RewritePatternSet &patterns) { patterns.add(separateResult); });
    apply([](RewritePatternSet &patterns) { patterns.add(readSplat); });
    if (onDevice)
      fillSplats();
    locateBodies(getOperation());
  }

private:
  void apply(llvm::function_ref<void(RewritePatternSet &)> populate) {
    RewritePatternSet patterns(&getContext());
    populate(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }

  /// No kernel writes a float of 4 or 6 bits alone.
  static bool canFill(Type element) {
    return !isa<FloatType>(element) || element.getIntOrFloatBitWidth() >= 8;
  }

  /// Equal numbers take no room in a program: kernels write them.
  void fillSplats() {
    SmallVector<arith::ConstantOp> constants;
    getOperation()->walk([&](arith::ConstantOp op) {
      if (!op->use_empty() && getSplat(op.getResult()) &&
          canFill(getElementTypeOrSelf(op.getType())))
        constants.push_back(op);
    });
    for (arith::ConstantOp op : constants) {
      OpBuilder builder(op);
      auto type = cast<RankedTensorType>(op.getType());
      Value number = arith::ConstantOp::create(builder, op.getLoc(),
                                               getSplat(op.getResult()));
      Value empty =
          tensor::EmptyOp::create(builder, op.getLoc(), type, ValueRange());
      op.replaceAllUsesWith(
          linalg::FillOp::create(builder, op.getLoc(), number, empty)
              .getResult(0));
      op.erase();
    }
  }
};

} // namespace
