//===- Launch.h - Execution of compiled directories -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library of mx-launch; the tool only parses flags. Depends on the runtime,
// but not on LLVM or a compiler.
//===----------------------------------------------------------------------===//

#ifndef MX_LAUNCH_LAUNCH_H
#define MX_LAUNCH_LAUNCH_H

#include <string>
#include <vector>

namespace mx {

/// Rank group that contains this process.
struct LaunchRankGroup {
  std::string name;
  /// "host:port" on which rank 0 listens.
  std::string address;
  int rank = -1;
};

struct LaunchOptions {
  std::string directory;
  std::string entry = "main";
  std::string device = "auto";
  std::vector<std::string> argumentFiles, resultFiles;
  /// All rank groups of a program with several ranks.
  std::vector<LaunchRankGroup> groups;
  /// List the entries instead of running one.
  bool list = false;
  /// Print the time of loading and running.
  bool printTiming = false;
  /// Suppress the notices of mxsim/io/Notices.h.
  bool quiet = false;
};

/// Runs the program and returns an ExitStatus. Messages go to stderr. Result
/// files are written only after a successful run.
int launch(const LaunchOptions &options);

} // namespace mx

#endif // MX_LAUNCH_LAUNCH_H
