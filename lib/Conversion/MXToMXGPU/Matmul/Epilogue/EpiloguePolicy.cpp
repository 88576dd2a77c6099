//===- EpiloguePolicy.cpp - Epilogues of matmul kernels -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "EpiloguePolicy.h"
#include "../../Builder/HostChecks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Accumulators
//===----------------------------------------------------------------------===//

Accumulator::~Accumulator() = default;

SmallVector<Value> Accumulator::load(Value column, int64_t count) {
  SmallVector<Value> values;
  for (int64_t matrix = 0; matrix < matmul.problem.numB; ++matrix) {
    int64_t first = matrix * matmul.getTileColumns();
    values.push_back(
        loadFragment(getType(count), first ? body.add(column, first) : column));
  }
  return values;
}

/// Returns the rows of this CTA's share. Rows are the last mode of the layout,
/// and four registers cover one or two rows, so a share consists of whole rows.
std::pair<size_t, size_t> RegisterAccumulator::getRowsOf(size_t rows) {
  if (!rank)
    return {0, rows};
  int64_t count = matmul.buffers.accumulatorLayout.getNumValues();
  int64_t splits = matmul.schedule.getClusterSplits();
  auto getRow = [&](int64_t rank) -> size_t {
    return getFirstOfShare(count, rank, splits) * int64_t(rows) / count;
  };
  return {getRow(*rank), getRow(*rank + 1)};
}

FragmentType RegisterAccumulator::getType(int64_t count) {
  return FragmentType::get(body.getF32Type(),
                           matmul.buffers.accumulatorLayout.withColumns(count));
}

Value RegisterAccumulator::loadFragment(FragmentType type, Value column) {
  return ExtractColumnsOp::create(body, type, fragment, column);
}

void TmemAccumulator::wait() {
  stage = ConsumerWaitOp::create(body, accumulators);
}

void TmemAccumulator::release() {
  ConsumerReleaseOp::create(body, stage.getStage());
}

FragmentType TmemAccumulator::getType(int64_t count) {
  return FragmentType::get(
      body.getF32Type(),
      FragmentLayoutAttr::getRowPerThread(body.getContext(), count));
}

Value TmemAccumulator::loadFragment(FragmentType type, Value column) {
  return LoadAccumulatorOp::create(body, type, stage.getBuffer("d"), column,
                                   empty);
}

//===----------------------------------------------------------------------===//
// Result elements
//===----------------------------------------------------------------------===//

ResultElements::ResultElements(KernelBuilder &body, MatmulOpInterface op)
    : region(op.getEpilogueBlock()), body(body), op(op) {}

void ResultElements::enter(const KernelArguments &arguments, Type type) {
  stored = type;
  alpha = arguments.get(Arg::Alpha);
  for (auto [value, inKernel] :
       llvm::zip_equal(region.getCaptures(), arguments.getAll(Arg::Captures)))
    region.capture(value, inKernel);
}

Value ResultElements::getFactor(Type vector) {
  return alpha ? vector::BroadcastOp::create(body, vector, alpha) : Value();
}

Value ResultElements::makeElements(ValueRange accumulators,
                                   const Columns &columns) {
  if (region)
    return region.emit(body, accumulators, columns).front();
  if (stored.isF32())
    return accumulators.front();
  auto type = cast<VectorType>(accumulators.front().getType());
  return arith::TruncFOp::create(body, VectorType::get(type.getShape(), stored),
                                 accumulators.front());
}

Value ResultElements::finish(ValueRange accumulators, const Columns &columns) {
  SmallVector<Value> scaled(accumulators);
  if (Value factor = getFactor(accumulators.front().getType()))
    for (Value &fragment : scaled)
      fragment = arith::MulFOp::create(body, fragment, factor);
  return makeElements(scaled, columns);
}

Value ResultElements::finishOnto(ValueRange accumulators, Value result,
                                 Value row, const Columns &columns,
                                 Value empty) {
  if (!op.getAccumulate())
    return finish(accumulators, columns);
  Value sum = accumulators.front(), factor = getFactor(sum.getType());
  Value old = loadColumns(body, result, row, columns);
  if (old.getType() != sum.getType())
    old = arith::ExtFOp::create(body, sum.getType(), old);
  // The bits of promoted sums are specified: alpha is an operation of its own.
  if (factor && op.getPromote()) {
    sum = arith::MulFOp::create(body, sum, factor);
    factor = {};
  }
  Value total = factor ? math::FmaOp::create(body, sum, factor, old).getResult()
                       : arith::AddFOp::create(body, sum, old).getResult();
  // Keep the value if nothing is added, including the sign of zero.
  Value kept = arith::SelectOp::create(body, empty, old, total);
  return makeElements(kept, columns);
}

