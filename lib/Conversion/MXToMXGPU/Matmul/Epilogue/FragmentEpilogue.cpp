//===- FragmentEpilogue.cpp - Epilogues that store runs of columns --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FragmentEpilogue.h"
#include "../../Builder/HostChecks.h"
#include "../../Builder/KernelBuilder.h"
#include "../Work/SelectedWork.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <numeric>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Returns the cache hint for stores of the result. Partials of a split
/// reduction need no hint, because a later kernel stores the result.
static CacheHint getCacheHint(ScheduleAttr schedule) {
  bool isPartial = schedule.getSplitK() > schedule.getClusterSplits();
  return isPartial ? CacheHint::None : schedule.getL2Out();
}

int64_t mx::mxgpu::getResultAlignment(MemRefType type, int64_t run) {
  constexpr int64_t kWord = 4;
  int64_t bytes = run * type.getElementTypeBitWidth() / 8;
  int64_t found =
      std::min(getRowAlignment(type, /*dynamic=*/32), bytes & -bytes);
  return found < kWord ? 0 : found;
}

//===----------------------------------------------------------------------===//
// Runs of columns
//===----------------------------------------------------------------------===//

/// Returns the length of the thread's shortest run.
static int64_t getRunSize(FragmentType accumulator) {
  int64_t size = accumulator.getColumns();
  for (const FragmentRun &run : accumulator.getLayout().getRuns())
    size = std::min(size, run.size);
  return size;
}

/// Returns whether the work tile is nonempty and all its columns are in bounds
/// and allow aligned vector accesses, or null if they never are.
Value FragmentEpilogue::isWhole(ForEachWorkTileOp workTile,
                                Accumulator &accumulator,
                                MutableArrayRef<ThreadRow> rows) {
  MemRefType type = getResultType();
  int64_t tileN = matmul.getTileColumns();
  int64_t run = getRunSize(accumulator.getType(getFragmentColumns()));
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
                                  body.add(workTile.getColumn(), tileN),
                                  body.dim(getResult(), 1)));
  for (ThreadRow &row : rows)
    if (Value aligned = row.elements.region.areLoadsAligned(body, run))
      require(aligned);
  require(body.isNot(accumulator.isEmpty()));
  return whole;
}

/// Returns whether the row may be read for a partial run, or null if every row
/// may be read. A partial run repeats reads of the last column. If the run
/// starts after it, another lane may be writing that column.
static Value isReadable(KernelBuilder &body, const ResultRow &row, Value first,
                        Value last) {
  Value present = row.own == row.clamped ? Value() : row.isPresent;
  if (!last)
    return present;
  Value exists =
      arith::CmpIOp::create(body, arith::CmpIPredicate::ule, first, last);
  return present ? arith::AndIOp::create(body, present, exists).getResult()
                 : exists;
}

/// Rows processed at once, to limit registers. Threads own more rows only if
/// warps share rows.
static constexpr size_t kRowsAtOnce = 4;

