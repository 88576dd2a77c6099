//===- AccumulatorLowering.cpp - Accumulators to registers ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A thread reads its row of the tile, some consecutive columns at a time.
//
//===----------------------------------------------------------------------===//

#include "../Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Target/MmaShapes.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace {

/// The lanes of a warp are those of its number modulo 4 (PTX ISA, tcgen05
/// access restrictions); the role starts at such a warp.
struct LoadAccumulatorLowering final : OpConversionPattern<LoadAccumulatorOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(LoadAccumulatorOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    auto type = cast<VectorType>(getTypeConverter()->convertType(op.getType()));
    Value column = adaptor.getBuffer();
    Value warp = builder.warpInCta();
    Value quarter = arith::AndIOp::create(
        builder, warp, builder.i32(mx::target::kWarpGroupWarps - 1));
    Value lane = builder.mul(quarter, builder.i32(mx::target::kWarpSize));
    Value start = builder.add(column, builder.toI32(adaptor.getColumn()));
    Value address = builder.add(
        start, arith::ShLIOp::create(builder, lane,
                                     builder.i32(mx::target::kTmemLaneShift)));
    auto load = [&] {
      Value words = builder.loadTensorMemory(address, type.getNumElements());
      return arith::BitcastOp::create(builder, type, words).getResult();
    };
    if (!adaptor.getEmpty()) {
      rewriter.replaceOp(op, load());
      return success();
    }
    // Tensor memory that was never written is not read. All warps of the role
    // take the same way, since they have the same unit of work.
    auto ifOp =
        scf::IfOp::create(builder, type, adaptor.getEmpty(), /*withElse=*/true);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(type));
    scf::YieldOp::create(builder, zero);
    builder.setInsertionPointToStart(ifOp.elseBlock());
    Value loaded = load();
    scf::YieldOp::create(builder, loaded);
    rewriter.replaceOp(op, ifOp.getResults());
    return success();
  }
};

/// The shared columns are the last of stage 0 and the first of stage 1: of
/// their last part, and of their first.
struct EpilogueColumnLowering final : OpConversionPattern<EpilogueColumnOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(EpilogueColumnOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    RingType ring = op.getStage().getType().getRing();
    Value place = builder.add(adaptor.getPlace(),
                              builder.index(op.getB() * op.getWidth()));
    Value isFirst = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                          adaptor.getStage(), builder.i32(0));
    auto inFirst = [&](int64_t shift) -> Value {
      Value shiftInSlot = arith::SelectOp::create(
          builder, isFirst, builder.index(shift), builder.index(0));
      return builder.add(place, shiftInSlot);
    };
    int64_t toShared = op.getWidth() - ring.getOverlap();
    int64_t toRest = -ring.getOverlap();
    if (op.isShared() || op.isRest()) {
      rewriter.replaceOp(op, inFirst(op.isShared() ? toShared : toRest));
      return success();
    }
    Value isShared =
        builder.isBelow(adaptor.getPlace(), builder.index(ring.getOverlap()));
    rewriter.replaceOpWithNewOp<arith::SelectOp>(
        op, isShared, inFirst(toShared), inFirst(toRest));
    return success();
  }
};

} // namespace

void mx::mxgpu::populateAccumulatorPatterns(RewritePatternSet &patterns,
                                            const TypeConverter &converter) {
  patterns.add<EpilogueColumnLowering, LoadAccumulatorLowering>(
      converter, patterns.getContext());
}
