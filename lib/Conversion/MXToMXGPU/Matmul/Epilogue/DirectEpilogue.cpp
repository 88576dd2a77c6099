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

/// Columns that are stored at a time, where threads do not share more.
static constexpr int64_t kColumnsAtOnce = 32;

int64_t DirectEpilogue::getFragmentColumns() {
  return std::max(std::gcd(product.getTileColumns(), kColumnsAtOnce),
                  product.buffers.sums.getSharedColumns());
}

Value DirectEpilogue::isResultAligned(int64_t run) {
  return isAligned(body, getResult(), getResultAlignment(getResultType(), run));
}

/// A row that does not exist is not read: what is read has the address of what
/// is written.
Value DirectEpilogue::finish(ValueRange parts, ThreadRow &row,
                             const Columns &columns, Value empty) {
  return row.elements.finishOnto(parts, getResult(), row.place.own, columns,
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
