//===- MemRefs.cpp - memrefs from pointers and sizes ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Buffers cross the boundary between host and kernel as a pointer and their
// dynamic sizes; on either side upstream's lowering wants a descriptor.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx::mxgpu;

Value mx::mxgpu::buildIdentityMemRef(NVVMBuilder &builder, MemRefType type,
                                     Value pointer, ValueRange dynamicSizes) {
  Location loc = builder.getLoc();
  LLVMTypeConverter converter(type.getContext());
  auto descriptor =
      MemRefDescriptor::poison(builder, loc, converter.convertType(type));
  descriptor.setAllocatedPtr(builder, loc, pointer);
  descriptor.setAlignedPtr(builder, loc, pointer);
  descriptor.setConstantOffset(builder, loc, 0);
  SmallVector<Value> sizes;
  for (int64_t size : type.getShape()) {
    if (!ShapedType::isDynamic(size)) {
      sizes.push_back(builder.i64(size));
      continue;
    }
    sizes.push_back(builder.create<arith::IndexCastOp>(builder.getI64Type(),
                                                       dynamicSizes.front()));
    dynamicSizes = dynamicSizes.drop_front();
  }
  Value stride = builder.i64(1);
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    descriptor.setSize(builder, loc, dim, sizes[dim]);
    descriptor.setStride(builder, loc, dim, stride);
    stride = builder.mul(stride, sizes[dim]);
  }
  return builder
      .create<UnrealizedConversionCastOp>(TypeRange(type),
                                          ValueRange(Value(descriptor)))
      .getResult(0);
}
