//===- RegisterSums.cpp - Sums in registers -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "RegisterSums.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

FragmentType RegisterSums::getType(int64_t count) {
  return FragmentType::get(body.getF32Type(),
                           product.buffers.sums.withColumns(count));
}

SmallVector<Value> RegisterSums::load(Value place, int64_t count) {
  SmallVector<Value> sums;
  for (int64_t part = 0; part < product.problem.numB; ++part) {
    int64_t first = part * product.getTileColumns();
    Value column = first ? body.add(place, first) : place;
    sums.push_back(
        ExtractColumnsOp::create(body, getType(count), fragment, column));
  }
  return sums;
}
