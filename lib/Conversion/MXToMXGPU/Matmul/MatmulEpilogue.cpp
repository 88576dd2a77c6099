//===- MatmulEpilogue.cpp - The role that stores the result ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Four warps move finished accumulators from tensor memory to the result. A
// thread has one row of the tile. Tiles whose columns all exist take the short
// way, with vectors and without questions; others ask for each column.
//
//===----------------------------------------------------------------------===//

#include "MatmulBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Most columns that an epilogue thread holds at a time to store them itself.
static constexpr int64_t kFragmentColumns = 32;

/// The row of the result that this thread has, and whether it exists. A row
/// that does not counts as the last one, so that whatever is read exists.
MatmulBuilder::Row MatmulBuilder::getEpilogueRow(ForEachWorkTileOp unit) {
  Value thread = ThreadIdOp::create(body);
  Value own = body.add(getResultRow(unit), thread);
  if (isGrouped())
    return getRowOfGroup(unit, own, body.add(getFirstRow(unit), thread));
  auto type = cast<MemRefType>(result.getType());
  if (!type.isDynamicDim(0) && type.getDimSize(0) % schedule.getTileM() == 0)
    return {own, own, own,
            arith::ConstantOp::create(body, body.getBoolAttr(true))};
  Value rows = body.dim(result, 0);
  Value isPresent =
      arith::CmpIOp::create(body, arith::CmpIPredicate::ult, own, rows);
  Value last = arith::SubIOp::create(body, rows, body.index(1));
  Value clamped = arith::MinUIOp::create(body, own, last);
  return {own, clamped, clamped, isPresent};
}

/// A group has a part of the result's rows, or a matrix of its own, in which
/// the thread's row has another number.
MatmulBuilder::Row MatmulBuilder::getRowOfGroup(ForEachWorkTileOp unit,
                                                Value own, Value inMatrix) {
  Value end = ragged == RaggedKind::Rows ? Value(unit.getEnd()) : groupRows;
  Value isPresent =
      arith::CmpIOp::create(body, arith::CmpIPredicate::ult, inMatrix, end);
  auto clamp = [&](Value row, Value end) -> Value {
    return arith::MinUIOp::create(
        body, row, arith::SubIOp::create(body, end, body.index(1)));
  };
  Value rows = body.dim(scatter ? scatter : result, 0);
  Value clamped = clamp(inMatrix, end);
  if (matrixRows)
    clamped = arith::SubIOp::create(body, clamped, getMatrixRow(unit));
  return {own, clamp(own, rows), clamped, isPresent};
}

/// Rows go where a list says, if there is such a row.
void MatmulBuilder::redirectRow(Row &row) {
  Value listed = memref::LoadOp::create(body, scatter, row.clamped);
  row.own = arith::IndexCastOp::create(body, body.getIndexType(), listed);
  // As unsigned numbers, negative ones are beyond any row.
  Value exists = arith::CmpIOp::create(body, arith::CmpIPredicate::ult, row.own,
                                       body.dim(result, 0));
  row.isPresent = arith::AndIOp::create(body, row.isPresent, exists);
}

/// Whether all columns of the unit exist and are written and read in aligned
/// vectors, and there is something to write; null if never.
Value MatmulBuilder::isWhole(ForEachWorkTileOp unit, Value empty) {
  auto type = cast<MemRefType>(result.getType());
  int64_t alignment = getRowAlignment(type, /*dynamic=*/32);
  int64_t tileN = getTileColumns();
  if (!alignment || (!type.isDynamicDim(1) && type.getDimSize(1) < tileN))
    return {};
  Value whole;
  auto require = [&](Value condition) {
    whole = whole ? arith::AndIOp::create(body, whole, condition) : condition;
  };
  if (!isStaged())
    require(isAligned(body, result, alignment));
  if (type.isDynamicDim(1) || type.getDimSize(1) % tileN)
    require(arith::CmpIOp::create(body, arith::CmpIPredicate::ule,
                                  body.add(unit.getColumn(), tileN),
                                  body.dim(result, 1)));
  if (Value aligned = region.areLoadsAligned(body, getFragmentColumns()))
    require(aligned);
  Value yes = arith::ConstantOp::create(body, body.getBoolAttr(true));
  require(arith::XOrIOp::create(body, empty, yes));
  return whole;
}

