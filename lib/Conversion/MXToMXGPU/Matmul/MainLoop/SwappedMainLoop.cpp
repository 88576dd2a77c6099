//===- SwappedMainLoop.cpp - Products by wgmma of B times A^T -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "SwappedMainLoop.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void SwappedMainLoop::createRings() {
  inputs = body.ring(product.buffers.inputs, "in");
  bInputs = body.ring(product.buffers.bInputs, "in_b");
}

void SwappedMainLoop::buildRoles(EpiloguePolicy &epilogue) {
  buildMultiply(epilogue,
                [&](ForEachWorkTileOp unit) { return multiply(unit); });
  buildLoad(/*kind=*/1);
}

Value SwappedMainLoop::dequantizeBlock(LoadedTile tile, int64_t block) {
  if (int64_t blocks = swapped.getBlocks(); blocks > 1) {
    auto type = FragmentType::get(product.problem.b, ofBlock.getLoad());
    tile.elements = ExtractRowsOp::create(body, type, tile.elements, block);
    auto scales = cast<VectorType>(tile.scales.getType());
    int64_t rows = scales.getDimSize(0) / blocks;
    tile.scales = vector::ExtractStridedSliceOp::create(
        body, tile.scales, ArrayRef<int64_t>{block * rows, 0},
        ArrayRef<int64_t>{rows, scales.getDimSize(1)}, ArrayRef<int64_t>{1, 1});
  }
  return RelabelFragmentOp::create(
      body, FragmentType::get(body.getBF16Type(), ofBlock.getOperand()),
      dequantize(tile));
}

/// With several blocks, the products of one are under way while the next is
/// dequantized; those of the last one, in the next step.
Value SwappedMainLoop::multiply(ForEachWorkTileOp unit) {
  int64_t blocks = swapped.getBlocks();
  auto type = FragmentType::get(body.getF32Type(), ofBlock.getSums());
  bool isPipelined = blocks > 1 && schedule.getStages() > 1;
  Value row = getFirstRowOfScales(unit);
  SmallVector<Value> sums(blocks, ZeroFragmentOp::create(body, type));
  ForEachKOp step;
  {
    OpBuilder::InsertionGuard guard(body);
    step = forEachTile(unit, sums);
    llvm::copy(step.getRegionIterArgs(), sums.begin());
    LoadedTile tile =
        loadTile(ConsumerWaitOp::create(body, bInputs), "b", "sfb",
                 product.problem.b, swapped.getLoad(), row, step,
                 /*thread=*/Value(), product.problem.isPackedB);
    ConsumerWaitOp stage;
    for (int64_t block = 0; block < blocks; ++block) {
      Value operand = dequantizeBlock(tile, block);
      if (!block)
        stage = ConsumerWaitOp::create(body, inputs);
      sums[block] =
          MmaOp::create(body, type, ofBlock.getMma(), operand,
                        stage.getBuffer("a"), /*a_scales=*/Value(),
                        /*b_scales=*/Value(), sums[block], /*a_row=*/Value(),
                        /*b_offset=*/Value(), /*accumulate=*/Value(),
                        /*extent=*/Value(), /*first_warp=*/IntegerAttr())
              .getSums();
      Value &last = sums[(block + blocks - isPipelined) % blocks];
      last = MmaWaitOp::create(body, last, isPipelined);
      if (isPipelined ? block == 0 : block == blocks - 1)
        ConsumerReleaseOp::create(body, stage.getStage(), isPipelined);
    }
    step.getYield().getValuesMutable().assign(sums);
  }
  llvm::copy(step.getResults(), sums.begin());
  if (isPipelined) {
    for (Value &sum : sums)
      sum = MmaWaitOp::create(body, sum, /*pending=*/0);
    ConsumerTailOp::create(body, inputs);
  }
  if (blocks == 1)
    return sums.front();
  return ConcatRowsOp::create(
      body, FragmentType::get(body.getF32Type(), swapped.getSums()), sums);
}

void SwappedMainLoop::loadA(ProducerAcquireOp stage, Value row, Value k) {
  OperandBoxes boxes(arguments.get(Arg::AMap), *product.problem.product.a,
                     schedule.getTileK());
  loadPanels(body, boxes, row, k, stage, "a", schedule.getL2A());
}
