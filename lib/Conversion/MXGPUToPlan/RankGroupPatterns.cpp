//===- RankGroupPatterns.cpp - Windows and collectives in plans -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies the rows of this rank to its segment of the window, and then runs the
// collective. A rank group with a single rank needs neither.
//===----------------------------------------------------------------------===//

#include "../Utils/HostCode.h"
#include "Views.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/Shared/ElementBits.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static RankGroupOp findRankGroup(Operation *op, FlatSymbolRefAttr name) {
  return SymbolTable::lookupNearestSymbolFrom<RankGroupOp>(op, name);
}

static int64_t getRowBytes(MemRefType type) {
  int64_t bits = getElementBits(type);
  for (int64_t extent : type.getShape().drop_front())
    bits *= extent;
  return bits / 8;
}

/// Returns the size in bytes of a rank's segment of a window.
static Value getRankBytes(PlanBuilder &builder, RankGroupOp group,
                          MemRefType type) {
  return builder.index(group.getRowsOfRank() * getRowBytes(type));
}

/// Lowers a number of the rank group, which is 0 if there is a single rank.
template <typename Op, typename PlanOp>
static LogicalResult lowerNumber(Op op, OneToN<Op>,
                                 ConversionPatternRewriter &rewriter) {
  if (findRankGroup(op, op.getGroupAttr()).getSize() == 1)
    rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(op, 0);
  else
    rewriter.replaceOpWithNewOp<PlanOp>(op, rewriter.getIndexType(),
                                        op.getGroupAttr());
  return success();
}

static LogicalResult lowerWindow(mx::WindowOp op, OneToN<mx::WindowOp>,
                                 ConversionPatternRewriter &rewriter) {
  PlanBuilder builder(op.getLoc(), rewriter);
  auto type = cast<MemRefType>(op.getType());
  RankGroupOp group = findRankGroup(op, op.getGroupAttr());
  int64_t bytes = group.getRows() * getRowBytes(type);
  Value buffer;
  if (group.getSize() == 1)
    buffer = builder.alloc(builder.index(bytes));
  else
    buffer = mxplan::WindowOp::create(builder,
                                      mxplan::BufferType::get(op.getContext()),
                                      op.getGroup(), bytes);
  // The type is static, so there are no dynamic sizes.
  replaceByBuffer(rewriter, op, buffer, {});
  return success();
}

/// Requires that `found` does not exceed the maximum number of tokens per rank.
/// The CPU path emits the same message.
static void requireTokens(PlanBuilder &builder, RankGroupOp group,
                          Value found) {
  Value most = builder.index(group.getRowsOfRank());
  Value fits =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::ule, found, most);
  RequireOp::create(builder, fits,
                    ("expected at most %lld tokens per rank of group " +
                     group.getSymName() + ", found %lld")
                        .str(),
                    ValueRange{most, found});
}

static LogicalResult lowerBarrier(mx::BarrierOp op, OneToN<mx::BarrierOp>,
                                  ConversionPatternRewriter &rewriter) {
  if (findRankGroup(op, op.getGroupAttr()).getSize() == 1)
    rewriter.eraseOp(op);
  else
    rewriter.replaceOpWithNewOp<mxplan::BarrierOp>(op, op.getGroupAttr());
  return success();
}

static LogicalResult lowerToPeers(mx::ToPeersOp op,
                                  OneToN<mx::ToPeersOp> operands,
                                  ConversionPatternRewriter &rewriter) {
  PlanBuilder builder(op.getLoc(), rewriter);
  RankGroupOp group = findRankGroup(op, op.getGroupAttr());
  auto type = cast<MemRefType>(op.getWindow().getType());
  Value rows = llvm::getSingleElement(operands.getRows());
  requireTokens(builder, group, rows);
  Value rank = mx::RankOp::create(builder, op.getGroup());
  Value offset = builder.mul(rank, getRankBytes(builder, group, type));
  Value window = getView(builder, type, operands.getWindow()).buffer;
  Value slice =
      mxplan::SliceOp::create(builder, window.getType(), window, offset);
  bool isDynamic = cast<MemRefType>(op.getType()).isDynamicDim(0);
  replaceByBuffer(rewriter, op, slice,
                  SmallVector<Value>(isDynamic ? 1 : 0, rows));
  return success();
}

/// Kernels find the windows of peers.
static LogicalResult lowerFromPeers(mx::FromPeersOp op,
                                    OneToN<mx::FromPeersOp> operands,
                                    ConversionPatternRewriter &rewriter) {
  rewriter.replaceOpWithMultiple(op, {operands.getWindow()});
  return success();
}

static LogicalResult lowerAllGather(mx::AllGatherOp op,
                                    OneToN<mx::AllGatherOp> operands,
                                    ConversionPatternRewriter &rewriter) {
  PlanBuilder builder(op.getLoc(), rewriter);
  RankGroupOp group = op.getGroupOp();
  bool isAlone = group.getSize() == 1;
  auto type = cast<MemRefType>(op.getOuts()[0].getType());
  Value window = getView(builder, type, operands.getOuts()[0]).buffer;
  Value rankBytes = getRankBytes(builder, group, type);
  if (op.getInput()) {
    auto inputType = cast<MemRefType>(op.getInput().getType());
    View input = getView(builder, inputType, operands.getInput());
    requireTokens(builder, group, input.sizes[0]);
    Value bytes = builder.mul(input.sizes[0], builder.index(getRowBytes(type)));
    Value offset;
    if (!isAlone)
      offset =
          builder.mul(mxplan::RankOp::create(builder, rewriter.getIndexType(),
                                             op.getGroupAttr()),
                      rankBytes);
    mxplan::CopyOp::create(rewriter, op.getLoc(), input.buffer, window, offset,
                           bytes);
  }
  if (!isAlone)
    mxplan::AllGatherOp::create(rewriter, op.getLoc(), /*token=*/Type(),
                                op.getGroupAttr(), window, rankBytes);
  rewriter.eraseOp(op);
  return success();
}

static LogicalResult lowerAllToAll(mx::AllToAllOp op,
                                   OneToN<mx::AllToAllOp> operands,
                                   ConversionPatternRewriter &rewriter) {
  PlanBuilder builder(op.getLoc(), rewriter);
  RankGroupOp group = op.getGroupOp();
  auto type = cast<MemRefType>(op.getOuts()[0].getType());
  Value window = getView(builder, type, operands.getOuts()[0]).buffer;
  auto inputType = cast<MemRefType>(op.getInput().getType());
  Value input = getView(builder, inputType, operands.getInput()).buffer;
  Value rankBytes = getRankBytes(builder, group, type);
  if (group.getSize() == 1)
    mxplan::CopyOp::create(rewriter, op.getLoc(), input, window,
                           /*offset=*/Value(), rankBytes);
  else
    mxplan::AllToAllOp::create(rewriter, op.getLoc(), /*token=*/Type(),
                               op.getGroupAttr(), input, window, rankBytes);
  rewriter.eraseOp(op);
  return success();
}

void mx::mxgpu::addRankGroupPatterns(const TypeConverter &converter,
                                     RewritePatternSet &patterns) {
  addPatterns<lowerNumber<mx::RankOp, mxplan::RankOp>,
              lowerNumber<mx::PeersOp, mxplan::PeersOp>, lowerWindow,
              lowerBarrier, lowerToPeers, lowerFromPeers, lowerAllGather,
              lowerAllToAll>(converter, patterns);
}
