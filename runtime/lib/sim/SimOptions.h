//===- SimOptions.h - Options of the simulated device -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface and the environment use the same names.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_SIM_SIMOPTIONS_H
#define MX_RUNTIME_LIB_SIM_SIMOPTIONS_H

#include "../Device.h"

#include "mxsim/Time.h"

namespace mx::runtime {

struct SimOptions {
  uint64_t seed = 0;
  uint32_t checks = ~0u;
  bool looksForBugs = false; ///< checks were requested
  uint32_t smCount = 148;
  bool skipsMmas = false;
  std::string machineCode; ///< a listing, or empty
  std::string timedChip;   ///< empty: no time model
  sim::TimeChanges timeChanges;
  uint32_t timeLines = 0; ///< lines to print after each launch
  uint64_t maxInstructions = 10'000'000'000ull;
  unsigned threads = 0; ///< host threads; 0: one for each core
  bool truncatesTensorSums = false;
  /// Handling of findings after a successful launch.
  enum class Warnings { Print, Error, None } warnings = Warnings::Print;
  std::string report; ///< file for reports of all launches, or empty
  std::string record; ///< directory for recorded launches, or empty

  /// Sets an option from text; on error nothing changes.
  Error set(std::string_view option, std::string_view value);
  /// Sets clock, time-figure or time-without from text.
  Error setTimeChange(std::string_view option, std::string_view value);
  /// Applies the environment variables MX_SIM_SEED and so on.
  Error readEnvironment();
};

/// Returns the flag passed by this thread to mxSetThreadInterrupt. Launches
/// pass the flag on as LaunchConfig::interrupt.
const int32_t *threadInterrupt();

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_SIM_SIMOPTIONS_H