void FragmentEpilogue::storeColumns(ForEachWorkTileOp workTile,
                                    Accumulator &accumulator,
                                    MutableArrayRef<ThreadRow> rows,
                                    bool whole) {
  OpBuilder::InsertionGuard guard(body);
  int64_t count = getFragmentColumns();
  Value last;
  if (!whole)
    last = arith::SubIOp::create(body, body.dim(getResult(), 1), body.index(1));
  auto loop = scf::ForOp::create(body, body.index(0),
                                 body.index(matmul.getTileColumns()),
                                 body.index(count));
  body.setInsertionPointToStart(loop.getBody());
  Value inTile = loop.getInductionVar(), empty = accumulator.isEmpty();
  Value first = body.add(workTile.getColumn(), inTile);
  FragmentType type = accumulator.getType(count);
  SmallVector<SmallVector<Value>> ofMatrices;
  for (Value fragment : accumulator.load(inTile, count))
    ofMatrices.push_back(llvm::to_vector(
        ValueRange(ToRowsOp::create(body, fragment).getRows())));
  // Finishes run `i` of row `number`.
  auto finishRun = [&](size_t number, size_t i, const FragmentRun &run,
                       int64_t taken) -> Run {
    ThreadRow &row = rows[number];
    Value column = getColumnOfRun(body, type, i, first);
    Columns columns = {column, run.size, last,
                       isReadable(body, row.place, column, last)};
    SmallVector<Value> ofRun;
    for (ArrayRef<Value> ofMatrix : ofMatrices)
      ofRun.push_back(takeElements(body, ofMatrix[number], taken, run.size));
    return {&row.place, columns, finish(ofRun, row, columns, empty)};
  };
  auto [firstRow, endOfRows] = accumulator.getRowsOf(rows.size());
  for (size_t begun = firstRow; begun < endOfRows; begun += kRowsAtOnce) {
    SmallVector<Run> finished;
    size_t end = std::min(begun + kRowsAtOnce, endOfRows);
    for (size_t number = begun; number < end; ++number) {
      int64_t taken = 0;
      for (auto [i, run] : llvm::enumerate(type.getLayout().getRuns())) {
        finished.push_back(finishRun(number, i, run, taken));
        taken += run.size;
      }
    }
    storeRuns(workTile, finished, type, first, empty);
  }
}

void FragmentEpilogue::store(ForEachWorkTileOp workTile,
                             Accumulator &accumulator) {
  std::vector<ThreadRow> rows =
      getRows(workTile, accumulator.getType(getFragmentColumns()));
  bool asks = asksForColumns();
  Value whole = asks ? isWhole(workTile, accumulator, rows) : Value();
  for (ThreadRow &row : rows)
    redirectRow(row.place);
  accumulator.wait();
  if (whole) {
    auto ifOp = scf::IfOp::create(body, whole, /*withElse=*/true);
    OpBuilder::InsertionGuard guard(body);
    body.setInsertionPointToStart(ifOp.thenBlock());
    storeColumns(workTile, accumulator, rows, true);
    body.setInsertionPointToStart(ifOp.elseBlock());
    storeColumns(workTile, accumulator, rows, false);
  } else {
    storeColumns(workTile, accumulator, rows, !asks);
  }
  accumulator.release();
}

//===----------------------------------------------------------------------===//
// Stores by threads
//===----------------------------------------------------------------------===//

void FragmentEpilogue::storeRun(ForEachWorkTileOp workTile, const Run &run,
                                IntegerAttr alignment, bool adds) {
  OpBuilder::InsertionGuard guard(body);
  CacheHint cache = getCacheHint(schedule);
  if (op.getWhere() != RowClass::Wide) {
    auto ifOp = op.getWhere() ? scf::IfOp::create(body, kernel.isNarrow,
                                                  /*withElse=*/true)
                              : scf::IfOp();
    if (ifOp)
      body.setInsertionPointToStart(ifOp.thenBlock());
    StoreFragmentOp::create(body, run.elements, getResult(), run.row->own,
                            run.columns.first, run.row->isPresent, alignment,
                            adds, cache);
    if (!ifOp)
      return;
    body.setInsertionPointToStart(ifOp.elseBlock());
  }
  SmallVector<Value> selected = selectElements(
      kernel, work, workTile, *run.row, run.columns.first, run.columns.count);
  for (auto [i, isSelected] : llvm::enumerate(selected))
    StoreFragmentOp::create(
        body, takeElements(body, run.elements, int64_t(i), 1), getResult(),
        run.row->own, body.add(run.columns.first, int64_t(i)), isSelected,
        /*alignment=*/IntegerAttr(), adds, cache);
}

/// Columns stored at once, unless a fragment shared by threads is wider.
static constexpr int64_t kColumnsAtOnce = 32;

int64_t DirectEpilogue::getFragmentColumns() {
  return std::max(std::gcd(matmul.getTileColumns(), kColumnsAtOnce),
                  matmul.buffers.accumulatorLayout.getSharedColumns());
}

