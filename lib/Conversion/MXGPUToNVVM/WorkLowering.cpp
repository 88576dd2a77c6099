//===- WorkLowering.cpp - A CTA's units of work ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Every role walks through the same units by itself: it counts them in 32 bits
// and computes the tile of each once. Places in the problem are 64 bits wide.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "Raster.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace {

/// What a role knows about the work before its first unit.
struct Problem {
  WorkSourceOp source;
  Tiles grid;
  Value units;
};

/// Tiles that cover `size`, which is below 2^63.
Value getTiles(NVVMBuilder &builder, Value size, int64_t tile) {
  Value rounded = builder.add(size, builder.index(tile - 1));
  return builder.toI32(
      builder.create<arith::DivUIOp>(rounded, builder.index(tile)));
}

Problem getProblem(NVVMBuilder &builder, WorkSourceOp source) {
  Tiles grid = {getTiles(builder, source.getRows(), source.getTile()[0]),
                getTiles(builder, source.getColumns(), source.getTile()[1])};
  return {source, grid, builder.mul(grid.rows, grid.columns)};
}

/// The arguments of the body that visits `unit`.
SmallVector<Value> getUnit(NVVMBuilder &builder, const Problem &problem,
                           Value unit) {
  WorkSourceOp source = problem.source;
  Tiles tile = buildTile(builder, source.getRaster(), problem.grid, unit);
  auto getFirst = [&](Value number, int64_t size) -> Value {
    Value wide =
        builder.create<arith::IndexCastUIOp>(builder.getIndexType(), number);
    return builder.mul(wide, builder.index(size));
  };
  return {/*slice=*/builder.index(0), getFirst(tile.rows, source.getTile()[0]),
          getFirst(tile.columns, source.getTile()[1]),
          /*start=*/builder.index(0), source.getReduction()};
}

struct ForEachWorkLowering final : KernelPattern<ForEachWorkOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(ForEachWorkOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto source = op.getWork().getDefiningOp<WorkSourceOp>();
    if (!source)
      return rewriter.notifyMatchFailure(op, "expected a work source");
    NVVMBuilder builder(op.getLoc(), rewriter);
    Problem problem = getProblem(builder, source);
    lowerStatic(builder, op, problem, rewriter);
    rewriter.eraseOp(op);
    return success();
  }

  /// CTA c, or pair c, visits units c, c + their number, ... Not scf.for, which compares
  /// with sign: the step behind the last unit may be 2^31 or more.
  static void lowerStatic(NVVMBuilder &builder, ForEachWorkOp op,
                          const Problem &problem,
                          ConversionPatternRewriter &rewriter) {
    bool pair = op->getParentOfType<LLVM::LLVMFuncOp>()->hasAttr(
        NVVM::NVVMDialect::getClusterDimAttrName());
    Value first = pair ? builder.clusterId() : builder.ctaId();
    Value count = pair ? builder.clusterCount() : builder.ctaCount();
    auto loop = builder.create<scf::WhileOp>(
        TypeRange(builder.getI32Type()), ValueRange(first),
        [&](OpBuilder &nested, Location loc, ValueRange unit) {
          Value isUnit = arith::CmpIOp::create(
              nested, loc, arith::CmpIPredicate::ult, unit[0], problem.units);
          scf::ConditionOp::create(nested, loc, isUnit, unit);
        },
        [](OpBuilder &, Location, ValueRange) {});
    Block *body = loop.getAfterBody();
    builder.setInsertionPointToStart(body);
    Value unit = body->getArgument(0);
    SmallVector<Value> arguments = getUnit(builder, problem, unit);
    Value next = builder.add(unit, count);
    auto yield = builder.create<scf::YieldOp>(next);
    rewriter.inlineBlockBefore(&op.getBody().front(), next.getDefiningOp(),
                               arguments);
    (void)yield;
  }
};

} // namespace

void mx::mxgpu::populateWorkPatterns(RewritePatternSet &patterns,
                                     const TypeConverter &converter,
                                     KernelContext &kernel) {
  patterns.add<ForEachWorkLowering>(converter, patterns.getContext(), kernel);
}
