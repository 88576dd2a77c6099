//===- Observer.h - Observers of a machine ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks, reports and the time model follow a launch through these interfaces.
// The creator of the machine adds the observers (Launch in Simulator.cpp), so
// the machine includes none of their headers. exec/ is a layer above the
// observers, so its handlers call them directly through typed pointers:
// Cluster::order (checks/), Warp::trace (report/), Warp::watch (time/).
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_OBSERVER_H
#define MXSIM_LIB_MACHINE_OBSERVER_H

#include "../clocks/Shadow.h"
#include "AsyncQueue.h"

#include "mxsim/Simulator.h"

#include <string>

namespace mx::sim {

struct Cluster;
struct Cta;

/// Observer of a cluster. Default methods do nothing.
class ClusterObserver {
public:
  virtual ~ClusterObserver() = default;

  //===-- Lanes -----------------------------------------------------------===//

  /// Called when a group of lanes starts. `strand` is its number in the warp.
  virtual void forked(Warp &, uint32_t /*strand*/) {}
  /// Called after `lanes` have synchronized.
  virtual void meet(Warp &, uint32_t /*lanes*/) {}
  /// Called after lanes of the running group have exited and have been removed
  /// from Warp::live.
  virtual void exited(Warp &) {}
  /// Called after an instruction that waits for all tcgen05.ld of its warp.
  virtual void waitTensorLoads(Warp &) {}

  //===-- Barriers; called before the next generation begins --------------===//

  virtual void completeBarrier(Cta &, uint32_t /*number*/) {}
  virtual void completeCluster() {}

  //===-- Accesses by engines ---------------------------------------------===//

  virtual void engineShared(Cta &, uint32_t /*offset*/, uint32_t /*bytes*/,
                            bool /*isWrite*/) {}
  virtual void engineTensor(Cta &, unsigned /*lane*/, unsigned /*lanes*/,
                            unsigned /*column*/, unsigned /*columns*/,
                            bool /*isWrite*/) {}
  virtual void engineGlobal(uint64_t /*address*/, uint64_t /*bytes*/,
                            bool /*isWrite*/) {}
  /// Returns the epoch of writes by the running engine.
  virtual Epoch engineEpoch() const { return {}; }

  //===-- Findings and ends -----------------------------------------------===//

  /// Called after a check has failed at the current instruction.
  virtual void finding(const Finding &) {}
  /// Called after a check has failed for a group of lanes at clock `step`.
  virtual void finding(const Finding &, uint64_t /*step*/) {}
  /// Called for each CTA after the cluster has ended.
  virtual void ended(Cta &) {}
};

/// Replacement for Warp::run with instruction-level observation.
class Interpreter {
public:
  /// Runs until the warp blocks or about `budget` instructions have executed.
  /// Returns the number of executed instructions.
  virtual uint64_t run(Warp &w, uint64_t budget) = 0;

protected:
  ~Interpreter() = default;
};

/// Observer of a launch. Methods are called between scheduler passes.
class LaunchObserver {
public:
  virtual ~LaunchObserver() = default;

  /// Called when a cluster starts. May add an observer to Cluster::observers.
  virtual void start(Cluster &) {}
  /// Collects the results of a cluster when the cluster or the launch ends.
  virtual void take(Cluster &) {}
  /// Called after the launch has ended.
  virtual void finish(LaunchReport &) {}
};

/// Replacement for the scheduler; runs a launch in time order.
class Timing {
public:
  virtual ~Timing() = default;

  /// Returns the reason why this launch cannot be timed, or an empty string.
  virtual std::string explainMisfit() const { return {}; }
  /// Called when the launch starts. Its shape is known, but no cluster exists.
  virtual void begin() {}
  /// Returns true if clusters may run on several host threads.
  virtual bool isParallel() const { return false; }
  /// Called when a cluster starts.
  virtual void start(Cluster &) {}
  virtual void run() {}
  /// Calls `action` when the engine of `issuer` has completed the operation.
  virtual void complete(const AsyncIssuer & /*issuer*/, bool /*needsTurn*/,
                        AsyncQueue::Action /*action*/) {}
  virtual uint64_t nanosecondsOf(uint64_t /*cycle*/) const { return 0; }
};

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_OBSERVER_H
