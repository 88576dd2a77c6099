//===- MemRefs.cpp - memrefs from pointers and sizes ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Buffers cross the boundary between host and kernel as a pointer and what
// their type leaves open; on either side upstream's lowering wants a
// descriptor.
//
//===----------------------------------------------------------------------===//

#include "../Lowering.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Dialect/MXGPU/IR/KernelParameters.h"

using namespace mlir;
using namespace mx::mxgpu;

SmallVector<Type> mx::mxgpu::getKernelParameterTypes(Type type) {
  MLIRContext *context = type.getContext();
  return llvm::map_to_vector(
      getKernelParameters(type), [&](KernelParameter parameter) -> Type {
        switch (parameter.kind) {
        case KernelParameter::TensorMap:
        case KernelParameter::Pointer:
          return LLVM::LLVMPointerType::get(context);
        case KernelParameter::Number:
          return type.isIndex() ? IntegerType::get(context, 64) : type;
        case KernelParameter::Size:
        case KernelParameter::Stride:
        case KernelParameter::Offset:
          return IntegerType::get(context, 64);
        }
        llvm_unreachable("all kinds are listed");
      });
}

SmallVector<Value> mx::mxgpu::getDynamicNumbers(NVVMBuilder &builder,
                                                Value memref, MemRefType type) {
  memref::ExtractStridedMetadataOp view;
  if (!type.getLayout().isIdentity())
    view = memref::ExtractStridedMetadataOp::create(builder, memref);
  SmallVector<Value> numbers;
  for (KernelParameter parameter : getKernelParameters(type)) {
    if (parameter.kind == KernelParameter::Size)
      numbers.push_back(memref::DimOp::create(builder, memref, parameter.dim));
    if (parameter.kind == KernelParameter::Stride)
      numbers.push_back(view.getStrides()[parameter.dim]);
    if (parameter.kind == KernelParameter::Offset)
      numbers.push_back(view.getOffset());
  }
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
  // Those that the type has, and in their places what was given.
  auto known = [&](int64_t number) -> Value {
    return ShapedType::isDynamic(number) ? Value() : builder.i64(number);
  };
  auto [typeStrides, typeOffset] = type.getStridesAndOffset();
  SmallVector<Value> sizes = llvm::map_to_vector(type.getShape(), known);
  SmallVector<Value> strides = llvm::map_to_vector(typeStrides, known);
  Value start = known(typeOffset);
  SmallVector<KernelParameter> parameters = getKernelParameters(type);
  for (auto [parameter, number] :
       llvm::zip_equal(ArrayRef(parameters).drop_front(), numbers)) {
    Value word =
        arith::IndexCastOp::create(builder, builder.getI64Type(), number);
    switch (parameter.kind) {
    case KernelParameter::Size:
      sizes[parameter.dim] = word;
      break;
    case KernelParameter::Stride:
      strides[parameter.dim] = word;
      break;
    default:
      start = word;
    }
  }
  if (type.getLayout().isIdentity()) {
    Value stride = builder.i64(1);
    for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
      strides[dim] = stride;
      stride = builder.mul(stride, sizes[dim]);
    }
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
