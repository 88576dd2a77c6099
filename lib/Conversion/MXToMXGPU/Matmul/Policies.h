//===- Policies.h - The parts that build a product's kernel -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The one place that asks what kind of product it is. A new kind of work, of
// main loop or of epilogue is a file of its own and a row here.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_POLICIES_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_POLICIES_H

#include "MainLoop/MainLoop.h"
#include "MainLoop/OperandB.h"

namespace mx::mxgpu {

struct Policies {
  /// Those of the kernel's product.
  explicit Policies(ProductKernel &kernel);

  std::unique_ptr<WorkPolicy> work;
  std::unique_ptr<OperandB> b;
  std::unique_ptr<MainLoop> mainLoop;
  std::unique_ptr<EpiloguePolicy> epilogue;
};

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_POLICIES_H
