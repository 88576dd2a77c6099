//===- DequantizeKernel.cpp - Kernels of mx.dequantize and mx.relayout ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// As quantizers along rows (QuantizeKernel.cpp): threads hold pieces of rows,
// all of which they load before they use the first, and no memory is shared.
// To relayout, a thread takes one scale of each row.
//
//===----------------------------------------------------------------------===//

#include "TileThreads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Dequantize
//===----------------------------------------------------------------------===//

namespace {

/// The kernel in the making.
class DequantizeBuilder {
public:
  DequantizeBuilder(DequantizeOp op, QuantizeScheduleAttr schedule,
                    gpu::GPUModuleOp module)
      : op(op), schedule(schedule), host(op.getLoc(), op),
        body(op.getLoc(), op.getContext()), module(module),
        batch(op.getInput().getType().getRank() - 2) {}

  void checkSizes();
  void build();

private:
  /// Where the tile of a CTA begins among the rows of elements and of scales,
  /// and where its elements end; null if where they all end.
  struct TileRows {
    Value elements, scales, end;
  };

  bool isTiled() {
    return cast<MemRefType>(op.getScales().getType()).getRank() == batch + 5;
  }
  int64_t getTileRows() { return schedule.getTile()[0]; }
  Value getRowTiles();
  Value getBatchSize();
  TileRows getTileRows(ForEachWorkTileOp tile);
  Value getScaleRow(ForEachWorkTileOp tile);
  void buildBody();

  DequantizeOp op;
  QuantizeScheduleAttr schedule;
  KernelBuilder host, body;
  gpu::GPUModuleOp module;
  int64_t batch; ///< dimensions before the matrix
  KernelOp kernel;
  /// In the kernel. Of a batch the rows of a matrix, and how many there are.
  Value input, scales, out, decode, offsets, rows, batches;
};

} // namespace

void DequantizeBuilder::checkSizes() {
  Value input = op.getInput(), scales = op.getScales(), out = op.getOuts()[0];
  for (int64_t dim = 0; dim < batch + 2; ++dim)
    host.requireSize(host.dim(input, dim), host.dim(out, dim),
                     "dimension " + Twine(dim) + " of input");
  for (int64_t dim = 0; dim < batch; ++dim)
    host.requireSize(host.dim(scales, dim), host.dim(out, dim),
                     "dimension " + Twine(dim) + " of scales");
  int64_t block = op.getBlockSize();
  Value rows = host.dim(out, batch), columns = host.dim(out, batch + 1);
  host.requireMultiple(columns, block,
                       "dimension " + Twine(batch + 1) + " of input");
  Value rowTiles;
  if (op.getOffsets())
    rowTiles = host.packedTiles(rows, kScaleTileRows, op.getOffsets());
  requireScaleSizes(host, scales, rows, columns, block, rowTiles, "scales",
                    batch);
  auto type = cast<MemRefType>(input.getType());
  if (!type.getLayout().isIdentity())
    requireRows(host, input, schedule.getVector(), kLoadBytes, "the input");
}

Value DequantizeBuilder::getBatchSize() {
  Value size = host.dim(op.getInput(), 0);
  for (int64_t dim = 1; dim < batch; ++dim)
    size = host.mul(size, host.dim(op.getInput(), dim));
  return size;
}

/// Of all groups, whatever their sizes, or of all matrices.
Value DequantizeBuilder::getRowTiles() {
  Value rows = host.dim(op.getOuts()[0], batch);
  if (op.getOffsets())
    return host.packedTiles(rows, getTileRows(), op.getOffsets());
  Value tiles = host.ceilDiv(rows, getTileRows());
  return batch ? host.mul(getBatchSize(), tiles) : tiles;
}

/// Where the scales of a group's rows lie (docs/Spec.md, Groups).
Value DequantizeBuilder::getScaleRow(ForEachWorkTileOp tile) {
  if (!isTiled())
    return tile.getStart();
  Value scaleTile = body.div(tile.getStart(), kScaleTileRows);
  return body.mul(body.add(scaleTile, tile.getGroup()),
                  body.index(kScaleTileRows));
}

/// The matrices of a batch lie below each other, each with whole tiles, also of
/// scales.
DequantizeBuilder::TileRows
DequantizeBuilder::getTileRows(ForEachWorkTileOp tile) {
  Value row = tile.getRow();
  if (offsets)
    return {tile.getStart(), getScaleRow(tile), tile.getEnd()};
  if (!batches)
    return {row, row, Value()};
  auto pad = [&](int64_t unit) {
    return body.mul(body.ceilDiv(rows, unit), body.index(unit));
  };
  Value padded = pad(getTileRows());
  Value matrix = arith::DivUIOp::create(body, row, padded);
  Value inMatrix = arith::RemUIOp::create(body, row, padded);
  Value first = body.mul(matrix, rows);
  Value elements = body.add(first, inMatrix), scaleRow = elements;
  if (isTiled())
    scaleRow = body.add(body.mul(matrix, pad(kScaleTileRows)), inMatrix);
  return {elements, scaleRow, body.add(first, rows)};
}

