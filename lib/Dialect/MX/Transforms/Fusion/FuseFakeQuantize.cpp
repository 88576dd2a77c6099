//===- FuseFakeQuantize.cpp - Round to a format and keep the type ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Elements and scales that mx.dequantize reads, and nothing else, need not be
// stored: the quantization gives the values that they stand for. Each
// destination is for itself, so that one axis may give values and the other
// one elements.
//
// The quantization stays where it is. What a new destination needs, a tensor
// and for NVFP4 a factor, moves before it.
//
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

/// For each destination what dequantizes it, null where bytes are written.
using Readers = SmallVector<DequantizeOp>;

/// Reads sizes of results from the destinations that they are written to, as
/// nothing that moves before the quantization can depend on its results.
static void readSizesOfOuts(IRRewriter &rewriter, FusedQuantizeOp op) {
  for (auto [result, out] : llvm::zip_equal(op->getResults(), op.getOuts()))
    for (Operation *user : llvm::make_early_inc_range(result.getUsers()))
      if (auto dim = dyn_cast<tensor::DimOp>(user))
        rewriter.modifyOpInPlace(dim, [&] { dim.getSourceMutable().set(out); });
}

/// Whether it writes all that a quantizer writes, or leaves out what no group
/// of its own has: rows have the groups of the quantizer; a ragged reduction is
/// dequantized as the matrix that it is, or in segments that stay in place.
static bool keepsExperts(DequantizeOp reader, FusedQuantizeOp op,
                         unsigned index) {
  if (op.getRaggedOfAxis(op.getAxis(index)) == RaggedKind::Rows)
    return reader.getOffsets() == op.getOffsets();
  return !reader.getOffsets() || reader.getPadded();
}

/// What dequantizes a destination if nothing else reads it.
static DequantizeOp findReader(FusedQuantizeOp op, unsigned index) {
  Value elements = op->getResult(op.getElementsNumber(index));
  Value scales = op->getResult(op.getScalesNumber(index));
  if (!elements.hasOneUse() || !scales.hasOneUse())
    return {};
  auto reader = dyn_cast<DequantizeOp>(*elements.user_begin());
  if (!reader || reader.getInput() != elements ||
      reader.getScales() != scales || !keepsExperts(reader, op, index) ||
      reader.getBlockSize() != op.getBlockSize() ||
      // `dequantized` names no scales, so that the table has the format.
      getBlockFormat(op.getScaleType(index), op.getBlockSize()).codec ||
      reader->getBlock() != op->getBlock())
    return {};
  return reader;
}

/// Moves what the results of `reader` are written to, and multiplied by, before
/// `op`.
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

/// Bits that a tile needs for an element of what is quantized and of all that
/// is written. Elements of 6 bits are stored as bytes.
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

/// Whether kernels need no tile: rows go from registers to memory, also those
/// of groups, unless scales have their places or an amax asks which rows count.
static bool isAlongRows(FusedQuantizeOp op, const Readers &readers) {
  return op.getAxes() == ArrayRef<int64_t>{1} && !op.getSquare() &&
         (!op.getOffsets() ||
          (!op.getAmax() && !llvm::is_contained(readers, DequantizeOp())));
}

static Readers findReaders(IRRewriter &rewriter, FusedQuantizeOp op,
                           int64_t tileBits) {
  Readers readers(op.getNumDestinations());
  // All are multiplied by factors of their own, or none is.
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

/// Replaces a quantization and its readers by one operation.
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
