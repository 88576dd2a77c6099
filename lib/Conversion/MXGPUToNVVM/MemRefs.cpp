//===- MemRefs.cpp - memrefs from pointers and sizes ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Buffers cross the boundary between host and kernel as a pointer and what
// their type leaves open; on either side upstream's lowering wants a
// descriptor.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx::mxgpu;

int64_t mx::mxgpu::countDynamicNumbers(MemRefType type) {
  int64_t count = type.getNumDynamicDims();
  if (type.getLayout().isIdentity())
    return count;
  auto [strides, offset] = type.getStridesAndOffset();
  return count + llvm::count_if(strides, ShapedType::isDynamic) +
         ShapedType::isDynamic(offset);
}

SmallVector<Value> mx::mxgpu::getDynamicNumbers(NVVMBuilder &builder,
                                                Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<Value> numbers;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (ShapedType::isDynamic(size))
      numbers.push_back(memref::DimOp::create(builder, memref, dim));
  if (type.getLayout().isIdentity())
    return numbers;
  auto view = memref::ExtractStridedMetadataOp::create(builder, memref);
  auto [strides, offset] = type.getStridesAndOffset();
  for (auto [stride, value] : llvm::zip_equal(strides, view.getStrides()))
    if (ShapedType::isDynamic(stride))
      numbers.push_back(value);
  if (ShapedType::isDynamic(offset))
    numbers.push_back(view.getOffset());
  return numbers;
}

Value mx::mxgpu::buildMemRef(NVVMBuilder &builder, MemRefType type,
                             Value pointer, ValueRange numbers) {
  Location loc = builder.getLoc();
  LLVMTypeConverter converter(type.getContext());
  auto descriptor =
      MemRefDescriptor::poison(builder, loc, converter.convertType(type));
  descriptor.setAllocatedPtr(builder, loc, pointer);
  descriptor.setAlignedPtr(builder, loc, pointer);
  auto take = [&](int64_t number) -> Value {
    if (!ShapedType::isDynamic(number))
      return builder.i64(number);
    Value first = numbers.front();
    numbers = numbers.drop_front();
    return arith::IndexCastOp::create(builder, builder.getI64Type(), first);
  };
  SmallVector<Value> sizes = llvm::map_to_vector(type.getShape(), take);
  SmallVector<Value> strides(sizes.size());
  Value start = builder.i64(0);
  if (type.getLayout().isIdentity()) {
    Value stride = builder.i64(1);
    for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
      strides[dim] = stride;
      stride = builder.mul(stride, sizes[dim]);
    }
  } else {
    auto [ofType, offset] = type.getStridesAndOffset();
    strides = llvm::map_to_vector(ofType, take);
    start = take(offset);
  }
  descriptor.setOffset(builder, loc, start);
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    descriptor.setSize(builder, loc, dim, sizes[dim]);
    descriptor.setStride(builder, loc, dim, strides[dim]);
  }
  return UnrealizedConversionCastOp::create(builder, TypeRange(type),
                                            ValueRange(Value(descriptor)))
      .getResult(0);
}
