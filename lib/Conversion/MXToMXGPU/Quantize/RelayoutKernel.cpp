//===- RelayoutKernel.cpp - Kernel of mx.relayout -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each thread first loads and then stores a scale in each of several rows.
//===----------------------------------------------------------------------===//

#include "../Builder/Elementwise.h"
#include "../Builder/HostChecks.h"
#include "../Builder/KernelBuilder.h"
#include "../Conversions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Rows and columns of scales moved by 256 threads (32 threads per row).
static constexpr int64_t kRelayoutTile[] = {kScaleTileRows, 32};
static constexpr int64_t kRelayoutThreads = 256;

namespace {

/// Converts between row-major scales and another layout. Row-major batches are
/// collapsed to a single matrix. The tiled scales of each matrix start a new
/// tile.
struct Relayout {
  RelayoutOp op;
  bool fromMatrix, isMNMajor;
  /// Number of leading dimensions.
  int64_t batch;

  void buildKernel(KernelOp kernel);
};

} // namespace

void Relayout::buildKernel(KernelOp kernel) {
  KernelBuilder body(op.getLoc(), kernel.getContext());
  Block &entry = kernel.getBody().front();
  body.setInsertionPointToStart(&entry);
  Value input = entry.getArgument(0), out = entry.getArgument(1);
  Type type = getElementTypeOrSelf(out.getType());
  Value matrix = fromMatrix ? input : out, tiles = fromMatrix ? out : input;
  Value rows = body.dim(matrix, 0), blocks = body.dim(matrix, 1);
  Value rowsInTiles = rows, matrixRows, paddedRows;
  if (batch) {
    matrixRows = entry.getArgument(2);
    paddedRows = body.mul(body.ceilDiv(matrixRows, kScaleTileRows),
                          body.index(kScaleTileRows));
    rowsInTiles =
        body.mul(isMNMajor ? body.div(rows, matrixRows) : body.dim(tiles, 0),
                 isMNMajor ? paddedRows : body.index(kScaleTileRows));
  } else if (isMNMajor) { // also writes the padding
    rowsInTiles = body.dim(tiles, 1);
  }
  auto threads = forEachTile(
      body, "relayout", rowsInTiles, blocks, kRelayoutTile, kRelayoutThreads,
      /*vector=*/1, RasterAttr::get(body.getContext(), RasterOrder::Linear, 1));
  // The row of the first piece determines the matrix, because a tile never
  // spans two matrices.
  Value first, inMatrix = threads.row, firstBlock = body.index(0);
  if (batch) {
    Value number = body.div(threads.row, paddedRows);
    first = body.mul(number, matrixRows);
    inMatrix = body.rem(threads.row, paddedRows);
    firstBlock = body.mul(number, blocks);
  }
  // Move rows past the end of their matrix beyond all rows.
  auto getRowOfMatrix = [&](Value rowInTiles, int64_t i) -> Value {
    if (!batch)
      return rowInTiles;
    Value row = body.add(inMatrix, i);
    Value exists = body.isBelow(row, matrixRows);
    return body.select(exists, body.add(first, row), rows);
  };
  // In layout mn_major, moves columns past the last block beyond all blocks.
  using Place = std::pair<Value, Value>;
  auto getPlaceInTiles = [&](Value rowInTiles, int64_t i) -> Place {
    if (!isMNMajor)
      return {rowInTiles, threads.column};
    Value exists = body.isBelow(threads.column, blocks);
    return {body.select(exists, body.add(firstBlock, threads.column),
                        body.dim(tiles, 0)),
            body.add(inMatrix, i)};
  };
  struct Piece {
    Place to;
    Value scale;
  };
  SmallVector<Piece> pieces;
  for (int64_t i = 0; i < kRelayoutTile[0]; i += threads.step) {
    Value row = body.add(threads.row, i);
    Place to = getPlaceInTiles(row, i),
          from = {getRowOfMatrix(row, i), threads.column};
    if (!fromMatrix)
      std::swap(to, from);
    pieces.push_back(
        {to, LoadScaleOp::create(body, type, input, from.first, from.second)});
  }
  Place end = {fromMatrix ? rowsInTiles : rows, blocks};
  if (fromMatrix && isMNMajor)
    end = {body.dim(out, 0), body.dim(out, 1)};
  for (const Piece &piece : pieces)
    StoreScalesOp::create(body, piece.scale, out, piece.to.first,
                          piece.to.second, end.first, end.second, /*lanes=*/1);
}

/// Fails unless scales are contiguous matrices or tiles. The row-major input
/// scales of a single matrix may be strided.
static LogicalResult verifyForm(RelayoutOp op, Value scales, int64_t batch) {
  auto type = cast<MemRefType>(scales.getType());
  bool mayBeSlice = batch == 0 && scales == op.getInput();
  if (isContiguous(type) || (mayBeSlice && type.getRank() == 2))
    return success();
  return op->emitOpError("expected contiguous scales on the GPU, except for "
                         "row-major input scales of a single matrix, found ")
         << type;
}

