//===- Run.h - Compilation and execution on arrays --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Driver of mx-run. mx-run.cpp parses the command line.
//===----------------------------------------------------------------------===//

#ifndef MX_TOOLS_MX_RUN_RUN_H
#define MX_TOOLS_MX_RUN_RUN_H

#include "mx/Execution/Program.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mx {

/// Options of a run. The fields `device` and, if empty, `chip` are derived from
/// `deviceName`.
struct RunOptions : CompileOptions {
  std::string inputFile;
  std::string entry = "main";
  std::string deviceName = "auto";
  /// If there are several ranks, "{rank}" in a name is replaced by the rank.
  std::vector<std::string> argumentFiles, resultFiles;
  /// Number of ranks, each of which is a thread. Must be 1 for programs without
  /// rank groups.
  int ranks = 1;
  /// Time-out of a rank in seconds.
  double timeout = Ranks::kTimeout.count();
  bool checkWithCPU = false;
  /// File for the JSON report of the check; empty to disable.
  std::string checkReport;
  /// Print the time of compiling and running.
  bool printTiming = false;
  /// Suppress the notices of mxsim/io/Notices.h.
  bool quiet = false;
};

/// Runs the program and returns an ExitStatus. Messages go to stderr, the
/// report of a check to stdout. Result files are written only after a
/// successful run.
int run(const RunOptions &options);

/// Returns the options with the file names of a rank.
RunOptions getOptionsOfRank(const RunOptions &options, int rank);

/// Fails unless the rank groups of the module have as many ranks as the run,
/// and each rank has separate result files.
llvm::Error checkRanks(mlir::ModuleOp module, const RunOptions &options);

/// Runs the program with one rank for each list of arguments. The ranks wait
/// for each other for at most `timeout`. Returns the results, or the first
/// error. If a rank does not end after an error, exits the process with the
/// status that `report` returns after it printed the error.
llvm::Expected<std::vector<std::vector<NpyArray>>>
runRanks(Program &program, llvm::ArrayRef<std::vector<NpyArray>> arguments,
         Ranks::Seconds timeout, llvm::function_ref<int(llvm::Error)> report);

} // namespace mx

#endif // MX_TOOLS_MX_RUN_RUN_H
