//===- PartsB.cpp - Tiles of rows of several parts of B -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See OperandB.h. Parts of the matrix of each group have as many rows as the
// result has columns.
//
//===----------------------------------------------------------------------===//

#include "OperandB.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

Value PartsB::getResultColumns(Value rows) {
  int64_t parts = product.problem.numB;
  host.requireMultiple(rows, parts * kScaleTileRows, "rows of a matrix of b");
  return host.div(rows, parts);
}

/// Those of a part, where a CTA loads several.
int64_t PartsB::getBoxRows() {
  return std::min(product.getBRows(), product.getTileColumns());
}

SmallVector<int64_t> PartsB::getScaleBox() {
  SmallVector<int64_t> box = getScaleShape();
  box[0] /= product.problem.numB / (sharesScales() ? 1 : schedule.getCtas());
  return box;
}

void PartsB::forEachPart(
    llvm::function_ref<void(Value part, int64_t place)> load) {
  int64_t count = product.problem.numB / schedule.getCtas();
  for (int64_t place = 0; place < count; ++place) {
    Value part = body.index(place);
    if (kernel.rank)
      part = body.add(body.mul(kernel.rank, body.index(count)), place);
    load(part, place);
  }
}

void PartsB::loadElements(ProducerAcquireOp stage, Value k) {
  Value columns = work.getScheduler().getColumns();
  Value first = body.mul(unit.getGroup(), body.index(product.problem.numB));
  forEachPart([&](Value part, int64_t place) {
    Value row =
        body.add(unit.getColumn(), body.mul(body.add(first, part), columns));
    loadRows(stage, row, k, place);
  });
}

/// Both CTAs of a pair need the scales of all parts where the tensor core
/// multiplies by them.
void PartsB::loadScales(ProducerAcquireOp stage, Value kTile) {
  Value tiles = body.div(work.getScheduler().getColumns(), kScaleTileRows);
  Value first = body.mul(unit.getGroup(), body.index(product.problem.numB));
  Value tile = body.div(unit.getColumn(), kScaleTileRows);
  Value rank = sharesScales() ? kernel.rank : Value();
  forEachPart([&](Value part, int64_t place) {
    Value row = body.add(tile, body.mul(body.add(first, part), tiles));
    TmaLoadOp::create(body, arguments.get(Arg::BScalesMap),
                      ValueRange{row, kTile}, stage.getBuffer("sfb"),
                      stage.getStage(), rank ? rank : body.index(place),
                      /*multicast=*/rank != nullptr, CacheHint::None);
  });
}
