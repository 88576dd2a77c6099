//===- DirectEpilogue.cpp - Threads store the result themselves -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "DirectEpilogue.h"
#include <numeric>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Most columns that a thread holds at a time.
static constexpr int64_t kMostColumns = 32;

int64_t DirectEpilogue::getFragmentColumns() {
  return std::gcd(product.getTileColumns(), kMostColumns);
}

Value DirectEpilogue::isResultAligned(int64_t run) {
  return isAligned(body, getResult(), getResultAlignment(getResultType(), run));
}

Value DirectEpilogue::finish(ValueRange parts, ThreadRow &row,
                             const Columns &columns, Value empty) {
  return row.elements.finishOnto(parts, getResult(), row.place.clamped, columns,
                                 empty);
}

void DirectEpilogue::storeRuns(ForEachWorkTileOp, ArrayRef<Run> runs,
                               FragmentType, Value, Value) {
  for (const Run &run : runs) {
    IntegerAttr alignment;
    if (run.columns.areWhole())
      alignment = body.getI64IntegerAttr(
          getResultAlignment(getResultType(), run.columns.count));
    StoreFragmentOp::create(body, run.elements, getResult(), run.row->own,
                            run.columns.first, run.row->isPresent, alignment,
                            addsElements());
  }
}
