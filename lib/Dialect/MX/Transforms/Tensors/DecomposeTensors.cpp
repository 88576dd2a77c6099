//===- DecomposeTensors.cpp - Tensor operations to linalg.generic ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls upstream's decompositions, creates a separate destination for each
// result, and replaces splat tensors by scalars.
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

/// Returns the element of a splat constant, or null.
static TypedAttr getSplat(Value tensor) {
  DenseElementsAttr elements;
  if (!isa<RankedTensorType>(tensor.getType()) ||
      !matchPattern(tensor, m_Constant(&elements)) || !elements.isSplat())
    return {};
  return dyn_cast<TypedAttr>(elements.getSplatValue<Attribute>());
}

namespace {

/// Decomposes linalg.softmax and other aggregate operations.
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

/// Upstream uses an operand as the destination. The body does not read this
/// destination, but bufferization might overwrite the operand, even if it is an
/// argument of the function.
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

/// Replaces reads of a splat tensor by a scalar.
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
  // The loops need an operand that determines their extents.
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

  /// Kernels cannot write single elements of 4- or 6-bit floats.
  static bool canFill(Type element) {
    return !isa<FloatType>(element) || element.getIntOrFloatBitWidth() >= 8;
  }

  /// Replaces splat constants by fills, which occupy no space in the program.
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