Value DirectEpilogue::isResultAligned(int64_t run) {
  return isAligned(body, getResult(), getResultAlignment(getResultType(), run));
}

/// Skips reads of rows out of bounds, because reads use the written address.
Value DirectEpilogue::finish(ValueRange accumulators, ThreadRow &row,
                             const Columns &columns, Value empty) {
  return row.elements.finishOnto(accumulators, getResult(), row.place.own,
                                 columns, empty);
}

void DirectEpilogue::storeRuns(ForEachWorkTileOp workTile, ArrayRef<Run> runs,
                               FragmentType, Value, Value) {
  for (const Run &run : runs) {
    IntegerAttr alignment;
    if (run.columns.areWhole())
      alignment = body.getI64IntegerAttr(
          getResultAlignment(getResultType(), run.columns.count));
    storeRun(workTile, run, alignment, addsElements());
  }
}

//===----------------------------------------------------------------------===//
// Scattered rows
//===----------------------------------------------------------------------===//

void ScatteredEpilogue::checkRows(Value rows) {
  requireSize(host, host.dim(op.getScatterRows(), 0), rows,
              "dimension 0 of scatter");
}

/// Returns the number of entries in the list of result rows.
Value ScatteredEpilogue::getRows() {
  return body.dim(arguments.get(Arg::ScatterRows), 0);
}

void ScatteredEpilogue::redirectRow(ResultRow &row) {
  Value listed = memref::LoadOp::create(body, arguments.get(Arg::ScatterRows),
                                        row.clamped);
  row.own = arith::IndexCastOp::create(body, body.getIndexType(), listed);
  // Unsigned comparison also rejects negative rows.
  Value exists = arith::CmpIOp::create(body, arith::CmpIPredicate::ult, row.own,
                                       body.dim(getResult(), 0));
  row.isPresent = arith::AndIOp::create(body, row.isPresent, exists);
}

//===----------------------------------------------------------------------===//
// Bulk stores
//===----------------------------------------------------------------------===//

void StagedEpilogue::requireNoRest(Value rest, StringRef what) {
  Value isZero = arith::CmpIOp::create(host, arith::CmpIPredicate::eq, rest,
                                       host.index(0));
  RequireOp::create(
      host, isZero,
      ("expected " + what +
       " to be aligned to 16 bytes for epilogue = tma_store, found a remainder "
       "of %lld: pad the result or use epilogue = direct")
          .str(),
      ValueRange{rest});
}

/// Views a matrix as panels of `columns` columns, so that a box contains
/// several panels.
static Value splitColumns(KernelBuilder &host, Value matrix, int64_t columns) {
  auto type = cast<MemRefType>(matrix.getType());
  int64_t rank = type.getRank(), panels = type.getShape().back() / columns;
  SmallVector<int64_t> shape(type.getShape().drop_back());
  SmallVector<OpFoldResult> sizes =
      memref::getMixedSizes(host, host.getLoc(), matrix);
  sizes.pop_back();
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim + 1 < rank; ++dim)
    groups.push_back({dim});
  groups.push_back({rank - 1, rank});
  for (int64_t size : {panels, columns}) {
    shape.push_back(size);
    sizes.push_back(host.getIndexAttr(size));
  }
  Value split =
      memref::ExpandShapeOp::create(host, shape, matrix, groups, sizes);
  auto order = llvm::to_vector(llvm::seq<unsigned>(0, rank + 1));
  std::swap(order[rank - 2], order[rank - 1]);
  return memref::TransposeOp::create(
      host, split,
      AffineMapAttr::get(
          AffineMap::getPermutationMap(order, type.getContext())));
}

