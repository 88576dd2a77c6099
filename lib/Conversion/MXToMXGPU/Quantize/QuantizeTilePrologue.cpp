//===- QuantizeTilePrologue.cpp - Tiles that threads compute --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What a prologue makes of its inputs, or a gather of their rows, is computed
// in registers and left in shared memory, once for all axes; the threads that
// quantize it do not see the difference to what a bulk copy loads. Adjacent
// threads hold adjacent pieces of a row, and read several rows before they use
// the first.
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

/// The inputs of a piece of a unit: from shared memory if copies have left them
/// there, else from the tensors.
QuantizeInputLoader::Piece QuantizeTileBuilder::loadPiece(Unit unit, Value row,
                                                          Value column) {
  Value inTensor[] = {body.add(unit.first, row),
                      body.add(tile.getColumn(), column)};
  if (!unit.source)
    return pieces.load(inTensor[0], inTensor[1]);
  SmallVector<Value> loaded;
  for (const Copied &matrix : copied)
    loaded.push_back(LoadSharedOp::create(
        body, VectorType::get(kPieceColumns, matrix.type),
        unit.source.getBuffer(matrix.field), row, column, /*rows=*/Value()));
  return pieces.take(inTensor[0], inTensor[1], loaded);
}

/// All pieces of a unit, which go to `stage`.
void QuantizeTileBuilder::producePieces(ProducerAcquireOp stage, Unit unit) {
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
    loaded.push_back(loadPiece(unit, rows.back(), threads.column));
  }
  for (auto [rowInUnit, piece] : llvm::zip_equal(rows, loaded))
    for (auto [i, value] : llvm::enumerate(pieces.produce(piece)))
      StoreSharedOp::create(body, value, stage.getBuffer(getField(i)),
                            ValueRange{rowInUnit, threads.column});
}

void QuantizeTileBuilder::buildProduce() {
  OpBuilder::InsertionGuard guard(body);
  body.role("produce", getProducingThreads() / 32, /*elected=*/false);
  tile = forEachTile();
  Unit unit{body.add(getInputRow(tile), forEachUnit())};
  if (copiesSources())
    unit.source = ConsumerWaitOp::create(body, sources);
  auto stage = ProducerAcquireOp::create(body, inputs);
  producePieces(stage, unit);
  if (copiesSources())
    ConsumerReleaseOp::create(body, unit.source.getStage());
  ProducerCommitOp::create(body, stage.getStage(), Value());
}
