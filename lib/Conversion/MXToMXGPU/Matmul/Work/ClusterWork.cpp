//===- ClusterWork.cpp - Parts of a reduction in a cluster ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "ClusterWork.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void ClusterWork::createScheduler(Value rows, Value columns, Value units) {
  resultRows = rows;
  scheduler = TileSchedulerOp::create(
      body, rows, columns, arguments.get(Arg::K), getTile(),
      schedule.getRaster(), units, schedule.getSplitK(), schedule.getTileK());
}

Value ClusterWork::isEmpty(ForEachWorkTileOp unit) {
  return arith::CmpIOp::create(body, arith::CmpIPredicate::eq,
                               scheduler.getReduction(), body.index(0));
}
