//===- ConvertedMainLoop.cpp - bf16 by weights, by tcgen05.mma ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "ConvertedMainLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mx/Conversion/MXToMXGPU/DequantizedLayouts.h"
#include "mx/Conversion/MXToMXGPU/PackedWeights.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void ConvertedMainLoop::createRings() {
  DequantizingMainLoop::createRings();
  accumulators = body.ring(product.buffers.accumulators, "acc");
}

void ConvertedMainLoop::buildRoles(EpiloguePolicy &epilogue) {
  buildEpilogue(epilogue, accumulators);
  int64_t warps = getConvertingWarps(product.getBRows());
  auto getLayout =
      product.problem.isPackedB ? getPackedWeights : getRowsOfThreads;
  FragmentLayoutAttr layout =
      getLayout(op->getContext(), warps * target::kWarpSize, product.getBRows(),
                schedule.getTileK());
  buildDequantize(warps, layout, layout);
  buildLoad(/*kind=*/2);
  buildMma();
}

void ConvertedMainLoop::loadA(ProducerAcquireOp stage, Value row, Value k) {
  OperandBoxes boxes(arguments.get(Arg::AMap), *product.problem.product.a,
                     schedule.getTileK());
  loadPanels(body, boxes, row, k, stage, "a", schedule.getL2A());
}

/// One thread, of a pair the leader's, issues MMAs, tile by tile. What lies
/// beyond the reduction is 0 in both operands.
void ConvertedMainLoop::buildMma() {
  OpBuilder::InsertionGuard guard(body);
  createRole("mma", 1, /*elected=*/true, /*kind=*/2,
             /*onLeader=*/schedule.getCtaPair());
  ForEachWorkTileOp unit = body.forEachWorkTile(work.getScheduler());
  Value empty = work.isEmpty(unit);
  auto accumulator = ProducerAcquireOp::create(body, accumulators);
  ForEachKOp step = forEachTile(unit);
  auto stage = ConsumerWaitOp::create(body, inputs);
  auto tile = ConsumerWaitOp::create(body, operands);
  MmaOp::create(body, /*sums=*/Type(), product.buffers.mma,
                stage.getBuffer("a"), tile.getBuffer("b"),
                /*a_scales=*/Value(), /*b_scales=*/Value(),
                accumulator.getBuffer("d"), /*b_offset=*/Value(), isAdded(step),
                /*extent=*/Value(),
                /*first_warp=*/IntegerAttr(), /*column=*/IntegerAttr());
  ConsumerReleaseOp::create(body, tile.getStage());
  ConsumerReleaseOp::create(body, stage.getStage());
  body.setInsertionPointAfter(step);
  ProducerCommitOp::create(body, accumulator.getStage(), empty);
}
