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

Value DirectEpilogue::isResultAligned() {
  return isAligned(body, getResult(), getResultAlignment(getResultType()));
}

Value DirectEpilogue::finish(ValueRange parts, const ResultRow &row,
                             const Columns &columns, Value empty) {
  return elements.finishOnto(parts, getResult(), row.clamped, columns, empty);
}

void DirectEpilogue::storeFragment(ForEachWorkTileOp, const ResultRow &row,
                                   Value fragment, const Columns &columns,
                                   Value) {
  IntegerAttr alignment;
  if (columns.areWhole())
    alignment = body.getI64IntegerAttr(getResultAlignment(getResultType()));
  StoreFragmentOp::create(body, fragment, getResult(), row.own, columns.first,
                          row.isPresent, alignment, addsElements());
}
