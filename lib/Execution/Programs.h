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

#include "mlir/Pass/PassInstrumentation.h"
#include "mx/Execution/Program.h"

namespace mlir {
class ExecutionEngine;
} // namespace mlir

namespace mx {

/// Lowers a module in place; failures are reported through diagnostics or are
/// the error.
llvm::Expected<std::unique_ptr<Program>>
compileForHost(mlir::ModuleOp module, mlir::func::FuncOp entry,
               const CompileOptions &options);
llvm::Expected<std::unique_ptr<Program>>
compileForDevice(mlir::ModuleOp module, mlir::func::FuncOp entry,
                 const CompileOptions &options);

/// A program whose `function` is of `engine`, and whose entry is called `name`.
std::unique_ptr<Program>
makeHostProgram(std::shared_ptr<mlir::ExecutionEngine> engine,
                void (*function)(void **), std::string name);

// --save-temps

/// Creates `directory` and writes `module` to NN-input.mlir in it.
llvm::Error saveInput(const std::string &directory, mlir::ModuleOp module);

/// Writes NN-PASS.mlir after each pass over a module that changed it. NN counts
/// from 01.
std::unique_ptr<mlir::PassInstrumentation>
createSaveTempsInstrumentation(const std::string &directory);

} // namespace mx

#endif // MX_LIB_EXECUTION_PROGRAMS_H
