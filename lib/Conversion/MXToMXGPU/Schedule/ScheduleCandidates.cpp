//===- ScheduleCandidates.cpp - Enumeration and ranking of schedules ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enumerates legal schedules and sorts them by modelled cost.
//===----------------------------------------------------------------------===//

#include "../Matmul/Strategies/Strategy.h"
#include <tuple>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Returns the sort key: cycles, traffic, the sum of all terms, and simplicity.
/// The order is total, so the choice does not depend on the enumeration order.
static auto getRank(const Candidate &candidate) {
  const ScheduleFields &fields = candidate.fields;
  const ModelledCost &cost = candidate.cost;
  StrategyAttrInterface strategy = fields.strategy;
  int64_t terms = cost.mma + cost.port + cost.fill + cost.ring + cost.steps +
                  cost.epilogue + cost.exposed + cost.workTiles + cost.waves +
                  cost.period + cost.ends + cost.sum;
  return std::make_tuple(cost.total, cost.hbm, cost.l2, terms, fields.splitK,
                         strategy.getClusterSplit(), strategy.getCtas(),
                         strategy.getTileLoop(), fields.rasterOrder,
                         fields.rasterGroup, fields.epilogue, fields.tile[1],
                         fields.tile[2], fields.workspace);
}

/// Resolution of the model. Costs within 1 / kResolution are considered equal.
static constexpr int64_t kResolution = 256;

/// Moves the schedule with the fewest K steps among the fastest schedules to
/// the front, because issuing roles execute a few dozen instructions in each
/// step, however large the step is.
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

static void sortCandidates(std::vector<Candidate> &candidates) {
  llvm::stable_sort(candidates, [](const Candidate &x, const Candidate &y) {
    return getRank(x) < getRank(y);
  });
  preferFewerSteps(candidates);
}

/// Returns the candidate tile orders: row by row and, if they reduce traffic,
/// bands of the best width and the Hilbert curve.
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
  if (getRates(target).hasFastCurve &&
      getTraffic(RasterOrder::Hilbert, 1) < linear)
    choices.push_back({RasterOrder::Hilbert, 1});
  return choices;
}

/// Returns candidate numbers of reduction splits, each with its strategy.
/// Problems are split if their tiles leave workers idle. The CTAs of a cluster
/// can process two splits, or more if they share the sum.
static SmallVector<std::pair<int64_t, StrategyAttrInterface>>
getSplitChoices(const Strategy &strategy, const MatmulProblem &problem,
                ScheduleFields fields, const target::TargetInfo &target) {
  SmallVector<std::pair<int64_t, StrategyAttrInterface>> choices = {
      {1, fields.strategy}};
  if (problem.inOrder)
    return choices;
  if (ShapedType::isDynamic(problem.m) || ShapedType::isDynamic(problem.n) ||
      ShapedType::isDynamic(problem.k))
    return choices;
  Grid grid = getGrid(problem, fields, target);
  int64_t tiles = grid.rowTiles * grid.columnTiles;
  int64_t steps = ceilDiv(grid.k, fields.tile[2]);
  for (int64_t splits : {2, 3, 4, 6, 8, 12, 16, 24, 32})
    if (splits <= steps && tiles * splits <= 2 * grid.workers)
      choices.push_back({splits, fields.strategy});
  StrategyAttrInterface inCluster = strategy.getClusterSplit(fields);
  if (!inCluster)
    return choices;
  fields.strategy = inCluster;
  for (int64_t splits : {2, 3, 4, 6, 8}) {
    fields.splitK = splits;
    bool isLegal = splits == 2 || strategy.distributesPartials();
    if (isLegal && splits <= steps &&
        tiles * splits <= getGrid(problem, fields, target).workers)
      choices.push_back({splits, inCluster});
  }
  return choices;
}

namespace {

class Candidates {
public:
  Candidates(const MatmulProblem &problem, const target::TargetInfo &target,
             StageMemo *memo = nullptr)
      : problem(problem), target(target), memo(memo) {
    if (canStoreByTma(problem))
      epilogues.push_back(Epilogue::TmaStore);
  }

  void addTiles(const Strategy &strategy) {
    strategy.forEachTile(problem, [&](ScheduleFields fields) {
      addTile(strategy, std::move(fields));
    });
  }

  bool isEmpty() const { return candidates.empty(); }
  std::vector<Candidate> take() { return std::move(candidates); }
  /// Returns the error of the first rejected schedule.
  const std::string &getRefusal() const { return refusal; }

private:
  void addTile(const Strategy &strategy, ScheduleFields fields);
  void addRasters(const Strategy &strategy, ScheduleFields fields);
  /// Returns the number of stages that fit, or 0. Requires fields that pass
  /// checkRules().
  int64_t countStages(const ScheduleFields &fields);
  /// Returns the largest number of staging buffers beside the stages, at most
  /// as many as a whole tile of the result occupies.
  int64_t countStaging(ScheduleFields fields);
  /// Returns true if there is an error, and records the first error.
  bool refuses(std::optional<ScheduleError> error) {
    if (error && refusal.empty())
      refusal = error->message;
    return error.has_value();
  }

