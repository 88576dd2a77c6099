//===- QuantizeTilePrologue.cpp - Tiles that threads compute --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What a prologue makes of its inputs, or a gather of their rows, is computed
// in registers and left in shared memory, once for all axes; those who quantize
// it do not see the difference to what a bulk copy loads. Adjacent threads hold
// adjacent pieces of a row, and read several rows before they use the first.
//
// A prologue may take many instructions. Where the last tile of a row of tiles
// has fewer columns, known when compiling, all threads compute those, and leave
// zeros behind them; the other tiles then need no comparison of columns.
//
//===----------------------------------------------------------------------===//

#include "QuantizeTile.h"
#include "TileThreads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Bytes of the inputs that a thread waits for at a time: with fewer, too few
/// loads are under way; more, and what they bring does not leave registers for
/// what is computed.
static constexpr int64_t kBytesAtOnce = 128;

/// The pieces that a thread reads at once, which divide the `rounds` in which
/// all threads take those of a unit.
static int64_t getPiecesAtOnce(QuantizeOp op, int64_t columns, int64_t rounds) {
  int64_t bytes = columns * getInputBits(op) / 8;
  int64_t count = 1;
  while (2 * count * bytes <= kBytesAtOnce && rounds % (2 * count) == 0)
    count *= 2;
  return count;
}

/// Whether threads take whole rows of so many columns in whole rounds.
static bool divides(int64_t columns, int64_t threads, int64_t rows,
                    int64_t piece) {
  int64_t inRow = columns / piece;
  return columns % piece == 0 && threads % inRow == 0 &&
         rows % (threads / inRow) == 0;
}

/// The columns of the last tile if they are fewer, and threads share them out;
/// 0 if each of them looks where the tensor ends.
int64_t QuantizeTileBuilder::getEdge() {
  int64_t columns = op.getInput().getType().getShape().back();
  if (!op.getPrologueBlock() || ShapedType::isDynamic(columns))
    return 0;
  int64_t edge = columns % getColumns();
  return edge && columns > getColumns() &&
                 divides(edge, getProducingThreads(), getRowsPerStage(),
                         kPieceColumns)
             ? edge
             : 0;
}

/// All of a unit, whose first element is that of `firstRow` and `firstColumn`
/// in the tensor.
void QuantizeTileBuilder::produceColumns(ProducerAcquireOp stage,
                                         Value firstRow, Value firstColumn) {
  int64_t edge = getEdge();
  if (!edge)
    return producePieces(stage, firstRow, firstColumn, getColumns());
  Value isLast = arith::CmpIOp::create(body, arith::CmpIPredicate::ugt,
                                       body.add(firstColumn, getColumns()),
                                       pieces.getColumns());
  auto ifOp = scf::IfOp::create(body, isLast, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(ifOp.thenBlock());
  producePieces(stage, firstRow, firstColumn, edge);
  clearBehindEdge(stage);
  body.setInsertionPointToStart(ifOp.elseBlock());
  producePieces(stage, firstRow, firstColumn, getColumns());
}

/// Zeros in the columns of the last tile that the tensor does not have.
void QuantizeTileBuilder::clearBehindEdge(ProducerAcquireOp stage) {
  auto threads = TileThreads::get(body, getProducingThreads(), getColumns(),
                                  kPieceColumns);
  Value isBehind = arith::CmpIOp::create(body, arith::CmpIPredicate::uge,
                                         threads.column, body.index(getEdge()));
  auto ifOp = scf::IfOp::create(body, isBehind, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(ifOp.thenBlock());
  for (auto [i, type] : llvm::enumerate(types)) {
    Value zeros = arith::ConstantOp::create(
        body, body.getZeroAttr(VectorType::get(kPieceColumns, type)));
    for (int64_t row = 0; row < getRowsPerStage(); row += threads.step)
      StoreSharedOp::create(
          body, zeros, stage.getBuffer(getField(i)),
          ValueRange{body.add(threads.row, row), threads.column});
  }
}

/// So many columns of a unit.
void QuantizeTileBuilder::producePieces(ProducerAcquireOp stage, Value firstRow,
                                        Value firstColumn, int64_t columns) {
  auto threads =
      TileThreads::get(body, getProducingThreads(), columns, kPieceColumns);
  int64_t rounds = getRowsPerStage() / threads.step;
  int64_t count = getPiecesAtOnce(op, kPieceColumns, rounds);
  Value inTensor = body.add(firstColumn, threads.column);
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
    loaded.push_back(pieces.load(body.add(firstRow, rows.back()), inTensor));
  }
  for (auto [rowInUnit, piece] : llvm::zip_equal(rows, loaded))
    for (auto [i, value] : llvm::enumerate(pieces.produce(piece)))
      StoreSharedOp::create(body, value, stage.getBuffer(getField(i)),
                            ValueRange{rowInUnit, threads.column});
}

void QuantizeTileBuilder::buildProduce() {
  OpBuilder::InsertionGuard guard(body);
  body.role("produce", getProducingThreads() / 32, /*elected=*/false);
  ForEachWorkTileOp tile = forEachTile();
  Value row = body.add(getInputRow(tile), forEachUnit());
  auto stage = ProducerAcquireOp::create(body, inputs);
  produceColumns(stage, row, tile.getColumn());
  ProducerCommitOp::create(body, stage.getStage(), Value());
}
