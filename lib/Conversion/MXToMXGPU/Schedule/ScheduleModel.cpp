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
#include "mx/Target/Wgmma.h"

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

/// Bytes of shared memory that a step writes and reads where operands are
/// dequantized: A once each, B twice, as it is and dequantized, and the latter
/// again by the instructions of all rows. With swap_ab B stays in registers,
/// and the instructions of each 64 columns read A.
static int64_t getDequantizedBytes(const MatmulProblem &problem,
                                   const ScheduleFields &fields,
                                   const MatmulBuffers &buffers) {
  int64_t a = buffers.inputs.getStageBytes();
  int64_t b = buffers.bInputs.getStageBytes();
  if (fields.swapAb)
    return (1 + fields.tile[1] / target::kWgmmaM) * a + 2 * b;
  int64_t rows = fields.tile[0] / (fields.ctaPair ? 2 : 1);
  int64_t reads = rows / problem.product.getWay().rows;
  return 2 * a + 2 * b + (1 + reads) * buffers.operands.getStageBytes();
}

/// Cycles in which a thread dequantizes an element of B, with its part of the
/// waits of a step: 13 to 17 were measured on an H200. And one of A, while
/// nothing is multiplied: 11 to 14.
static constexpr int64_t kDequantizeCycles = 14, kDequantizeCyclesOfA = 11;
/// The same in f16: 5.7 of A were measured, of B no more than 14.
static constexpr int64_t kF16Cycles = 8, kF16CyclesOfA = 6;

/// Instructions with swap_ab, counted in machine code of ptxas 13.0 for MXFP4:
/// for two elements, single bytes' loads among them, and for a step besides.
static constexpr int64_t kInstructionsOfPair = 7, kInstructionsOfStep = 55;

/// Of a cluster, on an H200: until it has met, and bytes a cycle of what one
/// CTA reads in the shared memory of another.
static constexpr int64_t kMeetingCycles = 700, kPartBytesPerClk = 24;

/// Cycles of a thread that dequantizes B and multiplies, for an element and for
/// a step: measured on an H200.
static constexpr int64_t kSwappedCycles = 12, kSwappedStep = 120;

/// Cycles of the warpgroups that dequantize B in a step.
static int64_t getDequantizeCycles(const ScheduleFields &fields,
                                   const MatmulBuffers &buffers,
                                   const target::Rates &rates) {
  int64_t threads = buffers.bInputs.getConsumerThreads();
  int64_t columns = fields.tile[1] / (fields.ctaPair ? 2 : 1);
  int64_t elements = ceilDiv(columns * fields.tile[2], threads);
  int64_t cycles =
      elements * (fields.f16Window ? kF16Cycles : kDequantizeCycles);
  if (!fields.swapAb)
    return cycles;
  // They multiply then. While some wait, each scheduler issues an instruction
  // of one of its others, of which each warpgroup has a warp.
  int64_t groups = threads / target::kWarpGroupSize;
  int64_t products = ceilDiv(fields.tile[2], buffers.mma.getMmaShape().k) *
                     buffers.mma.getCycles(rates);
  int64_t issued =
      (elements / 2 * kInstructionsOfPair + kInstructionsOfStep) * groups;
  // Of both together they do three tenths at the same time.
  return std::max({elements * kSwappedCycles + kSwappedStep + products / groups,
                   issued, (issued + products) * 7 / 10});
}

/// Cycles of shared memory in a step, or of threads between two parts of it.
static int64_t getPortCycles(const MatmulProblem &problem,
                             const ScheduleFields &fields,
                             const MatmulBuffers &buffers,
                             const target::Rates &rates) {
  if (buffers.bInputs)
    return std::max(ceilDiv(getDequantizedBytes(problem, fields, buffers),
                            rates.smemReadBytesPerClk),
                    getDequantizeCycles(fields, buffers, rates));
  int64_t products = ceilDiv(fields.tile[2], buffers.mma.getMmaShape().k);
  return products *
         target::mmaPortCycles(rates, fields.ctaPair ? 2 : 1, fields.tile[1]);
}

/// Waits, scale copies that are not hidden, and what the MMA warpgroups
/// dequantize of A before.
static int64_t getStepCycles(const MatmulProblem &problem,
                             const ScheduleFields &fields,
                             const MatmulBuffers &buffers,
                             const target::Rates &rates) {
  int64_t cycles = rates.stepCycles;
  if (buffers.bInputs && problem.hasScalesOfA())
    cycles += (fields.f16Window ? kF16CyclesOfA : kDequantizeCyclesOfA) *
              ceilDiv(fields.tile[0] * fields.tile[2],
                      buffers.inputs.getConsumerThreads());
  if (!buffers.aScales || fields.scaleStages > 1)
    return cycles;
  cycles += rates.copyLatency;
  for (ScalesType scales : {buffers.aScales, buffers.bScales})
    cycles += scales.getColumns() / target::kScaleColumnsPerGroup *
              rates.scaleTileCycles;
  return cycles;
}

