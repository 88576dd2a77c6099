//===- SimOptions.h - Options of the simulated device -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same names reach the simulator from the C interface and from the
// environment.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_SIM_SIMOPTIONS_H
#define MX_RUNTIME_LIB_SIM_SIMOPTIONS_H

#include "../Device.h"

#include "mxsim/Time.h"

namespace mx::runtime {

struct SimOptions {
  uint64_t seed = 0;
  uint32_t checks = ~0u;
  bool looksForBugs = false; ///< checks were asked for
  uint32_t smCount = 148;
  bool skipsMmas = false;
  std::string machineCode; ///< a listing; empty: none
  std::string timedChip;   ///< empty: time is not modelled
  sim::TimeChanges timeChanges;
  uint32_t timeLines = 0; ///< lines to print after each launch
  uint64_t maxInstructions = 10'000'000'000ull;
  unsigned threads = 0; ///< of the host; 0: one per core
  bool truncatesTensorSums = false;
  /// What becomes of findings of a launch that succeeds.
  enum class Warnings { Print, Error, None } warnings = Warnings::Print;
  std::string report; ///< file for reports of all launches; empty: none
  std::string record; ///< directory for launches as files; empty: none

  /// Sets one option from text; on error nothing changes.
  Error set(std::string_view option, std::string_view value);
  /// The same for clock, time-figure and time-without.
  Error setTimeChange(std::string_view option, std::string_view value);
  /// Applies MX_SIM_SEED and the like.
  Error readEnvironment();
};

/// What mxSetThreadInterrupt set in this thread: LaunchConfig::interrupt.
const int32_t *threadInterrupt();

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_SIM_SIMOPTIONS_H
