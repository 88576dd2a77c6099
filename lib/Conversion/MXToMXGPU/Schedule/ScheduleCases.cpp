//===- ScheduleCases.cpp - Schedules of a product of unknown sizes --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Where types leave sizes open, the model ranks schedules at many sizes. Cases
// are a list, of which the first that sizes fit runs: upper limits are all that
// they need. A case more is added where it gains most, and the limits of all
// are moved for as long as that gains, until a further one would gain little.
//
//===----------------------------------------------------------------------===//

#include "../Matmul/Kernel/Strategy.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>
#include <set>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Thousandths of the time, on average over all sizes, that one more must gain.
static constexpr int64_t kLeastGain = 1;
/// How much longer a schedule is taken to last where another strategy wins by
/// more than the model sees (Strategy::excludesOthers).
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
         !(fields.epilogue == Epilogue::TmaStore && !canStoreByTma(*rest)) &&
         !checkSchedule(*rest, fields, target);
}

bool mx::mxgpu::hasCases(const MatmulProblem &problem) {
  bool hasM = ShapedType::isDynamic(problem.m),
       hasK = ShapedType::isDynamic(problem.k);
  return !ShapedType::isDynamic(problem.n) && hasM != hasK;
}

//===----------------------------------------------------------------------===//
// Sizes that are compared
//===----------------------------------------------------------------------===//

namespace {
/// `count` sizes are compared from each power of two below `end` up to the
/// next.
struct SizesOfOctave {
  int64_t end, count;
};
} // namespace

/// Tiles have a multiple of 16 rows, up to 256: a size just above those of
/// some tiles needs one more, which is much of the time if they are few.
static constexpr SizesOfOctave kRows[] = {{16, 1},    {64, 2},     {128, 4},
                                          {256, 8},   {2048, 16},  {4096, 8},
                                          {16384, 4}, {1 << 17, 1}};
static constexpr SizesOfOctave kOthers[] = {{1 << 17, 2}};

/// From `first` to `last`, both powers of two: those of the table or, where a
/// size is one of several, every fourth power of two.
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

