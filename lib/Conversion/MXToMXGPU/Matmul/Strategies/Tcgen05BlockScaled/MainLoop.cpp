//===- MainLoop.cpp - Main loop of tcgen05_block_scaled -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MainLoop.h"
#include "../../../Conversions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Host
//===----------------------------------------------------------------------===//

BlockScaledMainLoop::BlockScaledMainLoop(MatmulKernel &kernel, WorkPolicy &work,
                                         OperandB &b)
    : MainLoop(kernel, work, b) {}

/// Requires a single column tile if tiles are narrower than 64 columns, because
/// MMAs can start only at halves of the 128-row scale tiles of B.
void BlockScaledMainLoop::checkSizes() {
  if (schedule.getTileN() >= kScaleTileRows / 2)
    return;
  Value n = host.dim(matrices.out, 1);
  Value columns = host.index(schedule.getTileN());
  Value fits =
      arith::CmpIOp::create(host, arith::CmpIPredicate::ule, n, columns);
  RequireOp::create(host, fits,
                    "expected at most %lld columns, the width of the "
                    "tile, found %lld",
                    ValueRange{columns, n});
}

void BlockScaledMainLoop::addOperands(KernelArguments &signature) {
  const target::MmaForm &form = matmul.problem.mma;
  signature.add(Arg::AMap,
                encodeElements(matrices.a, *form.a, "a", matmul.getARows()));
  signature.add(Arg::BMap,
                encodeElements(matrices.b, *form.b, "b", b.getBoxRows()));
  addScales(signature);
}

void BlockScaledMainLoop::freeTemporaries() {
  for (Value temporary : temporaries)
    memref::DeallocOp::create(host, temporary);
}

/// Encodes boxes that fill a field panel by panel.
Value BlockScaledMainLoop::encodeElements(Value operand,
                                          const target::OperandForm &form,
                                          StringRef field, int64_t rows) {
  BufferType buffer = getInput(matmul.buffers.inputs, field);
  auto type = TensorMapType::get(
      op->getContext(), {rows, buffer.getShape().back()},
      buffer.getElementType(), buffer.getSwizzle(), buffer.getPadded());
  if (form.repacked)
    operand =
        temporaries.emplace_back(packSixBits(host, operand, kernel.module));
  return EncodeTensorMapOp::create(host, type, operand);
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

void BlockScaledMainLoop::createRings() {
  inputs = body.ring(matmul.buffers.inputs, "in");
  // mxgpu-overlap-epilogues expands one stage to two.
  RingType type = matmul.buffers.accumulators;
  accumulators =
      body.ring(type.getOverlap() ? type.withStages(1) : type, "acc");
}

void BlockScaledMainLoop::buildRoles(EpiloguePolicy &epilogue) {
  buildEpilogue(epilogue, accumulators);
  buildScaledLoads(inputs);
  buildMma();
}

/// Returns true if tiles of B may start in the middle of a scale tile. Tiles
/// below half a scale tile never do, because one column tile covers the matrix.
static bool startsWithinScaleTile(ScheduleAttr schedule) {
  return schedule.getTileN() % kScaleTileRows == kScaleTileRows / 2;
}

/// Builds the thread that issues scale copies and MMAs for each stage.
void BlockScaledMainLoop::buildMma() {
  OpBuilder::InsertionGuard guard(body);
  body.role("mma", 1, /*elected=*/true, /*onLeader=*/matmul.getCtas() > 1);
  ForEachWorkTileOp workTile = body.forEachWorkTile(work.getScheduler());
  Value empty = work.isEmpty(workTile);
  Value bOffset;
  if (startsWithinScaleTile(schedule))
    bOffset = arith::RemUIOp::create(body, workTile.getColumn(),
                                     body.index(kScaleTileRows));
  auto accumulator = ProducerAcquireOp::create(body, accumulators);
  auto [start, end] = work.getReduction(workTile);
  ForEachKOp step = body.forEachK(start, end, schedule.getTileK());
  Value accumulate = isAdded(step);
  auto stage = ConsumerWaitOp::create(body, inputs);
  auto copyScales = [&](StringRef field, ScalesType type) -> Value {
    return CopyScalesOp::create(body, type, stage.getBuffer(field),
                                matmul.buffers.scaleStages);
  };
  Value aScales = copyScales("sfa", matmul.buffers.aScales);
  Value bScales = copyScales("sfb", matmul.buffers.bScales);
  MmaOp::create(
      body, /*accumulator=*/Type(), matmul.buffers.mma, stage.getBuffer("a"),
      stage.getBuffer("b"), aScales, bScales, accumulator.getBuffer("d"),
      bOffset, accumulate, areTilesWhole() ? Value() : Value(step.getExtent()),
      /*thread=*/Value(), /*column=*/IntegerAttr(), /*row=*/IntegerAttr());
  ConsumerReleaseOp::create(body, stage.getStage());
  body.setInsertionPointAfter(step);
  ProducerCommitOp::create(body, accumulator.getStage(), empty);
}
