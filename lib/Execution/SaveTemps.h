//===- SaveTemps.h - Keep the IR after every pass ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What `--save-temps` asks for: every stage of a compilation as a file that can
// be read, parsed and verified again, and the PTX of every kernel.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_EXECUTION_SAVETEMPS_H
#define MX_LIB_EXECUTION_SAVETEMPS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/Error.h"

namespace mx {

/// Creates `directory` and writes `module` to NN-input.mlir in it.
llvm::Error saveInput(const std::string &directory, mlir::ModuleOp module);

/// Writes NN-PASS.mlir after each pass over a module that changed it. NN counts
/// from 01.
std::unique_ptr<mlir::PassInstrumentation>
createSaveTempsInstrumentation(const std::string &directory);

} // namespace mx

#endif // MX_LIB_EXECUTION_SAVETEMPS_H
