//===- Liveness.cpp - Absence of deadlocks among roles --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each role takes and gives stages in a fixed order, so the order in which
// roles run does not matter: if one execution ends, all do (Kahn, The semantics
// of a simple language for parallel programming, 1974). The check executes the
// roles once, with a bound on iterations that proves all iteration counts.
//
// A deadlock is a cycle of takes that wait for gives, and gives that follow
// takes in their roles. A shortest cycle visits each role once, and a take
// waits for a give at most the ring's number of stages earlier. So the takes of
// the cycle are within as many iterations of a loop as all rings have stages
// together. Further iterations add operations and remove no order.
//
//===----------------------------------------------------------------------===//

#include "Pipelines.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace {

/// A take, give or tail, or a loop with its body. Rings are numbered from 0.
struct Step {
  Operation *op;
  unsigned ring = 0;
  std::vector<Step> body = {};
  int64_t trips = 0;
};

/// A stage taken by a role, numbered from 0 for each ring and side.
struct Taken {
  unsigned ring;
  bool isProducer;
  int64_t number;
};

/// Execution state of a role.
class RoleRun {
public:
  RoleRun(RoleOp role, const std::vector<Step> &steps, unsigned rings)
      : role(role), counts(rings) {
    enter(steps, /*trips=*/1);
  }

  /// Returns the next take, give or tail, or null at the end.
  const Step *getNext() const {
    if (frames.empty())
      return nullptr;
    const Frame &frame = frames.back();
    return &(*frame.steps)[frame.next];
  }

  /// Returns the stage of the next step, if that is a take.
  std::optional<Taken> getTaken() const {
    const Step *step = getNext();
    if (!step || !isa<ProducerAcquireOp, ConsumerWaitOp>(step->op))
      return {};
    bool isProducer = isa<ProducerAcquireOp>(step->op);
    return Taken{step->ring, isProducer, counts[step->ring].taken[isProducer]};
  }

  /// Executes the next step and returns the stages that it gives.
  SmallVector<Taken> advance() {
    const Step &step = *getNext();
    SmallVector<Taken> given;
    Count &count = counts[step.ring];
    if (std::optional<Taken> taken = getTaken()) {
      numbers[step.op] = taken->number;
      ++count.taken[taken->isProducer];
    } else if (auto commit = dyn_cast<ProducerCommitOp>(step.op)) {
      given.push_back({step.ring, true, getNumber(commit.getStage())});
    } else if (auto release = dyn_cast<ConsumerReleaseOp>(step.op)) {
      int64_t number = getNumber(release.getStage()) - release.getDeferred();
      count.kept = release.getDeferred();
      if (number >= count.drained)
        given.push_back({step.ring, false, number});
    } else {
      int64_t taken = count.taken[false];
      for (int64_t number = std::max(count.drained, taken - count.kept);
           number < taken; ++number)
        given.push_back({step.ring, false, number});
      count.drained = taken;
    }
    ++frames.back().next;
    settle();
    return given;
  }

  RoleOp role;

private:
  struct Frame {
    const std::vector<Step> *steps;
    size_t next;
    int64_t trips; // remaining, including the current one
  };
  struct Count {
    int64_t taken[2] = {0, 0}; // as consumer, as producer
    int64_t kept = 0;          // by deferred releases
    int64_t drained = 0;       // kept stages below this number were given
  };

  int64_t getNumber(Value stage) const {
    return numbers.lookup(stage.getDefiningOp());
  }

  void enter(const std::vector<Step> &steps, int64_t trips) {
    if (trips > 0 && !steps.empty()) {
      frames.push_back({&steps, 0, trips});
      settle();
    }
  }

  /// Advances to the next step that is not a loop.
  void settle() {
    while (!frames.empty()) {
      Frame &frame = frames.back();
      if (frame.next == frame.steps->size()) {
        frame.next = 0;
        if (--frame.trips == 0)
          frames.pop_back();
        continue;
      }
      const Step &step = (*frame.steps)[frame.next];
      if (step.body.empty())
        return;
      ++frame.next;
      if (step.trips > 0)
        frames.push_back({&step.body, 0, step.trips});
    }
  }

  SmallVector<Frame> frames;
  std::vector<Count> counts;
  DenseMap<Operation *, int64_t> numbers;
};

/// Numbers of committed stages of a ring, and of stages released by each role.
struct RingRun {
  int64_t stages;
  SmallVector<RoleOp> producers, consumers;
  std::vector<bool> committed;
  std::vector<std::vector<bool>> released;
};

class Liveness {
public:
  Liveness(const RingSides &sides, bool countsIterations)
      : countsIterations(countsIterations) {
    for (auto &[op, ofRing] : sides) {
      RingType type = cast<RingOp>(op).getType();
      numberOf[op] = rings.size();
      // An overlapping stage requires an empty predecessor.
      RingRun ring{type.getOverlap() ? 1 : type.getStages(),
                   getRoles(ofRing.producers),
                   getRoles(ofRing.consumers),
                   {},
                   {}};
      ring.released.resize(ring.consumers.size());
      iterations += type.getStages();
      roles.insert(ring.producers.begin(), ring.producers.end());
      roles.insert(ring.consumers.begin(), ring.consumers.end());
      rings.push_back(std::move(ring));
    }
  }

