//===- ScheduleCases.cpp - Selection of schedules for dynamic sizes -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks schedules at many sizes and keeps a few of them, each with a kernel.
// As work tiles fill up, the best schedule alternates between neighboring
// sizes, so a schedule may be the best in many ranges. A range costs a
// comparison on the host, and a kernel costs compile time. The first matching
// case applies, so cases contain only upper limits.
//===----------------------------------------------------------------------===//

#include "../Matmul/Strategies/Strategy.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Minimum gain that justifies another schedule or another range, in
/// hundred-thousandths of the mean time.
static constexpr int64_t kLeastGainOfSchedule = 50, kLeastGainOfRange = 1;
/// Slowdown assumed for a strategy at sizes where another strategy wins by an
/// unmodelled margin (Strategy::excludesOthers).
static constexpr int64_t kExcludedFactor = 2;

StringRef mx::mxgpu::stringifySizeName(SizeName name) {
  constexpr StringLiteral kNames[] = {"m", "n", "k", "groups"};
  return kNames[static_cast<size_t>(name)];
}

int64_t &mx::mxgpu::getSizeOf(MatmulProblem &problem, SizeName name) {
  int64_t *const sizes[] = {&problem.m, &problem.n, &problem.k,
                            &problem.groups};
  return *sizes[static_cast<size_t>(name)];
}

SmallVector<SizeName, 4> mx::mxgpu::getUnknown(MatmulProblem problem) {
  SmallVector<SizeName, 4> unknown;
  for (SizeName name : kSizeNames)
    if (ShapedType::isDynamic(getSizeOf(problem, name)))
      unknown.push_back(name);
  return unknown;
}

bool mx::mxgpu::fitsLimits(MatmulProblem problem, const SizeLimits &limits) {
  return llvm::all_of(kSizeNames, [&](SizeName name) {
    int64_t limit = limits[static_cast<size_t>(name)];
    return ShapedType::isDynamic(limit) || getSizeOf(problem, name) <= limit;
  });
}

bool mx::mxgpu::isLegalForAllSizes(MatmulOpInterface op,
                                   const MatmulProblem &typed,
                                   const ScheduleFields &fields,
                                   const target::TargetInfo &target) {
  auto rest = getRemainder(op, typed, fields.workspace, target);
  return rest &&
         !(fields.epilogue == Epilogue::TmaStore &&
           !canStoreByTma(rest->problem)) &&
         !checkSchedule(rest->problem, fields, target);
}

bool mx::mxgpu::hasCases(const MatmulProblem &problem) {
  bool hasM = ShapedType::isDynamic(problem.m),
       hasK = ShapedType::isDynamic(problem.k);
  return !ShapedType::isDynamic(problem.n) && hasM != hasK;
}

//===----------------------------------------------------------------------===//
// Compared sizes
//===----------------------------------------------------------------------===//

namespace {
/// Number of sizes between adjacent powers of two below `end`.
struct SizesOfOctave {
  int64_t end, count;
};
} // namespace

/// Row counts for the ranking of schedules.
static constexpr SizesOfOctave kRankedRows[] = {
    {16, 1}, {64, 2}, {128, 4}, {256, 8}, {8192, 16}, {1 << 17, 8}};
/// Row counts for the comparison of selected schedules. Tile heights are
/// multiples of 16 up to 256. A size just above a multiple needs another tile,
/// which is a significant cost if there are few tiles, or another wave.
static constexpr SizesOfOctave kRows[] = {
    {16, 1},    {64, 2},    {128, 4},    {256, 8},    {512, 16},
    {2048, 32}, {8192, 64}, {16384, 32}, {1 << 17, 8}};
static constexpr SizesOfOctave kOthers[] = {{1 << 17, 2}};

/// Returns sizes from `first` to `last` (both powers of two). `octaves`
/// determines their number. If several sizes are dynamic (not `isAlone`), each
/// size is four times the previous size.
static SmallVector<int64_t> getSizes(int64_t first, int64_t last, bool isAlone,
                                     ArrayRef<SizesOfOctave> octaves) {
  SmallVector<int64_t> sizes;
  for (int64_t size = first; size <= last; size *= isAlone ? 2 : 4) {
    int64_t count = 1;
    if (isAlone && size < last)
      count = llvm::find_if(octaves, [&](const SizesOfOctave &octave) {
                return size < octave.end;
              })->count;
    for (int64_t i = 0; i < count; ++i)
      if (size * i % count == 0)
        sizes.push_back(size + size * i / count);
  }
  return sizes;
}

