//===- ScheduleModel.cpp - Cost model of schedules ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cycles are integers. docs/design/ScheduleModel.md explains the formulas.
//===----------------------------------------------------------------------===//

#include "mx/Conversion/MXToMXGPU/ScheduleModel.h"
#include "../Matmul/Strategies/Strategy.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Tiles and traffic
//===----------------------------------------------------------------------===//

int64_t mx::mxgpu::orAssumed(int64_t size) {
  return ShapedType::isDynamic(size) ? kAssumedSize
                                     : std::max<int64_t>(size, 1);
}

/// Returns the bytes of a matrix with its scales, if any.
static int64_t getMatrixBytes(int64_t rows, int64_t k, target::MmaType type,
                              int64_t blockSize) {
  bool hasScales = type != target::MmaType::BF16;
  return ceilDiv(rows * k * target::getBits(type), 8) +
         (hasScales ? rows * ceilDiv(k, blockSize) : 0);
}

/// Returns the number of expert groups of a kind, or 1.
static int64_t getGroups(const MatmulProblem &problem, RaggedKind kind) {
  if (problem.ragged != kind)
    return 1;
  return ShapedType::isDynamic(problem.groups)
             ? 1
             : std::max<int64_t>(problem.groups, 1);
}

static int64_t squareRoot(int64_t value) {
  int64_t root = 0;
  for (int64_t bit = int64_t(1) << 31; bit; bit /= 2)
    if ((root + bit) * (root + bit) <= value)
      root += bit;
  return std::max<int64_t>(root, 1);
}

/// Returns the number of row tiles if rows are distributed evenly among expert
/// groups. Averages a normal distribution over the midpoints of its deciles. If
/// M is small, only about M / (1 + M / (2 * groups)) groups are not empty.
static int64_t getTilesOfEvenExperts(int64_t rows, int64_t groups,
                                     int64_t tile) {
  constexpr int64_t kDeciles[] = {126, 385, 674, 1036, 1645}, kOne = 1000;
  if (rows < 2 * groups)
    return std::max<int64_t>(rows * kOne / (kOne + rows * kOne / (2 * groups)),
                             1);
  int64_t mean = ceilDiv(rows, groups), deviation = squareRoot(mean);
  int64_t tiles = 0;
  for (int64_t decile : kDeciles) {
    int64_t more = deviation * decile / kOne;
    tiles += ceilDiv(mean + more, tile) +
             ceilDiv(std::max<int64_t>(mean - more, 1), tile);
  }
  return ceilDiv(groups * tiles, 2 * std::size(kDeciles));
}

/// Returns 1 + 1 / 2 + ... + 1 / count in units of 2^-20. For large counts,
/// doubling the count adds log 2.
static constexpr int64_t kHarmonicOne = 1 << 20;
static int64_t getHarmonicSum(int64_t count) {
  constexpr int64_t kMany = 1024, kLog2 = 726817;
  int64_t sum = 0, n = std::min(count, kMany);
  for (int64_t i = 1; i <= n; ++i)
    sum += kHarmonicOne / i;
  for (; n <= count / 2; n *= 2)
    sum += kLog2;
  return sum + kLog2 * (count - n) / n;
}

/// Returns the number of row tiles if expert group i receives 1 / i of the rows
/// of group 1. A nonempty group i has `most / i + 1` tiles. Every other group
/// counts with the probability that the group is nonempty. Groups with equal
/// tile counts are summed at once.
static int64_t getTilesOfUnevenExperts(int64_t rows, int64_t groups,
                                       int64_t tile) {
  int64_t all = getHarmonicSum(groups);
  int64_t first = std::max<int64_t>(rows * kHarmonicOne / all, 1);
  int64_t present = std::min(groups, first);
  int64_t chance =
      rows * std::max<int64_t>(all - getHarmonicSum(present), 0) / all;
  int64_t most = (first - 1) / tile, tiles = present + chance;
  for (int64_t i = 1; i <= std::min(present, most);) {
    int64_t whole = most / i;
    int64_t last = std::min(most / whole, present);
    tiles += whole * (last - i + 1);
    i = last + 1;
  }
  return tiles;
}

