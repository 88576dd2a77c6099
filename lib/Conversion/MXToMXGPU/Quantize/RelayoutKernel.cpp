//===- RelayoutKernel.cpp - The kernel of mx.relayout ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A thread takes one scale of each of several rows, all of which it loads
// before it uses the first. Rows are counted as those of tiles are.
//
//===----------------------------------------------------------------------===//

#include "TileThreads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Rows and columns of scales that 256 threads take at a time, one each of a
/// row of 32.
static constexpr int64_t kRelayoutTile[] = {kScaleTileRows, 32};
static constexpr int64_t kRelayoutThreads = 256;

/// Scales row by row and those in tiles, of one matrix or of a batch of them,
/// whose dimensions are one.
static bool isMatrix(Value scales, int64_t batch) {
  return cast<MemRefType>(scales.getType()).getRank() == batch + 2;
}

/// Matrices of a batch lie below each other, each with whole tiles. `rows` are
/// those of one of them. What is behind its last row counts as behind all rows,
/// where nothing is read or written.
static Value getMatrixRow(KernelBuilder &body, Value row, Value matrix,
                          Value rows) {
  Value whole =
      body.mul(body.ceilDiv(rows, kScaleTileRows), body.index(kScaleTileRows));
  Value inMatrix = arith::RemUIOp::create(body, row, whole);
  Value first =
      body.mul(arith::DivUIOp::create(body, row, whole).getResult(), rows);
  Value exists =
      arith::CmpIOp::create(body, arith::CmpIPredicate::ult, inMatrix, rows);
  return arith::SelectOp::create(body, exists, body.add(first, inMatrix),
                                 body.dim(matrix, 0));
}

static void buildKernel(KernelOp kernel, RelayoutOp op) {
  KernelBuilder body(op.getLoc(), kernel.getContext());
  Block &entry = kernel.getBody().front();
  body.setInsertionPointToStart(&entry);
  Value input = entry.getArgument(0), out = entry.getArgument(1);
  Type type = getElementTypeOrSelf(out.getType());
  bool isBatch = entry.getNumArguments() > 2, fromMatrix = isMatrix(input, 0);
  Value matrix = fromMatrix ? input : out, tiles = fromMatrix ? out : input;
  Value rows = body.dim(matrix, 0), blocks = body.dim(matrix, 1);
  if (isBatch)
    rows = body.mul(body.dim(tiles, 0), body.index(kScaleTileRows));
  auto threads = forEachTile(
      body, "relayout", rows, blocks, kRelayoutTile, kRelayoutThreads,
      /*vector=*/1, RasterAttr::get(body.getContext(), RasterOrder::Linear, 1));
  struct Piece {
    Value to, scale;
  };
  SmallVector<Piece> pieces;
  for (int64_t i = 0; i < kRelayoutTile[0]; i += threads.step) {
    Value inTiles = body.add(threads.row, i), inMatrix = inTiles;
    if (isBatch)
      inMatrix = getMatrixRow(body, inTiles, matrix, entry.getArgument(2));
    Value from = fromMatrix ? inMatrix : inTiles;
    pieces.push_back(
        {fromMatrix ? inTiles : inMatrix,
         LoadScaleOp::create(body, type, input, from, threads.column)});
  }
  Value end = fromMatrix ? rows : body.dim(matrix, 0);
  for (const Piece &piece : pieces)
    StoreScalesOp::create(body, piece.scale, out, piece.to, threads.column, end,
                          blocks, /*lanes=*/1);
}

/// Fails unless scales are those of matrices, as such or in tiles. Those of one
/// matrix that are read may be a slice.
static LogicalResult verifyForm(RelayoutOp op, Value scales, int64_t batch) {
  auto type = cast<MemRefType>(scales.getType());
  bool mayBeSlice = batch == 0 && scales == op.getInput();
  if (isContiguous(type) || (mayBeSlice && isMatrix(scales, batch)))
    return success();
  return op->emitOpError("expected scales to be contiguous on the GPU, but for "
                         "those of one matrix that are read row by row, found ")
         << type;
}

LogicalResult mx::mxgpu::convertRelayout(RelayoutOp op,
                                         gpu::GPUModuleOp module) {
  Value input = op.getInput(), out = op.getOuts()[0];
  if (op.getOffsets())
    return op.emitOpError("expected no offsets on the GPU, found offsets");
  int64_t rank = cast<MemRefType>(out.getType()).getRank();
  int64_t inputRank = cast<MemRefType>(input.getType()).getRank();
  KernelBuilder host(op.getLoc(), op);
  if (inputRank == rank) { // The layouts are the same.
    if (!isContiguous(cast<MemRefType>(input.getType())) ||
        !isContiguous(cast<MemRefType>(out.getType())))
      return op.emitOpError("expected contiguous scales between equal layouts "
                            "on the GPU, found ")
             << input.getType() << " and " << out.getType();
    for (int64_t i = 0; i < rank; ++i)
      host.requireSize(host.dim(input, i), host.dim(out, i),
                       "dimension " + Twine(i) + " of input");
    memref::CopyOp::create(host, input, out);
    op.erase();
    return success();
  }
  int64_t batch = std::min(inputRank, rank) - 2;
  if (failed(verifyForm(op, input, batch)) ||
      failed(verifyForm(op, out, batch)))
    return failure();
  bool fromMatrix = isMatrix(input, batch);
  Value matrix = fromMatrix ? input : out, tiles = fromMatrix ? out : input;
  for (int64_t dim = 0; dim < batch; ++dim)
    host.requireSize(host.dim(tiles, dim), host.dim(matrix, dim),
                     "dimension " + Twine(dim) + " of scales");
  Value rows = host.dim(matrix, batch), blocks = host.dim(matrix, batch + 1);
  requireScaleSizes(host, tiles, rows, blocks, /*block=*/1,
                    /*rowTiles=*/Value(), "scales", batch);
  SmallVector<Value> arguments = {collapseLeading(host, input, batch + 1),
                                  collapseLeading(host, out, batch + 1)};
  Value rowTiles = host.dim(arguments[fromMatrix], 0);
  if (batch)
    arguments.push_back(rows);
  KernelOp kernel =
      host.kernel(module, "relayout", ValueRange(arguments).getTypes());
  buildKernel(kernel, op);
  Value columnTiles = host.ceilDiv(blocks, kRelayoutTile[1]);
  host.launch(kernel, host.mul(rowTiles, columnTiles), arguments);
  op.erase();
  return success();
}