/// Returns the values of a dynamic size at which schedules are ranked
/// (`isRanked`) or compared. Returns fewer values if several sizes are dynamic.
static SmallVector<int64_t> getSizes(SizeName name, bool isAlone,
                                     bool isRanked) {
  switch (name) {
  case SizeName::M:
    if (isRanked)
      return getSizes(1, 1 << 17, isAlone, kRankedRows);
    return getSizes(1, 1 << 17, isAlone, kRows);
  case SizeName::K:
    return getSizes(1 << 5, 1 << 17, isAlone, kOthers);
  case SizeName::Groups:
    return getSizes(1, 1 << 8, isAlone, kOthers);
  case SizeName::N:
    break;
  }
  llvm_unreachable("a size that has cases");
}

/// Returns the logarithmic distance to the preceding size, in thousandths of an
/// octave. All octaves therefore have the same weight.
static int64_t getWeight(int64_t size, int64_t before) {
  return std::max<int64_t>(
      std::llround(1000 * std::log2(double(size) / double(before))), 1);
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

namespace {

/// Sizes of a problem, and the loss of each schedule relative to the best, in
/// thousandths.
struct Point {
  MatmulProblem problem;
  /// Remaining problem after a workspace is dequantized. `excludesOthers` is
  /// true if the best strategy for this problem excludes other strategies.
  struct Rest {
    std::optional<Remainder> remainder;
    bool excludesOthers = false;
  };
  std::array<Rest, 4> rests;
  /// True if all schedules were ranked at the point. At other points, only the
  /// selected schedules are compared.
  bool isRanked = true;
  /// Time of the best schedule, or 0 if none is legal.
  int64_t best = 0;
  /// Weight of the point (getWeight).
  int64_t weight = 1000;
  SmallVector<int64_t> losses;

  /// Returns the weighted loss of a schedule. A large loss at one size is worse
  /// than small losses at many, because each size is some user's workload.
  int64_t getBadness(unsigned schedule) const {
    constexpr int64_t kMuch = 50;
    int64_t loss = losses[schedule];
    return weight * (loss + loss * loss / kMuch);
  }
};

/// Sizes within `limits` that no earlier range covers, and their schedule.
struct SizeRange {
  SizeLimits limits;
  unsigned schedule;
  SmallVector<unsigned> points;

  bool isLike(const SizeRange &other) const {
    return limits == other.limits && schedule == other.schedule;
  }
};

class CaseSelector {
public:
  CaseSelector(MatmulOpInterface op, const MatmulProblem &problem,
               const target::TargetInfo &target)
      : op(op), typed(problem), target(target) {}

  std::vector<ScheduleCase> run(int64_t most);

private:
  void addPoints();
  void rankAt(Point &point);
  void compareAt(Point &point, const Point &ranked);
  int64_t getCycles(const Point &point, const Candidate &candidate) const;
  int64_t countBadness(ArrayRef<unsigned> kept) const;
  SmallVector<unsigned> keepSchedules(int64_t most) const;
  bool exchange(SmallVector<unsigned> &kept) const;
  std::vector<SizeRange> divideLine(ArrayRef<unsigned> kept,
                                    unsigned first) const;
  std::vector<SizeRange> divide(ArrayRef<unsigned> kept, unsigned dim,
                                unsigned first) const;
  ScheduleCase getCase(const SizeRange &range) const;

  MatmulOpInterface op;
  const MatmulProblem typed;
  const target::TargetInfo &target;
  /// A dynamic size and its values. There is a point for each combination, and
  /// points that differ only in the last Dim are adjacent.
  struct Dim {
    SizeName name;
    SmallVector<int64_t> sizes;
  };
  SmallVector<Dim, 2> dims;
  std::vector<Point> points;
  /// Memos of `rankWithWorkspaces`, indexed by workspace.
  std::array<StageMemo, 4> memos;
  /// The best schedules of all points.
  llvm::MapVector<ScheduleAttr, Candidate> schedules;
  /// A thousandth of the total time of all points.
  int64_t thousandth = 0;
};

} // namespace

/// Returns the modelled cycles plus, to break ties, a tenth of the HBM time and
/// of the SM time. If two tile orders need equal cycles, the order with less
/// traffic took as little as 0.7 of the other's time. If weight loads are the
/// bottleneck, 4 rows took 7 % longer with a 32-row tile than with 16 rows.
static int64_t getCyclesWithTraffic(const ModelledCost &cost) {
  return cost.total + (cost.hbm + cost.waves * cost.period) / 10;
}

void CaseSelector::rankAt(Point &point) {
  std::vector<Candidate> candidates =
      rankWithWorkspaces(op, point.problem, target, memos);
  llvm::erase_if(candidates, [&](const Candidate &candidate) {
    return !isLegalForAllSizes(op, typed, candidate.fields, target);
  });
  if (candidates.empty())
    return;
  point.best =
      std::max<int64_t>(getCyclesWithTraffic(candidates.front().cost), 1);
  for (const Candidate &candidate : candidates) {
    Workspace workspace = candidate.fields.workspace;
    Point::Rest &rest = point.rests[static_cast<size_t>(workspace)];
    if (rest.remainder)
      continue;
    rest.remainder = getRemainder(op, point.problem, workspace, target);
    rest.excludesOthers = candidate.strategy->excludesOthers();
  }
  Candidate best = candidates.front();
  const Point::Rest &rest =
      point.rests[static_cast<size_t>(best.fields.workspace)];
  completeSchedule(rest.remainder->problem, best.fields, target);
  schedules.insert({ScheduleAttr::get(op->getContext(), best.fields), best});
}

/// Finds the best of the selected schedules at a point that is not ranked.
/// Legal workspaces and excluded strategies are copied from the neighboring
/// point `ranked`.
void CaseSelector::compareAt(Point &point, const Point &ranked) {
  if (!ranked.best)
    return;
  for (size_t i = 0; i < point.rests.size(); ++i)
    if (ranked.rests[i].remainder)
      point.rests[i] = {
          getRemainder(op, point.problem, static_cast<Workspace>(i), target),
          ranked.rests[i].excludesOthers};
  int64_t best = std::numeric_limits<int64_t>::max();
  for (const auto &[attr, candidate] : schedules)
    if (point.rests[static_cast<size_t>(candidate.fields.workspace)].remainder)
      best = std::min(best, getCycles(point, candidate));
  point.best = std::max<int64_t>(best, 1);
}

void CaseSelector::addPoints() {
  SmallVector<SizeName, 4> unknown = getUnknown(typed);
  bool isAlone = unknown.size() == 1;
  points.emplace_back().problem = typed;
  // Make rows the last dimension, because they have the most ranges.
  for (SizeName name : llvm::reverse(unknown)) {
    std::vector<Point> more;
    SmallVector<int64_t> sizes = getSizes(name, isAlone, /*isRanked=*/false);
    SmallVector<int64_t> ranked = getSizes(name, isAlone, /*isRanked=*/true);
    for (const Point &point : points)
      for (auto [i, size] : llvm::enumerate(sizes)) {
        more.push_back(point);
        getSizeOf(more.back().problem, name) = size;
        if (i && isAlone)
          more.back().weight = getWeight(size, sizes[i - 1]);
        more.back().isRanked &= llvm::is_contained(ranked, size);
      }
    points = std::move(more);
    dims.push_back({name, std::move(sizes)});
  }
  for (Point &point : points) {
    thousandth += point.weight;
    if (point.isRanked)
      rankAt(point);
  }
  // Points that are not ranked use the next larger ranked sizes. These exist,
  // because the largest sizes are ranked.
  const Point *next = nullptr;
  for (Point &point : llvm::reverse(points)) {
    if (point.isRanked)
      next = &point;
    else
      compareAt(point, *next);
  }
}

int64_t CaseSelector::getCycles(const Point &point,
                                const Candidate &candidate) const {
  const Point::Rest &rest =
      point.rests[static_cast<size_t>(candidate.fields.workspace)];
  // Without a remainder, the workspace has no legal schedule.
  if (!rest.remainder)
    return kExcludedFactor * kExcludedFactor * point.best;
  int64_t cycles =
      getCyclesWithTraffic(rest.remainder->getCost(candidate.fields, target));
  return rest.excludesOthers == candidate.strategy->excludesOthers()
             ? cycles
             : std::max(cycles, point.best) * kExcludedFactor;
}

//===----------------------------------------------------------------------===//
// Kept schedules
//===----------------------------------------------------------------------===//

/// Returns the total badness if each point uses its best schedule of `kept`.
int64_t CaseSelector::countBadness(ArrayRef<unsigned> kept) const {
  int64_t badness = 0;
  for (const Point &point : points) {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (unsigned schedule : kept)
      least = std::min(least, point.getBadness(schedule));
    badness += least;
  }
  return badness;
}

/// Replaces a schedule by another if the total badness decreases.
bool CaseSelector::exchange(SmallVector<unsigned> &kept) const {
  int64_t before = countBadness(kept), least = before;
  std::optional<std::pair<size_t, unsigned>> best;
  for (size_t i = 0; i < kept.size(); ++i) {
    SmallVector<unsigned> others = llvm::to_vector(kept);
    others.erase(others.begin() + i);
    // Badness of each point without schedule i.
    SmallVector<int64_t> without;
    for (const Point &point : points) {
      int64_t of = std::numeric_limits<int64_t>::max();
      for (unsigned schedule : others)
        of = std::min(of, point.getBadness(schedule));
      without.push_back(of);
    }
    for (unsigned schedule = 0; schedule < schedules.size(); ++schedule) {
      int64_t badness = 0;
      for (auto [point, of] : llvm::zip_equal(points, without))
        badness += std::min(of, point.getBadness(schedule));
      if (badness < least) {
        least = badness;
        best = {i, schedule};
      }
    }
  }
  if (best)
    kept[best->first] = best->second;
  return best.has_value();
}

/// Adds the schedule with the largest gain until the gain is too small or
/// `most` schedules are kept. Then exchanges schedules as long as the badness
/// decreases.
SmallVector<unsigned> CaseSelector::keepSchedules(int64_t most) const {
  int64_t least = kLeastGainOfSchedule * thousandth / 100;
  SmallVector<unsigned> kept;
  int64_t badness = std::numeric_limits<int64_t>::max();
  while (static_cast<int64_t>(kept.size()) < most) {
    SmallVector<unsigned> best;
    int64_t bestBadness = badness;
    for (unsigned schedule = 0; schedule < schedules.size(); ++schedule) {
      SmallVector<unsigned> more(kept);
      more.push_back(schedule);
      if (int64_t of = countBadness(more); of < bestBadness) {
        bestBadness = of;
        best = std::move(more);
      }
    }
    if (best.empty() || (!kept.empty() && badness - bestBadness < least))
      break;
    kept = std::move(best);
    badness = bestBadness;
  }
  while (exchange(kept)) {
  }
  return kept;
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

/// Divides the points that start at `first`, along the last size, into the
/// ranges with the smallest loss plus the minimum gain of each range.
std::vector<SizeRange> CaseSelector::divideLine(ArrayRef<unsigned> kept,
                                                unsigned first) const {
  const Dim &dim = dims.back();
  int64_t ofRange = kLeastGainOfRange * thousandth / 100;
  struct Way {
    int64_t badness;
    size_t before; // index into `kept` at the previous point
  };
  std::vector<SmallVector<Way>> ways;
  auto findBest = [&]() -> size_t {
    return llvm::min_element(ways.back(),
                             [](const Way &a, const Way &b) {
                               return a.badness < b.badness;
                             }) -
           ways.back().begin();
  };
  for (size_t i = 0; i < dim.sizes.size(); ++i) {
    SmallVector<Way> here;
    size_t best = i ? findBest() : 0;
    for (auto [place, schedule] : llvm::enumerate(kept)) {
      Way way{points[first + i].getBadness(schedule), place};
      if (i) {
        int64_t changed = ways.back()[best].badness + ofRange;
        if (changed < ways.back()[place].badness)
          way.before = best;
        way.badness += std::min(changed, ways.back()[place].badness);
      }
      here.push_back(way);
    }
    ways.push_back(std::move(here));
  }
  size_t place = findBest();
  SmallVector<size_t> places(dim.sizes.size());
  for (size_t i = dim.sizes.size(); i-- > 0; place = ways[i][place].before)
    places[i] = place;
  std::vector<SizeRange> ranges;
  for (auto [i, place] : llvm::enumerate(places)) {
    if (!i || place != places[i - 1]) {
      SizeRange &range = ranges.emplace_back();
      range.limits.fill(ShapedType::kDynamic);
      range.schedule = kept[place];
    }
    ranges.back().points.push_back(first + i);
    ranges.back().limits[static_cast<size_t>(dim.name)] =
        i + 1 < places.size() ? dim.sizes[i] : ShapedType::kDynamic;
  }
  return ranges;
}

/// Divides the points that start at `first`, along size `dim` and later sizes.
/// Merges neighboring sizes with equal divisions.
std::vector<SizeRange> CaseSelector::divide(ArrayRef<unsigned> kept,
                                            unsigned dim,
                                            unsigned first) const {
  if (dim + 1 == dims.size())
    return divideLine(kept, first);
  unsigned inside = 1;
  for (const Dim &other : ArrayRef(dims).drop_front(dim + 1))
    inside *= other.sizes.size();
  std::vector<SizeRange> all, before;
  for (auto [i, size] : llvm::enumerate(dims[dim].sizes)) {
    std::vector<SizeRange> here = divide(kept, dim + 1, first + i * inside);
    bool isAlike = before.size() == here.size();
    for (size_t j = 0; isAlike && j < here.size(); ++j)
      isAlike = here[j].isLike(before[j]);
    for (size_t j = 0; j < here.size(); ++j) {
      SizeRange range = here[j];
      if (isAlike) {
        SizeRange &last = all[all.size() - here.size() + j];
        llvm::append_range(last.points, range.points);
        range = std::move(last);
      }
      range.limits[static_cast<size_t>(dims[dim].name)] =
          i + 1 < dims[dim].sizes.size() ? size : ShapedType::kDynamic;
      if (isAlike)
        all[all.size() - here.size() + j] = std::move(range);
      else
        all.push_back(std::move(range));
    }
    before = std::move(here);
  }
  return all;
}

ScheduleCase CaseSelector::getCase(const SizeRange &range) const {
  ScheduleCase found;
  found.limits = range.limits;
  found.schedule = schedules.getArrayRef()[range.schedule].first;
  found.sizes = range.points.size();
  for (unsigned point : range.points) {
    int64_t loss = points[point].losses[range.schedule];
    found.meanLoss += loss;
    found.worstLoss = std::max(found.worstLoss, loss);
  }
  found.meanLoss /= found.sizes;
  // Choose the largest sizes of the range up to the assumed size.
  unsigned last = range.points.front();
  for (unsigned point : range.points) {
    MatmulProblem problem = points[point].problem;
    if (llvm::all_of(kSizeNames, [&](SizeName name) {
          return getSizeOf(problem, name) <= kAssumedSize;
        }))
      last = point;
  }
  found.example = points[last].problem;
  return found;
}

std::vector<ScheduleCase> CaseSelector::run(int64_t most) {
  addPoints();
  if (schedules.empty())
    return {};
  for (Point &point : points)
    for (const auto &[attr, candidate] : schedules)
      point.losses.push_back(
          point.best
              ? std::max<int64_t>(
                    getCycles(point, candidate) * 1000 / point.best - 1000, 0)
              : 0);
  SmallVector<unsigned> kept = keepSchedules(most);
  std::vector<ScheduleCase> cases;
  for (const SizeRange &range : divide(kept, /*dim=*/0, /*first=*/0))
    cases.push_back(getCase(range));
  return cases;
}

std::vector<ScheduleCase>
mx::mxgpu::selectCases(MatmulOpInterface op, const MatmulProblem &problem,
                       int64_t most, const target::TargetInfo &target) {
  return CaseSelector(op, problem, target).run(most);
}
