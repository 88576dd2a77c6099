//===- MXQuantizeBuilders.cpp - Builders of quantizations -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builders create destinations from the input and a format.
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
                       std::optional<ScaleRounding> scaleRounding,
                       ScaleLayoutKind layout, Value globalScale,
                       RaggedKind ragged, Value offsets,
                       ArrayRef<OpFoldResult> sizes) {
  MLIRContext *context = builder.getContext();
  Location loc = state.location;
  const BlockFormat &format = getBlockFormat(scaleType);
  BlockShape block(format.blockSize);
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
        offsets ? RaggedKindAttr::get(context, ragged) : RaggedKindAttr(),
        builder.getDenseI64ArrayAttr(axes), /*block_shape=*/Attribute(),
        /*square=*/UnitAttr(),
        scaleRounding && *scaleRounding != getDefaultRounding(scaleType, block)
            ? ScaleRoundingAttr::get(context, *scaleRounding)
            : ScaleRoundingAttr());
}

FusedQuantizeOp QuantizeOp::generalize(RewriterBase &rewriter) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(*this);
  auto fused = FusedQuantizeOp::create(
      rewriter, getLoc(), getResultTypes(), getInput(),
      /*input_scales=*/ValueRange(), getGlobalScale(),
      /*decode_factors=*/ValueRange(), getSeed(), /*gather=*/Value(),
      getOffsets(), /*if_any=*/ValueRange(), getOuts(), getRaggedAttr(),
      getAxesAttr(), getBlockSize().getAttr(getContext()),
      /*spreads=*/UnitAttr(), getSquareAttr(), /*amax=*/UnitAttr(),
      /*concat=*/UnitAttr(),
      /*dequantized=*/ArrayAttr(), getScaleRoundingAttr(), /*prologueCount=*/0);
  fused->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  rewriter.replaceOp(*this, fused);
  return fused;
}

/// Quantizes the dequantized values of `op` to `outs`, without batches.
static FusedQuantizeOp requantize(OpBuilder &builder, FoldOp op, Value input,
                                  Value scales, ValueRange outs) {
  Location loc = op.getLoc();
  Value numbers = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, input),
      builder.getF32Type());
  auto dequantize = DequantizeOp::create(
      builder, loc, numbers.getType(), input, scales,
      /*global_scale=*/Value(), op.getOffsets(), numbers, op.getRaggedAttr(),
      /*padded=*/UnitAttr(), builder.getI64IntegerAttr(kPowerOfTwoBlockSize));
  auto quantize = FusedQuantizeOp::create(
      builder, loc, outs.getTypes(), dequantize.getResult(0),
      /*input_scales=*/ValueRange(), /*global_scale=*/Value(),
      /*decode_factors=*/ValueRange(), /*seed=*/Value(), /*gather=*/Value(),
      op.getOffsets(), /*if_any=*/ValueRange(), outs, op.getRaggedAttr(),
      builder.getDenseI64ArrayAttr({1}), op.getBlockSizeAttr(),
      op.getSpreadsAttr(), /*square=*/UnitAttr(), /*amax=*/UnitAttr(),
      /*concat=*/UnitAttr(), /*dequantized=*/ArrayAttr(),
      /*scale_rounding=*/ScaleRoundingAttr(),
      /*prologueCount=*/0);
  quantize->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return quantize;
}

/// Returns `scales` in the type of `out`, which differs only in its layout.
static Value relayout(OpBuilder &builder, Location loc, Value scales,
                      Value out) {
  if (scales.getType() == out.getType())
    return scales;
  return RelayoutOp::create(builder, loc, out.getType(), scales,
                            /*offsets=*/Value(), out, RaggedKindAttr())
      .getResult(0);
}

/// Creates row-major scales for elements of the given sizes.
static Value makeRowMajor(OpBuilder &builder, FoldOp op,
                          ArrayRef<OpFoldResult> sizes, int64_t blockSize) {
  SmallVector<OpFoldResult> shape(sizes);
  shape.back() = blockSize == BlockFormat::kWhole
                     ? builder.getIndexAttr(1)
                     : compute<arith::DivUIOp>(builder, op.getLoc(),
                                               shape.back(), blockSize);
  return tensor::EmptyOp::create(builder, op.getLoc(), shape,
                                 getElementTypeOrSelf(op.getScales()));
}

/// Folds a batch as a matrix of all rows, because prologues and kernels for
/// whole rows support no batches.
static void expandBatch(RewriterBase &rewriter, FoldOp op) {
  Location loc = op.getLoc();
  int64_t rank = op.getInput().getType().getRank();
  ReassociationIndices rows = llvm::to_vector(llvm::seq<int64_t>(0, rank - 1));
  SmallVector<ReassociationIndices> groups = {rows, {rank - 1}};
  auto collapse = [&](Value tensor) -> Value {
    return tensor::CollapseShapeOp::create(rewriter, loc, tensor, groups);
  };
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, op.getInput());
  Value scales =
      relayout(rewriter, loc, op.getScales(),
               makeRowMajor(rewriter, op, sizes, kPowerOfTwoBlockSize));
  Value wide = makeRowMajor(rewriter, op, sizes, op.getBlockSize());
  SmallVector<Value> outs(op.getOuts());
  outs[1] = wide;
  for (Value &out : outs)
    out = collapse(out);
  FusedQuantizeOp flat =
      requantize(rewriter, op, collapse(op.getInput()), collapse(scales), outs);
  auto expand = [&](Value result, Value like) -> Value {
    return tensor::ExpandShapeOp::create(
        rewriter, loc, like.getType(), result, groups,
        tensor::getMixedSizes(rewriter, loc, like));
  };
  SmallVector<Value> results = {expand(flat.getResult(0), op.getOuts()[0]),
                                relayout(rewriter, loc,
                                         expand(flat.getResult(1), wide),
                                         op.getOuts()[1])};
  if (op.getSpreads())
    results.push_back(expand(flat.getResult(2), op.getOuts()[2]));
  rewriter.replaceOp(op, results);
}

void FoldOp::expand(RewriterBase &rewriter) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(*this);
  if (getInput().getType().getRank() > 2)
    return expandBatch(rewriter, *this);
  rewriter.replaceOp(
      *this, requantize(rewriter, *this, getInput(), getScales(), getOuts()));
}

void mx::generalizeQuantizations(Operation *root) {
  IRRewriter rewriter(root->getContext());
  root->walk([&](QuantizeOp op) { op.generalize(rewriter); });
  root->walk([&](FoldOp op) { op.expand(rewriter); });
}
