//===- RunRanks.h - Run a program as one rank or several --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the implementation.
//
//===----------------------------------------------------------------------===//

#ifndef MX_TOOLS_MX_RUN_RUNRANKS_H
#define MX_TOOLS_MX_RUN_RUNRANKS_H

#include "Run.h"
#include "mx/Execution/Program.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mx {

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

#endif // MX_TOOLS_MX_RUN_RUNRANKS_H
