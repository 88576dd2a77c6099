//===- BuildMatmul.h - Construction of matmul kernels -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Puts the components together: work tiles, the loads of B, the main loop of a
// strategy and an epilogue. MatmulKernel.h has what they share.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_BUILDMATMUL_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_BUILDMATMUL_H

#include "Epilogue/EpiloguePolicy.h"
#include "MainLoop/MainLoop.h"
#include "Strategies/Strategy.h"

namespace mx::mxgpu {

struct Policies {
  /// Those of the kernel's matmul.
  explicit Policies(MatmulKernel &kernel);

  std::unique_ptr<WorkPolicy> work;
  std::unique_ptr<OperandB> b;
  std::unique_ptr<MainLoop> mainLoop;
  std::unique_ptr<EpiloguePolicy> epilogue;
};

/// Of the kernel of a matmul.
KernelArguments getMatmulArguments(MatmulKernel &kernel,
                                   const Policies &policies);

/// Of the kernel that adds the `partials` of a split reduction.
KernelArguments getSumArguments(MatmulKernel &kernel, mlir::Value partials,
                                ElementRegion &region);

/// Says at `op` what kernels support where it asks for more.
llvm::LogicalResult verifyMatmulSupport(MatmulOpInterface op,
                                        const target::TargetInfo &target);
/// The same for a schedule of `op`, which itself is supported.
llvm::LogicalResult verifyScheduleSupport(MatmulOpInterface op,
                                          ScheduleAttr schedule,
                                          const target::TargetInfo &target);

/// Compares, before a matmul is launched, the sizes that types do not tell.
void checkSizes(MatmulKernel &kernel, const Policies &policies);

/// Computes the rows of a matrix of B.
mlir::Value getRowsOfB(MatmulKernel &kernel);

/// Returns true for scales in tiles, false for compact ones, which have none.
bool areTiles(MatmulOpInterface op, mlir::Value scales);

/// Builds and launches a matmul whose sizes are checked.
void buildMatmul(MatmulKernel &kernel, const Policies &policies);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_BUILDMATMUL_H
