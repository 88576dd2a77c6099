//===- RoleLowering.cpp - Roles and their loops ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A role is a branch on the warp's number; its loops walk over the CTA's units
// of work and over the reduction.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace {

/// Branches of warps `first_warp` and following; then, if the role is elected,
/// of one thread. The warp meets again behind it: the next instruction may
/// need all its threads.
struct RoleLowering final : KernelPattern<RoleOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(RoleOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getFirstWarp())
      return rewriter.notifyMatchFailure(op, "the role has no warps yet");
    NVVMBuilder builder(op.getLoc(), rewriter);
    Value thread = builder.threadId();
    Value warp = builder.create<arith::ShRUIOp>(thread, builder.i32(5));
    Value relative =
        builder.create<arith::SubIOp>(warp, builder.i32(*op.getFirstWarp()));
    Value isRole = builder.create<arith::CmpIOp>(
        arith::CmpIPredicate::ult, relative, builder.i32(op.getWarps()));
    auto ifOp = builder.create<scf::IfOp>(isRole, /*withElse=*/false);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    if (op.getElected()) {
      auto elected =
          builder.create<scf::IfOp>(builder.electOne(), /*withElse=*/false);
      builder.syncWarp();
      builder.setInsertionPointToStart(elected.thenBlock());
      ifOp = elected;
    }
    for (RingOp ring : kernel.produced.lookup(op))
      if (ring.getType().getConsumer() == Agent::Mma)
        drainRing(builder, ring, kernel.states.lookup({op, ring}));
    rewriter.inlineBlockBefore(&op.getBody().front(), ifOp.thenBlock(),
                               ifOp.thenBlock()->begin());
    rewriter.eraseOp(op);
    return success();
  }
};

/// CTA c visits units c, c + number of CTAs, ...: rows of tiles first.
struct ForEachWorkLowering final : KernelPattern<ForEachWorkOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(ForEachWorkOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto source = op.getWork().getDefiningOp<WorkSourceOp>();
    if (!source)
      return rewriter.notifyMatchFailure(op, "expected a static work source");
    NVVMBuilder builder(op.getLoc(), rewriter);
    Value tileRows = builder.index(source.getTile()[0]);
    Value tileColumns = builder.index(source.getTile()[1]);
    Value rowTiles =
        builder.create<arith::CeilDivUIOp>(source.getRows(), tileRows);
    Value columnTiles =
        builder.create<arith::CeilDivUIOp>(source.getColumns(), tileColumns);
    Value first = toIndex(builder, builder.ctaId());
    Value units = builder.mul(rowTiles, columnTiles);
    Value ctas = toIndex(builder, builder.ctaCount());
    auto loop = builder.create<scf::ForOp>(first, units, ctas);
    builder.setInsertionPointToStart(loop.getBody());
    Value unit = loop.getInductionVar();
    Value row = builder.mul(builder.create<arith::DivUIOp>(unit, columnTiles),
                            tileRows);
    Value column = builder.mul(
        builder.create<arith::RemUIOp>(unit, columnTiles), tileColumns);
    Value zero = builder.index(0);
    rewriter.inlineBlockBefore(
        &op.getBody().front(), loop.getBody()->getTerminator(),
        {/*expert=*/zero, row, column, /*start=*/zero, source.getReduction()});
    rewriter.eraseOp(op);
    return success();
  }

  static Value toIndex(NVVMBuilder &builder, Value value) {
    return builder.create<arith::IndexCastUIOp>(builder.getIndexType(), value);
  }
};

struct ForEachKLowering final : KernelPattern<ForEachKOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(ForEachKOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    Value step = builder.index(op.getStep());
    auto loop =
        builder.create<scf::ForOp>(adaptor.getStart(), adaptor.getEnd(), step);
    builder.setInsertionPointToStart(loop.getBody());
    Value k = loop.getInductionVar();
    Value left = builder.create<arith::SubIOp>(adaptor.getEnd(), k);
    Value extent = builder.create<arith::MinUIOp>(left, step);
    Value first = builder.create<arith::CmpIOp>(arith::CmpIPredicate::eq, k,
                                                adaptor.getStart());
    rewriter.inlineBlockBefore(&op.getBody().front(),
                               loop.getBody()->getTerminator(),
                               {k, extent, first});
    rewriter.eraseOp(op);
    return success();
  }
};

struct ThreadIdLowering final : KernelPattern<ThreadIdOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(ThreadIdOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    RoleOp role = getRole(op);
    if (!role || !role.getFirstWarp())
      return rewriter.notifyMatchFailure(op, "expected a role with warps");
    Value inCta = builder.threadId();
    Value inRole = builder.create<arith::SubIOp>(
        inCta, builder.i32(*role.getFirstWarp() * 32));
    rewriter.replaceOpWithNewOp<arith::IndexCastUIOp>(
        op, builder.getIndexType(), inRole);
    return success();
  }
};

} // namespace

void mx::mxgpu::populateRolePatterns(RewritePatternSet &patterns,
                                     const TypeConverter &converter,
                                     KernelContext &kernel) {
  patterns.add<RoleLowering>(converter, patterns.getContext(), kernel);
}

void mx::mxgpu::populateLoopPatterns(RewritePatternSet &patterns,
                                     const TypeConverter &converter,
                                     KernelContext &kernel) {
  patterns.add<ForEachWorkLowering, ForEachKLowering, ThreadIdLowering>(
      converter, patterns.getContext(), kernel);
}
