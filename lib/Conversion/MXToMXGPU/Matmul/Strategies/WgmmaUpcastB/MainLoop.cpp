//===- MainLoop.cpp - Main loop of wgmma_upcast_b -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MainLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void WgmmaUpcastMainLoop::buildRoles(EpiloguePolicy &epilogue) {
  buildMultiply(epilogue, [&](ForEachWorkTileOp workTile) {
    return matmul.problem.hasScalesOfA() ? multiplyRegisters(workTile)
                                         : multiplyMemory(workTile);
  });
  buildDequantize(getDequantizeWarps(schedule.getTileM(), schedule.getTileN()),
                  layouts.getBLoad(), layouts.getBOperand());
  buildLoad();
}

LoadedTile WgmmaUpcastMainLoop::loadTileOfA(ForEachWorkTileOp workTile,
                                            ForEachKOp step) {
  return loadTile(ConsumerWaitOp::create(body, inputs), "a", "sfa",
                  matmul.problem.a, layouts.getALoad(),
                  getFirstRowOfScalesOfA(workTile), step);
}

Value WgmmaUpcastMainLoop::dequantizeBlock(LoadedTile tile, int64_t block) {
  if (int64_t blocks = layouts.getBlocks(); blocks > 1) {
    auto type = FragmentType::get(matmul.problem.a, ofBlock.getALoad());
    tile.elements = ExtractRowsOp::create(body, type, tile.elements, block);
    auto scales = cast<VectorType>(tile.scales.getType());
    int64_t rows = scales.getDimSize(0) / blocks;
    tile.scales = vector::ExtractStridedSliceOp::create(
        body, tile.scales, ArrayRef<int64_t>{block * rows, 0},
        ArrayRef<int64_t>{rows, scales.getDimSize(1)}, ArrayRef<int64_t>{1, 1});
  }
  return relabel(dequantize(tile, ofBlock.getAOrder(), range.a),
                 ofBlock.getAOperand());
}

Value WgmmaUpcastMainLoop::multiplyMemory(ForEachWorkTileOp workTile) {
  auto type = FragmentType::get(body.getF32Type(), layouts.getAccumulator());
  OpBuilder::InsertionGuard guard(body);
  Value zero = ZeroFragmentOp::create(body, type);
  ForEachKOp step = forEachTile(workTile, zero);
  auto stage = ConsumerWaitOp::create(body, inputs);
  auto tile = ConsumerWaitOp::create(body, operands);
  Value started = start(matmul.buffers.mma, stage.getBuffer("a"),
                        tile.getBuffer("b"), step.getRegionIterArgs()[0]);
  Value next = MmaWaitOp::create(body, started, /*pending=*/0);
  ConsumerReleaseOp::create(body, tile.getStage());
  ConsumerReleaseOp::create(body, stage.getStage());
  step.getYield().getValuesMutable().assign(next);
  return step.getResult(0);
}

Value WgmmaUpcastMainLoop::multiplyRegisters(ForEachWorkTileOp workTile) {
  int64_t blocks = layouts.getBlocks();
  auto type = FragmentType::get(body.getF32Type(), ofBlock.getAccumulator());
  SmallVector<Value> accumulators(blocks, ZeroFragmentOp::create(body, type));
  ForEachKOp step;
  {
    OpBuilder::InsertionGuard guard(body);
    step = forEachTile(workTile, accumulators);
    llvm::copy(step.getRegionIterArgs(), accumulators.begin());
    LoadedTile a = loadTileOfA(workTile, step);
    ConsumerWaitOp tile;
    for (int64_t block = 0; block < blocks; ++block) {
      Value operand = dequantizeBlock(a, block);
      if (!block)
        tile = ConsumerWaitOp::create(body, operands);
      accumulators[block] = start(ofBlock.getMma(), operand,
                                  tile.getBuffer("b"), accumulators[block]);
      // The last row block has been read from A's stage.
      if (block == blocks - 1)
        ConsumerReleaseOp::create(body, a.stage);
      accumulators[block] =
          MmaWaitOp::create(body, accumulators[block], /*pending=*/0);
    }
    ConsumerReleaseOp::create(body, tile.getStage());
    step.getYield().getValuesMutable().assign(accumulators);
  }
  llvm::copy(step.getResults(), accumulators.begin());
  if (blocks == 1)
    return accumulators.front();
  return ConcatRowsOp::create(
      body, FragmentType::get(body.getF32Type(), layouts.getAccumulator()),
      accumulators);
}

