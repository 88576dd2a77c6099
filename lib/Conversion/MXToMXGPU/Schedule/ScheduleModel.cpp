//===- ScheduleModel.cpp - Which schedule should be fastest ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Costs and candidates. Whole cycles throughout; docs/ScheduleModel.md explains
// each formula.
//
//===----------------------------------------------------------------------===//

#include "mx/Conversion/MXToMXGPU/ScheduleModel.h"
#include "mx/Support/ScaleLayout.h"
#include <tuple>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Shapes and traffic
//===----------------------------------------------------------------------===//

namespace {
/// A problem whose sizes are known or assumed, in units of a schedule.
struct Grid {
  int64_t m, n, k;
  int64_t rowTiles, columnTiles;
  /// CTAs, or pairs of them, that work at a time.
  int64_t workers;
  /// Bytes of all of A and of B with their scales, as they lie in memory.
  int64_t aBytes, bBytes;
};
} // namespace

static int64_t orAssumed(int64_t size) {
  return ShapedType::isDynamic(size) ? kAssumedSize
                                     : std::max<int64_t>(size, 1);
}

static int64_t getMatrixBytes(int64_t rows, int64_t k, target::MmaType type,
                              int64_t blockSize) {
  return ceilDiv(rows * k * target::getBits(type), 8) +
         rows * ceilDiv(k, blockSize);
}

/// Groups of rows, each of which has whole tiles.
static int64_t getGroups(const MatmulProblem &problem) {
  if (problem.ragged != RaggedKind::Rows)
    return 1;
  return ShapedType::isDynamic(problem.groups)
             ? 1
             : std::max<int64_t>(problem.groups, 1);
}

static Grid getGrid(const MatmulProblem &problem, const ScheduleFields &fields,
                    const target::TargetInfo &target) {
  Grid grid;
  grid.m = orAssumed(problem.m);
  grid.n = orAssumed(problem.n);
  grid.k = orAssumed(problem.k);
  // Groups are modelled as of equal size.
  int64_t groups = getGroups(problem);
  grid.rowTiles = groups * ceilDiv(ceilDiv(grid.m, groups), fields.tile[0]);
  grid.columnTiles = ceilDiv(grid.n, fields.tile[1]);
  grid.workers = target.smCount / (fields.ctaPair ? 2 : 1);
  grid.aBytes = getMatrixBytes(grid.m, grid.k, problem.product.a->type,
                               problem.product.blockSize);
  grid.bBytes = getMatrixBytes(grid.n, grid.k, problem.product.b->type,
                               problem.product.blockSize);
  return grid;
}

static int64_t squareRoot(int64_t value) {
  int64_t root = 1;
  while ((root + 1) * (root + 1) <= value)
    ++root;
  return root;
}

