//===- CompileEntries.h - Compile the entries of a module -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The steps of compileModule (mx/AheadOfTime/Compile.h) around the tuner, which
// compiles programs of one matmul by the second.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_AHEADOFTIME_OUTPUT_COMPILEENTRIES_H
#define MX_LIB_AHEADOFTIME_OUTPUT_COMPILEENTRIES_H

#include "mx/AheadOfTime/Compile.h"

namespace mx {

/// The file of the kernels, assembled.
inline constexpr const char *kManifestCubin = "kernels.cubin";

/// Makes the entries of these names public, without names all of them, and
/// erases functions that they do not call.
llvm::Error keepEntries(mlir::ModuleOp module,
                        llvm::ArrayRef<std::string> names);

/// Compiles a module of entries by the table in `options`; does not tune.
llvm::Expected<CompiledModule>
compileEntries(mlir::ModuleOp module, const CompileModuleOptions &options,
               llvm::StringRef prefix);

} // namespace mx

#endif // MX_LIB_AHEADOFTIME_OUTPUT_COMPILEENTRIES_H
