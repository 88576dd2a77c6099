//===- LaunchFile.h - launches described in JSON ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The format that mx-sim reads: buffers, tensor maps, arguments and one or more
// launches of kernels in PTX files. simulator/docs/LaunchFile.md describes it.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LAUNCHFILE_H
#define MXSIM_LAUNCHFILE_H

#include "mxsim/Simulator.h"

#include <optional>
#include <string>
#include <vector>

namespace mx::sim {

struct LaunchFileOptions {
  /// Modules named on the command line, before those of the file.
  std::vector<std::string> modules;
  std::string launchFile;
  uint32_t checks = kCheckAll;
  uint64_t seed = 0;
  unsigned threads = 0;
  bool truncatingSums = false;
  /// As in LaunchConfig.
  bool profile = false;
  uint32_t timelineCtas = 0;
  std::string timedChip;
  TimeChanges timeChanges;
  bool timeLines = false;
  bool skipsMmas = false;
  std::string machineCode;

  /// Files that the caller writes afterwards, and the options that name them:
  /// they must be no other file of the run.
  std::vector<std::pair<std::string, std::string>> reports;

  /// The launch file's text, where it is not to be read; `launchFile` is then
  /// its name in messages.
  std::optional<std::string> text;
  /// The launch file may name any path; otherwise files beside it, and outputs
  /// replace regular files only.
  bool anyPath = false;
  /// Neither reads nor writes files that the launch file names.
  bool isolated = false;
  /// Of the device; 0: DeviceMemory::defaultCapacity().
  uint64_t memoryBytes = 0;
  /// Whatever limit the launch file states; 0: none.
  uint64_t mostInstructions = 0;
};

/// What came of a launch file: the reports of its launches, or why there are
/// none.
struct LaunchFileResult {
  std::string error; ///< bad input; empty when the launches ran
  /// The error is that a file would be written over: no report may be.
  bool refusesFiles = false;
  std::vector<LaunchReport> reports;
  /// What would make the findings better to read; empty if nothing.
  std::string advice;
  double seconds = 0;

  /// 0, 1, 2 or 3; the worst of all reports, 2 before 3 before 1.
  int exitStatus() const;
};

/// Reads the file, runs its launches in order until one is not clean, and
/// writes its outputs.
LaunchFileResult runLaunchFile(const LaunchFileOptions &options);

/// A launch file for a kernel with "?" where its launch has to be known, and
/// notes on its parameters.
std::string launchTemplate(const KernelInfo &kernel);

/// "all", "none", or names separated by commas. False with a message.
bool parseChecks(std::string_view text, uint32_t &checks, std::string &error);

} // namespace mx::sim

#endif // MXSIM_LAUNCHFILE_H
