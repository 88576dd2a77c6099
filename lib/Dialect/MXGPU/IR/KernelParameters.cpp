//===- KernelParameters.cpp - How a kernel is given its arguments ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "mx/Dialect/MXGPU/IR/KernelParameters.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

using namespace mlir;
using namespace mx::mxgpu;

SmallVector<KernelParameter> mx::mxgpu::getKernelParameters(Type type) {
  if (isa<TensorMapType>(type))
    return {{KernelParameter::TensorMap}};
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return {{KernelParameter::Number}};
  SmallVector<KernelParameter> parameters = {{KernelParameter::Pointer}};
  auto addOpen = [&](KernelParameter::Kind kind, ArrayRef<int64_t> numbers) {
    for (auto [dim, number] : llvm::enumerate(numbers))
      if (ShapedType::isDynamic(number))
        parameters.push_back({kind, unsigned(dim)});
  };
  addOpen(KernelParameter::Size, memref.getShape());
  if (memref.getLayout().isIdentity())
    return parameters;
  auto [strides, offset] = memref.getStridesAndOffset();
  addOpen(KernelParameter::Stride, strides);
  addOpen(KernelParameter::Offset, offset);
  return parameters;
}
