//===- Launch.h - Run a compiled directory on arrays ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What mx-launch does, as a library: a tool only parses flags. Needs the
// runtime, and neither LLVM nor a compiler.
//===----------------------------------------------------------------------===//

#ifndef MX_LAUNCH_LAUNCH_H
#define MX_LAUNCH_LAUNCH_H

#include <string>
#include <vector>

namespace mx {

/// A rank group of which this process is a member.
struct LaunchRankGroup {
  std::string name;
  /// "host:port", where rank 0 listens.
  std::string address;
  int rank = -1;
};

struct LaunchOptions {
  std::string directory;
  std::string entry = "main";
  std::string device = "auto";
  std::vector<std::string> argumentFiles, resultFiles;
  /// Of a program of several ranks, all of its groups.
  std::vector<LaunchRankGroup> groups;
  /// Print the entries instead of running one.
  bool list = false;
  /// Print how long loading and running took.
  bool printTiming = false;
  /// Leave out what mxsim/io/Notices.h prints.
  bool quiet = false;
};

/// Returns an ExitStatus. Messages go to stderr. Result files are written only
/// when the run succeeded.
int launch(const LaunchOptions &options);

} // namespace mx

#endif // MX_LAUNCH_LAUNCH_H
