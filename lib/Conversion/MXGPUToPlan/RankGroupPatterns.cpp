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

static LogicalResult lowerRank(mx::RankOp op, OneToN<mx::RankOp>,
                               ConversionPatternRewriter &rewriter) {
  if (findRankGroup(op, op.getGroupAttr()).getSize() == 1)
    rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(op, 0);
  else
    rewriter.replaceOpWithNewOp<mxplan::RankOp>(op, rewriter.getIndexType(),
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
  addPatterns<lowerRank, lowerWindow, lowerAllGather, lowerAllToAll>(converter,
                                                                     patterns);
}
