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

bool mx::mxgpu::isContiguous(MemRefType type) {
  if (type.getLayout().isIdentity())
    return true;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  int64_t inner = 1;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    int64_t size = type.getDimSize(dim);
    if (size == 1)
      continue;
    if (ShapedType::isDynamic(inner) || strides[dim] != inner)
      return false;
    inner = ShapedType::isDynamic(size) ? size : inner * size;
  }
  return true;
}

Type mx::mxgpu::getParameterType(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !isContiguous(memref))
    return type;
  return MemRefType::get(memref.getShape(), memref.getElementType(),
                         MemRefLayoutAttrInterface(), memref.getMemorySpace());
}

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
