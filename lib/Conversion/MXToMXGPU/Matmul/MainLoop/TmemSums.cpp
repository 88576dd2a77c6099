//===- TmemSums.cpp - Sums in tensor memory -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "TmemSums.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void TmemSums::wait() { stage = ConsumerWaitOp::create(body, accumulators); }

void TmemSums::release() { ConsumerReleaseOp::create(body, stage.getStage()); }

int64_t TmemSums::getColumnsToRelease() {
  int64_t overlap = product.schedule.getOverlap();
  return overlap ? overlap : product.getTileColumns();
}

Value TmemSums::getColumn(Value place) { return getColumnOfPart(place, 0); }

Value TmemSums::getColumnOfPart(Value place, int64_t part) {
  if (product.schedule.getOverlap())
    return EpilogueColumnOp::create(body, stage.getStage(), place, part,
                                    product.problem.numB);
  return part ? body.add(place, part * product.getTileColumns()) : place;
}

FragmentType TmemSums::getType(int64_t count) {
  MmaAttrInterface mma = product.buffers.mma;
  return mma.getSumType(body.getF32Type(), count);
}

SmallVector<Value> TmemSums::load(Value place, int64_t count) {
  SmallVector<Value> sums;
  for (int64_t part = 0; part < product.problem.numB; ++part)
    sums.push_back(
        LoadAccumulatorOp::create(body, getType(count), stage.getBuffer("d"),
                                  getColumnOfPart(place, part), empty));
  return sums;
}