/// Requires rows and data aligned to 16 bytes (CUDA Driver API,
/// cuTensorMapEncodeTiled).
Value StagedEpilogue::encodeResult() {
  Value out = matrices.out;
  auto type = cast<MemRefType>(out.getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  Value low = arith::RemUIOp::create(
      host, host.mul(host.dim(out, 1), host.index(bytes)), host.index(16));
  if (type.isDynamicDim(1))
    requireNoRest(low, "rows of outs");
  Value data = getAddress(host, out);
  Value rest = arith::RemUIOp::create(host, data, host.index(16));
  requireNoRest(rest, "the result's data");
  // A box covers rows of a single matrix.
  Value stored = work.getStoredTensor();
  BufferType rows = getStaged();
  SmallVector<int64_t> box(rows.getShape());
  box.insert(box.begin(), cast<MemRefType>(stored.getType()).getRank() - 2, 1);
  if (hasPanels())
    stored = splitColumns(host, stored, box.back());
  auto map = TensorMapType::get(op->getContext(), box, rows.getElementType(),
                                rows.getSwizzle());
  return EncodeTensorMapOp::create(host, map, stored);
}

void StagedEpilogue::begin() {
  EpiloguePolicy::begin();
  staging = body.ring(matmul.buffers.staging, "staging");
}

Value StagedEpilogue::finish(ValueRange accumulators, ThreadRow &row,
                             const Columns &columns, Value empty) {
  Value finished = row.elements.finish(accumulators, columns);
  if (!op.getAccumulate())
    return finished;
  // For an empty reduction, add -0, because x + -0 = x for all x.
  auto type = cast<VectorType>(finished.getType());
  Value nothing = arith::ConstantOp::create(
      body, DenseElementsAttr::get(
                type, body.getFloatAttr(type.getElementType(), -0.0)));
  return arith::SelectOp::create(body, empty, nothing, finished);
}

/// Joins the thread's runs into a fragment.
Value StagedEpilogue::joinRuns(ArrayRef<Run> runs, FragmentType accumulator) {
  SmallVector<Value> rows;
  for (size_t inRow = accumulator.getLayout().getRuns().size(); !runs.empty();
       runs = runs.drop_front(inRow)) {
    SmallVector<Value> pieces;
    for (const Run &run : runs.take_front(inRow))
      pieces.push_back(run.elements);
    rows.push_back(joinElements(body, pieces));
  }
  auto type =
      FragmentType::get(getStaged().getElementType(), accumulator.getLayout());
  return FromRowsOp::create(body, type, rows);
}

void StagedEpilogue::storeRuns(ForEachWorkTileOp workTile, ArrayRef<Run> runs,
                               FragmentType accumulator, Value first, Value) {
  StoreOrigin origin = work.getStoreOrigin(
      workTile, getFirstRowOfWarp(body, accumulator), first);
  if (op.getWhere())
    origin.hasAllRows = origin.hasAllRows
                            ? body.both(origin.hasAllRows, kernel.isNarrow)
                            : kernel.isNarrow;
  if (hasPanels()) {
    Value column = std::exchange(origin.coordinates.back(), body.index(0));
    origin.coordinates.insert(origin.coordinates.end() - 2,
                              body.div(column, getStaged().getShape().back()));
  }
  auto stage = ProducerAcquireOp::create(body, staging);
  StoreSharedOp::create(body, joinRuns(runs, accumulator), stage.getBuffer("c"),
                        ValueRange());
  TmaStoreOp::create(body, stage.getBuffer("c"), arguments.get(Arg::ResultMap),
                     origin.coordinates, origin.hasAllRows, op.getAccumulate(),
                     /*box=*/IntegerAttr(), getCacheHint(schedule));
  ProducerCommitOp::create(body, stage.getStage(), Value());
  if (!origin.hasAllRows)
    return;
  auto ifOp = scf::IfOp::create(body, body.isNot(origin.hasAllRows),
                                /*withElse=*/false);
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(ifOp.thenBlock());
  for (const Run &run : runs)
    storeRun(workTile, run, /*alignment=*/IntegerAttr(),
             /*adds=*/op.getAccumulate());
}
