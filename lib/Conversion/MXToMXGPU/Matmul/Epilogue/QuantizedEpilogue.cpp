//===- QuantizedEpilogue.cpp - Epilogue of quantized results --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "QuantizedEpilogue.h"
#include "../../Builder/HostChecks.h"
#include "../../Builder/KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void QuantizedEpilogue::viewResult() {
  matrices.out = toBytes(host, matrices.out);
}

void QuantizedEpilogue::checkColumns(Value columns) {
  requireMultiple(host, columns, kQuantizedColumns, "columns of outs");
}

void QuantizedEpilogue::checkScales(Value rows, Value columns) {
  requireScaleSizes(host, matrices.outScales, rows, columns,
                    BlockShape(kPowerOfTwoBlockSize), work.getRowTiles(rows),
                    "scales");
}

void QuantizedEpilogue::begin() {
  elements.enter(arguments, body.getF32Type());
}

/// Returns the number of columns. A result byte stores two 4-bit elements.
Value QuantizedEpilogue::getColumns() {
  Value columns = body.dim(getResult(), 1);
  if (!isa<Float4E2M1FNType>(getElementType()))
    return columns;
  return body.mul(columns, body.index(2));
}

int64_t QuantizedEpilogue::getFragmentColumns() {
  return std::max(kPowerOfTwoBlockSize,
                  matmul.buffers.accumulatorLayout.getSharedColumns());
}

/// Returns the type of the elements after joinRuns.
static FragmentType getJoined(FragmentType type) {
  FragmentLayoutAttr layout = type.getLayout();
  if (layout.getRuns().size() == 1)
    return type;
  auto exchange = [](ArrayRef<FragmentMode> modes) {
    return llvm::map_to_vector(modes, [](FragmentMode mode) {
      if (mode.columns == 2 || mode.columns == 8)
        mode.columns = 16 / mode.columns;
      return mode;
    });
  };
  return FragmentType::get(
      type.getElementType(),
      FragmentLayoutAttr::get(type.getContext(), exchange(layout.getThreads()),
                              exchange(layout.getValues())));
}

/// Returns the rows of a fragment. If four lanes hold pairs of each 8 columns
/// of a block, exchanges pairs so that each lane holds 8 adjacent columns.
static SmallVector<Value> joinRuns(KernelBuilder &body, Value fragment) {
  SmallVector<Value> rows(ToRowsOp::create(body, fragment).getRows());
  auto type = cast<FragmentType>(fragment.getType());
  if (type != getJoined(type))
    for (Value &row : rows)
      row = PermuteBlockOp::create(body, row.getType(), row, /*run=*/8);
  return rows;
}

/// Returns the number of adjacent lanes that share a block of a row.
static int64_t getLanes(FragmentType block) {
  assert(block.getLayout().getRuns().size() == 1 &&
         "each lane has adjacent elements of a block");
  return kPowerOfTwoBlockSize / block.getRowType().getNumElements();
}

QuantizedEpilogue::PackedRegs
QuantizedEpilogue::storeColumns(ForEachWorkTileOp workTile,
                                Accumulator &accumulator,
                                MutableArrayRef<ThreadRow> rows) {
  OpBuilder::InsertionGuard guard(body);
  int64_t count = getFragmentColumns();
  Value zero = arith::ConstantOp::create(body, body.getI32IntegerAttr(0));
  auto loop = scf::ForOp::create(
      body, body.index(0), body.index(matmul.getTileColumns()),
      body.index(count), PackedRegs(rows.size() * getWordsOfRow(), zero));
  body.setInsertionPointToStart(loop.getBody());
  Value inTile = loop.getInductionVar();
  // Columns read by a region may be unaligned or out of bounds.
  Value last;
  if (elements.region.usesColumns())
    last = arith::SubIOp::create(body, getColumns(), body.index(1));
  SmallVector<SmallVector<Value>> ofMatrices;
  for (Value fragment : accumulator.load(inTile, count))
    ofMatrices.push_back(joinRuns(body, fragment));
  FragmentType type = getJoined(accumulator.getType(count));
  Value first =
      getColumnOfRun(body, type, 0, body.add(workTile.getColumn(), inTile));
  PackedRegs next, taken(loop.getRegionIterArgs());
  for (auto [number, row] : llvm::enumerate(rows)) {
    Columns columns = {first, type.getRowType().getNumElements(), last,
                       row.place.isPresent};
    SmallVector<Value> ofRow;
    for (ArrayRef<Value> ofMatrix : ofMatrices)
      ofRow.push_back(ofMatrix[number]);
    Value scale = storeBlock(row.elements.finish(ofRow, columns), row.place,
                             first, getLanes(type));
    size_t inRow = getWordsOfRow();
    next.append(addScale(ValueRange(taken).slice(number * inRow, inRow), scale,
                         inTile));
  }
  scf::YieldOp::create(body, next);
  return llvm::to_vector(ValueRange(loop.getResults()));
}

Value QuantizedEpilogue::storeBlock(Value values, const ResultRow &row,
                                    Value column, int64_t lanes) {
  auto type = cast<VectorType>(values.getType());
  Type types[] = {VectorType::get(type.getShape(), getElementType()),
                  getScaleType()};
  auto block = QuantizeBlockOp::create(
      body, TypeRange(types), values, /*encode=*/Value(), /*seed=*/Value(),
      /*first=*/Value(), /*amax=*/Value(), op.getResultScaleRounding(), lanes);
  OpBuilder::InsertionGuard guard(body);
  auto ifOp = scf::IfOp::create(body, row.isPresent, /*withElse=*/false);
  body.setInsertionPointToStart(ifOp.thenBlock());
  StoreBlockOp::create(body, block.getElements(), getResult(), row.own, column);
  return block.getScale();
}

