//===- Shard.h - SMs simulated by one thread --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A timed launch is divided into shards of SMs; a cluster lies within one
// shard. Within a window of time the shards are independent (Chandy and Misra,
// "Distributed simulation: a case study in design and verification of
// distributed programs"). Communication between clusters waits for the end of
// the window (Timed.cpp). Neither the number of shards nor the result depends
// on the number of threads.
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

  /// Handles all events before `end`, or until a cluster stops.
  void run(uint64_t end);
  /// Schedules the groups of the cluster that can resume after an event at
  /// `cycle`.
  void wake(Cluster &c, uint64_t cycle);

  /// Event that runs while all other shards are stopped: the next instruction
  /// of a warp, or the completion of an operation.
  struct Turn {
    uint64_t cycle, number;
    Warp *warp; ///< null for an operation
    uint32_t operation;
  };
  std::vector<Turn> turns;
  void take(const Turn &turn);
  /// Cluster that ended at `cycle`, with the path to its end.
  struct End {
    Cluster *cluster;
    uint64_t cycle;
    time::Path cause;
  };
  std::vector<End> ends;

  /// Timed-out try_waits of this window, and whether anything else has
  /// happened.
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
