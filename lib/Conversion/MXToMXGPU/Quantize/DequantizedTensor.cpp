//===- DequantizedTensor.cpp - Tensors to dequantize in kernels -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DequantizedTensor.h"
#include "../Builder/HostChecks.h"
#include "QuantizeChecks.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Support/OperandOrders.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Number of pieces that a thread loads at once if a tile may lack rows.
static constexpr int64_t kPieces = 4;

void DequantizedTensor::checkSizes() {
  requireExperts(host, operands.offsets);
  Value input = operands.input, scales = operands.scales, out = operands.out;
  for (int64_t dim = 0; dim < batch + 2; ++dim)
    requireSize(host, host.dim(input, dim), host.dim(out, dim),
                "dimension " + Twine(dim) + " of input");
  Value rows = host.dim(out, batch), columns = host.dim(out, batch + 1);
  requireMultiple(host, columns,
                  dividesColumns()    ? kRaggedReductionAlign
                  : operands.permuted ? operands.permuted
                                      : getKernelMultiple(operands.blockSize),
                  "dimension " + Twine(batch + 1) + " of input");
  if (scales) {
    for (int64_t dim = 0; dim < batch; ++dim)
      requireSize(host, host.dim(scales, dim), host.dim(out, dim),
                  "dimension " + Twine(dim) + " of scales");
    Value rowTiles;
    if (dividesRows())
      rowTiles = host.packedTiles(rows, kScaleTileRows, operands.offsets);
    requireScaleSizes(host, scales, rows, columns, operands.blockSize, rowTiles,
                      "scales", batch);
  }
  auto type = cast<MemRefType>(input.getType());
  if (!type.getLayout().isIdentity())
    requireRows(host, input, schedule.getVector(), kLoadBytes, "the input");
}

Value DequantizedTensor::getBatchSize() {
  Value size = host.dim(operands.input, 0);
  for (int64_t dim = 1; dim < batch; ++dim)
    size = host.mul(size, host.dim(operands.input, dim));
  return size;
}

Value DequantizedTensor::getRowTiles() {
  Value rows = host.dim(operands.out, batch);
  if (dividesRows())
    return host.packedTiles(rows, getTileRows(), operands.offsets);
  Value tiles = host.ceilDiv(rows, getTileRows());
  return batch ? host.mul(getBatchSize(), tiles) : tiles;
}

Value DequantizedTensor::getColumnTiles() {
  Value columns = host.dim(operands.out, batch + 1);
  return dividesColumns()
             ? host.packedTiles(columns, getTileColumns(), operands.offsets)
             : host.ceilDiv(columns, getTileColumns());
}

/// Adds the kernel arguments. Batches are collapsed to a single matrix. The
/// tiled scales of each matrix start a new tile, so the kernel also needs the
/// row count of a matrix.
void DequantizedTensor::addArguments(SmallVectorImpl<Value> &arguments) {
  arguments.push_back(
      collapseLeading(host, toBytes(host, operands.input), batch + 1));
  if (operands.scales)
    arguments.push_back(viewScales(host, operands.scales, batch));
  arguments.push_back(collapseLeading(host, operands.out, batch + 1));
  if (Value scale = operands.globalScale)
    arguments.push_back(scale);
  if (Value offsets = operands.offsets)
    arguments.push_back(offsets);
  if (batch)
    llvm::append_values(arguments, host.dim(operands.input, batch),
                        getBatchSize());
}

void DequantizedTensor::takeArguments(Block::args_iterator &next) {
  input = *next++;
  if (operands.scales)
    scales = *next++;
  out = *next++;
  if (operands.globalScale)
    decode = *next++;
  if (operands.offsets)
    offsets = *next++;
  if (batch) {
    rows = *next++;
    batches = *next++;
  }
}

/// Returns the number of rows of a matrix, rounded up to a multiple.
Value DequantizedTensor::roundUpRows(int64_t multiple) {
  return body.mul(body.ceilDiv(batch ? rows : getRows(), multiple),
                  body.index(multiple));
}

Value DequantizedTensor::getWorkRows() {
  if (dividesRows()) // Each group starts a new tile.
    return getRows();
  Value whole = roundUpRows(getTileRows());
  return batch ? body.mul(whole, batches) : whole;
}

/// Returns the raster with exchanged rows and columns. The schedule defines the
/// raster for the tensor.
static RasterAttr transposeRaster(RasterAttr raster) {
  auto get = [&](RasterOrder order) {
    return RasterAttr::get(raster.getContext(), order, raster.getGroup());
  };
  switch (raster.getOrder()) {
  case RasterOrder::Linear:
    return get(RasterOrder::Columns);
  case RasterOrder::Columns:
    return get(RasterOrder::Linear);
  case RasterOrder::GroupM:
  case RasterOrder::Hilbert:
    return raster;
  }
  llvm_unreachable("unknown raster");
}

Value DequantizedTensor::createScheduler(Value workRows) {
  Value rows = workRows, columns = getColumns();
  SmallVector<int64_t> tile = {getTileRows(), getTileColumns()};
  RasterAttr raster = schedule.getRaster();
  if (dividesColumns()) {
    std::swap(rows, columns);
    std::swap(tile[0], tile[1]);
    raster = transposeRaster(raster);
  }
  return TileSchedulerOp::create(body, rows, columns,
                                 /*reduction=*/body.index(0), tile, raster,
                                 /*single=*/true, /*workTiles=*/Value(),
                                 /*counter=*/Value(), offsets);
}

