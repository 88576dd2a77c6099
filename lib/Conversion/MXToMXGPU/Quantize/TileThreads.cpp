//===- TileThreads.cpp - Threads that share a tile ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TileThreads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx::mxgpu;

TileThreads TileThreads::get(KernelBuilder &body, int64_t threads,
                             int64_t columns, int64_t vector) {
  int64_t inRow = columns / vector;
  Value thread = ThreadIdOp::create(body);
  Value row = body.div(thread, inRow);
  Value piece = arith::RemUIOp::create(body, thread, body.index(inRow));
  return {threads / inRow, row, body.mul(piece, body.index(vector))};
}

TileThreads mx::mxgpu::forEachTile(KernelBuilder &body, StringRef role,
                                   Value rows, Value columns,
                                   ArrayRef<int64_t> tile, int64_t threads,
                                   int64_t vector, RasterAttr raster) {
  Value work =
      TileSchedulerOp::create(body, rows, columns,
                              /*reduction=*/body.index(0), tile, raster);
  body.role(role, threads / 32, /*elected=*/false);
  auto inTile = TileThreads::get(body, threads, tile[1], vector);
  ForEachWorkTileOp workTile = body.forEachWorkTile(work);
  Value row = body.add(workTile.getRow(), inTile.row);
  return {inTile.step, row, body.add(workTile.getColumn(), inTile.column)};
}