int64_t MatmulBuilder::getFragmentColumns() {
  if (isStaged())
    return buffers.staging.getBuffers().front().getShape().back();
  return std::gcd(getTileColumns(), kFragmentColumns);
}

/// What is stored for the `sums` of some columns.
Value MatmulBuilder::finish(ValueRange parts, const Row &row,
                            const Columns &columns, Value empty) {
  SmallVector<Value> all(parts);
  Value &sums = all.front();
  auto vector = cast<VectorType>(sums.getType());
  auto widen = [&](Value value) -> Value {
    if (value.getType() == vector)
      return value;
    return arith::ExtFOp::create(body, vector, value);
  };
  Value factor;
  if (op.getAlpha())
    factor = vector::BroadcastOp::create(body, vector, alpha);
  if (op.getAccumulate() && !isStaged()) {
    Value old = widen(loadColumns(body, result, row.clamped, columns));
    Value total = factor
                      ? math::FmaOp::create(body, sums, factor, old).getResult()
                      : arith::AddFOp::create(body, sums, old).getResult();
    // Nothing added leaves the value as it is, the sign of zero too.
    sums = arith::SelectOp::create(body, empty, old, total);
  } else if (factor) {
    for (Value &part : all)
      part = arith::MulFOp::create(body, part, factor);
  }
  if (region)
    return region.emit(body, all, columns).front();
  Type outType = cast<MemRefType>(result.getType()).getElementType();
  if (isQuantized() || outType.isF32())
    return sums;
  return arith::TruncFOp::create(
      body, VectorType::get(vector.getShape(), outType), sums);
}

SmallVector<Value> MatmulBuilder::loadSums(ConsumerWaitOp stage, Value place,
                                           int64_t count, Value empty) {
  SmallVector<Value> sums;
  for (int64_t part = 0; part < numB; ++part)
    sums.push_back(LoadAccumulatorOp::create(
        body, VectorType::get({count}, body.getF32Type()), stage.getBuffer("d"),
        getEpilogueColumn(stage, place, part), empty));
  return sums;
}

Value MatmulBuilder::getEpilogueColumn(ConsumerWaitOp stage, Value place,
                                       int64_t part) {
  if (schedule.getOverlap())
    return EpilogueColumnOp::create(body, stage.getStage(), place, part, numB);
  return part ? body.add(place, part * getTileColumns()) : place;
}

/// Stores columns `begin` to `end` of the tile, in the order in which they are
/// drained.
void MatmulBuilder::storeColumns(ForEachWorkTileOp unit, ConsumerWaitOp stage,
                                 Value empty, const Row &row, bool whole,
                                 int64_t begin, int64_t end) {
  OpBuilder::InsertionGuard guard(body);
  int64_t count = getFragmentColumns();
  Value last;
  if (!whole)
    last = arith::SubIOp::create(body, body.dim(result, 1), body.index(1));
  auto loop = scf::ForOp::create(body, body.index(begin), body.index(end),
                                 body.index(count));
  body.setInsertionPointToStart(loop.getBody());
  Value place = loop.getInductionVar(),
        inTile = getEpilogueColumn(stage, place, 0);
  Columns columns = {body.add(unit.getColumn(), inTile), count, last,
                     row.own == row.clamped ? Value() : row.isPresent};
  Value finished =
      finish(loadSums(stage, place, count, empty), row, columns, empty);
  if (isStaged())
    return storeStaged(unit, row, finished, columns.first, empty);
  IntegerAttr alignment;
  if (whole)
    alignment = body.getI64IntegerAttr(
        getRowAlignment(cast<MemRefType>(result.getType()), /*dynamic=*/32));
  StoreFragmentOp::create(body, finished, result, row.own, columns.first,
                          row.isPresent, alignment,
                          /*add=*/scatter != nullptr);
}