/// Returns the first scale row of a group (docs/reference/Spec.md, Groups).
Value DequantizedTensor::getScaleRow(ForEachWorkTileOp tile) {
  if (!isTiled())
    return tile.getStart();
  Value scaleTile = body.div(tile.getStart(), kScaleTileRows);
  return body.mul(body.add(scaleTile, tile.getGroup()),
                  body.index(kScaleTileRows));
}

/// Returns the first rows of a tile. The matrices of a batch are stacked, and
/// each occupies whole tiles and whole scale tiles.
DequantizedTensor::TileRows
DequantizedTensor::getTileRows(ForEachWorkTileOp tile, Value row) {
  if (dividesRows())
    return {tile.getStart(), getScaleRow(tile), tile.getEnd(), Value()};
  if (!batches)
    return {row, row, Value(), Value()};
  Value padded = roundUpRows(getTileRows());
  Value matrix = arith::DivUIOp::create(body, row, padded);
  Value inMatrix = arith::RemUIOp::create(body, row, padded);
  Value first = body.mul(matrix, rows);
  Value elements = body.add(first, inMatrix), scaleRow = elements;
  int64_t whole = 1;
  if (scales)
    whole = isTiled() ? kScaleTileRows
                      : getBlockRows(getElementTypeOrSelf(scales),
                                     operands.blockSize);
  if (whole > 1)
    scaleRow = body.add(body.mul(matrix, roundUpRows(whole)), inMatrix);
  Value end = body.add(first, rows), firstBlock;
  if (hasMNMajorScales()) {
    scaleRow = inMatrix;
    firstBlock = body.mul(matrix, body.div(getColumns(), operands.blockSize));
  }
  return {elements, scaleRow, end, firstBlock};
}

/// Returns the column at which the thread that loaded `column` stores its
/// elements from mxgpu.permute_block. If two lanes share a run, the elements of
/// all first lanes precede the elements of all second lanes.
Value DequantizedTensor::getPermutedColumn(Value column) {
  int64_t block = operands.permuted, run = block / kReductionLanes;
  int64_t half = run / 2;
  if (run == schedule.getVector())
    return column;
  Value in = arith::RemUIOp::create(body, column, body.index(block));
  Value lane = body.div(in, run);
  Value isSecond =
      body.div(arith::RemUIOp::create(body, in, body.index(run)), half);
  Value place = body.mul(isSecond, body.index(block / 2));
  place = body.add(place, body.mul(lane, body.index(half)));
  return body.add(arith::SubIOp::create(body, column, in), place);
}

void DequantizedTensor::buildPieces(const TileRows &first,
                                    ArrayRef<int64_t> rows, Value column) {
  int64_t vector = schedule.getVector();
  auto inputType =
      VectorType::get(vector, getElementTypeOrSelf(operands.input.getType()));
  auto outType = VectorType::get(vector, getElementTypeOrSelf(out.getType()));
  Value block = body.div(column, operands.blockSize);
  if (first.block)
    block = body.add(first.block, block);
  struct Piece {
    Value row, codes, scale;
  };
  SmallVector<Piece> pieces;
  for (int64_t i : rows) {
    Value row = body.add(first.elements, i);
    // Move rows past the end of the tile beyond all rows, so they are
    // neither loaded nor stored.
    if (first.end)
      row = arith::SelectOp::create(
          body,
          arith::CmpIOp::create(body, arith::CmpIPredicate::ult, row,
                                first.end),
          row, getRows());
    Value codes = LoadBlockOp::create(body, inputType, input, row, column);
    Value scale;
    if (scales)
      scale = loadScale(body, scales, body.add(first.scales, i), block,
                        operands.blockSize, hasMNMajorScales());
    pieces.push_back({row, codes, scale});
  }
  Value place = operands.permuted ? getPermutedColumn(column) : column;
  for (const Piece &piece : pieces) {
    Value numbers = piece.codes;
    if (piece.scale)
      numbers = DequantizeBlockOp::create(body, outType, piece.codes,
                                          piece.scale, decode);
    if (operands.permuted)
      numbers = PermuteBlockOp::create(body, numbers.getType(), numbers,
                                       operands.permuted / kReductionLanes);
    StoreBlockOp::create(body, numbers, out, piece.row, place);
  }
}

void DequantizedTensor::buildTile(TileThreads threads, ForEachWorkTileOp tile,
                                  Value row) {
  TileRows first = getTileRows(tile, row);
  Value begin = first.elements;
  first.elements = body.add(first.elements, threads.row);
  first.scales = body.add(first.scales, threads.row);
  // The scheduler's rows are the packed columns of the segments.
  Value column = dividesColumns() ? tile.getRow() : tile.getColumn();
  column = body.add(column, threads.column);
  SmallVector<int64_t> rows;
  for (int64_t i = 0; i < getTileRows(); i += threads.step)
    rows.push_back(i);
  int64_t passes = static_cast<int64_t>(rows.size()) / kPieces;
  if (!dividesRows() || passes <= 1)
    return buildPieces(first, rows, column);
  // Skip the missing rows of a group's tile.
  OpBuilder::InsertionGuard guard(body);
  Value present = arith::SubIOp::create(body, first.end, begin);
  auto loop = scf::ForOp::create(
      body, body.index(0),
      arith::MinUIOp::create(body, present, body.index(getTileRows())),
      body.index(kPieces * threads.step));
  body.setInsertionPointToStart(loop.getBody());
  first.elements = body.add(first.elements, loop.getInductionVar());
  first.scales = body.add(first.scales, loop.getInductionVar());
  buildPieces(first, ArrayRef(rows).take_front(kPieces), column);
}