//===----------------------------------------------------------------------===//
// Rows and columns of a thread
//===----------------------------------------------------------------------===//

Value mx::mxgpu::getRowOfThread(KernelBuilder &body, FragmentType type,
                                int64_t number) {
  return FragmentRowOp::create(body, body.getIndexType(), number, type);
}

Value mx::mxgpu::getFirstRowOfWarp(KernelBuilder &body, FragmentType type) {
  Value warp = body.div(ThreadIdOp::create(body), target::kWarpSize);
  return body.mul(warp, body.index(type.getLayout().getWarpRows()));
}

Value mx::mxgpu::getColumnOfRun(KernelBuilder &body, FragmentType type,
                                int64_t number, Value first) {
  return body.add(
      first, FragmentColumnOp::create(body, body.getIndexType(), number, type));
}

static int64_t getCount(Value vector) {
  return cast<VectorType>(vector.getType()).getNumElements();
}

Value mx::mxgpu::takeElements(KernelBuilder &body, Value vector, int64_t first,
                              int64_t count) {
  if (count == getCount(vector))
    return vector;
  return vector::ExtractStridedSliceOp::create(
      body, vector, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{count},
      ArrayRef<int64_t>{1});
}

Value mx::mxgpu::joinElements(KernelBuilder &body, ValueRange vectors) {
  if (vectors.size() == 1)
    return vectors.front();
  int64_t count = 0;
  for (Value vector : vectors)
    count += getCount(vector);
  auto type = VectorType::get(
      {count}, cast<VectorType>(vectors.front().getType()).getElementType());
  Value joined = arith::ConstantOp::create(body, body.getZeroAttr(type));
  int64_t first = 0;
  for (Value vector : vectors) {
    joined = vector::InsertStridedSliceOp::create(
        body, vector, joined, ArrayRef<int64_t>{first}, ArrayRef<int64_t>{1});
    first += getCount(vector);
  }
  return joined;
}

ScaleWordPlace mx::mxgpu::getScaleWord(KernelBuilder &body, Value row) {
  Value inQuarter = arith::RemUIOp::create(body, row, body.index(32));
  return {inQuarter, body.div(row, 32)};
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

Value EpiloguePolicy::getRows() { return body.dim(getResult(), 0); }
Value EpiloguePolicy::getColumns() { return body.dim(getResult(), 1); }

/// Requires the size of a result dimension, counted from the last.
static void requireResultSize(KernelBuilder &host, Value result,
                              int64_t fromLast, Value size) {
  int64_t rank = cast<MemRefType>(result.getType()).getRank();
  int64_t dim = rank - 1 - fromLast;
  requireSize(host, host.dim(result, dim), size,
              "dimension " + Twine(dim) + " of outs");
}

void EpiloguePolicy::checkRows(Value rows) {
  requireResultSize(host, op.getOut(), /*fromLast=*/1, rows);
}

void EpiloguePolicy::checkSizes(Value rows, Value columns) {
  checkRows(rows);
  requireResultSize(host, op.getOut(), /*fromLast=*/0, columns);
  checkScales(rows, columns);
  elements.region.requireSizes(host, rows, columns);
}

void EpiloguePolicy::begin() {
  elements.enter(arguments, getResultType().getElementType());
}

std::vector<ThreadRow> EpiloguePolicy::getRows(ForEachWorkTileOp workTile,
                                               FragmentType accumulator) {
  std::vector<ThreadRow> rows;
  int64_t count = accumulator.getLayout().getRowOffsets().size();
  for (int64_t number = 0; number < count; ++number) {
    Value inTile = getRowOfThread(body, accumulator, number);
    ThreadRow &row =
        rows.emplace_back(ThreadRow{work.getRow(workTile, inTile), elements});
    row.elements.region.emitScalars(body, row.place.inMatrix);
  }
  return rows;
}
