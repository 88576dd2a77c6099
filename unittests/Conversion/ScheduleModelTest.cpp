//===- ScheduleModelTest.cpp - Schedules over a grid of shapes ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Tests properties of the chosen schedules independently of the numbers in the
// model.
//===----------------------------------------------------------------------===//

#include "mx/Conversion/MXToMXGPU/ScheduleModel.h"
#include "../Target/Raster.h"
#include "mlir/IR/MLIRContext.h"
#include "mx/Support/ScaleLayout.h"
#include "gtest/gtest.h"
#include <list>
#include <set>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

const target::TargetInfo &getTarget() {
  return *target::lookupTarget("sm_100a");
}

struct Format {
  const char *name;
  target::MmaType a, b;
  FloatFormat scales;
  int64_t blockSize, outBits;
  bool accumulate;
};

constexpr Format kFormats[] = {
    {"mxfp8 to bf16", target::MmaType::E4M3, target::MmaType::E4M3,
     FloatFormat::E8M0, 32, 16, false},
    {"mxfp8 into f32", target::MmaType::E4M3, target::MmaType::E5M2,
     FloatFormat::E8M0, 32, 32, true},
    {"mxfp6 x mxfp4 to f32", target::MmaType::E2M3, target::MmaType::E2M1,
     FloatFormat::E8M0, 32, 32, false},
    {"mxfp4 to f16", target::MmaType::E2M1, target::MmaType::E2M1,
     FloatFormat::E8M0, 32, 16, false},
    {"nvfp4 to f32", target::MmaType::E2M1, target::MmaType::E2M1,
     FloatFormat::UE4M3, 16, 32, false},
};

MLIRContext &getContext() {
  static MLIRContext *context = [] {
    auto *context = new MLIRContext;
    context->loadDialect<MXGPUDialect>();
    return context;
  }();
  return *context;
}

Type getType(target::MmaType type) {
  MLIRContext *context = &getContext();
  switch (type) {
  case target::MmaType::E4M3:
    return Float8E4M3FNType::get(context);
  case target::MmaType::E5M2:
    return Float8E5M2Type::get(context);
  case target::MmaType::E2M3:
    return Float6E2M3FNType::get(context);
  default:
    return Float4E2M1FNType::get(context);
  }
}

MatmulProblem getProblem(const Format &format, int64_t m, int64_t n,
                         int64_t k) {
  MatmulProblem problem;
  MLIRContext *context = &getContext();
  problem.a = getType(format.a);
  problem.b = getType(format.b);
  problem.scales = format.scales == FloatFormat::E8M0
                       ? Type(Float8E8M0FNUType::get(context))
                       : Type(Float8E4M3FNType::get(context));
  EXPECT_TRUE(matchStrategies(
      problem, {format.a, format.b, unsigned(format.blockSize), format.scales},
      getTarget()));
  problem.out = format.outBits == 32 ? Type(Float32Type::get(context))
                                     : Type(BFloat16Type::get(context));
  problem.accumulate = format.accumulate;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  return problem;
}

Candidate choose(const MatmulProblem &problem) {
  std::vector<Candidate> ranked = rankSchedules(problem, getTarget());
  EXPECT_FALSE(ranked.empty());
  return ranked.empty() ? Candidate() : ranked.front();
}

constexpr int64_t kRows[] = {1,    16,   100,  128,   129,   384,
                             1000, 2048, 4096, 16384, 131072};
constexpr int64_t kColumns[] = {1,   24,   64,   65,   192,  256,
                                500, 1408, 2880, 7168, 16384};
constexpr int64_t kReductions[] = {32, 128, 1024, 2880, 16384};

/// Cost terms. A lower value is better.
constexpr int64_t ModelledCost::*kTerms[] = {
    &ModelledCost::mma,     &ModelledCost::port,      &ModelledCost::fill,
    &ModelledCost::ring,    &ModelledCost::steps,     &ModelledCost::epilogue,
    &ModelledCost::exposed, &ModelledCost::workTiles, &ModelledCost::waves,
    &ModelledCost::period,  &ModelledCost::l2,        &ModelledCost::hbm,
    &ModelledCost::ends,    &ModelledCost::sum,       &ModelledCost::total};

bool isDominated(const ModelledCost &cost, const ModelledCost &by) {
  bool isLess = false;
  for (auto term : kTerms) {
    if (by.*term > cost.*term)
      return false;
    isLess |= by.*term < cost.*term;
  }
  return isLess;
}

