//===- MatmulMma.cpp - The role that multiplies ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One thread issues scale copies and MMAs, stage by stage.
//
//===----------------------------------------------------------------------===//

#include "MatmulBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void MatmulBuilder::buildMma() {
  OpBuilder::InsertionGuard guard(body);
  body.role("mma", 1, /*elected=*/true, /*onLeader=*/schedule.getCtaPair());
  ForEachWorkTileOp unit = body.forEachWorkTile(work);
  Value empty = isEmpty(unit);
  Value bOffset;
  if (startsWithinScaleTile())
    bOffset = arith::RemUIOp::create(body, unit.getColumn(),
                                     body.index(kScaleTileRows));
  auto accumulator = ProducerAcquireOp::create(body, accumulators);
  auto [start, end] = getReductionOf(unit);
  ForEachKOp step = body.forEachK(start, end, schedule.getTileK());
  Value yes = arith::ConstantOp::create(body, body.getBoolAttr(true));
  Value accumulate = arith::XOrIOp::create(body, step.getFirst(), yes);
  auto stage = ConsumerWaitOp::create(body, inputs);
  auto getScales = [&](StringRef field, ScalesType type) -> Value {
    return CopyScalesOp::create(body, type, stage.getBuffer(field),
                                /*tensor_memory=*/Value(), /*place=*/Value(),
                                schedule.getScaleStages(), IntegerAttr());
  };
  Value aScales = getScales("sfa", buffers.aScales);
  Value bScales = getScales("sfb", buffers.bScales);
  // Where every tile is full there is nothing to ask. The parts of K that
  // groups have begin and end at multiples of their alignment.
  int64_t k = ragged == RaggedKind::Reduction
                  ? kRaggedReductionAlign
                  : cast<MemRefType>(getA().getType()).getDimSize(1);
  bool isWhole = !ShapedType::isDynamic(k) && k % schedule.getTileK() == 0;
  MmaOp::create(body, stage.getBuffer("a"), stage.getBuffer("b"), aScales,
                bScales, accumulator.getBuffer("d"), product.blockSize, bOffset,
                accumulate, isWhole ? Value() : Value(step.getExtent()));
  ConsumerReleaseOp::create(body, stage.getStage());
  body.setInsertionPointAfter(step);
  ProducerCommitOp::create(body, accumulator.getStage(), empty);
}