void DequantizeBuilder::buildBody() {
  int64_t vector = schedule.getVector();
  auto inputType =
      VectorType::get(vector, getElementTypeOrSelf(op.getInput().getType()));
  Type scaleType = getElementTypeOrSelf(scales.getType());
  auto outType = VectorType::get(vector, getElementTypeOrSelf(out.getType()));
  Value allRows = body.dim(out, 0), columns = body.dim(out, 1);
  Value workRows = allRows;
  if (batches)
    workRows = body.mul(
        body.mul(body.ceilDiv(rows, getTileRows()), body.index(getTileRows())),
        batches);
  Value work = TileSchedulerOp::create(
      body, workRows, columns, schedule.getTile(), schedule.getRaster(),
      /*single=*/true, /*units=*/Value(), /*counter=*/Value(), offsets);
  body.role("dequantize", schedule.getThreads() / target::kWarpSize,
            /*elected=*/false);
  auto threads = TileThreads::get(body, schedule.getThreads(),
                                  schedule.getTile()[1], vector);
  ForEachWorkTileOp tile = body.forEachWorkTile(work);
  TileRows first = getTileRows(tile);
  first.elements = body.add(first.elements, threads.row);
  first.scales = body.add(first.scales, threads.row);
  Value column = body.add(tile.getColumn(), threads.column);
  Value block = body.div(column, op.getBlockSize());
  struct Piece {
    Value row, codes, scale;
  };
  SmallVector<Piece> pieces;
  for (int64_t i = 0; i < getTileRows(); i += threads.step) {
    Value row = body.add(first.elements, i);
    // What is behind the end is as if behind all rows, where nothing is.
    if (first.end)
      row = arith::SelectOp::create(
          body,
          arith::CmpIOp::create(body, arith::CmpIPredicate::ult, row,
                                first.end),
          row, allRows);
    Value codes = LoadBlockOp::create(body, inputType, input, row, column);
    Value scale = LoadScaleOp::create(body, scaleType, scales,
                                      body.add(first.scales, i), block);
    pieces.push_back({row, codes, scale});
  }
  for (const Piece &piece : pieces) {
    Value numbers = DequantizeBlockOp::create(body, outType, piece.codes,
                                              piece.scale, decode);
    StoreBlockOp::create(body, numbers, out, piece.row, column);
  }
}

void DequantizeBuilder::build() {
  // Stacked matrices are one; with scales in tiles each has its own, so that
  // the kernel is told where they begin.
  SmallVector<Value> arguments = {
      collapseLeading(host, toBytes(host, op.getInput()), batch + 1),
      collapseLeading(host, op.getScales(), batch + 1),
      collapseLeading(host, op.getOuts()[0], batch + 1)};
  if (Value scale = op.getGlobalScale())
    arguments.push_back(scale);
  if (Value offsets = op.getOffsets())
    arguments.push_back(offsets);
  if (batch)
    llvm::append_values(arguments, host.dim(op.getInput(), batch),
                        getBatchSize());
  kernel = host.kernel(module, "dequantize", ValueRange(arguments).getTypes());
  kernel.setQuantizeScheduleAttr(schedule);
  kernel.setMinCtas(schedule.getCtas());
  Block &entry = kernel.getBody().front();
  body.setInsertionPointToStart(&entry);
  Block::args_iterator next = entry.args_begin();
  input = *next++;
  scales = *next++;
  out = *next++;
  if (op.getGlobalScale())
    decode = *next++;
  if (op.getOffsets())
    offsets = *next++;
  if (batch) {
    rows = *next++;
    batches = *next++;
  }
  buildBody();
  Value columnTiles =
      host.ceilDiv(host.dim(op.getOuts()[0], batch + 1), schedule.getTile()[1]);
  host.launch(kernel, host.mul(getRowTiles(), columnTiles), arguments);
  op.erase();
}

/// Fails unless operands are matrices, or batches of them, in rows that threads
/// can read.
static LogicalResult verifyForm(DequantizeOp op,
                                QuantizeScheduleAttr schedule) {
  if (op.getRaggedOrNone() == RaggedKind::Reduction)
    return op.emitOpError("expected no ragged reduction on the GPU, found one: "
                          "dequantize it as the matrix that it is, without "
                          "offsets");
  auto input = cast<MemRefType>(op.getInput().getType());
  bool isWhole = input.getLayout().isIdentity();
  if (!isWhole && (input.getRank() != 2 || !mayHaveStride(input)))
    return op.emitOpError("expected the input to be a matrix whose rows are "
                          "contiguous, with 4 and 6 bits and in batches with "
                          "identity layout, on the GPU, found ")
           << input;
  if (!isWhole &&
      failed(verifyRowStride(op, input, schedule.getVector(), "the input")))
    return failure();
  for (auto [value, name] : {std::pair(Value(op.getScales()), "scales"),
                             std::pair(op.getOuts()[0], "the result")})
    if (auto type = cast<MemRefType>(value.getType());
        !type.getLayout().isIdentity())
      return op.emitOpError("expected ")
             << name << " with identity layout on the GPU, found " << type;
  return success();
}

