//===- Accumulators.cpp - Where the epilogue finds accumulators -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "Accumulators.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// In registers
//===----------------------------------------------------------------------===//

FragmentType RegisterAccumulator::getType(int64_t count) {
  return FragmentType::get(
      body.getF32Type(), product.buffers.accumulatorLayout.withColumns(count));
}

SmallVector<Value> RegisterAccumulator::load(Value place, int64_t count) {
  SmallVector<Value> values;
  for (int64_t part = 0; part < product.problem.numB; ++part) {
    int64_t first = part * product.getTileColumns();
    Value column = first ? body.add(place, first) : place;
    values.push_back(
        ExtractColumnsOp::create(body, getType(count), fragment, column));
  }
  return values;
}

//===----------------------------------------------------------------------===//
// In tensor memory
//===----------------------------------------------------------------------===//

void TmemAccumulator::wait() {
  stage = ConsumerWaitOp::create(body, accumulators);
}

void TmemAccumulator::release() {
  ConsumerReleaseOp::create(body, stage.getStage());
}

int64_t TmemAccumulator::getColumnsToRelease() {
  int64_t overlap = product.buffers.accumulators.getOverlap();
  return overlap ? overlap : product.getTileColumns();
}

Value TmemAccumulator::getColumn(Value place) {
  return getColumnOfPart(place, 0);
}

Value TmemAccumulator::getColumnOfPart(Value place, int64_t part) {
  if (product.buffers.accumulators.getOverlap())
    return EpilogueColumnOp::create(body, stage.getStage(), place, part,
                                    product.problem.numB);
  return part ? body.add(place, part * product.getTileColumns()) : place;
}

FragmentType TmemAccumulator::getType(int64_t count) {
  MmaAttrInterface mma = product.buffers.mma;
  return mma.getAccumulatorType(body.getF32Type(), count);
}

SmallVector<Value> TmemAccumulator::load(Value place, int64_t count) {
  SmallVector<Value> values;
  for (int64_t part = 0; part < product.problem.numB; ++part)
    values.push_back(
        LoadAccumulatorOp::create(body, getType(count), stage.getBuffer("d"),
                                  getColumnOfPart(place, part), empty));
  return values;
}
