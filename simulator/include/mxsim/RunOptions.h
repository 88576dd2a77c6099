//===- RunOptions.h - Options of simulated launches as text -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs that launch kernels on the simulator, rather than launch files, take
// these options by name or from the environment. One table lists all options.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_RUNOPTIONS_H
#define MXSIM_RUNOPTIONS_H

#include "mxsim/Simulator.h"

namespace mx::sim {

/// Parses "all", "none", or check names separated by commas. Returns false and
/// sets `error` on failure.
bool parseChecks(std::string_view text, uint32_t &checks, std::string &error);

struct RunOptions {
  uint64_t seed = 0;
  uint32_t checks = kCheckAll;
  bool looksForBugs = false; ///< checks were requested
  uint32_t smCount = 148;
  bool skipsMmas = false;
  std::string machineCode; ///< a listing, or empty
  std::string timedChip;   ///< empty: no time model
  TimeChanges timeChanges;
  uint32_t timeLines = 0; ///< lines to print after each launch
  uint64_t maxInstructions = 10'000'000'000ull;
  unsigned threads = 0; ///< host threads; 0: one for each core
  bool truncatesTensorSums = false;
  /// Handling of findings after a successful launch.
  enum class Warnings { Print, Error, None } warnings = Warnings::Print;
  std::string report; ///< file for reports of all launches, or empty
  std::string record; ///< directory for recorded launches, or empty

  /// Sets an option from text. Returns an error message or an empty string; on
  /// error nothing changes.
  std::string set(std::string_view option, std::string_view value);
  /// Sets clock, time-figure or time-without from text.
  std::string setTimeChange(std::string_view option, std::string_view value);
  /// Applies the environment variables MX_SIM_SEED and so on.
  std::string readEnvironment();
  /// Returns the variable of an option, or an empty string.
  static std::string variableOf(std::string_view option);
  /// Fills in the options that concern a launch.
  void apply(LaunchConfig &config) const;
};

} // namespace mx::sim

#endif // MXSIM_RUNOPTIONS_H
