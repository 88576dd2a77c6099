//===- QuantizeTilePrologue.cpp - Tiles that threads compute --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What a prologue makes of its inputs, or a gather of their rows, is computed
// in registers and left in shared memory, once for all axes; those who quantize
// it do not see the difference to what a bulk copy loads. Adjacent threads hold
// adjacent pieces of a row, and read several rows before they use the first.
//
//===----------------------------------------------------------------------===//

#include "QuantizeTile.h"
#include "TileThreads.h"
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

/// All pieces of a unit, whose first element is that of `firstRow` and
/// `firstColumn` in the tensor.
void QuantizeTileBuilder::producePieces(ProducerAcquireOp stage, Value firstRow,
                                        Value firstColumn) {
  auto threads = TileThreads::get(body, getProducingThreads(), getColumns(),
                                  kPieceColumns);
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
  producePieces(stage, row, tile.getColumn());
  ProducerCommitOp::create(body, stage.getStage(), Value());
}