void checkChoice(MLIRContext &context, const MatmulProblem &problem) {
  const target::TargetInfo &target = getTarget();
  std::vector<Candidate> candidates = rankSchedules(problem, target);
  ASSERT_FALSE(candidates.empty());
  const auto &[strategy, fields, cost] = candidates.front();
  // The schedule verifies as an attribute and for the problem.
  auto emitError = [&] {
    ADD_FAILURE() << "the schedule does not verify";
    return emitRemark(UnknownLoc::get(&context));
  };
  EXPECT_TRUE(succeeded(ScheduleAttr::verifyFields(emitError, fields)));
  EXPECT_TRUE(succeeded(
      RasterAttr::verify(emitError, fields.rasterOrder, fields.rasterGroup)));
  EXPECT_FALSE(checkSchedule(problem, fields, target).has_value());
  // No further stage fits.
  ScheduleFields more = fields;
  ++more.stages;
  EXPECT_TRUE(checkSchedule(problem, more, target).has_value());
  // The tile is not so wide that a narrower tile would save multiplications.
  EXPECT_TRUE(fields.tile[1] < 64 || fields.tile[1] - 64 < problem.n)
      << fields.tile[1] << " columns";
  EXPECT_TRUE(fields.strategy.getCtas() == 1 || problem.m > 128);
  EXPECT_TRUE(fields.tile[1] >= 64 || problem.n <= fields.tile[1]);
  // Each split runs at least one step. The reduction is split only if there are
  // fewer tiles than SMs.
  int64_t steps = ceilDiv(problem.k, fields.tile[2]);
  EXPECT_LE(fields.splitK, steps);
  EXPECT_TRUE(fields.splitK == 1 ||
              cost.workTiles / fields.splitK < target.smCount);
  EXPECT_TRUE(fields.epilogue == Epilogue::Direct || canStoreByTma(problem));
  EXPECT_GE(cost.total, getIdealCycles(problem, target));
  for (const Candidate &other : candidates)
    EXPECT_FALSE(isDominated(cost, other.cost));
}

TEST(ScheduleModel, GridOfShapes) {
  MLIRContext context;
  context.loadDialect<MXGPUDialect>();
  unsigned shapes = 0;
  for (int64_t m : kRows)
    for (int64_t n : kColumns)
      for (int64_t k : kReductions) {
        const Format &format = kFormats[shapes++ % std::size(kFormats)];
        SCOPED_TRACE(testing::Message()
                     << format.name << ": " << m << " x " << n << " x " << k);
        checkChoice(context, getProblem(format, m, n, k));
      }
  EXPECT_GE(shapes, 500u);
}

TEST(ScheduleModel, Formats) {
  MLIRContext context;
  context.loadDialect<MXGPUDialect>();
  for (const Format &format : kFormats)
    for (auto [m, n, k] :
         {std::tuple(1, 1, 32), std::tuple(128, 4096, 7168),
          std::tuple(2048, 2048, 2048), std::tuple(131072, 16384, 16384)}) {
      SCOPED_TRACE(testing::Message()
                   << format.name << ": " << m << " x " << n << " x " << k);
      checkChoice(context, getProblem(format, m, n, k));
    }
}

TEST(ScheduleModel, TinyMatmulUsesOneSmallTile) {
  for (const Format &format : kFormats) {
    auto [strategy, fields, cost] = choose(getProblem(format, 1, 1, 32));
    EXPECT_EQ(fields.tile, (std::array<int64_t, 3>{128, 16, 128}));
    EXPECT_EQ(fields.strategy.getCtas(), 1);
    EXPECT_EQ(fields.splitK, 1);
    EXPECT_EQ(cost.workTiles, 1);
    EXPECT_EQ(fields.strategy.getTileLoop(), TileLoop::Static);
    EXPECT_EQ(fields.rasterOrder, RasterOrder::Linear);
  }
}

TEST(ScheduleModel, LargeSquareUsesOverlappedCtaPairs) {
  for (int64_t size : {8192, 16384}) {
    auto [strategy, fields, cost] =
        choose(getProblem(kFormats[0], size, size, size));
    auto own = cast<Tcgen05BlockScaledAttr>(fields.strategy);
    EXPECT_EQ(own.getCtas(), 2);
    EXPECT_EQ(fields.tile[1], 256);
    EXPECT_EQ(own.getAccumulators(), 2);
    EXPECT_NE(own.getOverlap(), 0);
    EXPECT_NE(fields.rasterOrder, RasterOrder::Linear);
    EXPECT_EQ(fields.splitK, 1);
  }
}