static int64_t getRowTiles(const MatmulProblem &problem,
                           const ScheduleFields &fields, int64_t m,
                           Division division) {
  int64_t groups = getGroups(problem, RaggedKind::Rows);
  int64_t tile = fields.tile[0];
  if (problem.isMasked)
    return groups * ceilDiv(ceilDiv(m, groups), tile);
  if (groups == 1)
    return ceilDiv(m, tile);
  return division == Division::Even ? getTilesOfEvenExperts(m, groups, tile)
                                    : getTilesOfUnevenExperts(m, groups, tile);
}

/// Returns the number of CTAs that run concurrently in clusters of `ctas` CTAs.
/// A cluster must fit in a GPU processing cluster. The table contains the
/// minimum number of clusters observed on H100s with 132 SMs, because chips
/// differ.
static int64_t getCtasOfClusters(int64_t ctas, int64_t sms) {
  constexpr int64_t kClusters[] = {132, 132, 66, 36, 28, 21, 17, 14, 14},
                    kSms = 132;
  size_t known = std::min<size_t>(ctas, std::size(kClusters) - 1);
  return kClusters[known] * sms / kSms * ctas;
}

/// Halves the largest extents until costs fit in 64 bits. This preserves the
/// ranking.
static void limitExtents(Grid &grid) {
  constexpr double kMostSteps = 0x1p56;
  constexpr int64_t kMostOfExtent = int64_t(1) << 40;
  int64_t *extents[] = {&grid.m, &grid.n, &grid.k, &grid.matmuls};
  auto isLess = [](int64_t *x, int64_t *y) { return *x < *y; };
  for (;;) {
    int64_t &largest = **llvm::max_element(extents, isLess);
    double steps = 1;
    for (int64_t *extent : extents)
      steps *= double(*extent);
    if (steps <= kMostSteps && largest <= kMostOfExtent)
      return;
    largest /= 2;
  }
}

Grid mx::mxgpu::getGrid(const MatmulProblem &problem,
                        const ScheduleFields &fields,
                        const target::TargetInfo &target, Division division) {
  Grid grid;
  grid.m = orAssumed(problem.m);
  grid.n = orAssumed(problem.n);
  grid.matmuls = getGroups(problem, RaggedKind::Reduction);
  grid.k = orAssumed(problem.k);
  if (!ShapedType::isDynamic(problem.k))
    grid.k = ceilDiv(grid.k, grid.matmuls);
  limitExtents(grid);
  grid.rowTiles = grid.matmuls * getRowTiles(problem, fields, grid.m, division);
  grid.columnTiles = ceilDiv(grid.n, fields.tile[1]);
  grid.workers = fields.strategy.getClusterSplit()
                     ? getCtasOfClusters(fields.splitK, target.smCount)
                     : target.smCount / fields.strategy.getCtas();
  grid.aBytes =
      grid.matmuls * getMatrixBytes(grid.m, grid.k, problem.mma.a->type,
                                    problem.mma.blockSize);
  grid.bBytes = getMatrixBytes(grid.n, grid.k, problem.mma.b->type,
                               problem.mma.blockSize);
  return grid;
}

