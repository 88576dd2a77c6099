//===- Groups.h - The groups that a process is a rank of --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_LAUNCH_GROUPS_H
#define MX_LIB_LAUNCH_GROUPS_H

#include "mx/Launch/Launch.h"
#include "mx/Support/ExitStatus.h"
#include "mx_program.h"

namespace mx {

/// Connected to the other ranks as long as this lives.
class Groups {
public:
  explicit Groups(mxProgram program) : program(program) {}
  Groups(const Groups &) = delete;
  Groups &operator=(const Groups &) = delete;
  ~Groups();

  /// Connects to all groups of the program where the options say, and binds it
  /// to them. Waits for the other ranks.
  ExitStatus bind(const LaunchOptions &options);

private:
  ExitStatus bind(const mxProgramGroupInfo &info, const LaunchOptions &options);

  mxProgram program;
  std::vector<mxGroup> groups;
};

} // namespace mx

#endif // MX_LIB_LAUNCH_GROUPS_H