QuantizedEpilogue::PackedRegs
QuantizedEpilogue::addScale(ValueRange words, Value scale, Value inTile) {
  Value byte = arith::ExtUIOp::create(
      body, body.getI32Type(),
      arith::BitcastOp::create(body, body.getI8Type(), scale));
  Value number = body.div(inTile, kPowerOfTwoBlockSize);
  Value inWord = arith::RemUIOp::create(body, number, body.index(4));
  Value shift = arith::IndexCastOp::create(body, body.getI32Type(),
                                           body.mul(inWord, body.index(8)));
  Value wordNumber = body.div(number, 4);
  Value shifted = arith::ShLIOp::create(body, byte, shift);
  Value zero = arith::ConstantOp::create(body, body.getI32IntegerAttr(0));
  PackedRegs next;
  for (auto [i, word] : llvm::enumerate(words)) {
    Value own = shifted;
    if (words.size() > 1) {
      Value isHere = arith::CmpIOp::create(body, arith::CmpIPredicate::eq,
                                           wordNumber, body.index(i));
      own = arith::SelectOp::create(body, isHere, shifted, zero);
    }
    next.push_back(arith::OrIOp::create(body, word, own));
  }
  return next;
}

/// Unpacks the four scales of a word.
static Value unpackScales(KernelBuilder &body, Value word, Type scale) {
  auto one = VectorType::get({1}, body.getI32Type());
  auto bytes = VectorType::get({4}, body.getI8Type());
  Value vector = vector::BitCastOp::create(
      body, bytes, vector::BroadcastOp::create(body, one, word));
  return arith::BitcastOp::create(body, VectorType::get({4}, scale), vector);
}

/// Selects the lanes that store scales. One lane of each block stores the scale
/// of the block. If a warp owns all blocks of a row, one lane stores all scales
/// of the row.
QuantizedEpilogue::ScaleWriter
QuantizedEpilogue::getScaleWriter(FragmentType type) {
  ScaleWriter writer;
  if (getLanes(type) == 1)
    return writer;
  Value column = FragmentColumnOp::create(body, body.getIndexType(), 0, type);
  if (getFragmentColumns() > kPowerOfTwoBlockSize) {
    writer.block = body.div(column, kPowerOfTwoBlockSize);
    column =
        arith::RemUIOp::create(body, column, body.index(kPowerOfTwoBlockSize));
  }
  writer.isThis = arith::CmpIOp::create(body, arith::CmpIPredicate::eq, column,
                                        body.index(0));
  return writer;
}

/// Stores scales if the first row of their tile belongs to the expert group.
void QuantizedEpilogue::storeScales(ForEachWorkTileOp workTile,
                                    const ResultRow &row, Value inTile,
                                    ValueRange words,
                                    const ScaleWriter &writer) {
  OpBuilder::InsertionGuard guard(body);
  Value tile = work.getRowTile(workTile), first = work.getFirstRow(workTile);
  // A work tile may cover several scale tiles.
  if (matmul.getARows() > kScaleTileRows) {
    Value number = body.div(inTile, kScaleTileRows);
    tile = body.add(tile, number);
    first = body.add(first, body.mul(number, body.index(kScaleTileRows)));
    inTile = arith::RemUIOp::create(body, inTile, body.index(kScaleTileRows));
  }
  Value condition = arith::CmpIOp::create(body, arith::CmpIPredicate::ult,
                                          first, work.getRowEnd(workTile));
  if (writer.isThis)
    condition = arith::AndIOp::create(body, condition, writer.isThis);
  ScaleWordPlace place = getScaleWord(body, inTile);
  Value zero = arith::ConstantOp::create(body, body.getI32IntegerAttr(0));
  auto ifOp = scf::IfOp::create(body, condition, /*withElse=*/false);
  body.setInsertionPointToStart(ifOp.thenBlock());
  Value blockTile = body.div(workTile.getColumn(), kQuantizedColumns);
  for (auto [i, word] : llvm::enumerate(words)) {
    Value present = arith::SelectOp::create(body, row.isPresent, word, zero);
    Value scales = unpackScales(body, present, getScaleType());
    if (writer.block)
      scales = takeElements(body, scales, /*first=*/0, /*count=*/1);
    Value column = body.add(blockTile, int64_t(i));
    OpBuilder::InsertionGuard guard(body);
    // The last tile may have fewer columns.
    if (words.size() > 1) {
      Value exists = arith::CmpIOp::create(body, arith::CmpIPredicate::ult,
                                           column, body.dim(getScales(), 1));
      auto ifExists = scf::IfOp::create(body, exists, /*withElse=*/false);
      body.setInsertionPointToStart(ifExists.thenBlock());
    }
    vector::StoreOp::create(
        body, scales, getScales(),
        ValueRange{tile, column, place.inQuarter, place.quarter,
                   writer.block ? writer.block : body.index(0)},
        /*nontemporal=*/false, llvm::MaybeAlign(writer.block ? 1 : 4));
  }
}

void QuantizedEpilogue::store(ForEachWorkTileOp workTile,
                              Accumulator &accumulator) {
  FragmentType type = getJoined(accumulator.getType(getFragmentColumns()));
  std::vector<ThreadRow> rows = getRows(workTile, type);
  accumulator.wait();
  PackedRegs words = storeColumns(workTile, accumulator, rows);
  accumulator.release();
  ScaleWriter writer = getScaleWriter(type);
  for (auto [number, row] : llvm::enumerate(rows))
    storeScales(
        workTile, row.place, getRowOfThread(body, type, number),
        ValueRange(words).slice(number * getWordsOfRow(), getWordsOfRow()),
        writer);
}
