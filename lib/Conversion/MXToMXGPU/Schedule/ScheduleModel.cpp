//===- ScheduleModel.cpp - What a schedule should cost --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Whole cycles throughout; docs/ScheduleModel.md explains each formula.
//
//===----------------------------------------------------------------------===//

#include "mx/Conversion/MXToMXGPU/ScheduleModel.h"
#include "ScheduleGrid.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

StringRef ModelledCost::getPipe() const {
  int64_t products = mma + steps;
  int64_t slowest = std::max({products, port, fill, ring});
  if ((waves - 1) * period + slowest < std::max(l2, hbm))
    return hbm >= l2 ? "HBM" : "L2";
  if (waves > 1 && period > 2 * slowest)
    return "epilogue";
  if (slowest == products)
    return "products";
  return slowest == port ? "shared memory" : slowest == fill ? "fill" : "ring";
}

ModelledCost mx::mxgpu::getModelledCost(const MatmulProblem &problem,
                                        const ScheduleFields &fields,
                                        const target::TargetInfo &target) {
  const target::Rates &rates = getRates(target);
  Grid grid = getGrid(problem, fields, target);
  ModelledCost cost;
  int64_t ctas = fields.ctaPair ? 2 : 1, tileN = fields.tile[1];
  int64_t tiles = grid.rowTiles * grid.columnTiles;
  cost.units = tiles * fields.splitK;
  cost.waves = ceilDiv(cost.units, grid.workers);

  // The main loop.
  int64_t steps = ceilDiv(ceilDiv(grid.k, fields.tile[2]), fields.splitK);
  cost.kSteps = steps * cost.units;
  int64_t elements = std::min(grid.k, steps * fields.tile[2]);
  MatmulBuffers buffers = getBuffers(problem, fields);
  int64_t products = ceilDiv(elements, buffers.mma.getMmaShape().k);
  cost.mma = products * buffers.mma.getCycles(rates);
  cost.port = products * target::mmaPortCycles(rates, ctas, tileN);
  int64_t stageBytes = buffers.inputs.getStageBytes();
  int64_t stageFill = ceilDiv(stageBytes, rates.fillBytesPerClk);
  cost.fill = steps * stageFill;
  cost.ring = ceilDiv(steps * (rates.loadLatency + stageFill) + cost.mma,
                      fields.stages);
  int64_t stepCycles = rates.stepCycles;
  if (fields.scaleStages == 1) {
    stepCycles += rates.copyLatency;
    for (ScalesType scales : {buffers.aScales, buffers.bScales})
      stepCycles += scales.getColumns() / target::kScaleColumnsPerGroup *
                    rates.scaleTileCycles;
  }
  cost.steps = steps * stepCycles;
  int64_t loop =
      std::max({cost.mma + cost.steps, cost.port, cost.fill, cost.ring});

  // The epilogue of one CTA.
  bool isSplit = fields.splitK > 1;
  int64_t outBits = isSplit ? 32 : problem.getOutBits();
  int64_t storedRows = std::min<int64_t>(grid.m, kScaleTileRows);
  int64_t storedBytes =
      ceilDiv(storedRows * std::min(grid.n, tileN) * outBits, 8);
  int64_t read = ceilDiv(kScaleTileRows * tileN * 4, rates.tmemReadBytesPerClk);
  int64_t latency = rates.directLatency;
  if (fields.epilogue == Epilogue::Direct) {
    bool readsC = problem.accumulate && !isSplit;
    cost.epilogue =
        read + ceilDiv(storedBytes * (readsC ? 2 : 1), rates.directBytesPerClk);
  } else {
    int64_t buffers = ceilDiv(tileN * outBits / 8, 128);
    cost.epilogue = read + ceilDiv(storedBytes, rates.stagedBytesPerClk) +
                    buffers * rates.stagedBufferCycles;
    latency = rates.stagedLatency;
  }
  if (fields.accumulators == 1)
    cost.exposed = cost.epilogue + rates.handOver;
  else if (fields.overlap)
    cost.exposed =
        ceilDiv(cost.epilogue * fields.overlap, tileN) + rates.handOver;
  cost.period =
      std::max(loop + cost.exposed, cost.epilogue + int64_t(rates.handOver));
  if (fields.tileLoop == TileLoop::Clc)
    cost.period += rates.clcHandOver;

  // The chip. Every tile loads its operands from L2; what L2 has evicted, and
  // the result, go through HBM.
  int64_t cache = rates.l2Bytes / 2;
  int64_t outBytes = ceilDiv(grid.m * grid.n * problem.getOutBits(), 8);
  int64_t partBytes = isSplit ? grid.m * grid.n * 4 * fields.splitK : 0;
  int64_t written = isSplit ? partBytes : outBytes;
  cost.l2 = ceilDiv(grid.aBytes * grid.columnTiles +
                        grid.bBytes * grid.rowTiles + written,
                    rates.l2BytesPerClk);
  int64_t hbmBytes = getLoadTraffic(grid, fields, cache);
  if (!isSplit)
    hbmBytes += outBytes * (problem.accumulate ? 2 : 1);
  else if (partBytes > cache)
    hbmBytes += partBytes;
  cost.hbm = ceilDiv(hbmBytes, rates.hbmBytesPerClk);
  cost.ends = rates.setUp + (fields.ctaPair ? rates.pairSetUp : 0) +
              rates.loadLatency + rates.missLatency + stageFill +
              rates.mmaLatency + latency + cost.epilogue;
  if (isSplit) {
    // The splits are read back, and the result is written.
    int64_t bytes = partBytes + outBytes * (problem.accumulate ? 2 : 1);
    cost.sum = rates.nextKernel + ceilDiv(bytes, partBytes > cache
                                                     ? rates.hbmBytesPerClk
                                                     : rates.l2BytesPerClk);
  }
  cost.total =
      std::max({(cost.waves - 1) * cost.period + loop, cost.l2, cost.hbm}) +
      cost.ends + cost.sum;
  return cost;
}

int64_t mx::mxgpu::getIdealCycles(const MatmulProblem &problem,
                                  const target::TargetInfo &target) {
  const target::Rates &rates = getRates(target);
  int64_t products =
      ceilDiv(orAssumed(problem.k), target::getInfo(problem.product.kind).k);
  // A column of 128 rows is half a cycle of one instruction.
  int64_t columns =
      ceilDiv(orAssumed(problem.m) * orAssumed(problem.n), kScaleTileRows);
  return ceilDiv(products * columns, rates.mmaColumnsPerClk * target.smCount);
}