/// Of a size that no type knows; fewer if it is one of several.
static SmallVector<int64_t> getSizes(SizeName name, bool isAlone) {
  switch (name) {
  case SizeName::M:
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

/// Thousandths of an octave from one size to the next: as likely as others are
/// the sizes of an octave together.
static int64_t getWeight(int64_t size, int64_t before) {
  return std::max<int64_t>(
      std::llround(1000 * std::log2(double(size) / double(before))), 1);
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

namespace {

/// Sizes, and what each schedule loses there to the best one, in thousandths.
struct Point {
  MatmulProblem problem;
  /// What remains of it with each workspace, and whether there a strategy
  /// wins that excludes others.
  struct Rest {
    std::optional<MatmulProblem> problem;
    int64_t before = 0;
    bool excludesOthers = false;
  };
  std::array<Rest, 4> rests;
  int64_t best = 0;
  /// How much the point counts (getWeight).
  int64_t weight = 1000;
  SmallVector<int64_t> losses;

  /// What a schedule loses there, for the choice: much is worse than a little
  /// at many sizes, as each of them is someone's.
  int64_t getBadness(unsigned schedule) const {
    constexpr int64_t kMuch = 50;
    int64_t loss = losses[schedule];
    return weight * (loss + loss * loss / kMuch);
  }
};

/// A case: the points that are its own, and the schedule that loses least
/// there, all together.
struct Leaf {
  SmallVector<unsigned> points;
  unsigned schedule = 0;
  int64_t loss = 0;
};

/// Cases in the order in which they are tried.
struct Division {
  std::vector<SizeLimits> limits;
  std::vector<Leaf> leaves;
  int64_t loss = 0;
};

class CaseSelector {
public:
  CaseSelector(MatmulOpInterface op, const MatmulProblem &problem,
               const target::TargetInfo &target)
      : op(op), typed(problem), target(target) {}

  std::vector<ScheduleCase> run(int64_t most);

private:
  void addPoints();
  void addPoint(const MatmulProblem &problem, int64_t weight);
  int64_t getCycles(const Point &point, const Candidate &candidate) const;
  void settle(Leaf &leaf) const;
  Division divide(std::vector<SizeLimits> limits) const;
  void
  forEachLimit(llvm::function_ref<void(size_t size, int64_t limit)> call) const;
  Division addCase(const Division &division) const;
  Division moveLimits(Division division) const;
  ScheduleCase getCase(const SizeLimits &limits, const Leaf &leaf) const;

  MatmulOpInterface op;
  const MatmulProblem typed;
  const target::TargetInfo &target;
  std::vector<Point> points;
  /// The best ones of any point, by their attribute.
  llvm::MapVector<ScheduleAttr, Candidate> schedules;
};

} // namespace

/// With a tenth of the time that HBM is busy: of orders of tiles that the model
/// finds as fast, that with less traffic took as little as 0.7 of the time.
static int64_t getCyclesWithTraffic(const ModelledCost &cost) {
  return cost.total + cost.hbm / 10;
}

void CaseSelector::addPoint(const MatmulProblem &problem, int64_t weight) {
  std::vector<Candidate> candidates = rankWithWorkspaces(op, problem, target);
  llvm::erase_if(candidates, [&](const Candidate &candidate) {
    return !isLegalForAllSizes(op, typed, candidate.fields, target);
  });
  if (candidates.empty())
    return;
  Point &point = points.emplace_back();
  point.problem = problem;
  point.weight = weight;
  point.best =
      std::max<int64_t>(getCyclesWithTraffic(candidates.front().cost), 1);
  for (const Candidate &candidate : candidates) {
    Workspace workspace = candidate.fields.workspace;
    Point::Rest &rest = point.rests[static_cast<size_t>(workspace)];
    if (rest.problem)
      continue;
    rest.problem = getRemainder(op, problem, workspace, target);
    rest.before = workspace == Workspace::None
                      ? 0
                      : getWorkspaceCycles(op, problem, workspace, target);
    rest.excludesOthers = candidate.strategy->excludesOthers();
  }
  Candidate best = candidates.front();
  completeSchedule(*getRemainder(op, problem, best.fields.workspace, target),
                   best.fields, target);
  schedules.insert({ScheduleAttr::get(op->getContext(), best.fields), best});
}

void CaseSelector::addPoints() {
  SmallVector<SizeName, 4> unknown = getUnknown(typed);
  bool isAlone = unknown.size() == 1;
  std::vector<std::pair<MatmulProblem, int64_t>> problems = {{typed, 1000}};
  for (SizeName name : unknown) {
    std::vector<std::pair<MatmulProblem, int64_t>> more;
    SmallVector<int64_t> sizes = getSizes(name, isAlone);
    for (const auto &[problem, weight] : problems)
      for (auto [i, size] : llvm::enumerate(sizes)) {
        more.emplace_back(problem, i && isAlone ? getWeight(size, sizes[i - 1])
                                                : weight);
        getSizeOf(more.back().first, name) = size;
      }
    problems = std::move(more);
  }
  for (const auto &[problem, weight] : problems)
    addPoint(problem, weight);
}

int64_t CaseSelector::getCycles(const Point &point,
                                const Candidate &candidate) const {
  const Point::Rest &rest =
      point.rests[static_cast<size_t>(candidate.fields.workspace)];
  // Where a workspace has no legal schedule at all.
  if (!rest.problem)
    return kExcludedFactor * kExcludedFactor * point.best;
  int64_t cycles = getCyclesWithTraffic(getModelledCost(
                       *rest.problem, candidate.fields, target)) +
                   rest.before;
  return rest.excludesOthers == candidate.strategy->excludesOthers()
             ? cycles
             : std::max(cycles, point.best) * kExcludedFactor;
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

/// Finds its schedule.
void CaseSelector::settle(Leaf &leaf) const {
  if (leaf.points.empty())
    return;
  leaf.loss = std::numeric_limits<int64_t>::max();
  for (unsigned schedule = 0; schedule < schedules.size(); ++schedule) {
    int64_t loss = 0;
    for (unsigned point : leaf.points)
      loss += points[point].getBadness(schedule);
    if (loss < leaf.loss) {
      leaf.loss = loss;
      leaf.schedule = schedule;
    }
  }
}

/// Gives each point to the first case that it fits.
Division CaseSelector::divide(std::vector<SizeLimits> limits) const {
  Division division;
  division.leaves.resize(limits.size());
  for (auto [index, point] : llvm::enumerate(points)) {
    size_t first = 0;
    while (!fitsLimits(point.problem, limits[first]))
      ++first;
    division.leaves[first].points.push_back(index);
  }
  for (Leaf &leaf : division.leaves) {
    settle(leaf);
    division.loss += leaf.loss;
  }
  division.limits = std::move(limits);
  return division;
}

/// All limits that separate points.
void CaseSelector::forEachLimit(
    llvm::function_ref<void(size_t size, int64_t limit)> call) const {
  for (SizeName name : kSizeNames) {
    std::set<int64_t> sizes;
    for (const Point &point : points) {
      MatmulProblem problem = point.problem;
      sizes.insert(getSizeOf(problem, name));
    }
    sizes.erase(std::prev(sizes.end()));
    for (int64_t limit : sizes)
      call(static_cast<size_t>(name), limit);
  }
}

/// The best division with a case more: as one that there is, and before it, for
/// sizes up to a limit.
Division CaseSelector::addCase(const Division &division) const {
  Division best = division;
  forEachLimit([&](size_t size, int64_t limit) {
    for (size_t i = 0; i < division.limits.size(); ++i) {
      std::vector<SizeLimits> limits = division.limits;
      limits.insert(limits.begin() + i, limits[i]);
      limits[i][size] = limit;
      if (Division other = divide(std::move(limits)); other.loss < best.loss)
        best = std::move(other);
    }
  });
  return best;
}

/// Moves one limit at a time.
Division CaseSelector::moveLimits(Division division) const {
  for (int64_t before = division.loss + 1; division.loss < before;) {
    before = division.loss;
    Division best = division;
    forEachLimit([&](size_t size, int64_t limit) {
      for (size_t i = 0; i + 1 < division.limits.size(); ++i) {
        std::vector<SizeLimits> limits = division.limits;
        if (ShapedType::isDynamic(limits[i][size]))
          continue;
        limits[i][size] = limit;
        if (Division other = divide(std::move(limits)); other.loss < best.loss)
          best = std::move(other);
      }
    });
    division = std::move(best);
  }
  return division;
}

ScheduleCase CaseSelector::getCase(const SizeLimits &limits,
                                   const Leaf &leaf) const {
  ScheduleCase found;
  found.limits = limits;
  found.schedule = schedules.getArrayRef()[leaf.schedule].first;
  found.sizes = leaf.points.size();
  for (unsigned point : leaf.points) {
    int64_t loss = points[point].losses[leaf.schedule];
    found.meanLoss += loss;
    found.worstLoss = std::max(found.worstLoss, loss);
  }
  found.meanLoss /= found.sizes;
  // Where sizes are in order, the largest but for those beyond what is assumed
  // of sizes that nothing is known of.
  unsigned last = leaf.points.front();
  for (unsigned point : leaf.points) {
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
  if (points.empty())
    return {};
  for (Point &point : points)
    for (const auto &[attr, candidate] : schedules)
      point.losses.push_back(getCycles(point, candidate) * 1000 / point.best -
                             1000);
  SizeLimits none;
  none.fill(ShapedType::kDynamic);
  Division division = divide({none});
  int64_t least = 0;
  for (const Point &point : points)
    least += kLeastGain * point.weight;
  while (static_cast<int64_t>(division.limits.size()) < most) {
    Division more = moveLimits(addCase(division));
    if (division.loss - more.loss < least)
      break;
    division = std::move(more);
  }
  std::vector<ScheduleCase> cases;
  for (auto [limits, leaf] : llvm::zip_equal(division.limits, division.leaves))
    if (!leaf.points.empty())
      cases.push_back(getCase(limits, leaf));
  return cases;
}

std::vector<ScheduleCase>
mx::mxgpu::selectCases(MatmulOpInterface op, const MatmulProblem &problem,
                       int64_t most, const target::TargetInfo &target) {
  return CaseSelector(op, problem, target).run(most);
}
