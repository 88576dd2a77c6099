//===- Shard.h - SMs whose events one thread handles ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch that is timed is divided into shards, by SMs: no cluster has SMs of
// two. Within a window of time the events of one do not depend on the others
// (Chandy and Misra, "Distributed simulation: a case study in design and
// verification of distributed programs"), so that each handles its own, in the
// order of time. What clusters see of each other waits for the end of the
// window (Timed.cpp). The number of shards does not depend on that of threads,
// nor does the result.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIMED_SHARD_H
#define MXSIM_LIB_TIMED_SHARD_H

#include "../machine/Machine.h"
#include "../time/Stopwatch.h"

#include <vector>

namespace mx::sim {

class Shard {
public:
  Shard(Machine &machine, time::Model &model)
      : watch(machine, model), machine(machine) {}

  /// All events before `end`, or until a cluster stops.
  void run(uint64_t end);
  /// Groups of the cluster that can go on are put in line, after an event at
  /// `cycle`.
  void wake(Cluster &c, uint64_t cycle);

  /// What comes when all other shards stand still: a warp's next instruction,
  /// or an operation that takes effect.
  struct Turn {
    uint64_t cycle, number;
    Warp *warp; ///< null: an operation
    uint32_t operation;
  };
  std::vector<Turn> turns;
  void take(const Turn &turn);
  /// Clusters whose last event was at `cycle`, by `cause`.
  struct End {
    Cluster *cluster;
    uint64_t cycle;
    time::Path cause;
  };
  std::vector<End> ends;

  /// try_waits that gave up in vain in this window, and whether there was
  /// anything else.
  uint64_t tests = 0;
  bool hasMoved = false;

  time::Stopwatch watch;

private:
  static constexpr uint32_t kNone = ~0u;
  void runWarp(Warp &w);
  void runGroup(Warp &w);
  void putInLine(Warp &w);
  void runEarliest(Warp &w, uint64_t cycle);
  void runTurn(Warp &w);
  bool giveUpWaits(Warp &w, uint64_t cycle);
  void complete(uint32_t operation, uint64_t cycle);
  void noteEnd(Cluster &c);

  Machine &machine;
  Warp *running = nullptr;
};

} // namespace mx::sim

#endif // MXSIM_LIB_TIMED_SHARD_H
