//===- MainLoop.h - tcgen05_block_scaled main loop ------------ -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread loads tiles and scales with bulk tensor copies, a second thread
// issues scale copies and MMAs, and four warps read accumulators from tensor
// memory. Two rings connect these roles.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_TCGEN05BLOCKSCALED_MAINLOOP_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_TCGEN05BLOCKSCALED_MAINLOOP_H

#include "../../MainLoop/MainLoop.h"

namespace mx::mxgpu {

class BlockScaledMainLoop final : public MainLoop {
public:
  BlockScaledMainLoop(MatmulKernel &kernel, WorkPolicy &work, OperandB &b);

  void checkSizes() override;
  void addOperands(KernelArguments &signature) override;
  void freeTemporaries() override;

  void createRings() override;
  void buildRoles(EpiloguePolicy &epilogue) override;

private:
  mlir::Value encodeElements(mlir::Value operand,
                             const target::OperandForm &form,
                             llvm::StringRef field, int64_t rows);

  void buildMma();

  /// Device memory freed after the matmul.
  llvm::SmallVector<mlir::Value> temporaries;
  mlir::Value inputs, accumulators;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_TCGEN05BLOCKSCALED_MAINLOOP_H
