//===- Compile.h - Compile a module to what programs run --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What mx-compile does, as a library: a tool only parses flags. A program is
// made in memory; whether it goes to a directory is the caller's choice.
//
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

/// What is measured before a module is compiled (Tune.h).
struct TuneOptions {
  /// Schedules of each matmul that are timed; with 0 nothing is measured.
  int64_t count = 0;
  /// On the simulator, by its model of time, instead of a GPU.
  bool isModelled = false;
  /// Rows at which matmuls are timed whose rows no type knows; one size of
  /// each of the model's ranges when empty.
  std::vector<int64_t> rows;
};

struct CompileModuleOptions : DeviceOptions {
  /// Functions to compile; all public ones when empty.
  std::vector<std::string> entries;
  /// The assembler: a path, "none", or empty to look for one.
  std::string ptxas;
  /// Without a `tuned` table a measurement has its own.
  TuneOptions tune;
};

/// What a program consists of, as mxProgramLoadParts takes it.
struct CompiledModule : DeviceCode {
  /// Empty without kernels or without an assembler.
  std::string cubin;
  /// The text and the file of a C header.
  std::string header, headerName;
};

/// Compiles `module`, which is lowered in place; the header declares functions
/// called `prefix`_ENTRY. An error without a message is one that diagnostics
/// of the module's context have told.
llvm::Expected<CompiledModule>
compileModule(mlir::ModuleOp module, const CompileModuleOptions &options,
              llvm::StringRef prefix);

/// The functions of those names, which can be called on arrays; without names
/// the public ones, without the host's own code where there are others.
llvm::Expected<llvm::SmallVector<mlir::func::FuncOp>>
selectEntries(mlir::ModuleOp module, llvm::ArrayRef<std::string> names);

/// Gives the arguments of functions the names that they have in the text that
/// `module` was parsed from. Bytecode has none.
void nameArguments(mlir::ModuleOp module, llvm::SourceMgr &sources);

/// Writes manifest.json, kernels.ptx, kernels.cubin, constants.bin and the
/// header, the manifest last.
llvm::Error writeCompiledModule(llvm::StringRef directory,
                                const CompiledModule &compiled);

struct CompileToDirectoryOptions : CompileModuleOptions {
  std::string inputFile;
  std::string outputDirectory;
  /// Leave out what mxsim/io/Notices.h prints.
  bool quiet = false;
};

/// Compiles a file and writes it, and returns an ExitStatus: kExitFault where
/// ptxas failed. Messages go to stderr; nothing is written unless everything
/// was compiled.
int compileToDirectory(const CompileToDirectoryOptions &options);

} // namespace mx

#endif // MX_AHEADOFTIME_COMPILE_H
