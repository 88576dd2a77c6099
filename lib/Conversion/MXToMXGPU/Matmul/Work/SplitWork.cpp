//===- SplitWork.cpp - Units that share a tile ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "SplitWork.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void SplitWork::createScheduler(Value rows, Value columns, Value units) {
  resultRows = rows;
  scheduler = TileSchedulerOp::create(
      body, body.div(rows, schedule.getSplitK()), columns,
      arguments.get(Arg::K), getTile(), schedule.getRaster(), units,
      schedule.getSplitK(), schedule.getTileK());
}

Value SplitWork::getResultRow(ForEachWorkTileOp unit) {
  return body.add(getFirstRow(unit),
                  body.mul(unit.getGroup(), scheduler.getRows()));
}
