//===- Observer.h - Observers of a machine ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks, reports and the time model follow a launch through these interfaces.
// The creator of the machine adds them (Launch in Simulator.cpp), so the
// machine includes none of their headers. Handlers in exec/, a layer above the
// observers, pass operands without virtual calls through typed pointers:
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

  /// A group of lanes starts; `strand` is its number in the warp.
  virtual void forked(Warp &, uint32_t /*strand*/) {}
  /// `lanes` have synchronized.
  virtual void meet(Warp &, uint32_t /*lanes*/) {}
  /// Lanes of the running group have exited and left Warp::live.
  virtual void exited(Warp &) {}
  /// An instruction has waited for all tcgen05.ld of its warp.
  virtual void waitTensorLoads(Warp &) {}

  //===-- Barriers, before their next generation begins -------------------===//

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
  /// Identifies writes of the running engine.
  virtual Epoch engineEpoch() const { return {}; }

  //===-- Findings and ends -----------------------------------------------===//

  /// A check has failed at the current instruction.
  virtual void finding(const Finding &) {}
  /// A check has failed for a group of lanes at clock `step`.
  virtual void finding(const Finding &, uint64_t /*step*/) {}
  /// The cluster has ended; called for each CTA.
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

  /// A cluster starts. Adds an observer to Cluster::observers.
  virtual void start(Cluster &) {}
  /// A cluster has ended, or the launch ends early. Collects its results.
  virtual void take(Cluster &) {}
  /// The launch has ended.
  virtual void finish(LaunchReport &) {}
};

/// Replacement for the scheduler; runs a launch in time order.
class Timing {
public:
  virtual ~Timing() = default;

  /// Returns the reason why this launch cannot be timed, or an empty string.
  virtual std::string explainMisfit() const { return {}; }
  /// The launch starts; its shape is known, but no cluster exists.
  virtual void begin() {}
  /// Returns true if clusters may run on several host threads.
  virtual bool isParallel() const { return false; }
  /// A cluster starts.
  virtual void start(Cluster &) {}
  virtual void run() {}
  /// Calls `action` when the engine of `issuer` has completed the operation.
  virtual void complete(const AsyncIssuer & /*issuer*/, bool /*needsTurn*/,
                        AsyncQueue::Action /*action*/) {}
  virtual uint64_t nanosecondsOf(uint64_t /*cycle*/) const { return 0; }
};

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_OBSERVER_H
