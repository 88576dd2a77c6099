//===- WindowedProduct.h - Products in f16 where scales allow it -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Elements of f8E4M3FN times their scales are exact in f16, and normal numbers,
// if scales span 12 powers of two, and conversions to f16 take half the
// instructions of those to bf16. So one kernel finds where the scales of each
// tile lie (mxgpu.load_window), a second one computes the units whose tiles
// fit, in f16 relative to their largest scales, and a third one the others, in
// bf16. The host decides nothing.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WINDOWEDPRODUCT_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WINDOWEDPRODUCT_H

#include "Kernel/ProductKernel.h"
#include "WindowTiles.h"

namespace mx::mxgpu {

/// Launches a kernel that finds where the scales of an operand's tiles lie, and
/// returns the table: device memory for the caller to free.
mlir::Value findWindows(KernelBuilder &host, mlir::gpu::GPUModuleOp module,
                        WindowedOperand operand);

/// Builds all kernels of a product with `f16_window`, and their launches.
void buildWindowed(const Product &product, mlir::gpu::GPUModuleOp module);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_WINDOWEDPRODUCT_H
