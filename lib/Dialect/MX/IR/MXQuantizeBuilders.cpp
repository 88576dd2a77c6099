//===- MXQuantizeBuilders.cpp - Builders of quantizations -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Builders create destinations from the input and a format.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mx/Dialect/MX/IR/MX.h"

using namespace mlir;
using namespace mx;

/// Computes `left op right`, folding constants.
template <typename Op>
static OpFoldResult compute(OpBuilder &builder, Location loc, OpFoldResult left,
                            int64_t right) {
  Value a = getValueOrCreateConstantIndexOp(builder, loc, left);
  Value b = arith::ConstantIndexOp::create(builder, loc, right);
  return getAsOpFoldResult(builder.createOrFold<Op>(loc, a, b));
}

/// Returns the capacity of a ragged reduction over `total` elements.
static OpFoldResult getCapacity(OpBuilder &builder, Location loc,
                                OpFoldResult total, int64_t groups) {
  OpFoldResult most = compute<arith::AddIOp>(
      builder, loc, total, (kRaggedReductionAlign - 1) * groups);
  OpFoldResult tiles =
      compute<arith::CeilDivUIOp>(builder, loc, most, kRaggedReductionAlign);
  return compute<arith::MulIOp>(builder, loc, tiles, kRaggedReductionAlign);
}

void QuantizeOp::build(OpBuilder &builder, OperationState &state, Value input,
                       Type elementType, Type scaleType, ArrayRef<int64_t> axes,
                       ScaleRounding scaleRounding, ScaleLayoutKind layout,
                       Value globalScale, RaggedKind ragged, Value offsets,
                       ArrayRef<OpFoldResult> sizes) {
  MLIRContext *context = builder.getContext();
  Location loc = state.location;
  const BlockFormat &format = getBlockFormat(scaleType);
  int64_t groups = offsets ? getNumExperts(offsets) : 0;
  SmallVector<OpFoldResult> ofInput(sizes);
  if (sizes.empty())
    ofInput = tensor::getMixedSizes(builder, loc, input);
  SmallVector<Value> outs;
  for (int64_t axis : axes) {
    RaggedKind kind = mx::getRaggedOfAxis(ragged, axis);
    SmallVector<OpFoldResult> shape = ofInput;
    if (axis == 0)
      std::swap(shape.back(), *std::prev(shape.end(), 2));
    Attribute elementLayout, scaleLayout;
    if (kind == RaggedKind::Reduction) {
      shape.back() = getCapacity(builder, loc, shape.back(), groups);
      elementLayout = RaggedAttr::get(context, groups, kRaggedReductionAlign);
    }
    if (layout != ScaleLayoutKind::Linear)
      scaleLayout = ScaleLayoutAttr::get(context, layout, kind, groups);
    SmallVector<OpFoldResult> scales = shape;
    OpFoldResult &rows = *std::prev(scales.end(), 2), &blocks = scales.back();
    OpFoldResult one = builder.getIndexAttr(1);
    blocks =
        format.blockSize == BlockFormat::kWhole
            ? one
            : compute<arith::DivUIOp>(builder, loc, blocks, format.blockSize);
    if (format.blockRows == BlockFormat::kWhole)
      rows = one;
    else if (format.blockRows > 1)
      rows = compute<arith::CeilDivUIOp>(builder, loc, rows, format.blockRows);
    outs.push_back(tensor::EmptyOp::create(builder, loc, shape, elementType,
                                           elementLayout));
    outs.push_back(
        tensor::EmptyOp::create(builder, loc, scales, scaleType, scaleLayout));
  }
  build(builder, state, ValueRange(outs).getTypes(), input, globalScale,
        /*seed=*/Value(), offsets, outs,
        offsets ? RaggedKindAttr::get(context, ragged) : RaggedKindAttr(), axes,
        /*square=*/false, scaleRounding);
}

FusedQuantizeOp QuantizeOp::generalize(RewriterBase &rewriter) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(*this);
  auto fused = FusedQuantizeOp::create(
      rewriter, getLoc(), getResultTypes(), getInput(),
      /*input_scales=*/ValueRange(), getGlobalScale(),
      /*decode_factors=*/ValueRange(), getSeed(), /*gather=*/Value(),
      getOffsets(), getOuts(), getRaggedAttr(), getAxesAttr(),
      rewriter.getI64IntegerAttr(getBlockSize()), getSquareAttr(),
      /*amax=*/UnitAttr(), /*concat=*/UnitAttr(), /*dequantized=*/ArrayAttr(),
      getScaleRoundingAttr(), /*prologueCount=*/0);
  fused->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  rewriter.replaceOp(*this, fused);
  return fused;
}

void FoldOp::expand(RewriterBase &rewriter) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(*this);
  Value numbers = tensor::EmptyOp::create(
      rewriter, getLoc(), tensor::getMixedSizes(rewriter, getLoc(), getInput()),
      rewriter.getF32Type());
  auto dequantize = DequantizeOp::create(
      rewriter, getLoc(), numbers.getType(), getInput(), getScales(),
      /*global_scale=*/Value(), getOffsets(), numbers, getRaggedAttr(),
      /*padded=*/UnitAttr(), rewriter.getI64IntegerAttr(kPowerOfTwoBlockSize));
  auto quantize = FusedQuantizeOp::create(
      rewriter, getLoc(), getResultTypes(), dequantize.getResult(0),
      /*input_scales=*/ValueRange(), /*global_scale=*/Value(),
      /*decode_factors=*/ValueRange(), /*seed=*/Value(), /*gather=*/Value(),
      getOffsets(), getOuts(), getRaggedAttr(),
      rewriter.getDenseI64ArrayAttr({1}), getBlockSizeAttr(),
      /*square=*/UnitAttr(), /*amax=*/UnitAttr(), /*concat=*/UnitAttr(),
      /*dequantized=*/ArrayAttr(),
      ScaleRoundingAttr::get(getContext(), ScaleRounding::Ceil),
      /*prologueCount=*/0);
  quantize->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  rewriter.replaceOp(*this, quantize);
}

void mx::generalizeQuantizations(Operation *root) {
  IRRewriter rewriter(root->getContext());
  root->walk([&](QuantizeOp op) { op.generalize(rewriter); });
  root->walk([&](FoldOp op) { op.expand(rewriter); });
}
