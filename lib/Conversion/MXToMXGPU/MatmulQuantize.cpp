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

MatmulBuilder::Words MatmulBuilder::quantizeColumns(ForEachWorkOp unit,
                                                    Value slot, Value empty,
                                                    const Row &row,
                                                    int64_t begin, int64_t end,
                                                    Words words) {
  OpBuilder::InsertionGuard guard(body);
  auto loop = body.create<scf::ForOp>(body.index(begin), body.index(end),
                                      body.index(kQuantizedBlock), words);
  body.setInsertionPointToStart(loop.getBody());
  Value place = loop.getInductionVar(), inTile = getDrainColumn(slot, place, 0);
  // What a region reads of columns need not be aligned, nor exist.
  Value last;
  if (region.usesColumns())
    last = body.create<arith::SubIOp>(getColumns(body, result), body.index(1));
  Columns columns = {body.add(unit.getColumn(), inTile), kQuantizedBlock, last,
                     row.isPresent};
  Value values = finish(loadSums(slot, place, kQuantizedBlock, empty), row,
                        columns, empty);
  Type element =
      cast<MemRefType>(op.getResultTensor().getType()).getElementType();
  Type types[] = {VectorType::get({kQuantizedBlock}, element),
                  cast<MemRefType>(resultScales.getType()).getElementType()};
  auto block = body.create<QuantizeBlockOp>(TypeRange(types), values,
                                            op.getResultScaleRounding());
  {
    OpBuilder::InsertionGuard guard(body);
    auto ifOp = body.create<scf::IfOp>(row.isPresent, /*withElse=*/false);
    body.setInsertionPointToStart(ifOp.thenBlock());
    body.create<StoreBlockOp>(block.getElements(), result, row.own,
                              columns.first);
  }
  Value byte = body.create<arith::ExtUIOp>(
      body.getI32Type(),
      body.create<arith::BitcastOp>(body.getI8Type(), block.getScale()));
  Value number = body.div(inTile, kQuantizedBlock);
  Value inWord = body.create<arith::RemUIOp>(number, body.index(4));
  Value shift = body.create<arith::IndexCastOp>(
      body.getI32Type(), body.mul(inWord, body.index(8)));
  Value wordNumber = body.div(number, 4);
  Value shifted = body.create<arith::ShLIOp>(byte, shift);
  Value zero = body.create<arith::ConstantOp>(body.getI32IntegerAttr(0));
  SmallVector<Value> next;
  for (auto [i, word] : llvm::enumerate(loop.getRegionIterArgs())) {
    Value own = shifted;
    if (loop.getNumRegionIterArgs() > 1) {
      Value isHere = body.create<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                wordNumber, body.index(i));
      own = body.create<arith::SelectOp>(isHere, shifted, zero);
    }
    next.push_back(body.create<arith::OrIOp>(word, own));
  }
  body.create<scf::YieldOp>(next);
  return llvm::to_vector(ValueRange(loop.getResults()));
}

/// The tile of scales is the group's if its first row is. Scale (r, c) of a
/// tile lies at [r % 32, r / 32, c] (docs/Spec.md).
void MatmulBuilder::storeScaleWords(ForEachWorkOp unit, const Row &row,
                                    const Words &words) {
  OpBuilder::InsertionGuard guard(body);
  Value first = getFirstRow(unit);
  Value isOurs = body.create<arith::CmpIOp>(arith::CmpIPredicate::ult, first,
                                            unit.getEnd());
  Value tile = getRowTile(unit);
  Value thread = body.create<ThreadIdOp>();
  Value inTile = body.create<arith::RemUIOp>(thread, body.index(32));
  Value quarter = body.div(thread, 32);
  Value zero = body.create<arith::ConstantOp>(body.getI32IntegerAttr(0));
  auto ifOp = body.create<scf::IfOp>(isOurs, /*withElse=*/false);
  body.setInsertionPointToStart(ifOp.thenBlock());
  Value blockTile = body.div(unit.getColumn(), kQuantizedColumns);
  auto bytes = VectorType::get({4}, body.getI8Type());
  Type scale = cast<MemRefType>(resultScales.getType()).getElementType();
  for (auto [i, word] : llvm::enumerate(words)) {
    Value present = body.create<arith::SelectOp>(row.isPresent, word, zero);
    Value vector = body.create<vector::BitCastOp>(
        bytes, body.create<vector::BroadcastOp>(
                   VectorType::get({1}, body.getI32Type()), present));
    Value scales =
        body.create<arith::BitcastOp>(VectorType::get({4}, scale), vector);
    Value column = body.add(blockTile, int64_t(i));
    auto write = [&] {
      body.create<vector::StoreOp>(
          scales, resultScales,
          ValueRange{tile, column, inTile, quarter, body.index(0)},
          /*nontemporal=*/false, llvm::MaybeAlign(4));
    };
    if (words.size() == 1) {
      write();
      continue;
    }
    // The last tile may have fewer columns.
    OpBuilder::InsertionGuard guard(body);
    auto exists = body.create<scf::IfOp>(
        body.create<arith::CmpIOp>(arith::CmpIPredicate::ult, column,
                                   body.dim(resultScales, 1)),
        /*withElse=*/false);
    body.setInsertionPointToStart(exists.thenBlock());
    write();
  }
}

void MatmulBuilder::buildQuantizingEpilogue(ForEachWorkOp unit, Value slot,
                                            Value empty, const Row &row) {
  Value zero = body.create<arith::ConstantOp>(body.getI32IntegerAttr(0));
  Words words(getTileColumns() / kQuantizedColumns, zero);
  int64_t first =
      schedule.getOverlap() ? schedule.getOverlap() : getTileColumns();
  words = quantizeColumns(unit, slot, empty, row, 0, first, words);
  body.create<ReleaseOp>(slot);
  if (first < getTileColumns())
    words =
        quantizeColumns(unit, slot, empty, row, first, getTileColumns(), words);
  storeScaleWords(unit, row, words);
}
