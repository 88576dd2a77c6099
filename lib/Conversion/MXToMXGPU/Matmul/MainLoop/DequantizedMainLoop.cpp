//===- DequantizedMainLoop.cpp - Products by wgmma ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "DequantizedMainLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void DequantizedMainLoop::buildRoles(EpiloguePolicy &epilogue) {
  buildMultiply(epilogue, [&](ForEachWorkTileOp unit) {
    return product.problem.hasScalesOfA() ? multiplyRegisters(unit)
                                          : multiplyMemory(unit);
  });
  buildDequantize(getDequantizeWarps(schedule.getTileM(), schedule.getTileN()),
                  layouts.getBLoad(), layouts.getBOperand());
  buildLoad(/*kind=*/2);
}

LoadedTile DequantizedMainLoop::loadTileOfA(ForEachWorkTileOp unit,
                                            ForEachKOp step) {
  // Low tiles begin within a tile of scales.
  Value row = body.index(0);
  if (schedule.getTileM() % kScaleTileRows)
    row = arith::RemUIOp::create(body, work.getFirstRow(unit),
                                 body.index(kScaleTileRows));
  return loadTile(ConsumerWaitOp::create(body, inputs), "a", "sfa",
                  product.problem.a, layouts.getALoad(), row, step);
}

Value DequantizedMainLoop::dequantizeBlock(LoadedTile tile, int64_t block) {
  if (int64_t blocks = layouts.getBlocks(); blocks > 1) {
    auto type = FragmentType::get(product.problem.a, ofBlock.getALoad());
    tile.elements = ExtractRowsOp::create(body, type, tile.elements, block);
    auto scales = cast<VectorType>(tile.scales.getType());
    int64_t rows = scales.getDimSize(0) / blocks;
    tile.scales = vector::ExtractStridedSliceOp::create(
        body, tile.scales, ArrayRef<int64_t>{block * rows, 0},
        ArrayRef<int64_t>{rows, scales.getDimSize(1)}, ArrayRef<int64_t>{1, 1});
  }
  return relabel(dequantize(tile, ofBlock.getAOrder(), window.a),
                 ofBlock.getAOperand());
}

Value DequantizedMainLoop::multiplyMemory(ForEachWorkTileOp unit) {
  auto type = FragmentType::get(body.getF32Type(), layouts.getSums());
  OpBuilder::InsertionGuard guard(body);
  Value zero = ZeroFragmentOp::create(body, type);
  ForEachKOp step = forEachTile(unit, zero);
  auto stage = ConsumerWaitOp::create(body, inputs);
  auto tile = ConsumerWaitOp::create(body, operands);
  Value started = start(product.buffers.mma, stage.getBuffer("a"),
                        tile.getBuffer("b"), step.getRegionIterArgs()[0]);
  Value next = MmaWaitOp::create(body, started, /*pending=*/0);
  ConsumerReleaseOp::create(body, tile.getStage());
  ConsumerReleaseOp::create(body, stage.getStage());
  step.getYield().getValuesMutable().assign(next);
  return step.getResult(0);
}

Value DequantizedMainLoop::multiplyRegisters(ForEachWorkTileOp unit) {
  int64_t blocks = layouts.getBlocks();
  auto type = FragmentType::get(body.getF32Type(), ofBlock.getSums());
  SmallVector<Value> sums(blocks, ZeroFragmentOp::create(body, type));
  ForEachKOp step;
  {
    OpBuilder::InsertionGuard guard(body);
    step = forEachTile(unit, sums);
    llvm::copy(step.getRegionIterArgs(), sums.begin());
    LoadedTile a = loadTileOfA(unit, step);
    ConsumerWaitOp tile;
    for (int64_t block = 0; block < blocks; ++block) {
      Value operand = dequantizeBlock(a, block);
      if (!block)
        tile = ConsumerWaitOp::create(body, operands);
      sums[block] =
          start(ofBlock.getMma(), operand, tile.getBuffer("b"), sums[block]);
      // Threads have used what they read of A.
      if (block == blocks - 1)
        ConsumerReleaseOp::create(body, a.stage);
      sums[block] = MmaWaitOp::create(body, sums[block], /*pending=*/0);
    }
    ConsumerReleaseOp::create(body, tile.getStage());
    step.getYield().getValuesMutable().assign(sums);
  }
  llvm::copy(step.getResults(), sums.begin());
  if (blocks == 1)
    return sums.front();
  return ConcatRowsOp::create(
      body, FragmentType::get(body.getF32Type(), layouts.getSums()), sums);
}

/// An A that wgmma reads may have its rows in another order than in memory.
void DequantizedMainLoop::loadA(ProducerAcquireOp stage, Value row, Value k) {
  loadBoxesOfA(stage, row, k, layouts.getFirstRows());
}
