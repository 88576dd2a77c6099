//===- SplitReduction.h - Split reductions -------------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// If tiles are too few to occupy the chip, several CTAs share a tile and
// compute splits of its reduction. Partial accumulators are stored to device
// memory as f32, in whole tiles without tail handling. A second kernel adds
// them in fixed order and applies the epilogue, so the result is rounded once
// and deterministic.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_SPLITREDUCTION_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_SPLITREDUCTION_H

#include "Kernel/MatmulKernel.h"

namespace mx::mxgpu {

/// Checks a matmul with a split reduction and launches both kernels.
void buildSplit(const ScheduledMatmul &matmul, mlir::gpu::GPUModuleOp module);

/// Builds and launches the kernel that adds `partials`.
void buildSum(const ScheduledMatmul &matmul, mlir::gpu::GPUModuleOp module,
              mlir::Value partials);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_SPLITREDUCTION_H
