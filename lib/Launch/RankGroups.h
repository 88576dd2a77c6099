//===- RankGroups.h - Rank groups of a process ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_LAUNCH_RANKGROUPS_H
#define MX_LIB_LAUNCH_RANKGROUPS_H

#include "mx/Launch/Launch.h"
#include "mx/Support/ExitStatus.h"
#include "mx_program.h"

namespace mx {

/// Connected to the other ranks as long as this lives.
class RankGroups {
public:
  explicit RankGroups(mxProgram program) : program(program) {}
  RankGroups(const RankGroups &) = delete;
  RankGroups &operator=(const RankGroups &) = delete;
  ~RankGroups();

  /// Connects to all rank groups of the program where the options say, and
  /// binds it to them. Waits for the other ranks.
  ExitStatus bind(const LaunchOptions &options);

private:
  ExitStatus bind(const mxProgramGroupInfo &info, const LaunchOptions &options);

  mxProgram program;
  std::vector<mxGroup> groups;
};

} // namespace mx

#endif // MX_LIB_LAUNCH_RANKGROUPS_H