LogicalResult mx::mxgpu::convertDequantize(DequantizeOp op,
                                           gpu::GPUModuleOp module) {
  auto schedule =
      op->getAttrOfType<QuantizeScheduleAttr>(kQuantizeScheduleAttrName);
  if (!schedule)
    schedule = selectDequantizeSchedule(op);
  if (failed(verifyForm(op, schedule)) ||
      failed(verifyRowSchedule(op, op.getBlockSize(), schedule)))
    return failure();
  if (op.getOffsets() && schedule.getTile()[0] != kScaleTileRows)
    return op.emitOpError("expected a tile of ")
           << kScaleTileRows << " rows with groups, each of which has whole "
           << "tiles of scales, found " << schedule.getTile()[0];
  DequantizeBuilder builder(op, schedule, module);
  builder.checkSizes();
  builder.build();
  return success();
}

//===----------------------------------------------------------------------===//
// Relayout
//===----------------------------------------------------------------------===//

/// Rows and columns of scales that 256 threads take at a time, one each of a
/// row of 32.
static constexpr int64_t kRelayoutTile[] = {kScaleTileRows, 32};
static constexpr int64_t kRelayoutThreads = 256;

static void buildKernel(KernelOp kernel, RelayoutOp op) {
  KernelBuilder body(op.getLoc(), kernel.getContext());
  Block &entry = kernel.getBody().front();
  body.setInsertionPointToStart(&entry);
  Value input = entry.getArgument(0), out = entry.getArgument(1);
  Type type = getElementTypeOrSelf(out.getType());
  bool fromMatrix = cast<MemRefType>(input.getType()).getRank() == 2;
  Value matrix = fromMatrix ? input : out;
  Value rows = body.dim(matrix, 0), blocks = body.dim(matrix, 1);
  auto threads = forEachTile(
      body, "relayout", rows, blocks, kRelayoutTile, kRelayoutThreads,
      /*vector=*/1, RasterAttr::get(body.getContext(), RasterOrder::Linear, 1));
  SmallVector<std::pair<Value, Value>> pieces;
  for (int64_t i = 0; i < kRelayoutTile[0]; i += threads.step) {
    Value row = body.add(threads.row, i);
    pieces.push_back(
        {row, LoadScaleOp::create(body, type, input, row, threads.column)});
  }
  for (auto [row, scale] : pieces)
    StoreScalesOp::create(body, scale, out, row, threads.column, rows, blocks,
                          /*lanes=*/1);
}

/// Fails unless scales are those of a matrix, as such or in tiles.
static LogicalResult verifyForm(RelayoutOp op, Value scales) {
  auto type = cast<MemRefType>(scales.getType());
  bool isMatrix = type.getRank() == 2 || type.getRank() == 5;
  if (isMatrix && type.getLayout().isIdentity())
    return success();
  return op->emitOpError("expected scales to be those of a matrix with "
                         "identity layout on the GPU, found ")
         << type;
}

LogicalResult mx::mxgpu::convertRelayout(RelayoutOp op,
                                         gpu::GPUModuleOp module) {
  Value input = op.getInput(), out = op.getOuts()[0];
  if (op.getOffsets())
    return op.emitOpError("expected no offsets on the GPU, found offsets");
  if (failed(verifyForm(op, input)) || failed(verifyForm(op, out)))
    return failure();
  KernelBuilder host(op.getLoc(), op);
  int64_t rank = cast<MemRefType>(out.getType()).getRank();
  bool fromMatrix = cast<MemRefType>(input.getType()).getRank() == 2;
  if (fromMatrix == (rank == 2)) { // The layouts are the same.
    for (int64_t i = 0; i < rank; ++i)
      host.requireSize(host.dim(input, i), host.dim(out, i),
                       "dimension " + Twine(i) + " of input");
    memref::CopyOp::create(host, input, out);
    op.erase();
    return success();
  }
  Value matrix = fromMatrix ? input : out, tiles = fromMatrix ? out : input;
  Value rows = host.dim(matrix, 0), blocks = host.dim(matrix, 1);
  requireScaleSizes(host, tiles, rows, blocks, /*block=*/1);
  SmallVector<Value> arguments = {input, out};
  KernelOp kernel =
      host.kernel(module, "relayout", ValueRange(arguments).getTypes());
  buildKernel(kernel, op);
  Value rowTiles = host.ceilDiv(rows, kRelayoutTile[0]);
  Value columnTiles = host.ceilDiv(blocks, kRelayoutTile[1]);
  host.launch(kernel, host.mul(rowTiles, columnTiles), arguments);
  op.erase();
  return success();
}