  LogicalResult verify() {
    std::vector<std::vector<Step>> programs;
    for (RoleOp role : roles)
      programs.push_back(getSteps(role.getBody().front()));
    for (auto [role, steps] : llvm::zip_equal(roles, programs))
      runs.emplace_back(role, steps, rings.size());
    bool progress = true;
    while (std::exchange(progress, false))
      for (RoleRun &run : runs)
        while (run.getNext() && !getGiver(run)) {
          for (Taken given : run.advance())
            give(given, run.role);
          progress = true;
        }
    for (RoleRun &run : runs)
      if (run.getNext())
        return report(run);
    return success();
  }

private:
  std::vector<Step> getSteps(Block &block) {
    std::vector<Step> steps;
    for (Operation &op : block) {
      Operation *ring = nullptr;
      if (isa<ProducerAcquireOp, ConsumerWaitOp, ConsumerTailOp>(op))
        ring = op.getOperand(0).getDefiningOp();
      else if (isa<ProducerCommitOp, ConsumerReleaseOp>(op))
        ring = op.getOperand(0).getDefiningOp()->getOperand(0).getDefiningOp();
      if (auto number = numberOf.find(ring); number != numberOf.end()) {
        steps.push_back({&op, number->second});
      } else if (isa<ForEachWorkTileOp, ForEachKOp>(op)) {
        std::vector<Step> body = getSteps(op.getRegion(0).front());
        if (!body.empty())
          steps.push_back({&op, 0, std::move(body), getTrips(&op)});
      }
    }
    return steps;
  }

  int64_t getTrips(Operation *loop) {
    std::optional<int64_t> known = getTripCount(loop);
    if (!known)
      return iterations;
    return countsIterations ? *known : std::min(*known, iterations);
  }

  static bool has(const std::vector<bool> &stages, int64_t number) {
    return number < static_cast<int64_t>(stages.size()) && stages[number];
  }

  /// Returns the role and the stage that the next step waits for, or nothing if
  /// it can proceed.
  std::optional<std::pair<RoleOp, Taken>> getGiver(const RoleRun &run) {
    std::optional<Taken> taken = run.getTaken();
    if (!taken)
      return {};
    const RingRun &ring = rings[taken->ring];
    int64_t number = taken->number;
    if (!taken->isProducer) {
      if (has(ring.committed, number))
        return {};
      return std::pair(ring.producers.front(),
                       Taken{taken->ring, /*isProducer=*/true, number});
    }
    number -= ring.stages;
    for (auto [role, released] : llvm::zip_equal(ring.consumers, ring.released))
      if (number >= 0 && !has(released, number))
        return std::pair(role,
                         Taken{taken->ring, /*isProducer=*/false, number});
    return {};
  }

  void give(Taken given, RoleOp role) {
    RingRun &ring = rings[given.ring];
    std::vector<bool> *stages = &ring.committed;
    if (!given.isProducer)
      stages = &ring.released[llvm::find(ring.consumers, role) -
                              ring.consumers.begin()];
    if (given.number >= static_cast<int64_t>(stages->size()))
      stages->resize(given.number + 1);
    (*stages)[given.number] = true;
  }

  /// Returns the operation by which a role would give a stage without waits.
  static Operation *findGive(RoleRun run, Taken wanted) {
    while (const Step *step = run.getNext())
      for (Taken given : run.advance())
        if (given.ring == wanted.ring && given.number == wanted.number &&
            given.isProducer == wanted.isProducer)
          return step->op;
    return nullptr;
  }

  LogicalResult report(const RoleRun &first) {
    // Follow waiting roles until a cycle.
    SmallVector<const RoleRun *> circle = {&first};
    SmallVector<Operation *> gives;
    while (true) {
      auto [giver, wanted] = *getGiver(*circle.back());
      const RoleRun *next = llvm::find_if(
          runs, [&](const RoleRun &run) { return run.role == giver; });
      gives.push_back(findGive(*next, wanted));
      if (!next->getNext() || !gives.back()) {
        circle.assign(1, circle.back());
        gives.clear();
        break;
      }
      if (auto *start = llvm::find(circle, next); start != circle.end()) {
        gives.erase(gives.begin(), gives.begin() + (start - circle.begin()));
        circle.erase(circle.begin(), start);
        break;
      }
      circle.push_back(next);
    }
    // kernel C25
    InFlightDiagnostic diag = circle.front()->getNext()->op->emitOpError(
        "expected not to wait for itself through other roles, found a "
        "deadlock");
    for (auto [i, give] : llvm::enumerate(gives)) {
      diag.attachNote(give->getLoc()) << "which waits for this";
      if (i + 1 < circle.size())
        diag.attachNote(circle[i + 1]->getNext()->op->getLoc())
            << "which waits for this";
    }
    return diag;
  }

  bool countsIterations;
  int64_t iterations = 2;
  std::vector<RingRun> rings;
  DenseMap<Operation *, unsigned> numberOf;
  llvm::SetVector<RoleOp> roles;
  SmallVector<RoleRun, 0> runs;
};

} // namespace

LogicalResult mx::mxgpu::verifyLiveness(const RingSides &rings,
                                        bool countsIterations) {
  return Liveness(rings, countsIterations).verify();
}