/// Loads A. If wgmma reads A from shared memory, its rows are reordered.
void WgmmaUpcastMainLoop::loadA(ProducerAcquireOp stage, Value row, Value k) {
  loadBoxesOfA(stage, row, k, layouts.getFirstRows());
}

//===----------------------------------------------------------------------===//
// Work tile classes
//===----------------------------------------------------------------------===//

Value WgmmaUpcastMainLoop::fits(ForEachWorkTileOp workTile, bool bf16) {
  Value fits = LoadScaleRangeOp::create(body, arguments.get(Arg::BScaleRange),
                                        work.getScaleRangeOfB(workTile), bf16)
                   .getFits();
  for (int64_t i = 0; i < schedule.getTileM() / kScaleTileRows; ++i)
    fits = arith::AndIOp::create(
        body, fits,
        LoadScaleRangeOp::create(body, arguments.get(Arg::AScaleRange),
                                 work.getScaleRangeOfA(workTile, body.index(i)),
                                 bf16)
            .getFits());
  return fits;
}

void WgmmaUpcastMainLoop::enterWorkTile(ForEachWorkTileOp workTile,
                                        bool multiplies) {
  range = {};
  Value aTable = arguments.get(Arg::AScaleRange);
  if (!aTable)
    return;
  // Tiles that fit f16 also fit bf16, so exclude them below.
  bool bf16 = kernel.workTiles == WorkTileClass::RelativeBF16 ||
              kernel.workTiles == WorkTileClass::BF16;
  range.isOwn = fits(workTile, bf16);
  if (kernel.workTiles == WorkTileClass::BF16 ||
      kernel.workTiles == WorkTileClass::NotF16) {
    range.isOwn = body.isNot(range.isOwn);
    return;
  }
  if (bf16)
    range.isOwn = arith::AndIOp::create(
        body, range.isOwn, body.isNot(fits(workTile, /*bf16=*/false)));
  range.b = LoadScaleRangeOp::create(body, arguments.get(Arg::BScaleRange),
                                     work.getScaleRangeOfB(workTile), bf16)
                .getReference();
  if (!multiplies)
    return;
  // A warpgroup owns either all rows or half of the rows of a scale tile.
  Value tile = body.index(0);
  if (schedule.getTileM() > kScaleTileRows)
    tile = body.div(ThreadIdOp::create(body), target::kWarpGroupSize);
  range.a = LoadScaleRangeOp::create(
                body, aTable, work.getScaleRangeOfA(workTile, tile), bf16)
                .getReference();
}

std::pair<Value, Value>
WgmmaUpcastMainLoop::getReduction(ForEachWorkTileOp workTile) {
  auto [start, end] = MainLoop::getReduction(workTile);
  if (range.isOwn)
    end = arith::SelectOp::create(body, range.isOwn, end, start);
  return {start, end};
}

Value WgmmaUpcastMainLoop::finishAccumulator(Value accumulator) {
  if (range.isOwn) {
    auto own = scf::IfOp::create(body, range.isOwn, /*withElse=*/false);
    body.setInsertionPointToStart(own.thenBlock());
  }
  return range.a ? scaleAccumulator(accumulator) : accumulator;
}

Type WgmmaUpcastMainLoop::getUpcastType() {
  return isFinite() ? Type(body.getBF16Type()) : Type(body.getF16Type());
}

/// Multiplies an accumulator by the references 2^(a - 127) and 2^(b - 127).
Value WgmmaUpcastMainLoop::scaleAccumulator(Value accumulator) {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(body, body.getI32IntegerAttr(value));
  };
  constexpr int64_t kBias = 127, kMantissaBits = 23;
  Value exponent = arith::AddIOp::create(body, range.a, range.b);
  exponent = arith::AddIOp::create(body, exponent, number(-kBias));
  Value bits = arith::ShLIOp::create(body, exponent, number(kMantissaBits));
  Value factor = arith::BitcastOp::create(body, body.getF32Type(), bits);
  SmallVector<Value> rows;
  for (Value row : ToRowsOp::create(body, accumulator).getRows())
    rows.push_back(arith::MulFOp::create(
        body, row, vector::BroadcastOp::create(body, row.getType(), factor)));
  return FromRowsOp::create(body, accumulator.getType(), rows);
}
