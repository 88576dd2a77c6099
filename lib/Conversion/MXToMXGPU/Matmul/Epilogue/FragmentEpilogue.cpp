//===- FragmentEpilogue.cpp - Results that are stored as they are ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "FragmentEpilogue.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Whether all columns of the unit exist and are written and read in aligned
/// vectors, and there is something to write; null if never.
Value FragmentEpilogue::isWhole(ForEachWorkTileOp unit, Value empty) {
  MemRefType type = getResultType();
  int64_t tileN = product.getTileColumns();
  if (!getResultAlignment(type) ||
      (!type.isDynamicDim(1) && type.getDimSize(1) < tileN))
    return {};
  Value whole;
  auto require = [&](Value condition) {
    whole = whole ? arith::AndIOp::create(body, whole, condition) : condition;
  };
  if (Value aligned = isResultAligned())
    require(aligned);
  if (type.isDynamicDim(1) || type.getDimSize(1) % tileN)
    require(arith::CmpIOp::create(body, arith::CmpIPredicate::ule,
                                  body.add(unit.getColumn(), tileN),
                                  body.dim(getResult(), 1)));
  if (Value aligned =
          elements.region.areLoadsAligned(body, getFragmentColumns()))
    require(aligned);
  Value yes = arith::ConstantOp::create(body, body.getBoolAttr(true));
  require(arith::XOrIOp::create(body, empty, yes));
  return whole;
}

/// Stores columns `begin` to `end` of the tile, in the order in which they are
/// read.
void FragmentEpilogue::storeColumns(ForEachWorkTileOp unit, Sums &sums,
                                    const ResultRow &row, bool whole,
                                    int64_t begin, int64_t end) {
  OpBuilder::InsertionGuard guard(body);
  int64_t count = getFragmentColumns();
  Value last;
  if (!whole)
    last = arith::SubIOp::create(body, body.dim(getResult(), 1), body.index(1));
  auto loop = scf::ForOp::create(body, body.index(begin), body.index(end),
                                 body.index(count));
  body.setInsertionPointToStart(loop.getBody());
  Value place = loop.getInductionVar(), empty = sums.isEmpty();
  Columns columns = {body.add(unit.getColumn(), sums.getColumn(place)), count,
                     last, row.own == row.clamped ? Value() : row.isPresent};
  Value fragment = finish(sums.load(place, count), row, columns, empty);
  storeFragment(unit, row, fragment, columns, empty);
}

void FragmentEpilogue::store(ForEachWorkTileOp unit, Sums &sums) {
  ResultRow row = getRow(unit);
  elements.region.emitScalars(body, row.inMatrix);
  bool asks = asksForColumns();
  Value whole = asks ? isWhole(unit, sums.isEmpty()) : Value();
  redirectRow(row);
  sums.wait();
  drain(sums, [&](int64_t begin, int64_t end) {
    if (!asks)
      return storeColumns(unit, sums, row, true, begin, end);
    if (!whole)
      return storeColumns(unit, sums, row, false, begin, end);
    auto ifOp = scf::IfOp::create(body, whole, /*withElse=*/true);
    OpBuilder::InsertionGuard guard(body);
    body.setInsertionPointToStart(ifOp.thenBlock());
    storeColumns(unit, sums, row, true, begin, end);
    body.setInsertionPointToStart(ifOp.elseBlock());
    storeColumns(unit, sums, row, false, begin, end);
  });
}
