//===- Liveness.cpp - Absence of deadlocks among roles --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A role takes stages (acquire, wait) and gives them on (commit, release) in a
// fixed order. The interleaving of roles therefore does not matter: if one
// execution ends, all executions end (Kahn, The semantics of a simple language
// for parallel programming, 1974). The check executes the roles once, with
// enough iterations of each loop that the result holds for all trip counts.
//
// In a deadlock, each role of a cycle waits in a take for a give that follows a
// blocked take of the next role. A shortest cycle visits each role once, and a
// take waits for a give that is at most the ring's stage count earlier. All
// takes of the cycle are therefore within as many iterations as all rings
// together have stages. Further iterations cannot remove the cycle.
//===----------------------------------------------------------------------===//

#include "Pipelines.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace {

/// Step of a role: a take, a give, a consumer_tail, or a loop with its body.
/// Rings are numbered from 0.
struct Step {
  Operation *op;
  unsigned ring = 0;
  std::vector<Step> body = {};
  int64_t trips = 0;
};

/// A stage that a role takes. Stages are numbered from 0 for each ring and
/// side.
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

  /// Returns the stage that the next step takes, or nothing for other steps.
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

/// State of a ring: the stages that were committed, and the stages that each
/// consumer released, by number.
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
      // A stage that overlaps its predecessor is filled only after the
      // predecessor was released, so the ring behaves like a single stage.
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

  /// Returns the stage for which the next step waits and the role that must
  /// give it, or nothing if the step can proceed.
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

  /// Returns the operation that gives the stage if `run` never waits, or null.
  static Operation *findGive(RoleRun run, Taken wanted) {
    while (const Step *step = run.getNext())
      for (Taken given : run.advance())
        if (given.ring == wanted.ring && given.number == wanted.number &&
            given.isProducer == wanted.isProducer)
          return step->op;
    return nullptr;
  }

  LogicalResult report(const RoleRun &first) {
    // Follow the waiting roles until one repeats.
    SmallVector<const RoleRun *> cycle = {&first};
    SmallVector<Operation *> gives;
    while (true) {
      auto [giver, wanted] = *getGiver(*cycle.back());
      const RoleRun *next = llvm::find_if(
          runs, [&](const RoleRun &run) { return run.role == giver; });
      gives.push_back(findGive(*next, wanted));
      if (!next->getNext() || !gives.back()) {
        cycle.assign(1, cycle.back());
        gives.clear();
        break;
      }
      if (auto *start = llvm::find(cycle, next); start != cycle.end()) {
        gives.erase(gives.begin(), gives.begin() + (start - cycle.begin()));
        cycle.erase(cycle.begin(), start);
        break;
      }
      cycle.push_back(next);
    }
    InFlightDiagnostic diag = cycle.front()->getNext()->op->emitOpError(
        "expected not to wait for itself through other roles, found a "
        "deadlock"); // kernel C25
    for (auto [i, give] : llvm::enumerate(gives)) {
      diag.attachNote(give->getLoc()) << "which waits for this";
      if (i + 1 < cycle.size())
        diag.attachNote(cycle[i + 1]->getNext()->op->getLoc())
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
