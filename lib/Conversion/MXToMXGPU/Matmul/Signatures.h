//===- Signatures.h - Which arguments kernels of products have --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The one place that says which arguments there are, in which order.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_SIGNATURES_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_SIGNATURES_H

#include "Policies.h"

namespace mx::mxgpu {

/// Of the kernel of a product.
KernelArguments getProductArguments(ProductKernel &kernel,
                                    const Policies &policies);

/// Of the kernel that adds the `parts` of a split reduction.
KernelArguments getSumArguments(ProductKernel &kernel, mlir::Value parts,
                                ElementRegion &region);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_SIGNATURES_H