  const MatmulProblem &problem;
  const target::TargetInfo &target;
  StageMemo *memo;
  std::vector<Candidate> candidates;
  std::string refusal;
  SmallVector<Epilogue, 2> epilogues = {Epilogue::Direct};
  SmallVector<std::pair<RasterOrder, int64_t>> rasters;
};

} // namespace

int64_t Candidates::countStages(const ScheduleFields &fields) {
  int64_t *known = nullptr;
  if (memo) {
    auto [it, isNew] =
        memo->try_emplace(ScheduleAttr::get(problem.a.getContext(), fields), 0);
    if (!isNew)
      return it->second;
    known = &it->second;
  }
  ScheduleFields chosen = fields;
  int64_t stages = getMaxStages(problem, fields, target);
  chosen.stages = std::max<int64_t>(stages, 1); // even if none fits
  if ((!stages && !refusal.empty()) ||
      refuses(checkSchedule(problem, chosen, target)))
    return 0;
  if (known)
    *known = stages;
  return stages;
}

int64_t Candidates::countStaging(ScheduleFields fields) {
  int64_t least = fields.staging, columns = fields.tile[1] / problem.numB;
  fields.staging = columns / getStagedColumns(columns, problem.getOutBits());
  for (; fields.staging > least; --fields.staging)
    if (getMaxStages(problem, fields, target) >= fields.stages)
      return fields.staging;
  return least;
}

void Candidates::addRasters(const Strategy &strategy, ScheduleFields fields) {
  if (refuses(checkRules(problem, fields, target)))
    return;
  fields.stages = countStages(fields);
  if (!fields.stages)
    return;
  if (fields.epilogue == Epilogue::TmaStore && strategy.stagesWholeTiles())
    fields.staging = countStaging(fields);
  for (auto [order, group] : rasters) {
    fields.rasterOrder = order;
    fields.rasterGroup = group;
    candidates.push_back(
        {&strategy, fields, getModelledCost(problem, fields, target)});
  }
}

void Candidates::addTile(const Strategy &strategy, ScheduleFields fields) {
  for (auto [split, attr] :
       getSplitChoices(strategy, problem, fields, target)) {
    fields.splitK = split;
    fields.strategy = attr;
    strategy.refineSplit(problem, fields);
    rasters = getRasterChoices(problem, fields, target);
    Grid grid = getGrid(problem, fields, target);
    bool isPersistent = grid.rowTiles * grid.columnTiles * split > grid.workers;
    for (Epilogue epilogue : epilogues) {
      fields.epilogue = epilogue;
      strategy.forEachLoop(problem, fields, isPersistent,
                           [&](ScheduleFields fields) {
                             addRasters(strategy, std::move(fields));
                           });
    }
  }
}

std::vector<Candidate>
mx::mxgpu::rankSchedules(const MatmulProblem &problem,
                         const target::TargetInfo &target, StageMemo *memo) {
  Candidates all(problem, target, memo);
  for (bool excludesOthers : {true, false}) {
    for (const Strategy *strategy : problem.strategies)
      if (strategy->excludesOthers() == excludesOthers)
        all.addTiles(*strategy);
    if (!all.isEmpty())
      break;
  }
  std::vector<Candidate> candidates = all.take();
  sortCandidates(candidates);
  return candidates;
}

std::string mx::mxgpu::explainNoSchedule(const MatmulProblem &problem,
                                         const target::TargetInfo &target) {
  Candidates all(problem, target);
  for (const Strategy *strategy : problem.strategies)
    all.addTiles(*strategy);
  return all.isEmpty() ? all.getRefusal() : "";
}

std::vector<Candidate>
mx::mxgpu::rankWithWorkspaces(MatmulOpInterface op, const MatmulProblem &whole,
                              const target::TargetInfo &target,
                              MutableArrayRef<StageMemo> memos) {
  auto rank = [&](const MatmulProblem &problem, Workspace workspace) {
    StageMemo *memo =
        memos.empty() ? nullptr : &memos[static_cast<size_t>(workspace)];
    return rankSchedules(problem, target, memo);
  };
  std::vector<Candidate> candidates = rank(whole, Workspace::None);
  for (Workspace workspace : {Workspace::A, Workspace::B, Workspace::AB}) {
    auto rest = getRemainder(op, whole, workspace, target);
    auto isLegal = [&](Workspace permuted) {
      return explainNoWorkspace(op, workspace, permuted, target).empty();
    };
    Workspace canPermute = rest ? rest->problem.canPermute : Workspace::None;
    bool mayPermute = canPermute != Workspace::None && isLegal(canPermute);
    bool mayStay = isLegal(Workspace::None);
    if (!mayPermute && !mayStay)
      continue;
    for (Candidate &candidate : rank(rest->problem, workspace)) {
      bool isPermuted = getPermuted(candidate.fields) != Workspace::None;
      if (!(isPermuted ? mayPermute : mayStay))
        continue;
      candidate.fields.workspace = workspace;
      rest->addBefore(candidate.cost, candidate.fields);
      candidates.push_back(candidate);
    }
  }
  sortCandidates(candidates);
  return candidates;
}
