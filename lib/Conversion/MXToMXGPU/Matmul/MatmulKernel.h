//===- MatmulKernel.h - The kernel of a product -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Puts the parts together: ProductKernel.h says what they share, Policies.h
// which they are.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MATMULKERNEL_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MATMULKERNEL_H

#include "Policies.h"

namespace mx::mxgpu {

/// Says at `op` what kernels support where it asks for more.
llvm::LogicalResult verifyMatmulSupport(MatmulOpInterface op,
                                        const target::TargetInfo &target);
/// The same for a schedule of `op`, which itself is supported.
llvm::LogicalResult verifyScheduleSupport(MatmulOpInterface op,
                                          ScheduleAttr schedule,
                                          const target::TargetInfo &target);

/// Builds and launches a product whose sizes are checked.
void buildProduct(ProductKernel &kernel, const Policies &policies);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_MATMULKERNEL_H
