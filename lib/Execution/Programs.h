//===- Programs.h - Programs of hosts and devices ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference path is compiled code in this process. On a device the runtime
// executes a launch plan, as for mx-compile.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_EXECUTION_PROGRAMS_H
#define MX_LIB_EXECUTION_PROGRAMS_H

#include "mlir/Pass/PassInstrumentation.h"
#include "mx/Execution/Program.h"

namespace mlir {
class ExecutionEngine;
} // namespace mlir

namespace mx {

/// Lower a module in place. Failures are diagnostics or the returned error.
llvm::Expected<std::unique_ptr<Program>>
compileForHost(mlir::ModuleOp module, mlir::func::FuncOp entry,
               const CompileOptions &options);
llvm::Expected<std::unique_ptr<Program>>
compileForDevice(mlir::ModuleOp module, mlir::func::FuncOp entry,
                 const CompileOptions &options);

/// Creates a program with `function` of `engine` and the entry `name`.
std::unique_ptr<Program>
makeHostProgram(std::shared_ptr<mlir::ExecutionEngine> engine,
                void (*function)(void **), std::string name);

// --save-temps

/// Creates `directory` and writes `module` to NN-input.mlir in it.
llvm::Error saveInput(const std::string &directory, mlir::ModuleOp module);

/// Writes NN-PASS.mlir after each module pass that changed the module. NN
/// starts at 01.
std::unique_ptr<mlir::PassInstrumentation>
createSaveTempsInstrumentation(const std::string &directory);

} // namespace mx

#endif // MX_LIB_EXECUTION_PROGRAMS_H
