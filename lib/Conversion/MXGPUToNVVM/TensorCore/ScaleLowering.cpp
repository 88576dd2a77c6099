//===- ScaleLowering.cpp - Scales in global memory ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Scales lie in a matrix, or in tiles (mx/Support/ScaleLayout.h). Four lanes,
// or groups of lanes, gather those that are adjacent in a tile.
//
//===----------------------------------------------------------------------===//

#include "../../Utils/IntExpr.h"
#include "../Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// In a matrix with any strides, as a slice has them.
static Value getPlaceInMatrix(NVVMBuilder &builder, Value matrix, Value row,
                              Value column) {
  if (cast<MemRefType>(matrix.getType()).getLayout().isIdentity())
    return builder.add(
        builder.mul(row, memref::DimOp::create(builder, matrix, 1)), column);
  auto view = memref::ExtractStridedMetadataOp::create(builder, matrix);
  Value inRow =
      builder.add(builder.mul(column, view.getStrides()[1]), view.getOffset());
  return builder.add(builder.mul(row, view.getStrides()[0]), inRow);
}

namespace {

/// The byte in which a scale lies.
struct ScalePlace {
  Value offset;
  Value exists; // whether the memory has such a byte

  static ScalePlace get(NVVMBuilder &builder, Value scales, Value row,
                        Value block) {
    bool isMatrix = !hasScaleTiles(cast<MemRefType>(scales.getType()));
    Value line = isMatrix ? row : builder.div(row, kScaleTileRows);
    Value inLine = isMatrix ? block : builder.div(block, kScaleTileBlocks);
    Value lines = memref::DimOp::create(builder, scales, 0);
    Value lineSize = memref::DimOp::create(builder, scales, 1);
    Value isLine = builder.isBelow(line, lines);
    Value exists = builder.both(isLine, builder.isBelow(inLine, lineSize));
    if (isMatrix)
      return {getPlaceInMatrix(builder, scales, row, block), exists};
    Value offset = builder.add(builder.mul(line, lineSize), inLine);
    Int inTile = scaleOffsetInTile(Int(builder, row), Int(builder, block));
    return {Int(builder, offset) * kScaleTileBytes + inTile, exists};
  }
};

struct LoadScaleLowering final : OpConversionPattern<LoadScaleOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(LoadScaleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    auto place = ScalePlace::get(builder, op.getSource(), adaptor.getRow(),
                                 adaptor.getBlock());
    Value address = getGlobalAddress(builder, op.getSource(), place.offset);
    auto type = VectorType::get(1, builder.getI8Type());
    auto ifOp = scf::IfOp::create(builder, TypeRange(type), place.exists,
                                  /*withElse=*/true);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(ifOp.thenBlock());
      scf::YieldOp::create(builder, builder.loadGlobal(address, type));
      builder.setInsertionPointToStart(ifOp.elseBlock());
      scf::YieldOp::create(
          builder, arith::ConstantOp::create(builder, builder.getZeroAttr(type))
                       .getResult());
    }
    Value byte = vector::ExtractOp::create(builder, ifOp.getResult(0),
                                           ArrayRef<int64_t>{0});
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), byte);
    return success();
  }
};

struct StoreScalesLowering final : OpConversionPattern<StoreScalesOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(StoreScalesOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    Value byte = arith::BitcastOp::create(builder, builder.getI8Type(),
                                          adaptor.getScale());
    Value isRow = builder.isBelow(adaptor.getRow(), adaptor.getRows());
    Value isBlock = builder.isBelow(adaptor.getBlock(), adaptor.getBlocks());
    Value isScale = builder.both(isRow, isBlock);
    auto place = ScalePlace::get(builder, op.getDest(), adaptor.getRow(),
                                 adaptor.getBlock());
    int64_t lanes = op.getLanes();
    Value stored = byte, isPresent = isScale;
    if (hasScaleTiles(cast<MemRefType>(op.getDest().getType()))) {
      stored = gather(builder, byte, isScale, lanes);
      isPresent = place.exists;
      lanes *= 4;
    }
    Value stores = builder.both(isPresent, builder.isFirstLane(lanes));
    Value address = getGlobalAddress(builder, op.getDest(), place.offset);
    auto ifOp = scf::IfOp::create(builder, stores, /*withElse=*/false);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    LLVM::StoreOp::create(builder, stored, address);
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// The scales of four groups in one word, 0 for those that are none.
  static Value gather(NVVMBuilder &builder, Value byte, Value isScale,
                      int64_t lanes) {
    Value word = arith::ExtUIOp::create(builder, builder.getI32Type(), byte);
    word = arith::SelectOp::create(builder, isScale, word, builder.i32(0));
    Value group = arith::AndIOp::create(
        builder,
        arith::DivUIOp::create(builder, builder.laneId(), builder.i32(lanes)),
        builder.i32(3));
    word = arith::ShLIOp::create(builder, word,
                                 builder.mul(group, builder.i32(8)));
    for (int64_t distance : {lanes, 2 * lanes})
      word = arith::OrIOp::create(builder, word,
                                  builder.shuffleXor(word, distance));
    return word;
  }
};

} // namespace

void mx::mxgpu::populateScalePatterns(RewritePatternSet &patterns,
                                      const TypeConverter &converter) {
  patterns.add<LoadScaleLowering, StoreScalesLowering>(converter,
                                                       patterns.getContext());
}