// Among equally fast schedules, the schedule with the fewest steps is first.
TEST(ScheduleModel, TiesPreferFewestSteps) {
  for (const Format &format : kFormats)
    for (int64_t size : {2048, 8192, 16384}) {
      std::vector<Candidate> ranked =
          rankSchedules(getProblem(format, size, size, size), getTarget());
      int64_t fastest = ranked.front().cost.total;
      for (const Candidate &candidate : ranked)
        fastest = std::min(fastest, candidate.cost.total);
      EXPECT_LE(ranked.front().cost.total, fastest + fastest / 256);
      for (const Candidate &candidate : ranked) {
        if (candidate.cost.total <= fastest + fastest / 256) {
          EXPECT_LE(ranked.front().cost.kSteps, candidate.cost.kSteps);
        }
      }
    }
}

// A memo with results for other sizes does not change the ranking.
TEST(ScheduleModel, MemosDoNotChangeRanking) {
  for (const Format &format : kFormats) {
    StageMemo memo;
    for (auto [m, n, k] :
         {std::tuple(16384, 4096, 4096), std::tuple(1, 4096, 4096),
          std::tuple(100, 72, 32768), std::tuple(129, 16384, 64)}) {
      MatmulProblem problem = getProblem(format, m, n, k);
      std::vector<Candidate> expected = rankSchedules(problem, getTarget());
      std::vector<Candidate> found = rankSchedules(problem, getTarget(), &memo);
      ASSERT_EQ(found.size(), expected.size());
      MLIRContext *context = problem.a.getContext();
      for (auto [left, right] : llvm::zip_equal(found, expected)) {
        EXPECT_EQ(ScheduleAttr::get(context, left.fields),
                  ScheduleAttr::get(context, right.fields));
        EXPECT_EQ(left.cost.total, right.cost.total);
      }
    }
    EXPECT_FALSE(memo.empty());
  }
}

TEST(ScheduleModel, LongReductionsWithFewTilesAreSplit) {
  for (auto [m, n, k] :
       {std::tuple(128, 128, 65536), std::tuple(256, 256, 131072),
        std::tuple(512, 512, 32768)})
    EXPECT_GT(choose(getProblem(kFormats[0], m, n, k)).fields.splitK, 1)
        << m << " x " << n << " x " << k;
  // Many tiles or a short reduction are not split.
  EXPECT_EQ(choose(getProblem(kFormats[0], 4096, 4096, 65536)).fields.splitK,
            1);
  EXPECT_EQ(choose(getProblem(kFormats[0], 128, 128, 1024)).fields.splitK, 1);
}

TEST(ScheduleModel, DynamicSizesGetGeneralSchedules) {
  for (const Format &format : kFormats) {
    constexpr int64_t dynamic = ShapedType::kDynamic;
    auto [strategy, fields, cost] =
        choose(getProblem(format, dynamic, dynamic, dynamic));
    EXPECT_EQ(fields.tile[1] % 64, 0);
    EXPECT_EQ(fields.splitK, 1);
    EXPECT_EQ(fields.epilogue, Epilogue::Direct);
    EXPECT_FALSE(
        checkSchedule(getProblem(format, 1, 1, 32), fields, getTarget())
            .has_value());
  }
}

TEST(ScheduleModel, MoreWorkIsNeverFaster) {
  for (const Format &format : kFormats)
    for (int64_t m : {1, 200, 1024, 8192})
      for (int64_t n : {40, 200, 1024, 8192})
        for (int64_t k : {128, 2048, 8192}) {
          SCOPED_TRACE(testing::Message()
                       << format.name << ": " << m << " x " << n << " x " << k);
          int64_t total = choose(getProblem(format, m, n, k)).cost.total;
          for (auto [m2, n2, k2] :
               {std::tuple(2 * m, n, k), std::tuple(m, 2 * n, k),
                std::tuple(m, n, 2 * k)})
            EXPECT_GE(choose(getProblem(format, m2, n2, k2)).cost.total,
                      total - total / 50);
        }
}

