//===- Observer.h - observers of a machine ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A machine executes a launch. Checks, reports and the model of time follow it
// through these interfaces. The creator of the machine adds them (Launch in
// Simulator.cpp), so the machine includes none of their headers.
//
// Handlers in exec/ are a layer above the observers. They pass the operands of
// each operation without a virtual call, through typed pointers that observers
// set: Cluster::order (checks/), Warp::trace (report/), Warp::watch (time/).
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

  //===-- Lanes -----------------------------------------------------------===//

  /// A group of lanes begins; `strand` is its number in the warp.
  virtual void forked(Warp &, uint32_t /*strand*/) {}
  /// `lanes` have waited for each other.
  virtual void meet(Warp &, uint32_t /*lanes*/) {}
  /// Lanes of the running group have exited and are no longer in Warp::live.
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

  /// A check has failed at the instruction that runs.
  virtual void finding(const Finding &) {}
  /// The same for a group of lanes, at its clock `step`.
  virtual void finding(const Finding &, uint64_t /*step*/) {}
  /// The cluster has ended; called for each CTA.
  virtual void ended(Cta &) {}
};

/// Executes warps in place of Warp::run, to follow each instruction.
class Interpreter {
public:
  /// Runs until the warp blocks, or about `budget` instructions are done.
  /// Returns the number executed.
  virtual uint64_t run(Warp &w, uint64_t budget) = 0;

protected:
  ~Interpreter() = default;
};

/// Follows a launch. Methods are called between passes of the scheduler.
class LaunchObserver {
public:
  virtual ~LaunchObserver() = default;

  /// A cluster begins. Adds its observer to Cluster::observers.
  virtual void start(Cluster &) {}
  /// A cluster has ended, or the launch ends early. Takes over its results.
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
  /// The launch begins: its shape is known, and no cluster exists.
  virtual void begin() {}
  /// Returns true if clusters may run on several host threads.
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
