//===- Observer.h - interfaces of those who watch a machine -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A machine executes a launch. Checks, reports and the model of time watch it
// through these interfaces, and its creator passes them in (Launch in
// Simulator.cpp). The machine includes none of their headers.
//
// Handlers of exec/ lie above the observers. They pass operands of each
// operation on without a virtual call: through Cluster::order (checks/),
// Warp::trace (report/) and Warp::watch (time/), each of them null or set by
// the observer itself.
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

/// Follows one cluster. Methods do nothing unless they are overridden.
class ClusterObserver {
public:
  virtual ~ClusterObserver() = default;

  //===-- Lanes ------------------------------------------------------------===//

  /// A group of lanes begins; `strand` is its number in the warp.
  virtual void forked(Warp &, uint32_t /*strand*/) {}
  /// `lanes` have waited for each other.
  virtual void meet(Warp &, uint32_t /*lanes*/) {}
  /// Lanes of the running group have exited; Warp::live contains the others.
  virtual void exited(Warp &) {}
  /// An instruction has waited for all tcgen05.ld of its warp.
  virtual void waitTensorLoads(Warp &) {}

  //===-- Barriers, before their next generation begins --------------------===//

  virtual void completeBarrier(Cta &, uint32_t /*number*/) {}
  virtual void completeCluster() {}

  //===-- Accesses by engines ----------------------------------------------===//

  virtual void engineShared(Cta &, uint32_t /*offset*/, uint32_t /*bytes*/,
                            bool /*isWrite*/) {}
  virtual void engineTensor(Cta &, unsigned /*lane*/, unsigned /*lanes*/,
                            unsigned /*column*/, unsigned /*columns*/,
                            bool /*isWrite*/) {}
  virtual void engineGlobal(uint64_t /*address*/, uint64_t /*bytes*/,
                            bool /*isWrite*/) {}
  /// Identifies writes of the running engine.
  virtual Epoch engineEpoch() const { return {}; }

  //===-- Findings and ends ------------------------------------------------===//

  virtual void finding(const Finding &) {}
  /// A finding about a group of lanes whose clock is `step`.
  virtual void finding(const Finding &, uint64_t /*step*/) {}
  /// All CTAs of the cluster have ended; called for each of them.
  virtual void ended(Cta &) {}
};

/// Executes warps in place of Warp::run, to look at each instruction.
class Interpreter {
public:
  /// Runs until the warp blocks, or about `budget` instructions are done.
  /// Returns the number executed.
  virtual uint64_t run(Warp &w, uint64_t budget) = 0;

protected:
  ~Interpreter() = default;
};

/// Follows a launch. Its methods run while no cluster does.
class LaunchObserver {
public:
  virtual ~LaunchObserver() = default;

  /// A cluster begins. Adds its observer to Cluster::observers.
  virtual void start(Cluster &) {}
  /// A cluster has ended, or the launch ends before it. Takes over results.
  virtual void take(Cluster &) {}
  /// The launch has ended.
  virtual void finish(LaunchReport &) {}
};

/// Runs a launch in the order of time, in place of the machine's scheduler.
class Timing {
public:
  virtual ~Timing() = default;

  /// Returns why this launch cannot be timed, or an empty string.
  virtual std::string explainMisfit() const { return {}; }
  /// The shape of the launch is known.
  virtual void begin() {}
  /// Whether clusters may run on several threads of the host.
  virtual bool isParallel() const { return false; }
  /// A cluster begins.
  virtual void start(Cluster &) {}
  virtual void run() {}
  /// Calls `action` when the engine of `issuer` has done its work.
  virtual void complete(const AsyncIssuer & /*issuer*/, bool /*needsTurn*/,
                        AsyncQueue::Action /*action*/) {}
  virtual uint64_t nanosecondsOf(uint64_t /*cycle*/) const { return 0; }
};

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_OBSERVER_H
