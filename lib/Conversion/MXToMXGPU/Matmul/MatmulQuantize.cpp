//===- MatmulQuantize.cpp - Results that are quantized --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A thread has 32 columns of a row in registers: a block, whose scale is its
// own business. Four of them, of 128 columns, are one word of a tile of scales.
// All rows of the tiles that a group has are written, with 0 behind its last.
//
//===----------------------------------------------------------------------===//

#include "MatmulBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

MatmulBuilder::PackedRegs
MatmulBuilder::quantizeColumns(ForEachWorkTileOp unit, ConsumerWaitOp stage,
                               Value empty, const Row &row, int64_t begin,
                               int64_t end, PackedRegs words) {
  OpBuilder::InsertionGuard guard(body);
  auto loop = scf::ForOp::create(body, body.index(begin), body.index(end),
                                 body.index(kQuantizedBlock), words);
  body.setInsertionPointToStart(loop.getBody());
  Value place = loop.getInductionVar(),
        inTile = getEpilogueColumn(stage, place, 0);
  // What a region reads of columns need not be aligned, nor exist.
  Value last;
  if (region.usesColumns())
    last = arith::SubIOp::create(body, getColumns(body, result), body.index(1));
  Columns columns = {body.add(unit.getColumn(), inTile), kQuantizedBlock, last,
                     row.isPresent};
  Value values = finish(loadSums(stage, place, kQuantizedBlock, empty), row,
                        columns, empty);
  Type element =
      cast<MemRefType>(op.getResultTensor().getType()).getElementType();
  Type types[] = {VectorType::get({kQuantizedBlock}, element),
                  cast<MemRefType>(resultScales.getType()).getElementType()};
  auto block = QuantizeBlockOp::create(body, TypeRange(types), values,
                                       op.getResultScaleRounding());
  {
    OpBuilder::InsertionGuard guard(body);
    auto ifOp = scf::IfOp::create(body, row.isPresent, /*withElse=*/false);
    body.setInsertionPointToStart(ifOp.thenBlock());
    StoreBlockOp::create(body, block.getElements(), result, row.own,
                         columns.first);
  }
  Value byte = arith::ExtUIOp::create(
      body, body.getI32Type(),
      arith::BitcastOp::create(body, body.getI8Type(), block.getScale()));
  Value number = body.div(inTile, kQuantizedBlock);
  Value inWord = arith::RemUIOp::create(body, number, body.index(4));
  Value shift = arith::IndexCastOp::create(body, body.getI32Type(),
                                           body.mul(inWord, body.index(8)));
  Value wordNumber = body.div(number, 4);
  Value shifted = arith::ShLIOp::create(body, byte, shift);
  Value zero = arith::ConstantOp::create(body, body.getI32IntegerAttr(0));
  SmallVector<Value> next;
  for (auto [i, word] : llvm::enumerate(loop.getRegionIterArgs())) {
    Value own = shifted;
    if (loop.getNumRegionIterArgs() > 1) {
      Value isHere = arith::CmpIOp::create(body, arith::CmpIPredicate::eq,
                                           wordNumber, body.index(i));
      own = arith::SelectOp::create(body, isHere, shifted, zero);
    }
    next.push_back(arith::OrIOp::create(body, word, own));
  }
  scf::YieldOp::create(body, next);
  return llvm::to_vector(ValueRange(loop.getResults()));
}

/// The tile of scales is the group's if its first row is. Scale (r, c) of a
/// tile lies at [r % 32, r / 32, c] (docs/Spec.md).
void MatmulBuilder::storeScaleWords(ForEachWorkTileOp unit, const Row &row,
                                    const PackedRegs &words) {
  OpBuilder::InsertionGuard guard(body);
  Value first = getFirstRow(unit);
  Value isOurs = arith::CmpIOp::create(body, arith::CmpIPredicate::ult, first,
                                       unit.getEnd());
  Value tile = getRowTile(unit);
  Value thread = ThreadIdOp::create(body);
  Value inTile = arith::RemUIOp::create(body, thread, body.index(32));
  Value quarter = body.div(thread, 32);
  Value zero = arith::ConstantOp::create(body, body.getI32IntegerAttr(0));
  auto ifOp = scf::IfOp::create(body, isOurs, /*withElse=*/false);
  body.setInsertionPointToStart(ifOp.thenBlock());
  Value blockTile = body.div(unit.getColumn(), kQuantizedColumns);
  auto bytes = VectorType::get({4}, body.getI8Type());
  Type scale = cast<MemRefType>(resultScales.getType()).getElementType();
  for (auto [i, word] : llvm::enumerate(words)) {
    Value present = arith::SelectOp::create(body, row.isPresent, word, zero);
    Value vector = vector::BitCastOp::create(
        body, bytes,
        vector::BroadcastOp::create(
            body, VectorType::get({1}, body.getI32Type()), present));
    Value scales =
        arith::BitcastOp::create(body, VectorType::get({4}, scale), vector);
    Value column = body.add(blockTile, int64_t(i));
    auto write = [&] {
      vector::StoreOp::create(
          body, scales, resultScales,
          ValueRange{tile, column, inTile, quarter, body.index(0)},
          /*nontemporal=*/false, llvm::MaybeAlign(4));
    };
    if (words.size() == 1) {
      write();
      continue;
    }
    // The last tile may have fewer columns.
    OpBuilder::InsertionGuard guard(body);
    auto exists = scf::IfOp::create(
        body,
        arith::CmpIOp::create(body, arith::CmpIPredicate::ult, column,
                              body.dim(resultScales, 1)),
        /*withElse=*/false);
    body.setInsertionPointToStart(exists.thenBlock());
    write();
  }
}

void MatmulBuilder::buildQuantizingEpilogue(ForEachWorkTileOp unit,
                                            ConsumerWaitOp stage, Value empty,
                                            const Row &row) {
  Value zero = arith::ConstantOp::create(body, body.getI32IntegerAttr(0));
  PackedRegs words(getTileColumns() / kQuantizedColumns, zero);
  int64_t first =
      schedule.getOverlap() ? schedule.getOverlap() : getTileColumns();
  words = quantizeColumns(unit, stage, empty, row, 0, first, words);
  ConsumerReleaseOp::create(body, stage.getStage());
  if (first < getTileColumns())
    words = quantizeColumns(unit, stage, empty, row, first, getTileColumns(),
                            words);
  storeScaleWords(unit, row, words);
}
