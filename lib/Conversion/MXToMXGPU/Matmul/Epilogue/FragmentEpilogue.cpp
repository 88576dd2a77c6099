//===- FragmentEpilogue.cpp - Results that are stored as they are ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "FragmentEpilogue.h"
#include "ThreadRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// The length of the shortest of the thread's runs.
static int64_t getRunSize(FragmentType sums) {
  int64_t size = sums.getColumns();
  for (const FragmentRun &run : sums.getLayout().getRuns())
    size = std::min(size, run.size);
  return size;
}

/// Whether all columns of the unit exist and are written and read in aligned
/// vectors, and there is something to write; null if never.
Value FragmentEpilogue::isWhole(ForEachWorkTileOp unit, Sums &sums,
                                MutableArrayRef<ThreadRow> rows) {
  MemRefType type = getResultType();
  int64_t tileN = product.getTileColumns();
  int64_t run = getRunSize(sums.getType(getFragmentColumns()));
  if (!getResultAlignment(type, run) ||
      (!type.isDynamicDim(1) && type.getDimSize(1) < tileN))
    return {};
  Value whole;
  auto require = [&](Value condition) {
    whole = whole ? arith::AndIOp::create(body, whole, condition) : condition;
  };
  if (Value aligned = isResultAligned(run))
    require(aligned);
  if (type.isDynamicDim(1) || type.getDimSize(1) % tileN)
    require(arith::CmpIOp::create(body, arith::CmpIPredicate::ule,
                                  body.add(unit.getColumn(), tileN),
                                  body.dim(getResult(), 1)));
  for (ThreadRow &row : rows)
    if (Value aligned = row.elements.region.areLoadsAligned(body, run))
      require(aligned);
  Value yes = arith::ConstantOp::create(body, body.getBoolAttr(true));
  require(arith::XOrIOp::create(body, sums.isEmpty(), yes));
  return whole;
}

/// Whether columns of the row may be read, of which a run is not whole: null if
/// always. Where warps share rows, the last column, which stands for those that
/// do not exist, may belong to another work tile, which writes it.
static Value isReadable(KernelBuilder &body, const ResultRow &row,
                        const FragmentLayoutAttr &layout, Value first,
                        Value last) {
  Value present = row.own == row.clamped ? Value() : row.isPresent;
  if (!last || layout.getWarpRows())
    return present;
  Value exists =
      arith::CmpIOp::create(body, arith::CmpIPredicate::ule, first, last);
  return present ? arith::AndIOp::create(body, present, exists).getResult()
                 : exists;
}

/// Rows of which a thread has elements in hand at a time, for the sake of
/// registers. Threads have more only where warps share rows.
static constexpr size_t kRowsAtOnce = 4;

/// Stores columns `begin` to `end` of the tile, in the order in which they are
/// read.
void FragmentEpilogue::storeColumns(ForEachWorkTileOp unit, Sums &sums,
                                    MutableArrayRef<ThreadRow> rows, bool whole,
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
  Value first = body.add(unit.getColumn(), sums.getColumn(place));
  FragmentType type = sums.getType(count);
  SmallVector<SmallVector<Value>> parts;
  for (Value fragment : sums.load(place, count))
    parts.push_back(llvm::to_vector(
        ValueRange(ToRowsOp::create(body, fragment).getRows())));
  // Columns of run `i`, and what makes elements of its sums in row `number`.
  auto finishRun = [&](size_t number, size_t i, const FragmentRun &run,
                       int64_t taken) -> Run {
    ThreadRow &row = rows[number];
    Value column = getColumnOfRun(body, type, i, first);
    Columns columns = {
        column, run.size, last,
        isReadable(body, row.place, type.getLayout(), column, last)};
    SmallVector<Value> ofRun;
    for (ArrayRef<Value> part : parts)
      ofRun.push_back(takeElements(body, part[number], taken, run.size));
    return {&row.place, columns, finish(ofRun, row, columns, empty)};
  };
  for (size_t begun = 0; begun < rows.size(); begun += kRowsAtOnce) {
    SmallVector<Run> finished;
    size_t end = std::min(begun + kRowsAtOnce, rows.size());
    for (size_t number = begun; number < end; ++number) {
      int64_t taken = 0;
      for (auto [i, run] : llvm::enumerate(type.getLayout().getRuns())) {
        finished.push_back(finishRun(number, i, run, taken));
        taken += run.size;
      }
    }
    storeRuns(unit, finished, type, first, empty);
  }
}

void FragmentEpilogue::store(ForEachWorkTileOp unit, Sums &sums) {
  std::vector<ThreadRow> rows =
      getRows(unit, sums.getType(getFragmentColumns()));
  bool asks = asksForColumns();
  Value whole = asks ? isWhole(unit, sums, rows) : Value();
  for (ThreadRow &row : rows)
    redirectRow(row.place);
  sums.wait();
  drain(sums, [&](int64_t begin, int64_t end) {
    if (!asks)
      return storeColumns(unit, sums, rows, true, begin, end);
    if (!whole)
      return storeColumns(unit, sums, rows, false, begin, end);
    auto ifOp = scf::IfOp::create(body, whole, /*withElse=*/true);
    OpBuilder::InsertionGuard guard(body);
    body.setInsertionPointToStart(ifOp.thenBlock());
    storeColumns(unit, sums, rows, true, begin, end);
    body.setInsertionPointToStart(ifOp.elseBlock());
    storeColumns(unit, sums, rows, false, begin, end);
  });
}
