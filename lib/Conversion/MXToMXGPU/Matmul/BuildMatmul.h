//===- BuildMatmul.h - Construction of matmul kernels --------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Combines the components of a matmul kernel, which are work tiles, loads of B,
// a strategy's main loop and an epilogue. MatmulKernel.h defines their state.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_BUILDMATMUL_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_BUILDMATMUL_H

#include "Epilogue/EpiloguePolicy.h"
#include "MainLoop/MainLoop.h"
#include "Strategies/Strategy.h"

namespace mx::mxgpu {

struct Policies {
  explicit Policies(MatmulKernel &kernel);

  std::unique_ptr<WorkPolicy> work;
  std::unique_ptr<OperandB> b;
  std::unique_ptr<MainLoop> mainLoop;
  std::unique_ptr<EpiloguePolicy> epilogue;
};

KernelArguments getMatmulArguments(MatmulKernel &kernel,
                                   const Policies &policies);

/// Returns arguments of the kernel that adds `partials` of a split reduction.
KernelArguments getSumArguments(MatmulKernel &kernel, mlir::Value partials,
                                ElementRegion &region);

/// Emits an error at `op` if no kernel supports it.
llvm::LogicalResult verifyMatmulSupport(MatmulOpInterface op,
                                        const target::TargetInfo &target);
/// Emits an error if no kernel supports `op` with `schedule`. Requires a
/// supported `op`.
llvm::LogicalResult verifyScheduleSupport(MatmulOpInterface op,
                                          ScheduleAttr schedule,
                                          const target::TargetInfo &target);

/// Requires the dynamic sizes to match before the launch.
void checkSizes(MatmulKernel &kernel, const Policies &policies);

/// Computes the number of rows of a B matrix.
mlir::Value getRowsOfB(MatmulKernel &kernel);

/// Returns true for tiled scales, false for compact scales and f32 scales.
bool areTiles(mlir::Value scales, BlockShape block);

/// Builds and launches a matmul kernel. Requires checkSizes().
void buildMatmul(MatmulKernel &kernel, const Policies &policies);

/// Checks a matmul with a split reduction and launches both kernels.
void buildSplit(const ScheduledMatmul &matmul, mlir::gpu::GPUModuleOp module);

/// Builds and launches the kernel for adding `partials`.
void buildSum(const ScheduledMatmul &matmul, mlir::gpu::GPUModuleOp module,
              mlir::Value partials);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_BUILDMATMUL_H
