//===- FuseFakeQuantize.cpp - Fusion of dequantization into quantization --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If mx.dequantize is the only user of elements and scales, the quantization
// writes the dequantized values instead. Destinations are fused independently:
// a quantization may write dequantized values along one axis, and elements and
// scales along the other. The operands of a new destination (a tensor and, for
// NVFP4, a factor) move before the quantization.
//===----------------------------------------------------------------------===//

#include "FusePrologues.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mx/Dialect/MX/Transforms/Passes.h"

using namespace mlir;
using namespace mx;
using namespace mx::detail;

namespace mx {
#define GEN_PASS_DEF_MXFUSEFAKEQUANTIZE
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

/// For each destination, the dequantization that reads it, or null if the
/// destination is not fused.
using Readers = SmallVector<DequantizeOp>;

/// Replaces tensor.dim of results by tensor.dim of destinations, because
/// operands that move before the quantization must not depend on the results.
static void readSizesOfOuts(IRRewriter &rewriter, FusedQuantizeOp op) {
  for (auto [result, out] : llvm::zip_equal(op->getResults(), op.getOuts()))
    for (Operation *user : llvm::make_early_inc_range(result.getUsers()))
      if (auto dim = dyn_cast<tensor::DimOp>(user))
        rewriter.modifyOpInPlace(dim, [&] { dim.getSourceMutable().set(out); });
}

/// Returns true if the dequantization writes all rows that the quantization
/// writes. For ragged rows both must have the same expert groups. A ragged
/// reduction must be dequantized as a matrix or in padded segments.
static bool keepsExperts(DequantizeOp reader, FusedQuantizeOp op,
                         unsigned index) {
  if (op.getRaggedOfAxis(op.getAxis(index)) == RaggedKind::Rows)
    return reader.getOffsets() == op.getOffsets();
  return !reader.getOffsets() || reader.getPadded();
}

/// Returns the only reader of a destination if it is an mx.dequantize.
static DequantizeOp findReader(FusedQuantizeOp op, unsigned index) {
  const BlockFormat &format =
      getBlockFormat(op.getScaleType(index), op.getBlockSize());
  Value elements = op->getResult(op.getElementsNumber(index));
  Value scales = op->getResult(op.getScalesNumber(index));
  if (!elements.hasOneUse() || !scales.hasOneUse())
    return {};
  auto reader = dyn_cast<DequantizeOp>(*elements.user_begin());
  if (!reader || op.getSpreads() || reader.getInput() != elements ||
      reader.getScales() != scales || !keepsExperts(reader, op, index) ||
      reader.getBlockSize() != op.getBlockSize() ||
      // The attribute `dequantized` lists no scale types, so formats with a
      // custom codec for scales or with several rows are not supported.
      format.codec || format.blockRows > 1 ||
      reader->getBlock() != op->getBlock())
    return {};
  return reader;
}

/// Moves the outs tensor and the factor of `reader` before `op`.
static LogicalResult moveDestination(IRRewriter &rewriter, FusedQuantizeOp op,
                                     DequantizeOp reader) {
  SmallVector<Value> needed = {reader.getOuts()[0]};
  if (Value factor = reader.getGlobalScale())
    needed.push_back(factor);
  DominanceInfo dominance(op->getParentOp());
  return moveValueDefinitions(rewriter, needed, op, dominance);
}

static bool isAny(const Readers &readers) {
  return llvm::any_of(readers,
                      [](DequantizeOp reader) { return bool(reader); });
}

/// Returns the number of bits per tile element, added over all quantized and
/// written values. 6-bit elements are stored as bytes.
static int64_t getTileBits(FusedQuantizeOp op, const Readers &readers) {
  int64_t written = 0;
  for (unsigned i = 0; i < readers.size(); ++i) {
    DequantizeOp reader = readers[i];
    Value out = reader ? reader.getOuts()[0] : op.getElements(i);
    int64_t bits = getElementTypeOrSelf(out).getIntOrFloatBitWidth();
    written += bits == 6 ? 8 : bits;
  }
  return getValueBits(op) + op.getNumConcatenated() * written;
}

/// Returns true if the kernel needs no tile, because it copies rows from
/// registers to memory. With expert groups, all destinations must be
/// dequantized, and there must be no amax, because an amax must skip rows
/// outside all groups.
static bool isAlongRows(FusedQuantizeOp op, const Readers &readers) {
  return op.getAxes() == ArrayRef<int64_t>{1} && !op.getSquare() &&
         (!op.getOffsets() ||
          (!op.getAmax() && !llvm::is_contained(readers, DequantizeOp())));
}

static Readers findReaders(IRRewriter &rewriter, FusedQuantizeOp op,
                           int64_t tileBits) {
  Readers readers(op.getNumDestinations());
  // Either all readers have a factor, or no reader has a factor.
  std::optional<bool> hasFactors;
  for (unsigned i = 0; i < readers.size(); ++i) {
    DequantizeOp reader = findReader(op, i);
    if (!reader)
      continue;
    bool hasFactor = bool(reader.getGlobalScale());
    if (hasFactors.value_or(hasFactor) != hasFactor ||
        failed(moveDestination(rewriter, op, reader)))
      continue;
    hasFactors = hasFactor;
    readers[i] = reader;
  }
  bool hasRoom = !tileBits || isAlongRows(op, readers) ||
                 getTileBits(op, readers) <= tileBits;
  return hasRoom ? readers : Readers();
}

static void fuse(IRRewriter &rewriter, FusedQuantizeOp op,
                 const Readers &readers) {
  SmallVector<Value> outs, factors;
  SmallVector<Type> types(readers.size());
  for (unsigned i = 0; i < readers.size(); ++i) {
    DequantizeOp reader = readers[i];
    if (!reader) {
      llvm::append_range(outs, op.getDestination(i));
      continue;
    }
    types[i] = op.getElementType(i);
    outs.push_back(reader.getOuts()[0]);
    if (Value factor = reader.getGlobalScale())
      factors.push_back(factor);
  }
  llvm::append_range(outs, op.getAmaxOuts());
  rewriter.setInsertionPoint(op);
  FusedQuantizeOp fused = op.createAlike(
      rewriter, op.getLoc(), op.getInputs(), op.getInputScales(), op.getAxes(),
      outs, op.getAmax(), /*hasPrologue=*/!op.getPrologue().empty());
  fused.setDequantizedTypes(types, factors);
  if (op.getPrologueBlock())
    fused.getPrologue().front().takeBody(op.getPrologue().front());
  for (unsigned i = 0; i < readers.size(); ++i) {
    ResultRange results = fused.getDestinationResults(i);
    if (DequantizeOp reader = readers[i])
      rewriter.replaceOp(reader, results);
    else
      rewriter.replaceAllUsesWith(op.getDestinationResults(i), results);
  }
  rewriter.replaceAllUsesWith(op.getAmaxResults(), fused.getAmaxResults());
  llvm::SetVector<Operation *> unused = getDefiningOps(op.getOuts());
  rewriter.eraseOp(op);
  eraseUnused(rewriter, std::move(unused));
}

namespace {
struct FuseFakeQuantize final
    : mx::impl::MXFuseFakeQuantizeBase<FuseFakeQuantize> {
  using MXFuseFakeQuantizeBase::MXFuseFakeQuantizeBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<FusedQuantizeOp> ops;
    getOperation()->walk([&](FusedQuantizeOp op) {
      if (op.getNumResults() && !op.getDequantized())
        ops.push_back(op);
    });
    for (FusedQuantizeOp op : ops) {
      readSizesOfOuts(rewriter, op);
      Readers readers = findReaders(rewriter, op, tileBits);
      if (isAny(readers))
        fuse(rewriter, op, readers);
    }
  }
};
} // namespace
