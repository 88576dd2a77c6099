//===- MatmulHost.cpp - Checks and tensor maps of a matmul ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What happens on the host before the launch: sizes that the verifier could not
// see are compared, and the operands are described to the copy engine.
//
//===----------------------------------------------------------------------===//

#include "MatmulBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static int64_t getRank(Value memref) {
  return cast<MemRefType>(memref.getType()).getRank();
}

/// A batch of matrices as one, whose rows lie one below the other.
static Value stackRows(KernelBuilder &host, Value batch) {
  SmallVector<ReassociationIndices> dims{{0, 1}};
  for (int64_t dim = 2; dim < getRank(batch); ++dim)
    dims.push_back({dim});
  return memref::CollapseShapeOp::create(host, batch, dims);
}

void MatmulBuilder::viewGroups() {
  if (ragged == RaggedKind::Rows) {
    b = stackRows(host, op.getB());
    bScales = stackRows(host, op.getBScales());
    if (op.isMasked()) {
      a = stackRows(host, op.getA());
      aScales = stackRows(host, op.getAScales());
      out = stackRows(host, op.getResultTensor());
      if (isQuantized())
        outScales = stackRows(host, op.getResultScales());
    }
  } else if (ragged == RaggedKind::Reduction) {
    out = stackRows(host, op.getResultTensor());
  }
  if (isQuantized())
    out = toBytes(host, getOut());
}

/// Tiles of scales that groups of rows have: of their matrices, or as many as
/// suffice for any division of the rows.
Value MatmulBuilder::getGroupTiles(Value rows) {
  Value offsets = op.getGroupOffsets();
  if (!op.isMasked())
    return host.packedTiles(rows, kScaleTileRows, offsets);
  return host.mul(host.dim(offsets, 0), host.ceilDiv(rows, kScaleTileRows));
}

/// As many groups everywhere, and sizes of the batch that they have.
void MatmulBuilder::checkGroups() {
  Value groups = host.dim(op.getGroupOffsets(), 0);
  if (op.isMasked()) {
    host.requireSize(host.dim(op.getA(), 0), groups, "dimension 0 of a");
    host.requireSize(host.dim(op.getResultTensor(), 0), groups,
                     "dimension 0 of the result");
    host.requireSize(host.dim(op.getAScales(), 0), groups,
                     "dimension 0 of the scales of a");
  }
  bool byRows = ragged == RaggedKind::Rows;
  host.requireSize(host.dim(byRows ? op.getB() : op.getResultTensor(), 0),
                   groups,
                   byRows ? "dimension 0 of b" : "dimension 0 of the result");
  if (byRows)
    host.requireSize(host.dim(op.getBScales(), 0), groups,
                     "dimension 0 of the scales of b");
  host.requireAtMost(host.dim(getOut(), 0), kMaxExtent, "rows of the result");
}

/// What the verifier could not see in dynamic shapes.
void MatmulBuilder::checkSizes() {
  int64_t bRank = getRank(op.getB()), outRank = getRank(op.getResultTensor());
  // Of masked groups, rows of one of their matrices.
  Value m = host.dim(op.getA(), getRank(op.getA()) - 2);
  Value n = host.dim(op.getB(), bRank - 2), k = host.dim(getA(), 1);
  host.requireAtMost(host.dim(getA(), 0), kMaxExtent, "rows of a");
  host.requireAtMost(host.dim(getB(), 0), kMaxExtent, "rows of b");
  host.requireAtMost(k, kMaxExtent, "columns of a");
  host.requireMultiple(k, product.reductionMultiple, "dimension 1 of a");
  int64_t parts = op.getNumB();
  if (parts > 1) {
    host.requireMultiple(n, parts * kScaleTileRows, "rows of a matrix of b");
    n = host.div(n, parts);
  }
  if (isQuantized())
    host.requireMultiple(n, kQuantizedColumns, "columns of the result");
  auto requireDim = [&](Value tensor, int64_t dim, Value size,
                        const Twine &name) {
    host.requireSize(host.dim(tensor, dim), size,
                     "dimension " + Twine(dim) + " of " + name);
  };
  requireDim(op.getB(), bRank - 1, k, "b");
  if (Value rows = op.getScatterRows())
    requireDim(rows, 0, m, "scatter");
  else
    requireDim(op.getResultTensor(), outRank - 2, m, "the result");
  requireDim(op.getResultTensor(), outRank - 1, n, "the result");
  if (isQuantized())
    requireScaleSizes(host, getOutScales(), m, n, kQuantizedBlock,
                      getGroupTiles(m), "the scales of the result");
  region.requireSizes(host, m, n);
  n = host.dim(op.getB(), bRank - 2);
  if (isGrouped())
    checkGroups();
  // Each group of rows has tiles of its own, and so has its matrix b.
  Value aTiles, bTiles;
  if (ragged == RaggedKind::Rows) {
    Value offsets = op.getGroupOffsets();
    aTiles = getGroupTiles(m);
    bTiles = host.mul(host.dim(offsets, 0), host.ceilDiv(n, kScaleTileRows));
  }
  requireScaleSizes(host, getAScales(), m, k, product.blockSize, aTiles,
                    "the scales of a");
  requireScaleSizes(host, getBScales(), n, k, product.blockSize, bTiles,
                    "the scales of b");
  for (auto [operand, form, name] : {std::tuple(getA(), product.a, "a"),
                                     std::tuple(op.getB(), product.b, "b")})
    requireRows(host, operand, form->rowMultiple, form->alignment, name);
  checkColumns();
}