/// Bytes of A and B that come from HBM, by what of them L2 still holds when
/// they are needed again.
static int64_t getLoadTraffic(const Grid &grid, const ScheduleFields &fields,
                              int64_t cache) {
  int64_t whole = grid.aBytes + grid.bBytes;
  if (whole <= cache)
    return whole;
  int64_t tiles = grid.rowTiles * grid.columnTiles;
  int64_t active = std::max<int64_t>(
      1, std::min(grid.workers, tiles * fields.splitK) / fields.splitK);
  int64_t aRow = ceilDiv(grid.aBytes, grid.rowTiles);
  int64_t bColumn = ceilDiv(grid.bBytes, grid.columnTiles);
  if (fields.rasterOrder == RasterOrder::Hilbert) {
    // A square of tiles is visited before what lies outside, for squares of
    // every size: the largest that L2 holds is loaded once.
    int64_t side = std::max(squareRoot(active), cache / (aRow + bColumn));
    side = std::min({side, grid.rowTiles, grid.columnTiles});
    return std::max(whole, tiles * (aRow + bColumn) / side);
  }
  // Bands of rows of tiles. Row by row, a wave covers a band of as many rows as
  // it takes to keep everyone busy.
  int64_t rows = fields.rasterOrder == RasterOrder::GroupM ? fields.rasterGroup
                 : fields.rasterOrder == RasterOrder::Columns
                     ? grid.rowTiles
                     : std::max<int64_t>(1, active / grid.columnTiles);
  rows = std::min(rows, grid.rowTiles);
  int64_t bands = ceilDiv(grid.rowTiles, rows);
  int64_t columns =
      std::min(std::max<int64_t>(1, active / rows), grid.columnTiles);
  int64_t band = rows * aRow;
  // A band of A stays while the columns of B pass by, or is loaded by each
  // wave; B stays as a whole, or is loaded for each band.
  int64_t a = band + columns * bColumn <= cache
                  ? grid.aBytes
                  : grid.aBytes * ceilDiv(grid.columnTiles, columns);
  int64_t b = band + grid.bBytes <= cache ? grid.bBytes : grid.bBytes * bands;
  return a + b;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// Who asks has seen that the chip has products, and so rates.
static const target::Rates &getRates(const target::TargetInfo &target) {
  const target::Rates *rates = target::lookupRates(target);
  assert(rates && "schedules are chosen for chips with rates only");
  return *rates;
}

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
  int64_t products = ceilDiv(elements, target::getInfo(problem.product.kind).k);
  cost.mma = products * target::mmaCycles(rates, tileN);
  cost.port = products * target::mmaPortCycles(rates, ctas, tileN);
  MatmulBuffers buffers = getBuffers(problem, fields);
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

  // The chip. Every tile draws its operands from L2; what L2 has lost, and the
  // result, pass through HBM.
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
    // The parts are read back from where they are, and the result written.
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

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// Fewer cycles, then less traffic, then fewer cycles in any term, then the
/// simpler kernel: a total order, so that the choice does not depend on how
/// candidates are listed.
static auto getRank(const Candidate &candidate) {
  const ScheduleFields &fields = candidate.fields;
  const ModelledCost &cost = candidate.cost;
  int64_t terms = cost.mma + cost.port + cost.fill + cost.ring + cost.steps +
                  cost.epilogue + cost.exposed + cost.units + cost.waves +
                  cost.period + cost.ends + cost.sum;
  return std::make_tuple(cost.total, cost.hbm, cost.l2, terms, fields.splitK,
                         fields.ctaPair, fields.tileLoop, fields.rasterOrder,
                         fields.rasterGroup, fields.epilogue, fields.tile[1],
                         fields.tile[2], fields.accumulators, fields.overlap,
                         fields.scaleStages);
}

/// What differs by less than a part in this many is the same to the model.
static constexpr int64_t kResolution = 256;

/// Puts the leanest of the fastest first: each step along K costs the roles
/// that issue a few dozen instructions, whatever it multiplies.
static void preferFewerSteps(std::vector<Candidate> &candidates) {
  if (candidates.empty())
    return;
  int64_t fastest = candidates.front().cost.total;
  auto end = llvm::find_if(candidates, [&](const Candidate &candidate) {
    return candidate.cost.total > fastest + fastest / kResolution;
  });
  auto leanest = std::min_element(candidates.begin(), end,
                                  [](const Candidate &x, const Candidate &y) {
                                    return x.cost.kSteps < y.cost.kSteps;
                                  });
  std::rotate(candidates.begin(), leanest, leanest + 1);
}

/// Row by row, and what loads less from memory: the best of the bands, and the
/// curve.
static SmallVector<std::pair<RasterOrder, int64_t>>
getRasterChoices(const MatmulProblem &problem, ScheduleFields fields,
                 const target::TargetInfo &target) {
  SmallVector<std::pair<RasterOrder, int64_t>> choices;
  Grid grid = getGrid(problem, fields, target);
  int64_t cache = getRates(target).l2Bytes / 2;
  auto getTraffic = [&](RasterOrder order, int64_t group) {
    fields.rasterOrder = order;
    fields.rasterGroup = group;
    return getLoadTraffic(grid, fields, cache);
  };
  choices.push_back({RasterOrder::Linear, 1});
  int64_t linear = getTraffic(RasterOrder::Linear, 1), least = linear;
  int64_t best = 1;
  for (int64_t group = 2; group <= 64 && group <= grid.rowTiles; group *= 2)
    if (int64_t traffic = getTraffic(RasterOrder::GroupM, group);
        traffic < least) {
      least = traffic;
      best = group;
    }
  if (best > 1)
    choices.push_back({RasterOrder::GroupM, best});
  if (getTraffic(RasterOrder::Hilbert, 1) < linear)
    choices.push_back({RasterOrder::Hilbert, 1});
  return choices;
}

/// Columns of a tile: those that suit any matrix, and one tile that just covers
/// a narrow one.
static SmallVector<int64_t> getColumnChoices(const MatmulProblem &problem,
                                             bool ctaPair) {
  SmallVector<int64_t> choices = {64, 128, 192, 256};
  if (ShapedType::isDynamic(problem.n))
    return choices;
  int64_t covering =
      roundUp(std::max<int64_t>(problem.n, 1), ctaPair ? 32 : 16);
  if (covering < choices.front())
    choices.insert(choices.begin(), covering);
  return choices;
}

/// Parts of the reduction, where tiles alone leave workers idle.
static SmallVector<int64_t> getSplitChoices(const MatmulProblem &problem,
                                            const ScheduleFields &fields,
                                            const target::TargetInfo &target) {
  SmallVector<int64_t> choices = {1};
  if (ShapedType::isDynamic(problem.m) || ShapedType::isDynamic(problem.n) ||
      ShapedType::isDynamic(problem.k))
    return choices;
  Grid grid = getGrid(problem, fields, target);
  int64_t tiles = grid.rowTiles * grid.columnTiles;
  int64_t steps = ceilDiv(grid.k, fields.tile[2]);
  for (int64_t fields : {2, 3, 4, 6, 8, 12, 16, 24, 32})
    if (fields <= steps && tiles * fields <= 2 * grid.workers)
      choices.push_back(fields);
  return choices;
}

std::vector<Candidate>
mx::mxgpu::rankSchedules(const MatmulProblem &problem,
                         const target::TargetInfo &target) {
  std::vector<Candidate> candidates;
  SmallVector<std::pair<RasterOrder, int64_t>> rasters;
  auto considerLoops = [&](ScheduleFields fields, bool isPersistent) {
    for (TileLoop loop : {TileLoop::Static, TileLoop::Clc}) {
      if (loop == TileLoop::Clc && !isPersistent)
        continue;
      fields.tileLoop = loop;
      fields.stages = getMaxStages(problem, fields, target);
      if (!fields.stages || checkSchedule(problem, fields, target))
        continue;
      for (auto [order, group] : rasters) {
        fields.rasterOrder = order;
        fields.rasterGroup = group;
        candidates.push_back(
            {fields, getModelledCost(problem, fields, target)});
      }
    }
  };
  SmallVector<Epilogue, 2> epilogues = {Epilogue::Direct};
  if (canStoreByTma(problem))
    epilogues.push_back(Epilogue::TmaStore);
  struct Slots {
    int64_t accumulators, overlap;
  };
  constexpr Slots kSlots[] = {{1, 0}, {2, 0}, {2, 64}, {2, 128}};
  // The second CTA of a pair would multiply nothing.
  bool hasPairs = ShapedType::isDynamic(problem.m) || problem.m > 128;
  for (bool ctaPair : {false, true}) {
    if (ctaPair && !hasPairs)
      continue;
    for (int64_t columns : getColumnChoices(problem, ctaPair))
      for (int64_t depth : {128, 256}) {
        ScheduleFields fields;
        fields.ctaPair = ctaPair;
        fields.tile = {ctaPair ? 256 : 128, columns, depth};
        for (int64_t split : getSplitChoices(problem, fields, target)) {
          fields.splitK = split;
          rasters = getRasterChoices(problem, fields, target);
          Grid grid = getGrid(problem, fields, target);
          bool isPersistent =
              grid.rowTiles * grid.columnTiles * split > grid.workers;
          for (Slots slots : kSlots) {
            if (slots.overlap && columns != 256)
              continue;
            // One unit a worker has no next accumulator.
            if (slots.accumulators > 1 && !isPersistent)
              continue;
            for (int64_t scaleStages : {1, 2})
              for (Epilogue epilogue : epilogues) {
                fields.accumulators = slots.accumulators;
                fields.overlap = slots.overlap;
                fields.scaleStages = scaleStages;
                fields.epilogue = epilogue;
                considerLoops(fields, isPersistent);
              }
          }
        }
      }
  }
  llvm::sort(candidates, [](const Candidate &x, const Candidate &y) {
    return getRank(x) < getRank(y);
  });
  preferFewerSteps(candidates);
  return candidates;
}

std::optional<Candidate>
mx::mxgpu::selectSchedule(const MatmulProblem &problem,
                          const target::TargetInfo &target) {
  std::vector<Candidate> candidates = rankSchedules(problem, target);
  if (candidates.empty())
    return std::nullopt;
  return candidates.front();
}