int64_t mx::mxgpu::getLoadTraffic(const Grid &grid,
                                  const ScheduleFields &fields, int64_t cache) {
  int64_t allOfB = grid.matmuls * grid.bBytes;
  int64_t rowTiles = grid.rowTiles / grid.matmuls;
  int64_t whole = grid.aBytes + allOfB;
  if (whole <= cache)
    return whole;
  int64_t tiles = grid.rowTiles * grid.columnTiles;
  int64_t active = std::max<int64_t>(
      1, std::min(grid.workers, tiles * fields.splitK) / fields.splitK);
  int64_t aRow = ceilDiv(grid.aBytes, grid.rowTiles);
  int64_t bColumn = ceilDiv(grid.bBytes, grid.columnTiles);
  if (fields.rasterOrder == RasterOrder::Hilbert) {
    // The Hilbert curve completes squares of tiles of every size, so the
    // largest square that fits in L2 is loaded once.
    int64_t side = std::max(squareRoot(active), cache / (aRow + bColumn));
    side = std::min({side, rowTiles, grid.columnTiles});
    return std::max(whole, tiles * (aRow + bColumn) / side);
  }
  // A band consists of whole rows of tiles. In row-major order, a band contains
  // as many rows as a wave needs to occupy all workers.
  int64_t rows = fields.rasterOrder == RasterOrder::GroupM ? fields.rasterGroup
                 : fields.rasterOrder == RasterOrder::Columns
                     ? rowTiles
                     : std::max<int64_t>(1, active / grid.columnTiles);
  rows = std::min(rows, rowTiles);
  int64_t bands = grid.matmuls * ceilDiv(rowTiles, rows);
  int64_t columns =
      std::min(std::max<int64_t>(1, active / rows), grid.columnTiles);
  int64_t band = rows * aRow;
  // Each wave reloads a band of A unless L2 retains the band while the columns
  // of B stream through. Each band reloads B unless L2 retains all of B.
  int64_t a = band + columns * bColumn <= cache
                  ? grid.aBytes
                  : grid.aBytes * ceilDiv(grid.columnTiles, columns);
  int64_t b = band + grid.bBytes <= cache ? allOfB : grid.bBytes * bands;
  return a + b;
}

