//===- Model.h - a chip that runs a launch ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all shards of a launch have in common: figures, prices of instructions,
// the SMs, of which each shard has its own, and L2 and HBM.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_MODEL_H
#define MXSIM_LIB_TIME_MODEL_H

#include "../machine/Machine.h"
#include "Lines.h"
#include "Memory.h"
#include "Multiprocessor.h"
#include "Registers.h"
#include "Schedule.h"

#include <memory>
#include <vector>

namespace mx::sim::time {

class Model {
public:
  Model(Machine &machine, const Chip &table);

  /// From now on no more is done of instructions than is said here.
  void leaveOut(const std::vector<Work> &work);
  /// In fewer cycles nothing that an SM does reaches another one of another
  /// cluster.
  uint64_t window() const;
  uint64_t kernelStart() const { return chip.cycles(Fact::KernelStart); }
  uint64_t ctaStart() const { return chip.cycles(Fact::CtaStart); }
  uint64_t ctaIssue() const { return chip.cycles(Fact::CtaIssue); }
  /// A CTA starts at `cycle`, after `path`: who gives CTAs out also sees their
  /// ends.
  void giveCta(uint64_t cycle, const Path &path);
  /// A CTA has ended at `cycle`, after `path`.
  void endCta(uint64_t cycle, const Path &path);
  /// `path`: that of the last end.
  void finish(LaunchTime &time, uint64_t cycles, Path path);

private:
  void findQuiet();
  void addCauses(LaunchTime &time, const Path &path) const;
  void endKernel(uint64_t &cycles, Path &path) const;
  Machine &machine;

public:
  const Chip chip;
  const bool hasNoIssue; ///< the issue of instructions takes no time
  bool hasFixedClock = false;
  const double mhz;
  const Registers registers;
  Schedule machineCode;
  std::vector<Price> prices;
  const bool hasMachineCode;
  /// By instruction: whether clusters may see each other through it, so that it
  /// needs the turn.
  const std::vector<bool> isShared;
  std::vector<Multiprocessor> sms;
  Memory memory;
  Queue ctaEnds; ///< the chip's work to start CTAs and to notice their ends
  uint64_t ctasEnded = 0; ///< when that was the last one's
  /// A load has passed on values that were left out.
  bool passesOnLeftOut = false;
  /// What lines cost; null where that was not asked for.
  std::unique_ptr<Lines> lines;
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_MODEL_H