/// As many units of work as there are, or, of rows of groups, may be.
Value MatmulBuilder::getUnits() {
  // Parts of the reduction lie one below the other in the result.
  Value rows = host.dim(isGrouped() ? getA() : getOut(), 0);
  Value rowTiles = host.ceilDiv(rows, schedule.getTileM());
  if (isGrouped()) {
    Value offsets = op.getGroupOffsets();
    rowTiles = ragged == RaggedKind::Rows
                   // Also enough for masked groups.
                   ? host.packedTiles(rows, schedule.getTileM(), offsets)
                   : host.mul(rowTiles, host.dim(offsets, 0));
    // Without rows there is no map to load them by.
    rowTiles =
        host.mul(rowTiles, arith::MinUIOp::create(host, rows, host.index(1)));
  }
  Value columns =
      host.dim(op.getResultTensor(), getRank(op.getResultTensor()) - 1);
  return host.mul(rowTiles, host.ceilDiv(columns, getTileColumns()));
}

/// A tile that is too narrow for scale tiles to begin at its like must cover
/// the matrix.
void MatmulBuilder::checkColumns() {
  if (schedule.getTileN() >= kScaleTileRows / 2)
    return;
  Value n = host.dim(getOut(), 1), columns = host.index(schedule.getTileN());
  Value fits =
      arith::CmpIOp::create(host, arith::CmpIPredicate::ule, n, columns);
  RequireOp::create(host, fits,
                    "expected at most %lld columns with a tile of as "
                    "many, found %lld",
                    ValueRange{columns, n});
}

/// Boxes fill the field of a stage, panel by panel.
Value MatmulBuilder::encodeOperand(Value operand,
                                   const target::OperandForm &form,
                                   StringRef field, int64_t rows) {
  BufferType buffer = getInput(field);
  auto type = TensorMapType::get(
      op->getContext(), {rows, buffer.getShape().back()},
      buffer.getElementType(), buffer.getSwizzle(), buffer.getPadded());
  if (form.repacked)
    operand = temporaries.emplace_back(packSixBits(host, operand, module));
  return EncodeTensorMapOp::create(host, type, operand);
}

void MatmulBuilder::freeTemporaries() {
  for (Value temporary : temporaries)
    memref::DeallocOp::create(host, temporary);
}

SmallVector<int64_t> MatmulBuilder::getAScaleBox() const {
  return SmallVector<int64_t>(getInput("sfa").getShape());
}

SmallVector<int64_t> MatmulBuilder::getBScaleBox() const {
  SmallVector<int64_t> box(getInput("sfb").getShape());
  if (numB > 1) {
    box[0] /= numB;
    return box;
  }
  if (!schedule.getCtaPair())
    return box;
  // The first half must lie before the second in shared memory.
  for (int64_t &size : box)
    if (size > 1) {
      size /= 2;
      break;
    }
  return box;
}

/// A tile of 32 x 4 x 4 bytes is two rows of 256, the longest that a box can
/// have.
Value MatmulBuilder::encodeScales(Value scales, ArrayRef<int64_t> box) {
  auto source = cast<MemRefType>(scales.getType());
  Value flat = memref::CollapseShapeOp::create(
      host, scales, ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3, 4}});
  SmallVector<int64_t> shape = {source.getDimSize(0), source.getDimSize(1), 2,
                                256};
  SmallVector<OpFoldResult> sizes = {getAsOpFoldResult(host.dim(scales, 0)),
                                     getAsOpFoldResult(host.dim(scales, 1)),
                                     host.getIndexAttr(2),
                                     host.getIndexAttr(256)};
  Value split = memref::ExpandShapeOp::create(
      host, shape, flat, ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3}},
      sizes);
  auto type = TensorMapType::get(op->getContext(), box, source.getElementType(),
                                 Swizzle::None);
  return EncodeTensorMapOp::create(host, type, split);
}

/// The copy engine needs rows and data at multiples of 16 bytes (CUDA Driver
/// API, cuTensorMapEncodeTiled).
Value MatmulBuilder::encodeResult() {
  auto type = cast<MemRefType>(getOut().getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  Value low = arith::RemUIOp::create(
      host, host.mul(host.dim(getOut(), 1), host.index(bytes)), host.index(16));
  auto require = [&](Value rest, const Twine &what, Value found) {
    Value isZero = arith::CmpIOp::create(host, arith::CmpIPredicate::eq, rest,
                                         host.index(0));
    RequireOp::create(
        host, isZero,
        ("expected " + what +
         " at multiples of 16 bytes for epilogue = tma_store, found %lld; pad "
         "the result or take epilogue = direct")
            .str(),
        ValueRange{found});
  };
  if (type.isDynamicDim(1))
    require(low, "rows of the result", low);
  Value data = memref::ExtractAlignedPointerAsIndexOp::create(host, getOut());
  Value rest = arith::RemUIOp::create(host, data, host.index(16));
  require(rest, "the result's data", rest);
  BufferType rows = buffers.staging.getBuffers().front();
  SmallVector<int64_t> box(rows.getShape());
  // The matrix of a group ends before that of the next one.
  bool isBatch = ragged == RaggedKind::Reduction;
  if (isBatch)
    box.insert(box.begin(), 1);
  auto map = TensorMapType::get(op->getContext(), box, rows.getElementType(),
                                rows.getSwizzle());
  return EncodeTensorMapOp::create(host, map,
                                   isBatch ? op.getResultTensor() : getOut());
}
