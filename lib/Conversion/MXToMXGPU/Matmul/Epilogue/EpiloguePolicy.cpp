//===- EpiloguePolicy.cpp - From sums to the result -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What all epilogues have in common. See the header.
//
//===----------------------------------------------------------------------===//

#include "EpiloguePolicy.h"
#include "ThreadRows.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Requires that the dimension of the result which is the `fromLast`-th from
/// its last has a size.
static void requireResultSize(KernelBuilder &host, Value result,
                              int64_t fromLast, Value size) {
  int64_t rank = cast<MemRefType>(result.getType()).getRank();
  int64_t dim = rank - 1 - fromLast;
  host.requireSize(host.dim(result, dim), size,
                   "dimension " + Twine(dim) + " of outs");
}

void EpiloguePolicy::checkRows(Value rows) {
  requireResultSize(host, op.getResultTensor(), /*fromLast=*/1, rows);
}

void EpiloguePolicy::checkSizes(Value rows, Value columns) {
  checkRows(rows);
  requireResultSize(host, op.getResultTensor(), /*fromLast=*/0, columns);
  checkScales(rows, columns);
  elements.region.requireSizes(host, rows, columns);
}

void EpiloguePolicy::begin() {
  elements.enter(arguments, getResultType().getElementType());
}

std::vector<ThreadRow> EpiloguePolicy::getRows(ForEachWorkTileOp unit,
                                               FragmentType sums) {
  std::vector<ThreadRow> rows;
  int64_t count = sums.getLayout().getRowOffsets().size();
  for (int64_t number = 0; number < count; ++number) {
    Value inTile = getRowOfThread(body, sums, number);
    ThreadRow &row =
        rows.emplace_back(ThreadRow{work.getRow(unit, inTile), elements});
    row.elements.region.emitScalars(body, row.place.inMatrix);
  }
  return rows;
}

void EpiloguePolicy::drain(
    Sums &sums, llvm::function_ref<void(int64_t begin, int64_t end)> store) {
  int64_t first = sums.getColumnsToRelease();
  store(0, first);
  sums.release();
  if (first < product.getTileColumns())
    store(first, product.getTileColumns());
}