TEST(ScheduleModel, LargerSquaresAreMoreEfficient) {
  const target::TargetInfo &target = getTarget();
  double previous = 0;
  for (int64_t size = 128; size <= 16384; size *= 2) {
    MatmulProblem problem = getProblem(kFormats[0], size, size, size);
    double used = double(getIdealCycles(problem, target)) /
                  double(choose(problem).cost.total);
    EXPECT_GT(used, 0.95 * previous) << size;
    previous = used;
  }
  EXPECT_GT(previous, 0.8);
}

/// Returns the bytes that an LRU cache of `capacity` bytes loads. The tiles of
/// each wave read full rows of A and full columns of B.
double getSimulatedLoads(target::TileGrid grid, RasterOrder order,
                         uint32_t group, uint32_t workers, double rowBytes,
                         double columnBytes, double capacity) {
  std::list<uint32_t> used; // most recent first; columns numbered after rows
  double held = 0, loaded = 0;
  auto getBytes = [&](uint32_t panel) {
    return panel < grid.rows ? rowBytes : columnBytes;
  };
  auto touch = [&](uint32_t panel) {
    auto it = llvm::find(used, panel);
    if (it != used.end()) {
      used.erase(it);
    } else {
      loaded += getBytes(panel);
      held += getBytes(panel);
    }
    used.push_front(panel);
    while (held > capacity && used.size() > 1) {
      held -= getBytes(used.back());
      used.pop_back();
    }
  };
  uint32_t tiles = grid.rows * grid.columns;
  for (uint32_t first = 0; first < tiles; first += workers) {
    std::set<uint32_t> panels;
    for (uint32_t workTile = first; workTile < std::min(first + workers, tiles);
         ++workTile) {
      target::TilePosition tile =
          order == RasterOrder::Linear ? target::linearTile(grid, workTile)
          : order == RasterOrder::Hilbert
              ? target::hilbertTile(grid, workTile)
              : target::groupMTile(grid, group, workTile);
      panels.insert(tile.row);
      panels.insert(grid.rows + tile.column);
    }
    // All tiles of a wave advance along K together, so they share panels even
    // if the panels do not fit in the cache.
    for (uint32_t panel : panels)
      touch(panel);
  }
  return loaded;
}

TEST(ScheduleModel, LoadsFollowTheRaster) {
  const target::TargetInfo &target = getTarget();
  const target::Rates &rates = *target.rates;
  for (auto [m, n, k] :
       {std::tuple(8192, 8192, 8192), std::tuple(16384, 16384, 16384),
        std::tuple(131072, 4096, 7168), std::tuple(4096, 131072, 7168)}) {
    MatmulProblem problem = getProblem(kFormats[0], m, n, k);
    for (auto [order, group] :
         {std::pair(RasterOrder::Linear, 1), std::pair(RasterOrder::GroupM, 4),
          std::pair(RasterOrder::GroupM, 8), std::pair(RasterOrder::GroupM, 16),
          std::pair(RasterOrder::Hilbert, 1)}) {
      SCOPED_TRACE(testing::Message()
                   << m << " x " << n << " x " << k << ", "
                   << stringifyRasterOrder(order).str() << ' ' << group);
      ScheduleFields fields;
      fields.tile = {256, 256, 128};
      fields.strategy = Tcgen05BlockScaledAttr::get(&getContext(), /*ctas=*/2);
      fields.stages = 5;
      fields.rasterOrder = order;
      fields.rasterGroup = group;
      double modelled = double(getModelledCost(problem, fields, target).hbm) *
                            rates.hbmBytesPerClk -
                        double(m) * n * 2;
      double panel = 256.0 * k * 33 / 32;
      double simulated = getSimulatedLoads(
          {uint32_t(m / 256), uint32_t(n / 256)}, order, group,
          target.smCount / 2, panel, panel, rates.l2Bytes / 2);
      EXPECT_GT(modelled, simulated / 2.5);
      EXPECT_LT(modelled, simulated * 2.5);
    }
  }
}

TEST(ScheduleModel, InstructionCyclesMatchPublishedValues) {
  const target::Rates &rates = *getTarget().rates;
  auto cycles = [&](unsigned ctaGroup, unsigned n) {
    return std::max(target::mmaCycles(rates, n),
                    target::mmaPortCycles(rates, ctaGroup, n));
  };
  EXPECT_EQ(cycles(1, 256), 128u);
  EXPECT_EQ(cycles(1, 128), 64u);
  EXPECT_EQ(cycles(1, 64), 48u);
  EXPECT_EQ(cycles(2, 256), 128u);
  EXPECT_EQ(cycles(2, 64), 40u); // 43 measured
}

} // namespace