LogicalResult mx::mxgpu::convertRelayout(RelayoutOp op,
                                         gpu::GPUModuleOp module) {
  Value input = op.getInput(), out = op.getOuts()[0];
  if (op.getOffsets())
    return op.emitOpError("expected no offsets on the GPU, found offsets");
  KernelBuilder host(op.getLoc(), op);
  int64_t inputRank = cast<MemRefType>(input.getType()).getRank();
  int64_t rank = cast<MemRefType>(out.getType()).getRank();
  if (inputRank == rank) { // equal layouts
    if (!isContiguous(cast<MemRefType>(input.getType())) ||
        !isContiguous(cast<MemRefType>(out.getType())))
      return op.emitOpError("expected contiguous scales between equal layouts "
                            "on the GPU, found ")
             << input.getType() << " and " << out.getType();
    for (int64_t i = 0; i < rank; ++i)
      requireSize(host, host.dim(input, i), host.dim(out, i),
                  "dimension " + Twine(i) + " of input");
    memref::CopyOp::create(host, input, out);
    op.erase();
    return success();
  }
  int64_t batch = std::min(inputRank, rank) - 2;
  Relayout relayout{op, inputRank < rank,
                    isMNMajor(inputRank < rank ? out : input, batch), batch};
  if (failed(verifyForm(op, input, batch)) ||
      failed(verifyForm(op, out, batch)))
    return failure();
  Value matrix = relayout.fromMatrix ? input : out;
  Value tiles = relayout.fromMatrix ? out : input;
  for (int64_t i = 0; i < batch; ++i)
    requireSize(host, host.dim(tiles, i), host.dim(matrix, i),
                "dimension " + Twine(i) + " of scales");
  Value rows = host.dim(matrix, batch), blocks = host.dim(matrix, batch + 1);
  requireScaleSizes(host, tiles, rows, blocks, BlockShape(1),
                    /*rowTiles=*/Value(), "scales", batch);
  SmallVector<Value> arguments = {viewScales(host, input, batch),
                                  viewScales(host, out, batch)};
  Value rowTiles = host.ceilDiv(rows, kRelayoutTile[0]);
  if (batch) {
    arguments.push_back(rows);
    for (int64_t i = 0; i < batch; ++i)
      rowTiles = host.mul(rowTiles, host.dim(matrix, i));
  }
  KernelOp kernel =
      host.kernel(module, "relayout", ValueRange(arguments).getTypes());
  relayout.buildKernel(kernel);
  Value columnTiles = host.ceilDiv(blocks, kRelayoutTile[1]);
  host.launch(kernel, host.mul(rowTiles, columnTiles), arguments);
  op.erase();
  return success();
}

Value mx::mxgpu::tileScales(KernelBuilder &host, gpu::GPUModuleOp module,
                            Value scales, Value rows, int64_t blockRows) {
  auto source = cast<MemRefType>(scales.getType());
  Type element = source.getElementType();
  int64_t batch = source.getRank() - 2;
  int64_t inWord = kScaleTileBlocks * 8 / getStoredBits(element);
  Value rowTiles = host.ceilDiv(rows, kScaleTileRows), allTiles = rowTiles;
  if (batch)
    allTiles = host.mul(rowTiles, host.dim(scales, 0));
  Value columnTiles = host.ceilDiv(host.dim(scales, batch + 1), inWord);
  auto type = MemRefType::get({ShapedType::kDynamic, ShapedType::kDynamic,
                               kScaleTileShape[0], kScaleTileShape[1], inWord},
                              element);
  Value tiles =
      memref::AllocOp::create(host, type, ValueRange{allTiles, columnTiles});
  Value words = memref::CollapseShapeOp::create(
      host, tiles, ArrayRef<ReassociationIndices>{{0, 1, 2, 3}, {4}});
  KernelBuilder body(host.getLoc(), host.getContext());
  launchForEachElement(
      host, body, module, "tile_scales",
      host.mul(host.mul(allTiles, columnTiles), kScaleTileRows),
      {collapseLeading(host, scales, batch + 1), words, rowTiles, columnTiles,
       host.dim(scales, batch)},
      [&](Block::BlockArgListType arguments, Value word) {
        Value tile = body.div(word, kScaleTileRows);
        Value inTile = body.rem(word, kScaleTileRows);
        Value rowTile = body.div(tile, arguments[3]);
        Value matrix = body.div(rowTile, arguments[2]);
        // The words of a tile belong to rows 0, 32, 64, 96, 1, 33 and so on.
        Value row = body.mul(body.rem(rowTile, arguments[2]), kScaleTileRows);
        row = body.add(row, body.div(inTile, kScaleTileShape[1]));
        row = body.add(row, body.mul(body.rem(inTile, kScaleTileShape[1]),
                                     kScaleTileShape[0]));
        Value line =
            body.add(body.mul(matrix, arguments[4]), body.div(row, blockRows));
        Value block = body.mul(body.rem(tile, arguments[3]), inWord);
        SmallVector<Value> found;
        for (int64_t i = 0; i < inWord; ++i)
          found.push_back(LoadScaleOp::create(body, element, arguments[0], line,
                                              body.add(block, i)));
        Value vector = vector::FromElementsOp::create(
            body, VectorType::get(inWord, element), found);
        StoreBlockOp::create(body, vector, arguments[1], word, body.index(0));
      });
  return tiles;
}
