//===- Run.h - Compile a file and run it on arrays --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What mx-run does, as a library: a tool only parses flags.
//
//===----------------------------------------------------------------------===//

#ifndef MX_EXECUTION_RUN_H
#define MX_EXECUTION_RUN_H

#include "mx/Execution/Ranks.h"
#include "mx/Target/TargetInfo.h"
#include <string>
#include <vector>

namespace mx {

struct RunOptions {
  std::string inputFile;
  std::string entry = "main";
  std::string device = "auto";
  std::string chip; ///< empty: that of the device, else sm_100a
  /// With `ranks`, "{rank}" in a name stands for the number of the rank.
  std::vector<std::string> argumentFiles, resultFiles;
  /// Ranks that run the program together, each a thread; 1 for a program
  /// without groups.
  int ranks = 1;
  /// Seconds that a rank waits for the others.
  double timeout = Ranks::kTimeout.count();
  bool checkWithCPU = false;
  /// Where the report of the check goes as JSON, when not empty.
  std::string checkReport;
  /// Directory for the IR of every stage and the PTX, when not empty.
  std::string saveTemps;
  /// Print which schedule each matmul gets, and why.
  bool explain = false;
  /// Whether operations are fused on a GPU (mx-to-nvvm's `fuse`).
  bool fuse = true;
  /// Most schedules of a matmul of unknown sizes (mx-to-nvvm's).
  int64_t maxSchedules = target::kMaxSchedules;
  /// Table of measured schedules, and the GPU whose entries are taken
  /// (mx-to-nvvm's `tuned` and `tuned-gpu`).
  std::string tuned, tunedGpu;
  /// Print how long compiling and running took.
  bool printTiming = false;
  /// Leave out what mxsim/io/Notices.h prints.
  bool quiet = false;
};

/// Returns an ExitStatus. Messages go to stderr, the text of a check to stdout.
/// Result files are written only when the run itself succeeded.
int run(const RunOptions &options);

} // namespace mx

#endif // MX_EXECUTION_RUN_H