/// Sends columns of the warp's 32 rows on their way through shared memory. The
/// copy engine leaves out what lies outside the result, or outside the group's
/// matrix of it. Where a group of rows ends among those of a warp, it would
/// write the next one's: the threads store theirs themselves.
void MatmulBuilder::storeStaged(ForEachWorkTileOp unit, const Row &own,
                                Value finished, Value column, Value empty) {
  // Nothing added leaves the value as it is: x + -0 = x for all x.
  if (op.getAccumulate()) {
    auto type = cast<VectorType>(finished.getType());
    Value nothing = arith::ConstantOp::create(
        body, DenseElementsAttr::get(
                  type, body.getFloatAttr(type.getElementType(), -0.0)));
    finished = arith::SelectOp::create(body, empty, nothing, finished);
  }
  Value warp = body.div(ThreadIdOp::create(body), 32);
  Value inWarp = body.mul(warp, body.index(32));
  SmallVector<Value> place = {body.add(getResultRow(unit), inWarp), column};
  Value hasAll;
  if (ragged == RaggedKind::Reduction)
    place = {unit.getGroup(), body.add(getFirstRow(unit), inWarp), column};
  else if (isGrouped())
    hasAll = arith::CmpIOp::create(body, arith::CmpIPredicate::ule,
                                   body.add(place[0], 32), unit.getEnd());
  auto stage = ProducerAcquireOp::create(body, staging);
  StoreSharedOp::create(body, finished, stage.getBuffer("c"), ValueRange());
  TmaStoreOp::create(body, stage.getBuffer("c"), resultMap, place, hasAll,
                     op.getAccumulate(), /*part=*/IntegerAttr());
  ProducerCommitOp::create(body, stage.getStage(), Value());
  if (!hasAll)
    return;
  Value yes = arith::ConstantOp::create(body, body.getBoolAttr(true));
  auto ifOp = scf::IfOp::create(body, arith::XOrIOp::create(body, hasAll, yes),
                                /*withElse=*/false);
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(ifOp.thenBlock());
  StoreFragmentOp::create(body, finished, result, own.own, column,
                          own.isPresent,
                          /*alignment=*/IntegerAttr(),
                          /*add=*/op.getAccumulate());
}

void MatmulBuilder::buildEpilogue() {
  OpBuilder::InsertionGuard guard(body);
  body.role("epilogue", kEpilogueWarps, /*elected=*/false);
  ForEachWorkTileOp unit = body.forEachWorkTile(work);
  Value empty = isEmpty(unit);
  Row row = getEpilogueRow(unit);
  region.emitScalars(body, row.inMatrix);
  // Columns that do not exist matter to what reads or writes them here.
  bool asks = !isStaged() || region.usesColumns();
  Value whole = asks ? isWhole(unit, empty) : Value();
  if (scatter)
    redirectRow(row);
  auto stage = ConsumerWaitOp::create(body, accumulators);
  if (isQuantized())
    return buildQuantizingEpilogue(unit, stage, empty, row);
  auto store = [&](int64_t begin, int64_t end) {
    if (!asks)
      return storeColumns(unit, stage, empty, row, true, begin, end);
    if (!whole)
      return storeColumns(unit, stage, empty, row, false, begin, end);
    auto ifOp = scf::IfOp::create(body, whole, /*withElse=*/true);
    OpBuilder::InsertionGuard guard(body);
    body.setInsertionPointToStart(ifOp.thenBlock());
    storeColumns(unit, stage, empty, row, true, begin, end);
    body.setInsertionPointToStart(ifOp.elseBlock());
    storeColumns(unit, stage, empty, row, false, begin, end);
  };
  // What the next accumulator overlaps goes first, so that it can start.
  int64_t first =
      schedule.getOverlap() ? schedule.getOverlap() : getTileColumns();
  store(0, first);
  ConsumerReleaseOp::create(body, stage.getStage());
  if (first < getTileColumns())
    store(first, getTileColumns());
}
