//===- ScaleLowering.cpp - Scales in global memory ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Scales lie in a matrix, or in tiles: (r, c) in tile (r / 128, c / 4) at byte
// (r % 32) * 16 + (r / 32 % 4) * 4 + c % 4 (mx/Support/ScaleLayout.h). Four
// lanes, or groups of lanes, gather those that are adjacent in a tile.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx::mxgpu;

static Value div(NVVMBuilder &builder, Value value, int64_t by) {
  return builder.create<arith::DivUIOp>(value, builder.index(by));
}

static Value rem(NVVMBuilder &builder, Value value, int64_t by) {
  return builder.create<arith::RemUIOp>(value, builder.index(by));
}

namespace {

/// The byte in which a scale lies.
struct ScalePlace {
  Value offset;
  Value exists; // whether the memory has such a byte

  static ScalePlace get(NVVMBuilder &builder, Value scales, Value row,
                        Value block) {
    bool isMatrix = cast<MemRefType>(scales.getType()).getRank() == 2;
    Value line = isMatrix ? row : div(builder, row, 128);
    Value inLine = isMatrix ? block : div(builder, block, 4);
    Value lines = builder.create<memref::DimOp>(scales, 0);
    Value lineSize = builder.create<memref::DimOp>(scales, 1);
    Value isLine = builder.isBelow(line, lines);
    Value exists = builder.both(isLine, builder.isBelow(inLine, lineSize));
    Value offset = builder.add(builder.mul(line, lineSize), inLine);
    if (isMatrix)
      return {offset, exists};
    Value inTile = builder.add(
        builder.mul(rem(builder, row, 32), builder.index(16)),
        builder.mul(rem(builder, div(builder, row, 32), 4), builder.index(4)));
    offset = builder.add(builder.mul(offset, builder.index(512)), inTile);
    return {builder.add(offset, rem(builder, block, 4)), exists};
  }
};

struct LoadScaleLowering final : KernelPattern<LoadScaleOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(LoadScaleOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    auto place = ScalePlace::get(builder, op.getSource(), adaptor.getRow(),
                                 adaptor.getBlock());
    Value address = getGlobalAddress(builder, op.getSource(), place.offset);
    auto type = VectorType::get(1, builder.getI8Type());
    auto ifOp = builder.create<scf::IfOp>(TypeRange(type), place.exists,
                                          /*withElse=*/true);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(ifOp.thenBlock());
      builder.create<scf::YieldOp>(builder.loadGlobal(address, type));
      builder.setInsertionPointToStart(ifOp.elseBlock());
      builder.create<scf::YieldOp>(
          builder.create<arith::ConstantOp>(builder.getZeroAttr(type))
              .getResult());
    }
    Value byte = builder.create<vector::ExtractOp>(ifOp.getResult(0),
                                                   ArrayRef<int64_t>{0});
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), byte);
    return success();
  }
};

struct StoreScalesLowering final : KernelPattern<StoreScalesOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(StoreScalesOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    Value byte = builder.create<arith::BitcastOp>(builder.getI8Type(),
                                                  adaptor.getScale());
    Value isRow = builder.isBelow(adaptor.getRow(), adaptor.getRows());
    Value isBlock = builder.isBelow(adaptor.getBlock(), adaptor.getBlocks());
    Value isScale = builder.both(isRow, isBlock);
    auto place = ScalePlace::get(builder, op.getDest(), adaptor.getRow(),
                                 adaptor.getBlock());
    int64_t lanes = op.getLanes();
    Value stored = byte, isPresent = isScale;
    if (cast<MemRefType>(op.getDest().getType()).getRank() == 5) {
      stored = gather(builder, byte, isScale, lanes);
      isPresent = place.exists;
      lanes *= 4;
    }
    Value stores = builder.both(isPresent, builder.isFirstLane(lanes));
    Value address = getGlobalAddress(builder, op.getDest(), place.offset);
    auto ifOp = builder.create<scf::IfOp>(stores, /*withElse=*/false);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    builder.create<LLVM::StoreOp>(stored, address);
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// The scales of four groups in one word, 0 for those that are none.
  static Value gather(NVVMBuilder &builder, Value byte, Value isScale,
                      int64_t lanes) {
    Value word = builder.create<arith::ExtUIOp>(builder.getI32Type(), byte);
    word = builder.create<arith::SelectOp>(isScale, word, builder.i32(0));
    Value group = builder.create<arith::AndIOp>(
        builder.create<arith::DivUIOp>(builder.laneId(), builder.i32(lanes)),
        builder.i32(3));
    word =
        builder.create<arith::ShLIOp>(word, builder.mul(group, builder.i32(8)));
    for (int64_t distance : {lanes, 2 * lanes})
      word = builder.create<arith::OrIOp>(word,
                                          builder.shuffleXor(word, distance));
    return word;
  }
};

} // namespace

void mx::mxgpu::populateScalePatterns(RewritePatternSet &patterns,
                                      const TypeConverter &converter,
                                      KernelContext &kernel) {
  patterns.add<LoadScaleLowering, StoreScalesLowering>(
      converter, patterns.getContext(), kernel);
}
