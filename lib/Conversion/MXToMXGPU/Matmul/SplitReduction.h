//===- SplitReduction.h - Split reductions and their sum --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// With few tiles most multiprocessors would stand idle, so several share one:
// each multiplies a split of the reduction. Partial accumulators go to device
// memory as f32, in whole tiles, so that the matmul has no tails to look after.
// A second kernel adds them, always in the same order, and does what else the
// operation asks for: its result is rounded once and is the same every time.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_SPLITREDUCTION_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_SPLITREDUCTION_H

#include "Kernel/MatmulKernel.h"

namespace mx::mxgpu {

/// Checks a matmul whose schedule splits the reduction, and launches both
/// kernels.
void buildSplit(const ScheduledMatmul &matmul, mlir::gpu::GPUModuleOp module);

/// Builds and launches the kernel that adds `partials`.
void buildSum(const ScheduledMatmul &matmul, mlir::gpu::GPUModuleOp module,
              mlir::Value partials);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_SPLITREDUCTION_H
