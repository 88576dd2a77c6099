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
#include "llvm/ADT/STLFunctionalExtras.h"

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

/// The options with the names of the files of a rank.
RunOptions getOptionsOfRank(const RunOptions &options, int rank);

/// That the groups of the module have as many ranks as run it, each with
/// results of its own.
llvm::Error checkRanks(mlir::ModuleOp module, const RunOptions &options);

/// Runs the program once for each list of arguments: alone, or as that many
/// ranks, which wait for each other as long as `timeout`. What went wrong first
/// is the error. Where another rank then goes on without end, `report` prints
/// the error, and the process ends with the status that it returns.
llvm::Expected<std::vector<std::vector<NpyArray>>>
runRanks(Program &program, llvm::ArrayRef<std::vector<NpyArray>> arguments,
         Ranks::Seconds timeout, llvm::function_ref<int(llvm::Error)> report);

} // namespace mx

#endif // MX_TOOLS_MX_RUN_RUN_H
