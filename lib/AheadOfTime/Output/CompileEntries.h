//===- CompileEntries.h - Compilation of entries ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of compileModule (mx/AheadOfTime/Compile.h) after tuning. The tuner
// also uses them to compile several single-matmul programs per second.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_AHEADOFTIME_OUTPUT_COMPILEENTRIES_H
#define MX_LIB_AHEADOFTIME_OUTPUT_COMPILEENTRIES_H

#include "mx/AheadOfTime/Compile.h"
#include "mx/Plan/Plan.h"

namespace mx {

inline constexpr const char *kManifestCubin = "kernels.cubin";

/// Makes the entries called `names` public, or all entries if `names` is empty,
/// and erases the functions that no entry calls.
llvm::Error keepEntries(mlir::ModuleOp module,
                        llvm::ArrayRef<std::string> names);

/// Compiles a module of entries with the tuned table, but measures nothing.
llvm::Expected<CompiledModule>
compileEntries(mlir::ModuleOp module, const CompileModuleOptions &options,
               llvm::StringRef prefix);

std::string getIdentifier(const std::string &text);

/// Returns a C header with functions named `prefix`_ENTRY, typed wrappers of
/// the runtime's mx_program.h.
std::string writeHeader(const plan::Manifest &manifest,
                        const std::string &prefix);

} // namespace mx

#endif // MX_LIB_AHEADOFTIME_OUTPUT_COMPILEENTRIES_H
