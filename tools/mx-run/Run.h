//===- Run.h - Compile a file and run it on arrays --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The driver of mx-run, apart from its flags.
//
//===----------------------------------------------------------------------===//

#ifndef MX_TOOLS_MX_RUN_RUN_H
#define MX_TOOLS_MX_RUN_RUN_H

#include "mx/Execution/Program.h"

namespace mx {

/// `device` and, if empty, `chip` follow from `deviceName`.
struct RunOptions : CompileOptions {
  std::string inputFile;
  std::string entry = "main";
  std::string deviceName = "auto";
  /// With `ranks`, "{rank}" in a name stands for the number of the rank.
  std::vector<std::string> argumentFiles, resultFiles;
  /// Ranks that run the program together, each a thread; 1 for a program
  /// without expert groups.
  int ranks = 1;
  /// Seconds that a rank waits for the others.
  double timeout = Ranks::kTimeout.count();
  bool checkWithCPU = false;
  /// Where the report of the check goes as JSON, when not empty.
  std::string checkReport;
  /// Print how long compiling and running took.
  bool printTiming = false;
  /// Leave out what mxsim/io/Notices.h prints.
  bool quiet = false;
};

/// Returns an ExitStatus. Messages go to stderr, the text of a check to stdout.
/// Result files are written only when the run itself succeeded.
int run(const RunOptions &options);

} // namespace mx

#endif // MX_TOOLS_MX_RUN_RUN_H
