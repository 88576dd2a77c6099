//===- RoleLowering.cpp - Roles and their loops ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Roles are a chain of branches on the warp's number; WorkLowering.cpp has
// their loop over the units of work, and here is the one over the reduction.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx::mxgpu;

/// The number of registers that this warp runs with from here on.
static void setRegisters(NVVMBuilder &builder, const KernelContext &kernel,
                         int64_t registers) {
  if (registers != kernel.launchedRegisters)
    builder.setRegisters(registers,
                         /*more=*/registers > kernel.launchedRegisters);
}

/// Each way through the chain runs one role, or none: what setmaxnreg changes
/// in one role then holds in no other (ptxas counts along all ways that it
/// sees).
void mx::mxgpu::branchOnRoles(NVVMBuilder &builder, ArrayRef<RoleOp> roles,
                              const KernelContext &kernel) {
  if (roles.empty())
    return;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(roles.back());
  Value warp = builder.warpInCta();
  for (RoleOp role : roles) {
    bool isLast = role == roles.back() && !kernel.launchedRegisters;
    Value relative =
        arith::SubIOp::create(builder, warp, builder.i32(*role.getFirstWarp()));
    Value isRole = builder.isBelow(relative, builder.i32(role.getWarps()));
    auto ifOp = scf::IfOp::create(builder, isRole, /*withElse=*/!isLast);
    role->moveBefore(ifOp.thenYield());
    if (!isLast)
      builder.setInsertionPointToStart(ifOp.elseBlock());
  }
  // Warps without a role belong to a warpgroup too.
  if (kernel.launchedRegisters)
    setRegisters(builder, kernel, *RoleOp(roles.back()).getRegisters());
}

namespace {

/// What the warps of a role do, or one thread of them if it is elected. The
/// warp meets again behind it: the next instruction may need all its threads.
struct RoleLowering final : KernelPattern<RoleOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(RoleOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.getFirstWarp())
      return rewriter.notifyMatchFailure(op, "the role has no warps yet");
    NVVMBuilder builder(op.getLoc(), rewriter);
    // All warps of a warpgroup, whatever their roles.
    if (kernel.launchedRegisters)
      setRegisters(builder, kernel, *op.getRegisters());
    if (op.getOnLeader()) {
      auto leader =
          scf::IfOp::create(builder, builder.isLeader(), /*withElse=*/false);
      builder.setInsertionPointToStart(leader.thenBlock());
    }
    if (op.getElected()) {
      auto elected =
          scf::IfOp::create(builder, builder.electOne(), /*withElse=*/false);
      builder.syncWarp();
      builder.setInsertionPointToStart(elected.thenBlock());
    }
    rewriter.inlineBlockBefore(&op.getBody().front(),
                               builder.getInsertionBlock(),
                               builder.getInsertionPoint());
    for (RingOp ring : kernel.produced.lookup(op))
      if (ring.getType().getConsumer() == Agent::Mma)
        drainRing(builder, ring, kernel.states.lookup({op, ring}));
      else if (ring.getType().getConsumer() == Agent::TmaStore)
        drainStores(builder, ring, op);
    rewriter.eraseOp(op);
    return success();
  }
};

struct ForEachKLowering final : KernelPattern<ForEachKOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(ForEachKOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    // Coordinates of bulk copies have 32 bits, so K has no more.
    Value start = builder.toI32(adaptor.getStart());
    Value end = builder.toI32(adaptor.getEnd());
    Value step = builder.i32(op.getStep());
    auto loop =
        scf::ForOp::create(builder, start, end, step, adaptor.getInits());
    // It has a terminator already where it carries nothing.
    if (!adaptor.getInits().empty())
      builder.setInsertionPointToEnd(loop.getBody());
    else
      builder.setInsertionPointToStart(loop.getBody());
    Value k = loop.getInductionVar();
    Value left = arith::SubIOp::create(builder, end, k);
    Value extent = arith::MinUIOp::create(builder, left, step);
    Value first =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, k, start);
    auto toIndex = [&](Value value) -> Value {
      return arith::IndexCastUIOp::create(builder, builder.getIndexType(),
                                          value);
    };
    SmallVector<Value> arguments = {toIndex(k), toIndex(extent), first};
    llvm::append_range(arguments, loop.getRegionIterArgs());
    mx::mxgpu::YieldOp yield = op.getYield();
    if (adaptor.getInits().empty()) {
      rewriter.inlineBlockBefore(&op.getBody().front(),
                                 loop.getBody()->getTerminator(), arguments);
      rewriter.eraseOp(yield);
    } else {
      rewriter.mergeBlocks(&op.getBody().front(), loop.getBody(), arguments);
    }
    rewriter.replaceOp(op, loop.getResults());
    return success();
  }
};

struct YieldLowering final : KernelPattern<mx::mxgpu::YieldOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(mx::mxgpu::YieldOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<scf::YieldOp>(op, adaptor.getValues());
    return success();
  }
};

struct CtaRankLowering final : KernelPattern<CtaRankOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(CtaRankOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder builder(op.getLoc(), rewriter);
    rewriter.replaceOpWithNewOp<arith::IndexCastUIOp>(
        op, builder.getIndexType(), builder.ctaRank());
    return success();
  }
};

struct WaitDependenciesLowering final : KernelPattern<WaitDependenciesOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(WaitDependenciesOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder(op.getLoc(), rewriter).waitForGrids();
    rewriter.eraseOp(op);
    return success();
  }
};

struct LaunchDependentsLowering final : KernelPattern<LaunchDependentsOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(LaunchDependentsOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVMBuilder(op.getLoc(), rewriter).launchDependentGrids();
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
    Value inRole = arith::SubIOp::create(
        builder, inCta, builder.i32(*role.getFirstWarp() * 32));
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
  patterns.add<CtaRankLowering, YieldLowering, ForEachKLowering, LaunchDependentsLowering,
               ThreadIdLowering, WaitDependenciesLowering>(
      converter, patterns.getContext(), kernel);
}
