//===- QuantizeTileStore.cpp - Prologues and stores of quantizer tiles ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Builder/Elementwise.h"
#include "QuantizeTile.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Prologues
//===----------------------------------------------------------------------===//

/// Input bytes that a thread loads at once. With fewer bytes, too few loads are
/// in flight. With more bytes, the prologue lacks registers.
static constexpr int64_t kBytesAtOnce = 128;

/// Returns the number of pieces that a thread loads at once. The number divides
/// `rounds`, the number of a thread's pieces in a slab.
static int64_t getPiecesAtOnce(FusedQuantizeOp op, int64_t columns,
                               int64_t rounds) {
  int64_t bytes = columns * getInputBits(op) / 8;
  int64_t count = 1;
  while (2 * count * bytes <= kBytesAtOnce && rounds % (2 * count) == 0)
    count *= 2;
  return count;
}

/// Loads the inputs of a piece, from shared memory if bulk copies filled it.
QuantizeInputLoader::Piece
QuantizeTileBuilder::loadPiece(RowSlab slab, Value row, Value column) {
  Value inTensor[] = {body.add(slab.first, row),
                      body.add(tile.getColumn(), column)};
  if (!slab.source)
    return pieces.load(inTensor[0], inTensor[1]);
  SmallVector<Value> loaded;
  for (const Copied &matrix : copied)
    loaded.push_back(LoadSharedOp::create(
        body, VectorType::get(kPieceColumns, matrix.type),
        slab.source.getBuffer(matrix.field), row, column, /*rows=*/Value()));
  return pieces.take(inTensor[0], inTensor[1], loaded);
}

/// Computes all pieces of a slab and writes them to `stage`.
void QuantizeTileBuilder::producePieces(ProducerAcquireOp stage, RowSlab slab) {
  auto threads = TileThreads::get(body, getProducingThreads(), getColumns(),
                                  kPieceColumns);
  int64_t rounds = getRowsPerStage() / threads.step;
  int64_t count = getPiecesAtOnce(op, kPieceColumns, rounds);
  Value zero = body.index(0), end = body.index(getRowsPerStage());
  auto loop =
      scf::ForOp::create(body, zero, end, body.index(count * threads.step));
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(loop.getBody());
  Value row = body.add(loop.getInductionVar(), threads.row);
  SmallVector<Value> rows;
  SmallVector<QuantizeInputLoader::Piece> loaded;
  for (int64_t i = 0; i < count; ++i) {
    rows.push_back(i ? body.add(row, i * threads.step) : row);
    loaded.push_back(loadPiece(slab, rows.back(), threads.column));
  }
  for (auto [rowInSlab, piece] : llvm::zip_equal(rows, loaded))
    for (auto [i, value] : llvm::enumerate(pieces.produce(piece)))
      StoreSharedOp::create(body, value, stage.getBuffer(getField(i)),
                            ValueRange{rowInSlab, threads.column});
}

