//===- SplitReduction.h - Split reductions -------------------- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If there are too few tiles to occupy the chip, several CTAs share a tile and
// compute splits of its reduction. Partial accumulators are stored to device
// memory as f32, in whole tiles without tail handling. A second kernel adds the
// partial accumulators in fixed order and applies the epilogue, so the result
// is deterministic and rounded only once.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_SPLITREDUCTION_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_SPLITREDUCTION_H

#include "Kernel/MatmulKernel.h"

namespace mx::mxgpu {

/// Checks a matmul with a split reduction and launches both kernels.
void buildSplit(const ScheduledMatmul &matmul, mlir::gpu::GPUModuleOp module);

/// Builds and launches the kernel for adding `partials`.
void buildSum(const ScheduledMatmul &matmul, mlir::gpu::GPUModuleOp module,
              mlir::Value partials);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_SPLITREDUCTION_H