/// Of the kernels that look at scales, of the one that would look for NaN,
/// which groups do not have, and of the products whose units are all computed:
/// those of other scales, which look at one unit after the other.
static int64_t getWindowCycles(const Grid &grid, const MatmulProblem &problem,
                               int64_t waves, const target::Rates &rates) {
  bool isGrouped = problem.ragged != RaggedKind::None;
  int64_t launches = isGrouped ? 3 : 5, others = isGrouped ? 1 : 2;
  int64_t matrices =
      problem.ragged == RaggedKind::Rows ? orAssumed(problem.groups) : 1;
  int64_t scales =
      ceilDiv((grid.m + grid.n * matrices) * grid.k * grid.products,
              problem.product.blockSize);
  return launches * rates.nextKernel + ceilDiv(scales, rates.hbmBytesPerClk) +
         others * waves * rates.loadLatency;
}

/// Loops in which wgmma reads A where it was loaded take longer than each of
/// their parts: on an H200 by 17 to 27 % in eight products of 4096 x 4096 x
/// 4096 to 131072 x 2048 x 7168, of numbers and of weights.
static int64_t getLoopCycles(const MatmulProblem &problem,
                             const ScheduleFields &fields, int64_t longest) {
  bool isWgmma = problem.product.way == target::ProductWay::Numbers ||
                 problem.product.way == target::ProductWay::Dequantized;
  bool readsA = isWgmma && !problem.hasScalesOfA() && !fields.swapAb;
  return readsA ? longest * 7 / 6 : longest;
}

ModelledCost mx::mxgpu::getModelledCost(const MatmulProblem &problem,
                                        const ScheduleFields &fields,
                                        const target::TargetInfo &target) {
  const target::Rates &rates = getRates(target);
  Grid grid = getGrid(problem, fields, target);
  ModelledCost cost;
  int64_t tileN = fields.tile[1];
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
  cost.port = steps * getPortCycles(problem, fields, buffers, rates);
  int64_t stageBytes = buffers.inputs.getStageBytes();
  if (buffers.bInputs)
    stageBytes += buffers.bInputs.getStageBytes();
  int64_t stageFill = ceilDiv(stageBytes, rates.fillBytesPerClk);
  cost.fill = steps * stageFill;
  cost.ring = ceilDiv(steps * (rates.loadLatency + stageFill) + cost.mma,
                      fields.stages);
  cost.steps = steps * getStepCycles(problem, fields, buffers, rates);
  int64_t loop = getLoopCycles(
      problem, fields,
      std::max({cost.mma + cost.steps, cost.port, cost.fill, cost.ring}));

  // The epilogue of one CTA.
  bool isSplit = fields.splitK > 1 && !fields.clusterSplit;
  int64_t outBits = isSplit ? 32 : problem.getOutBits();
  int64_t rows = fields.tile[0] / (fields.ctaPair ? 2 : 1);
  int64_t storedRows = std::min(grid.m, rows);
  int64_t storedBytes =
      ceilDiv(storedRows * std::min(grid.n, tileN) * outBits, 8);
  int64_t read = 0; // of sums in tensor memory
  if (buffers.accumulators)
    read = ceilDiv(kScaleTileRows * tileN * 4, rates.tmemReadBytesPerClk);
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
  int64_t outBytes =
      grid.products * ceilDiv(grid.m * grid.n * problem.getOutBits(), 8);
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
  // The cluster meets twice, and its first CTA reads the other parts.
  if (fields.clusterSplit)
    cost.sum =
        2 * kMeetingCycles +
        ceilDiv((fields.splitK - 1) * buffers.partBytes, kPartBytesPerClk);
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
  if (fields.f16Window)
    cost.dequantize = getWindowCycles(grid, problem, cost.waves, rates);
  cost.total += cost.dequantize;
  return cost;
}

int64_t mx::mxgpu::getIdealCycles(const MatmulProblem &problem,
                                  const target::TargetInfo &target) {
  const target::Rates &rates = getRates(target);
  // A column of the rows of one instruction is half a cycle.
  int64_t rows = problem.product.getWay().rows;
  int64_t steps = ReductionSteps(problem.product, orAssumed(problem.k)).count;
  int64_t columns = ceilDiv(orAssumed(problem.m) * orAssumed(problem.n), rows);
  return ceilDiv(steps * columns, rates.mmaColumnsPerClk * target.smCount);
}