void QuantizeTileBuilder::buildProduce() {
  OpBuilder::InsertionGuard guard(body);
  body.role("produce", getProducingThreads() / 32, /*elected=*/false);
  tile = forEachTile();
  RowSlab slab{body.add(getInputRow(tile), forEachSlab())};
  if (copiesSources())
    slab.source = ConsumerWaitOp::create(body, sources);
  auto stage = ProducerAcquireOp::create(body, inputs);
  producePieces(stage, slab);
  if (copiesSources())
    ConsumerReleaseOp::create(body, slab.source.getStage());
  ProducerCommitOp::create(body, stage.getStage(), Value());
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// Dequantizes elements if the destination stores values.
Value QuantizeTileBuilder::getStored(const Destination &dest, Value elements,
                                     Value scales) {
  if (!dest.dequantizedType)
    return elements;
  auto type = cast<VectorType>(elements.getType()).clone(dest.dequantizedType);
  return DequantizeBlockOp::create(body, type, elements, scales,
                                   dest.kernelDecode);
}

/// Returns `scale`, or 0 if `line` is past the last line of the matrix. The
/// last square may contain such lines, which pad a scale tile and need scales
/// of 0. `line` is a tile row along axis 1 and a column along axis 0.
Value QuantizeTileBuilder::clearBehindLines(const Destination &dest,
                                            Value scale, Value line) {
  if (!dest.isTiled() || !endsInSquare(dest.axis))
    return scale;
  Value first = dest.axis ? getInputRow(tile) : getColumn(dest);
  Value exists =
      body.isBelow(body.add(first, line), dest.axis ? rows : getAllColumns());
  Value byte = body.bitcast(body.getI8Type(), scale);
  Value none = arith::ConstantOp::create(body, body.getI8IntegerAttr(0));
  byte = body.select(exists, byte, none);
  return body.bitcast(scale.getType(), byte);
}

/// Stores the scale of `row` and `block` of the tile's output. If several lanes
/// hold parts of the block, the lane with the first part stores the scale.
void QuantizeTileBuilder::storeScale(const Destination &dest, RowSlab slab,
                                     Value scale, Value row, Value block,
                                     Value part) {
  if (dest.dequantizedType)
    return;
  if (dest.isStaged()) {
    StoreScaleOp::create(
        body, scale, slab.ofTile.getBuffer(dest.getScaleBuffer()), row, block);
    return;
  }
  auto [firstRow, firstColumn] = getStart(dest);
  block = body.add(body.div(firstColumn, getBlock()), block);
  if (dest.isTiled())
    return storeTiledScale(dest, scale, row, block, part);
  row = body.add(firstRow, row);
  storeInMatrix(dest, dest.kernelScales, scale, row, block, part,
                /*transposed=*/dest.isMNMajor);
}

/// Stores the scale of a tile that is a block.
void QuantizeTileBuilder::storeTallScale(const Destination &dest) {
  auto [row, column] = getStart(dest);
  storeInMatrix(dest, dest.kernelScales,
                findScale(body, op, dest.index, blockAmax),
                body.div(row, getBlockRows()), body.div(column, getBlock()),
                /*part=*/ThreadIdOp::create(body), /*transposed=*/false);
}

/// Stores the spread of `row` and `block` of the tile's output, if needed.
void QuantizeTileBuilder::storeSpread(const Destination &dest, Value x,
                                      IntegerAttr column, Value row,
                                      Value block, Value part) {
  if (!dest.kernelSpreads)
    return;
  Value amax = findThreadAmax(body, op, x, column);
  Value spread = findSpread(
      body, findCodeRange(body, op, dest.index, amax, /*lanes=*/1), getParts());
  auto [firstRow, firstColumn] = getStart(dest);
  block = body.add(body.div(firstColumn, getBlock()), block);
  row = body.add(firstRow, row);
  storeInMatrix(dest, dest.kernelSpreads, spread, row, block, part,
                /*transposed=*/!dest.axis);
}

/// Stores the scale or spread of `row` and `block` of a row-major output, or of
/// its transpose.
void QuantizeTileBuilder::storeInMatrix(const Destination &dest, Value matrix,
                                        Value value, Value row, Value block,
                                        Value part, bool transposed) {
  Value lines = dest.axis ? rows : columns;
  if (isTall())
    lines = body.ceilDiv(lines, getBlockRows());
  // Rows past the end have scale 0, which pads layout mn_major.
  Value endRow = writesRows(dest)           ? tile.getEnd()
                 : batch && !dest.isMNMajor ? lines
                                            : body.dim(matrix, transposed);
  Value endBlock =
      batch && transposed
          ? body.div(dest.axis ? getAllColumns() : rows, getBlock())
          : body.dim(matrix, !transposed);
  Value isInside =
      body.andBits(body.isBelow(row, endRow), body.isBelow(block, endBlock));
  if (part)
    isInside = body.andBits(isInside, body.isEqual(part, body.index(0)));
  auto ifOp = scf::IfOp::create(body, isInside, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(ifOp.thenBlock());
  auto place = transposed ? std::array{getLine(block, endBlock), row}
                          : std::array{getLine(row, lines), block};
  memref::StoreOp::create(body, value, matrix, ValueRange(place));
}

/// Stores a scale at its place in a scale tile. Rows past the end have scale 0.
/// The last block of a row also clears the scales that pad its scale tile.
void QuantizeTileBuilder::storeTiledScale(const Destination &dest, Value scale,
                                          Value row, Value block, Value part) {
  Value stores = body.isEqual(part, body.index(0));
  Value firstRow = getStart(dest).first;
  Value rowTile = getRowTile(dest, firstRow), inTile = row;
  if (!dest.scaleTileRows) // a tile covers part of a scale tile
    inTile = body.add(body.rem(firstRow, kScaleTileRows), row);
  // The first scale tile of a tile always exists.
  if (dest.scaleTileRows > 1) {
    rowTile = body.add(rowTile, body.div(row, kScaleTileRows));
    inTile = body.rem(row, kScaleTileRows);
    stores = body.andBits(stores, body.isBelow(rowTile, getRowTiles(dest)));
  }
  // The padding of a ragged reduction is unspecified.
  bool mayEnd = dest.axis == 1 || !offsets;
  Value blocks = body.div(dest.axis ? getAllColumns() : rows, getBlock());
  if (mayEnd && (dest.axis ? getColumns() : getRows()) > getBlock())
    stores = body.andBits(stores, body.isBelow(block, blocks));
  auto ifOp = scf::IfOp::create(body, stores, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(ifOp.thenBlock());
  rowTile = getLine(rowTile, getRowTiles(dest));
  auto store = [&](Value stored, Value at) {
    memref::StoreOp::create(body, stored, dest.kernelScales,
                            ValueRange{rowTile, body.div(at, kScaleTileBlocks),
                                       body.rem(inTile, kScaleTileShape[0]),
                                       body.div(inTile, kScaleTileShape[0]),
                                       body.rem(at, kScaleTileBlocks)});
  };
  store(scale, block);
  int64_t size = op.getQuantizedShape()[getBatchRank(op) + dest.axis];
  if (!mayEnd || (!ShapedType::isDynamic(size) &&
                  size % (kScaleTileBlocks * getBlock()) == 0))
    return;
  Value next = body.add(block, 1);
  auto isLast = scf::IfOp::create(body, body.isEqual(next, blocks),
                                  /*withElse=*/false);
  body.setInsertionPointToStart(isLast.thenBlock());
  Value end = body.mul(body.ceilDiv(next, kScaleTileBlocks),
                       body.index(kScaleTileBlocks));
  auto loop = scf::ForOp::create(body, next, end, body.index(1));
  body.setInsertionPointToStart(loop.getBody());
  Value zero = arith::ConstantOp::create(body, body.getI8IntegerAttr(0));
  store(body.bitcast(scale.getType(), zero), loop.getInductionVar());
}

/// Stores elements. With expert groups, stores only the rows of the group.
void QuantizeTileBuilder::storeElements(const Destination &dest, RowSlab slab) {
  ProducerAcquireOp staged = getStaged(dest, slab);
  auto [row, column] = getStart(dest);
  if (dest.axis == 1)
    row = body.add(row, slab.first);
  else if (isBySlabs(dest))
    column = body.add(column, slab.first);
  if (dest.getPacking() > 1)
    column = body.div(column, dest.getPacking());
  Value isWhole, isPartial;
  if (writesRows(dest)) {
    Value all = body.index(getRowsPerStage());
    isWhole =
        arith::CmpIOp::create(body, arith::CmpIPredicate::sge, slab.rows, all);
    isPartial =
        arith::CmpIOp::create(body, arith::CmpIPredicate::slt, slab.rows, all);
  }
  int64_t boxColumns = cast<TensorMapType>(dest.map.getType()).getBox().back();
  int64_t strips = dest.rows / dest.boxRows;
  for (int64_t strip = 0; strip < strips; ++strip)
    for (int64_t panel = 0; panel < dest.panels; ++panel) {
      IntegerAttr box;
      if (dest.panels > 1)
        box = body.getI64IntegerAttr(panel * strips + strip);
      TmaStoreOp::create(body, staged.getBuffer(dest.getElementBuffer()),
                         dest.kernelMap,
                         getCoords(body.add(row, strip * dest.boxRows),
                                   body.add(column, panel * boxColumns)),
                         isWhole, /*add=*/false, box);
    }
  if (isPartial)
    StoreRowsOp::create(body, staged.getBuffer(dest.getElementBuffer()),
                        dest.kernelElements, row, column, slab.rows, isPartial);
}

/// Returns the row of scale tiles that starts at `row` of the output.
Value QuantizeTileBuilder::getRowTile(const Destination &dest, Value row) {
  Value rowTile = body.div(row, kScaleTileRows);
  return writesRows(dest) ? body.add(rowTile, tile.getGroup()) : rowTile;
}

/// Returns the number of rows of scale tiles in a matrix.
Value QuantizeTileBuilder::getRowTiles(const Destination &dest) {
  return batch ? body.ceilDiv(dest.axis ? rows : columns, kScaleTileRows)
               : body.dim(dest.kernelScales, 0);
}

/// Stores scale tiles. The first scale tile of a tile always exists.
void QuantizeTileBuilder::storeScaleTiles(const Destination &dest,
                                          ProducerAcquireOp staged) {
  auto [row, column] = getStart(dest);
  Value rowTile = getRowTile(dest, row);
  Value columnTile = body.div(column, kScaleTileBlocks * getBlock());
  Value rowTiles = getRowTiles(dest);
  Value columnTiles = body.dim(dest.kernelScales, 1);
  for (int64_t i = 0; i < dest.scaleTileRows; ++i)
    for (int64_t j = 0; j < dest.scaleTileColumns; ++j) {
      Value r = i ? body.add(rowTile, i) : rowTile;
      Value c = j ? body.add(columnTile, j) : columnTile;
      Value exists = i ? body.isBelow(r, rowTiles) : Value();
      r = getLine(r, rowTiles);
      if (j) {
        Value also = body.isBelow(c, columnTiles);
        exists = exists ? body.andBits(exists, also) : also;
      }
      BulkStoreOp::create(
          body, staged.getBuffer(dest.getScaleBuffer()), dest.kernelScales,
          ValueRange{r, c}, exists,
          body.getI64IntegerAttr(i * dest.scaleTileColumns + j));
    }
}
