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
  /// `function` is of `engine`, and `name` what the module calls it.
  HostProgram(std::shared_ptr<mlir::ExecutionEngine> engine,
              void (*function)(void **), std::string name);
  ~HostProgram() override;

  llvm::Expected<std::unique_ptr<Program>> makeRank(Ranks &ranks,
                                                    int rank) override;

private:
  llvm::Expected<std::vector<NpyArray>>
  call(llvm::ArrayRef<const NpyArray *> inputs) override;

  std::shared_ptr<mlir::ExecutionEngine> engine;
  void (*function)(void **);
  std::string name;
  /// Of one that makeRank made.
  std::unique_ptr<HostCollectives> ownCollectives;
};

} // namespace mx

#endif // MX_LIB_EXECUTION_HOSTPROGRAM_H
