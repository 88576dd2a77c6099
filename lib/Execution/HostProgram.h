//===- HostProgram.h - Calls of code of this process ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The reference path, compiled in process.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_EXECUTION_HOSTPROGRAM_H
#define MX_LIB_EXECUTION_HOSTPROGRAM_H

#include "mx/Execution/Program.h"

namespace mlir {
class ExecutionEngine;
} // namespace mlir

namespace mx {

class HostProgram final : public Program {
public:
  /// `function` is of `engine`.
  HostProgram(std::unique_ptr<mlir::ExecutionEngine> engine,
              void (*function)(void **));
  ~HostProgram() override;

private:
  llvm::Expected<std::vector<NpyArray>>
  call(llvm::ArrayRef<const NpyArray *> inputs) override;

  std::unique_ptr<mlir::ExecutionEngine> engine;
  void (*function)(void **);
};

} // namespace mx

#endif // MX_LIB_EXECUTION_HOSTPROGRAM_H
