//===- Programs.h - Programs of hosts and devices ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference path runs compiled code in this process. On a device, the
// runtime executes a launch plan, like the output of mx-compile.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_EXECUTION_PROGRAMS_H
#define MX_LIB_EXECUTION_PROGRAMS_H

#include "mlir/Pass/PassInstrumentation.h"
#include "mx/Execution/Program.h"

namespace mlir {
class ExecutionEngine;
} // namespace mlir

namespace mx {

/// Lower a module in place and compile it. Failures are reported as diagnostics
/// or as the returned error.
llvm::Expected<std::unique_ptr<Program>>
compileForHost(mlir::ModuleOp module, mlir::func::FuncOp entry,
               const CompileOptions &options);
llvm::Expected<std::unique_ptr<Program>>
compileForDevice(mlir::ModuleOp module, mlir::func::FuncOp entry,
                 const CompileOptions &options);

/// Creates a program that calls `function` of `engine` for the entry `name`.
std::unique_ptr<Program>
makeHostProgram(std::shared_ptr<mlir::ExecutionEngine> engine,
                void (*function)(void **), std::string name);

// --save-temps

/// Creates `directory` and writes `module` to a file NN-input.mlir in it.
llvm::Error saveInput(const std::string &directory, mlir::ModuleOp module);

/// Creates an instrumentation that writes a file NN-PASS.mlir after each module
/// pass that changed the module. NN starts at 01.
std::unique_ptr<mlir::PassInstrumentation>
createSaveTempsInstrumentation(const std::string &directory);

} // namespace mx

#endif // MX_LIB_EXECUTION_PROGRAMS_H
