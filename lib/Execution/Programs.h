//===- Programs.h - Programs of the CPU and of devices ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The reference path is code of this process. On a device the runtime executes
// a launch plan, as it does what mx-compile wrote.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_EXECUTION_PROGRAMS_H
#define MX_LIB_EXECUTION_PROGRAMS_H

#include "mx/Execution/Program.h"

namespace mx {

/// Lowers a module in place; failures are reported through diagnostics or are
/// the error.
llvm::Expected<std::unique_ptr<Program>>
compileForHost(mlir::ModuleOp module, mlir::func::FuncOp entry,
               const CompileOptions &options);
llvm::Expected<std::unique_ptr<Program>>
compileForDevice(mlir::ModuleOp module, mlir::func::FuncOp entry,
                 const CompileOptions &options);

} // namespace mx

#endif // MX_LIB_EXECUTION_PROGRAMS_H
