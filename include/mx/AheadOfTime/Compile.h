//===- Compile.h - Ahead-of-time compilation of modules ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library of mx-compile; the tool only parses flags. Programs are built in
// memory, and the caller decides whether to write them to a directory.
//===----------------------------------------------------------------------===//

#ifndef MX_AHEADOFTIME_COMPILE_H
#define MX_AHEADOFTIME_COMPILE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mx/Execution/DeviceCode.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace mx {

/// Measurements before a module is compiled (Tune.h).
struct TuneOptions {
  /// Schedules to time for each matmul; 0 disables measuring.
  int64_t count = 0;
  /// Time with the simulator's model instead of a GPU.
  bool isModelled = false;
  /// Rows to time for matmuls with a dynamic number of rows. By default the
  /// tuner uses a size from each range of the model.
  std::vector<int64_t> rows;
};

struct CompileModuleOptions : DeviceOptions {
  /// Functions to compile; all public functions if empty.
  std::vector<std::string> entries;
  /// Path of the assembler, "none", or empty to search for ptxas.
  std::string ptxas;
  /// Tuning stores results in `tuned`, or in the user's default table.
  TuneOptions tune;
};

/// Parts of a program that mxProgramLoadParts loads.
struct CompiledModule : DeviceCode {
  /// Empty without kernels or without an assembler.
  std::string cubin;
  std::string header, headerName;
};

/// Compiles `module` in place. The header declares functions `prefix`_ENTRY. An
/// error with an empty message was already reported as a diagnostic.
llvm::Expected<CompiledModule>
compileModule(mlir::ModuleOp module, const CompileModuleOptions &options,
              llvm::StringRef prefix);

/// Returns the functions called `names`. Fails unless all of them can be called
/// on arrays. Without names, returns the public functions; host code is
/// included only if there are no others.
llvm::Expected<llvm::SmallVector<mlir::func::FuncOp>>
selectEntries(mlir::ModuleOp module, llvm::ArrayRef<std::string> names);

/// Attaches the argument names of the MLIR text to the functions of `module`.
/// Bytecode contains no such names.
void nameArguments(mlir::ModuleOp module, llvm::SourceMgr &sources);

/// Writes manifest.json, kernels.ptx, kernels.cubin, constants.bin and the
/// header. The manifest is written last.
llvm::Error writeCompiledModule(llvm::StringRef directory,
                                const CompiledModule &compiled);

struct CompileToDirectoryOptions : CompileModuleOptions {
  std::string inputFile;
  std::string outputDirectory;
  /// Suppress the notices of mxsim/io/Notices.h.
  bool quiet = false;
};

/// Compiles a file and returns an ExitStatus (kExitFault if ptxas fails).
/// Prints messages to stderr. Writes files only if all parts were compiled.
int compileToDirectory(const CompileToDirectoryOptions &options);

} // namespace mx

#endif // MX_AHEADOFTIME_COMPILE_H
