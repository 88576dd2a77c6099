//===- CompileEntries.h - Compilation of entries ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of compileModule (mx/AheadOfTime/Compile.h) without tuning, shared with
// the tuner, which compiles several single-matmul programs per second.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_AHEADOFTIME_OUTPUT_COMPILEENTRIES_H
#define MX_LIB_AHEADOFTIME_OUTPUT_COMPILEENTRIES_H

#include "mx/AheadOfTime/Compile.h"

namespace mx {

/// File name of the assembled kernels.
inline constexpr const char *kManifestCubin = "kernels.cubin";

/// Makes the entries called `names` public (all if empty) and erases functions
/// that they do not call.
llvm::Error keepEntries(mlir::ModuleOp module,
                        llvm::ArrayRef<std::string> names);

/// Compiles a module of entries with the table in `options`. Does not tune.
llvm::Expected<CompiledModule>
compileEntries(mlir::ModuleOp module, const CompileModuleOptions &options,
               llvm::StringRef prefix);

} // namespace mx

#endif // MX_LIB_AHEADOFTIME_OUTPUT_COMPILEENTRIES_H
