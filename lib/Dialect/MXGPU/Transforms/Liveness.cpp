//===- Liveness.cpp - No role waits for what comes after the wait ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A dependence runs either to an earlier iteration of a common loop, and such
// dependences end, or to the same iteration, or to all iterations of a loop
// that stands before in program order. A deadlock is a cycle of the latter two:
// the live marked graphs of Commoner et al. (Marked directed graphs, 1971),
// level by level.
//
// An event is therefore looked at in three parts of its loops, outermost first:
// one iteration, any but the same for all events; the first iteration; all
// iterations. To take a stage in all iterations of a loop is to wait for stages
// given back in its first ones, because a ring has fewer stages than a loop can
// have iterations.
//
//===----------------------------------------------------------------------===//

#include "Pipelines.h"
#include <map>

using namespace mlir;
using namespace mx::mxgpu;

namespace {

/// A take or give in one iteration of its `one` outermost loops, the first of
/// the following up to `first` loops, and all of the rest.
struct Event {
  Operation *op;
  unsigned one, first;

  bool operator<(const Event &other) const {
    return std::tuple(op, one, first) <
           std::tuple(other.op, other.one, other.first);
  }
};

class Liveness {
public:
  explicit Liveness(const RingSides &rings) {
    for (auto &[ring, sides] : rings) {
      addPort(sides.producer);
      for (const Port &consumer : sides.getConsumers()) {
        producers[consumer.take] = sides.producer.give;
        consumers[sides.producer.take].push_back(consumer.give);
        addPort(consumer);
      }
    }
  }

  LogicalResult verify() {
    for (Operation *op : ops) {
      unsigned depth = getLoops(op).size();
      for (unsigned one = 0; one <= depth; ++one)
        for (unsigned first = one; first <= depth; ++first)
          if (failed(visit({op, one, first})))
            return failure();
    }
    return success();
  }

private:
  void addPort(const Port &port) {
    for (Operation *op : {port.take, port.give}) {
      ops.push_back(op);
      roleOf[op] = port.role;
    }
  }

  /// What must have happened before `event`.
  SmallVector<Event> getEarlier(Event event) {
    SmallVector<Event> earlier;
    unsigned depth = getLoops(event.op).size();
    if (Operation *publish = producers.lookup(event.op))
      earlier.push_back({publish, event.one, event.first});
    if (event.first < depth)
      for (Operation *release : consumers.lookup(event.op))
        earlier.push_back({release, event.one, depth});
    for (Operation *other : ops)
      if (std::optional<unsigned> common = getCommonLoops(other, event.op))
        earlier.push_back({other, std::min(event.one, *common),
                           std::min(event.first, *common)});
    return earlier;
  }

  /// The number of loops around both `a` and `b` if they are in one role and
  /// `a` comes first in an iteration of those.
  std::optional<unsigned> getCommonLoops(Operation *a, Operation *b) {
    if (a == b || roleOf[a] != roleOf[b])
      return {};
    for (Block *block = b->getBlock();;
         block = block->getParentOp()->getBlock()) {
      Operation *inBlockA = block->findAncestorOpInBlock(*a);
      if (!inBlockA)
        continue;
      Operation *inBlockB = block->findAncestorOpInBlock(*b);
      if (inBlockA == inBlockB || !inBlockA->isBeforeInBlock(inBlockB))
        return {};
      return getLoops(inBlockA).size();
    }
  }

  LogicalResult visit(Event event) {
    State &state = states[event];
    if (state == State::Done)
      return success();
    if (state == State::OnPath) {
      // kernel C25
      InFlightDiagnostic diag = event.op->emitOpError(
          "expected not to wait for itself through other roles, found a "
          "deadlock");
      auto *start = llvm::find_if(path, [&](const Event &other) {
        return !(other < event) && !(event < other);
      });
      for (const Event &other : llvm::make_range(start + 1, path.end()))
        diag.attachNote(other.op->getLoc()) << "which waits for this";
      return diag;
    }
    state = State::OnPath;
    path.push_back(event);
    for (Event other : getEarlier(event))
      if (failed(visit(other)))
        return failure();
    path.pop_back();
    states[event] = State::Done;
    return success();
  }

  enum class State { New, OnPath, Done };

  SmallVector<Operation *> ops;
  DenseMap<Operation *, Operation *> producers; // consume -> publish
  DenseMap<Operation *, SmallVector<Operation *>> consumers; // acquire ->
                                                             // releases
  DenseMap<Operation *, Operation *> roleOf;
  std::map<Event, State> states;
  SmallVector<Event> path;
};

} // namespace

LogicalResult mx::mxgpu::verifyLiveness(const RingSides &rings) {
  return Liveness(rings).verify();
}
