//===- LaunchFile.h - Launches described in JSON ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The input format of mx-sim: buffers, tensor maps, arguments and one or more
// launches of kernels in PTX files. See simulator/docs/LaunchFile.md.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LAUNCHFILE_H
#define MXSIM_LAUNCHFILE_H

#include "mxsim/Simulator.h"

#include <optional>
#include <string>
#include <vector>

namespace mx::sim {

struct LaunchFileOptions {
  /// Modules named on the command line; they precede the modules of the file.
  std::vector<std::string> modules;
  std::string launchFile;
  uint32_t checks = kCheckAll;
  uint64_t seed = 0;
  unsigned threads = 0;
  bool truncatingSums = false;
  /// See LaunchConfig.
  bool profile = false;
  uint32_t timelineCtas = 0;
  std::string timedChip;
  TimeChanges timeChanges;
  bool timeLines = false;
  bool skipsMmas = false;
  std::string machineCode;

  /// Files that the caller writes after the run, each with the option that
  /// names the file. They must differ from every other file of the run.
  std::vector<std::pair<std::string, std::string>> reports;

  /// Contents of the launch file, if already in memory. `launchFile` then only
  /// names the file in messages.
  std::optional<std::string> text;
  /// Accept any path in the launch file. By default, paths must name files in
  /// the same folder, and outputs only replace regular files.
  bool anyPath = false;
  /// Never read or write files named in the launch file.
  bool isolated = false;
  /// Device memory capacity in bytes; 0 selects
  /// DeviceMemory::defaultCapacity().
  uint64_t memoryBytes = 0;
  /// Upper bound on the instruction limits of the launch file; 0 means none.
  uint64_t mostInstructions = 0;
};

/// Reports of the launches in a launch file, or an error.
struct LaunchFileResult {
  std::string error; ///< bad input; empty if the launches ran
  /// True if the run would overwrite a file. The caller must not write reports
  /// then.
  bool refusesFiles = false;
  std::vector<LaunchReport> reports;
  std::vector<std::string> modulePaths;
  /// Advice on making the findings more readable, or empty.
  std::string advice;
  double seconds = 0;

  /// Returns the worst status of all reports, an ExitStatus. Bad input (2)
  /// ranks above deadlock (3), and deadlock above a fault (1).
  int exitStatus() const;
};

/// Reads the file, runs its launches in order up to the first failure, and
/// writes the outputs.
LaunchFileResult runLaunchFile(const LaunchFileOptions &options);

/// Returns a launch file template for `kernel`: notes on the parameters, and
/// "?" for every value that the user must fill in.
std::string launchTemplate(const KernelInfo &kernel);

} // namespace mx::sim

#endif // MXSIM_LAUNCHFILE_H
