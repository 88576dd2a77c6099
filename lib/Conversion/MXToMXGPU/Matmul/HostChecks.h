//===- HostChecks.h - Sizes that only the launch knows ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Before a product is launched, the host compares what the verifier could not
// see in dynamic shapes.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_HOSTCHECKS_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_HOSTCHECKS_H

#include "Policies.h"

namespace mx::mxgpu {

void checkSizes(ProductKernel &kernel, const Policies &policies);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_HOSTCHECKS_H
