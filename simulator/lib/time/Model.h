//===- Model.h - Modelled chip of a launch ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// State shared by all shards: figures, prices, SMs (each owned by one shard),
// L2 and HBM.
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

  /// Restricts the work done for each instruction to `work`.
  void leaveOut(const std::vector<Work> &work);
  /// Lower bound, in cycles, on the time in which an SM can affect an SM of
  /// another cluster.
  uint64_t window() const;
  uint64_t kernelStart() const { return chip.cycles(Fact::KernelStart); }
  uint64_t ctaStart() const { return chip.cycles(Fact::CtaStart); }
  uint64_t ctaIssue() const { return chip.cycles(Fact::CtaIssue); }
  /// Records the start of a CTA at `cycle` on `path`. The same hardware queue
  /// also processes ends of CTAs.
  void giveCta(uint64_t cycle, const Path &path);
  /// Records the end of a CTA at `cycle` on `path`.
  void endCta(uint64_t cycle, const Path &path);
  /// Fills in `time`. `path` leads to the end of the last CTA.
  void finish(LaunchTime &time, uint64_t cycles, Path path);

private:
  void findQuiet();
  void addCauses(LaunchTime &time, const Path &path) const;
  void endKernel(uint64_t &cycles, Path &path) const;
  Machine &machine;

public:
  const Chip chip;
  const bool hasNoIssue; ///< issue takes no time
  bool hasFixedClock = false;
  const double mhz;
  const Registers registers;
  Schedule machineCode;
  std::vector<Price> prices;
  const bool hasMachineCode;
  /// True for instructions through which clusters may communicate. They execute
  /// while all other shards are stopped.
  const std::vector<bool> isShared;
  std::vector<Multiprocessor> sms;
  Memory memory;
  Queue ctaEnds;          ///< processes starts and ends of CTAs
  uint64_t ctasEnded = 0; ///< cycle at which the last end was processed
  /// True if a load forwarded omitted values.
  bool passesOnLeftOut = false;
  /// Costs by line, or null.
  std::unique_ptr<Lines> lines;
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_MODEL_H
