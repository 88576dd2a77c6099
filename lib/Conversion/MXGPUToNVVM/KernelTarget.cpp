//===- KernelTarget.cpp - The chip that a kernel is for -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What the module around an operation says of the chip.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx;

const target::TargetInfo *mx::mxgpu::getKernelTarget(Operation *op) {
  auto module = op->getParentOfType<gpu::GPUModuleOp>();
  if (!module || !module.getTargetsAttr())
    return nullptr;
  for (Attribute attr : module.getTargetsAttr())
    if (auto nvvm = dyn_cast<NVVM::NVVMTargetAttr>(attr))
      if (auto *target = target::lookupTarget(nvvm.getChip().str()))
        return target;
  return nullptr;
}
