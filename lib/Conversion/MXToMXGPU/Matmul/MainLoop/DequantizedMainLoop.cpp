//===- DequantizedMainLoop.cpp - Products by wgmma ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "DequantizedMainLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void DequantizedMainLoop::buildRoles(EpiloguePolicy &epilogue) {
  buildMultiply(epilogue,
                [&](ForEachWorkTileOp unit) { return multiply(unit); });
  buildDequantize(getDequantizeWarps(schedule.getTileM(), schedule.getTileN()),
                  layouts.getBLoad(), layouts.getBOperand());
  buildLoad(/*kind=*/2);
}

Value DequantizedMainLoop::getTileOfA(ForEachWorkTileOp unit, ForEachKOp step,
                                      ConsumerWaitOp stage) {
  if (!product.problem.hasScalesOfA())
    return stage.getBuffer("a");
  // Low tiles begin within a tile of scales.
  Value row = body.index(0);
  if (schedule.getTileM() % kScaleTileRows)
    row = arith::RemUIOp::create(body, work.getFirstRow(unit),
                                 body.index(kScaleTileRows));
  Value a = dequantize(stage, "a", "sfa", product.problem.a, layouts.getALoad(),
                       row, step);
  return RelabelFragmentOp::create(
      body, FragmentType::get(body.getBF16Type(), layouts.getAOperand()), a);
}

Value DequantizedMainLoop::multiply(ForEachWorkTileOp unit) {
  OpBuilder::InsertionGuard guard(body);
  auto sums = FragmentType::get(body.getF32Type(), layouts.getSums());
  Value zero = ZeroFragmentOp::create(body, sums);
  ForEachKOp step = forEachTile(unit, zero);
  auto stage = ConsumerWaitOp::create(body, inputs);
  Value a = getTileOfA(unit, step, stage);
  auto tile = ConsumerWaitOp::create(body, operands);
  Value started =
      MmaOp::create(body, sums, product.buffers.mma, a, tile.getBuffer("b"),
                    /*a_scales=*/Value(),
                    /*b_scales=*/Value(), step.getRegionIterArgs()[0],
                    /*a_row=*/Value(), /*b_offset=*/Value(),
                    /*accumulate=*/Value(), /*extent=*/Value(),
                    /*first_warp=*/IntegerAttr())
          .getSums();
  Value next = MmaWaitOp::create(body, started, /*pending=*/0);
  ConsumerReleaseOp::create(body, tile.getStage());
  if (!product.problem.hasScalesOfA())
    ConsumerReleaseOp::create(body, stage.getStage());
  step.getYield().getValuesMutable().assign(next);
  return step.getResult(0);
}

/// An A that wgmma reads may have its rows in another order than in memory.
void DequantizedMainLoop::loadA(ProducerAcquireOp stage, Value row, Value k) {
  loadBoxesOfA(stage, row, k, layouts.getFirstRows());
}