const target::Rates &mx::mxgpu::getRates(const target::TargetInfo &target) {
  assert(target.rates && "schedules are chosen for chips with rates only");
  return *target.rates;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

StringRef ModelledCost::getPipe() const {
  int64_t mmas = mma + steps;
  int64_t slowest = std::max({mmas, port, fill, ring});
  if ((waves - 1) * period + slowest < std::max(l2, hbm))
    return hbm >= l2 ? "HBM" : "L2";
  if (waves > 1 && restart > slowest)
    return "latency";
  if (waves > 1 && period - restart > 2 * slowest)
    return "epilogue";
  if (slowest == mmas)
    return "MMAs";
  return slowest == port ? "shared memory" : slowest == fill ? "fill" : "ring";
}

/// Cycles until a cluster synchronizes, and bytes that a cycle reads from
/// another CTA's shared memory (both on an H200). Cycles for each CTA beyond
/// two (on an H100:
/// 29571104fae6:benchmarks/products/results/surface-h100-seed14.json to 16,
/// [shapes] of mx/Target/Rates.h).
static constexpr int64_t kMeetingCycles = 700, kPartialBytesPerClk = 24,
                         kMoreSplits = 400;

/// Combines SM work with concurrent L2 or HBM traffic. Approximates the eighth
/// root of the sum of eighth powers, which adds 9 % if both are equal.
static int64_t getSharedCycles(int64_t work, int64_t memory,
                               const target::Rates &rates) {
  constexpr int64_t kOne = 1000;
  int64_t longest = std::max<int64_t>({work, memory, 1});
  int64_t power = std::min(work, memory) * kOne / longest;
  for (int squared = 0; squared < 3; ++squared)
    power = power * power / kOne;
  return longest + longest * power / kOne * rates.memorySharedPercent / 100;
}

int64_t mx::mxgpu::getMmaPortCycles(const ScheduleFields &fields,
                                    const MatmulBuffers &buffers,
                                    const target::Rates &rates) {
  int64_t mmas = ceilDiv(fields.tile[2], buffers.mma.getMmaShape().k);
  return mmas * target::mmaPortCycles(rates, fields.strategy.getCtas(),
                                      fields.tile[1]);
}

static ModelledCost getCostOf(Division division, const MatmulProblem &problem,
                              const ScheduleFields &fields,
                              const target::TargetInfo &target) {
  const target::Rates &rates = getRates(target);
  const Strategy &strategy = getStrategy(problem, fields);
  Grid grid = getGrid(problem, fields, target, division);
  ModelledCost cost;
  int64_t tileN = fields.tile[1];
  int64_t tiles = grid.rowTiles * grid.columnTiles;
  cost.workTiles = tiles * fields.splitK;
  cost.waves = ceilDiv(cost.workTiles, grid.workers);

  // Main loop.
  int64_t steps = ceilDiv(ceilDiv(grid.k, fields.tile[2]), fields.splitK);
  cost.kSteps = steps * cost.workTiles;
  int64_t elements = std::min(grid.k, steps * fields.tile[2]);
  MatmulBuffers buffers = getBuffers(problem, fields);
  int64_t mmas = ceilDiv(elements, buffers.mma.getMmaShape().k);
  cost.mma = mmas * buffers.slices * buffers.mma.getCycles(rates);
  cost.port = steps * strategy.getPortCycles(problem, fields, buffers, rates);
  int64_t stageBytes = buffers.inputs.getStageBytes();
  if (buffers.bInputs)
    stageBytes += buffers.bInputs.getStageBytes();
  int64_t stageFill = ceilDiv(stageBytes, rates.fillBytesPerClk);
  cost.fill = steps * stageFill;
  constexpr int64_t kWhole = 100; // percent of a stage
  int64_t available = fields.stages * kWhole - strategy.getHeldPercent(fields);
  cost.ring =
      ceilDiv((steps * (rates.loadLatency + stageFill) + cost.mma) * kWhole,
              std::max(available, kWhole));
  cost.steps = steps * strategy.getStepCycles(problem, fields, buffers, rates);
  int64_t loop = strategy.getLoopCycles(
      problem, fields,
      std::max({cost.mma + cost.steps, cost.port, cost.fill, cost.ring}));

  // Epilogue of a CTA.
  bool isInCluster = fields.strategy.getClusterSplit();
  bool isSplit = fields.splitK > 1 && !isInCluster;
  int64_t outBits = isSplit ? 32 : problem.getOutBits();
  int64_t ctas = fields.strategy.getCtas();
  int64_t rows = fields.tile[0] / ctas;
  int64_t storedRows = std::min(grid.m, rows);
  int64_t storedBytes =
      ceilDiv(storedRows * std::min(grid.n, tileN) * outBits, 8);
  int64_t read = 0; // cycles to read accumulators from tensor memory
  if (buffers.accumulators)
    read = ceilDiv(kScaleTileRows * tileN * 4, rates.tmemReadBytesPerClk);
  int64_t latency = rates.directLatency;
  int64_t percent = rates.directPercent;
  // Threads spill large numbers of accumulators.
  bool isLowPartial = isSplit && fields.tile[0] <= kScaleTileRows;
  int64_t last =
      isLowPartial ? rates.directPartialPercent : rates.directLastPercent;
  if (fields.epilogue == Epilogue::Direct) {
    bool readsC = problem.accumulate && !isSplit;
    int64_t bytes = storedBytes * (readsC ? 2 : 1);
    cost.epilogue =
        read + ceilDiv(bytes * strategy.getDirectStorePercent(problem, outBits),
                       100 * rates.directBytesPerClk);
  } else {
    int64_t buffers = ceilDiv(tileN, getStagedColumns(tileN, outBits));
    cost.epilogue = read + ceilDiv(storedBytes, rates.stagedBytesPerClk) +
                    buffers * rates.stagedBufferCycles;
    latency = rates.stagedLatency;
    last = rates.stagedLastPercent;
    // With a single buffer, each store waits for the previous store.
    percent = fields.staging == 1 ? last : int64_t(rates.stagedPercent);
  }
  // If the CTAs of a cluster share the sum, each stores a part of the result.
  bool isShared = isInCluster && strategy.distributesPartials();
  if (isShared)
    cost.epilogue = ceilDiv(cost.epilogue, fields.splitK);
  RingType accumulators = buffers.accumulators;
  if (!accumulators || accumulators.getStages() == 1)
    cost.exposed = cost.epilogue * percent / 100 + rates.handOver;
  else if (int64_t overlap = accumulators.getOverlap())
    cost.exposed = ceilDiv(cost.epilogue * overlap, tileN) + rates.handOver;
  cost.period =
      std::max(loop + cost.exposed, cost.epilogue + int64_t(rates.handOver));
  if (fields.strategy.getTileLoop() == TileLoop::Clc)
    cost.period += rates.clcHandOver;

  // Traffic of the chip. Tiles load operands from L2. Evicted operands and the
  // result use HBM.
  int64_t cache = rates.l2Bytes / 2;
  int64_t outBytes =
      grid.matmuls * ceilDiv(grid.m * grid.n * problem.getOutBits(), 8);
  int64_t partialBytes = isSplit ? grid.m * grid.n * 4 * fields.splitK : 0;
  int64_t written = isSplit ? partialBytes : outBytes;
  cost.l2 = ceilDiv(grid.aBytes * grid.columnTiles +
                        grid.bBytes * grid.rowTiles + written,
                    rates.l2BytesPerClk);
  int64_t hbmBytes = getLoadTraffic(grid, fields, cache);
  if (!isSplit)
    hbmBytes += outBytes * (problem.accumulate ? 2 : 1);
  else if (partialBytes > cache)
    hbmBytes += partialBytes;
  cost.hbm = ceilDiv(hbmBytes, rates.hbmBytesPerClk);
  cost.ends = rates.setUp + (ctas > 1 ? rates.pairSetUp : 0) +
              rates.loadLatency + rates.missLatency + stageFill +
              rates.mmaLatency + latency + cost.epilogue * last / 100;
  // The cluster synchronizes twice. Either its first CTA reads all other
  // partials, or each CTA reads its share of them.
  if (isInCluster)
    cost.sum = 2 * kMeetingCycles + (fields.splitK - 2) * kMoreSplits +
               ceilDiv((fields.splitK - 1) * buffers.partialBytes,
                       kPartialBytesPerClk * (isShared ? fields.splitK : 1));
  if (isSplit) {
    // Read the splits and write the result.
    int64_t bytes = partialBytes + outBytes * (problem.accumulate ? 2 : 1);
    cost.sum = rates.nextKernel + rates.sumLatency +
               ceilDiv(bytes, partialBytes > cache ? rates.hbmBytesPerClk
                                                   : rates.l2BytesPerClk);
  }
  // A cluster processes a single work tile, then the next cluster starts.
  if (isInCluster) {
    cost.restart = cost.ends + cost.sum;
    cost.period = loop + cost.restart;
  }
  cost.total = getSharedCycles((cost.waves - 1) * cost.period + loop,
                               std::max(cost.l2, cost.hbm), rates) +
               cost.ends + cost.sum;
  cost.dequantize =
      strategy.getOtherKernels(problem, fields, grid, cost.waves, rates);
  cost.total += cost.dequantize;
  return cost;
}

ModelledCost mx::mxgpu::getModelledCost(const MatmulProblem &problem,
                                        const ScheduleFields &fields,
                                        const target::TargetInfo &target) {
  ModelledCost cost = getCostOf(Division::Even, problem, fields, target);
  if (problem.isMasked || getGroups(problem, RaggedKind::Rows) == 1)
    return cost;
  using Cost = ModelledCost;
  constexpr int64_t Cost::*kTerms[] = {
      &Cost::mma,        &Cost::port,     &Cost::fill,    &Cost::ring,
      &Cost::steps,      &Cost::epilogue, &Cost::exposed, &Cost::workTiles,
      &Cost::waves,      &Cost::kSteps,   &Cost::period,  &Cost::restart,
      &Cost::l2,         &Cost::hbm,      &Cost::ends,    &Cost::sum,
      &Cost::dequantize, &Cost::total};
  ModelledCost uneven = getCostOf(Division::Uneven, problem, fields, target);
  for (int64_t Cost::*term : kTerms)
    cost.*term = ceilDiv(cost.*term + uneven.*term, 2);
  return cost;
}

int64_t mx::mxgpu::getIdealCycles(const MatmulProblem &problem,
                                  const target::TargetInfo &target) {
  const target::Rates &rates = getRates(target);
  // An instruction takes half a cycle per column, for all of its rows.
  int64_t rows = problem.mma.instruction->rows;
  int64_t steps = ReductionSteps(problem.mma, orAssumed(problem.k)).count;
  int64_t columns = ceilDiv(orAssumed(problem.m) * orAssumed(problem.n), rows);
  return ceilDiv(steps * columns, rates.mmaColumnsPerClk * target.smCount);
}
