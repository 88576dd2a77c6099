//===- WidenBlocks.cpp - Quantizers of folded operands --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Divides quantizers into parts with equal block sizes.
//===----------------------------------------------------------------------===//

#include "../Utils/Tensors.h"
#include "FoldOperands.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mx;

Value mx::makeScales(OpBuilder &builder, Location loc, Value elements,
                     RankedTensorType old, int64_t blockSize, RaggedKind ragged,
                     Value offsets) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, loc, elements);
  int64_t columns = *getConstantIntValue(sizes.back());
  sizes.back() = builder.getIndexAttr(
      blockSize == BlockFormat::kWhole ? 1 : columns / blockSize);
  Attribute layout = old.getEncoding();
  auto rank = static_cast<int64_t>(sizes.size());
  if (isMaterialized(old, rank))
    layout =
        ScaleLayoutAttr::get(builder.getContext(), getLayoutKind(old, rank),
                             ragged, offsets ? getNumExperts(offsets) : 0);
  return makeEmpty(builder, loc, sizes, old.getElementType(), layout);
}

Value mx::makeSpreads(OpBuilder &builder, Location loc, Value elements,
                      int64_t blockSize, int64_t axis) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, loc, elements);
  int64_t columns = *getConstantIntValue(sizes.back());
  sizes.back() = builder.getIndexAttr(
      blockSize == BlockFormat::kWhole ? 1 : columns / blockSize);
  if (!axis)
    std::swap(sizes.back(), sizes[sizes.size() - 2]);
  return makeEmpty(builder, loc, sizes, builder.getI8Type());
}

/// Creates the part of `op` that writes blocks of `blockSize`, if `blocks`
/// contains the block size of each destination. Wide blocks get spreads with
/// `hasSpreads`.
static void createPart(IRRewriter &rewriter, FusedQuantizeOp op,
                       ArrayRef<int64_t> blocks, int64_t blockSize,
                       bool hasSpreads) {
  hasSpreads &= blockSize != kPowerOfTwoBlockSize;
  bool isWhole = llvm::all_equal(blocks);
  SmallVector<int64_t> axes;
  SmallVector<Value> outs, replaced;
  for (auto [i, own] : llvm::enumerate(blocks)) {
    if (own != blockSize)
      continue;
    axes.push_back(op.getAxis(i));
    outs.push_back(op.getElements(i));
    outs.push_back(
        blockSize == static_cast<int64_t>(op.getBlockSize())
            ? op.getScales(i)
            : makeScales(rewriter, op.getLoc(), op.getElements(i),
                         cast<RankedTensorType>(op.getScales(i).getType()),
                         blockSize, op.getRaggedOfAxis(op.getAxis(i)),
                         op.getOffsets()));
    llvm::append_range(replaced, op.getDestinationResults(i));
    if (hasSpreads)
      outs.push_back(makeSpreads(rewriter, op.getLoc(), op.getElements(i),
                                 blockSize, op.getAxis(i)));
  }
  bool hasAmax = op.getAmax() && blockSize == blocks.front();
  if (hasAmax) {
    llvm::append_range(outs, op.getAmaxOuts());
    llvm::append_range(replaced, op.getAmaxResults());
  }
  // Rows that are passed on keep their blocks. A prologue requantizes them.
  bool requantizes = op.isPassedOn() &&
                     blockSize != static_cast<int64_t>(op.getBlockSize()) &&
                     llvm::is_contained(axes, 1);
  auto part = op.createAlike(
      rewriter, op.getLoc(), op.getInputs(), op.getInputScales(),
      isWhole ? op.getAxes() : ArrayRef<int64_t>(axes), outs, hasAmax,
      /*hasPrologue=*/requantizes || op.getPrologueBlock());
  part.setBlockSize(BlockShape(blockSize));
  part.setSpreads(hasSpreads);
  IRMapping mapping;
  if (op.getPrologueBlock())
    op.getPrologue().front().cloneInto(&part.getPrologue().front(), mapping);
  if (requantizes) {
    OpBuilder::InsertionGuard guard(rewriter);
    Type index = rewriter.getIndexType();
    Location loc = op.getLoc();
    Block *block = rewriter.createBlock(&part.getPrologue().front(), {},
                                        {rewriter.getF32Type(), index, index},
                                        {loc, loc, loc});
    YieldOp::create(rewriter, loc, block->getArgument(0));
  }
  SmallVector<Value> results;
  for (unsigned i = 0; i < part.getNumDestinations(); ++i)
    llvm::append_range(results, part.getDestinationResults(i).take_front(2));
  llvm::append_range(results, part.getAmaxResults());
  rewriter.replaceAllUsesWith(replaced, results);
}

void mx::widenBlocks(IRRewriter &rewriter, FusedQuantizeOp op,
                     ArrayRef<int64_t> blocks, bool hasSpreads) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  for (int64_t blockSize :
       llvm::SmallSetVector<int64_t, 2>(llvm::from_range, blocks))
    createPart(rewriter, op, blocks, blockSize, hasSpreads);
  SmallVector<Operation *> outs;
  for (Value out : op.getOuts())
    if (Operation *definition = out.getDefiningOp())
      outs.push_back(definition);
  rewriter.eraseOp(op);
  eraseDead(outs);
}
