//===- Views.cpp - What a plan knows of a memref --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "Views.h"
#include "../Utils/MapNumbers.h"
#include "mx/Dialect/MXGPU/IR/KernelParameters.h"
#include "mx/Dialect/Shared/ElementBits.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

Value PlanBuilder::multiply(ValueRange factors) {
  Value product = index(1);
  for (Value factor : factors)
    product = mul(product, factor);
  return product;
}

SmallVector<Value> PlanBuilder::getValues(ArrayRef<int64_t> known,
                                          ValueRange values) {
  SmallVector<Value> result;
  for (int64_t number : known) {
    if (!ShapedType::isDynamic(number)) {
      result.push_back(index(number));
      continue;
    }
    result.push_back(values.front());
    values = values.drop_front();
  }
  return result;
}

void PlanBuilder::requireEqual(Value a, Value b, const Twine &what) {
  Value same = arith::CmpIOp::create(*this, arith::CmpIPredicate::eq, a, b);
  RequireOp::create(*this, same, what.str(), ValueRange{b, a});
}

View mx::mxgpu::getView(PlanBuilder &builder, MemRefType type,
                        ValueRange parts) {
  auto known = [&](int64_t number) -> Value {
    return ShapedType::isDynamic(number) ? Value() : builder.index(number);
  };
  View view;
  auto [strides, offset] = type.getStridesAndOffset();
  view.sizes = llvm::map_to_vector(type.getShape(), known);
  view.offset = known(offset);
  if (!type.getLayout().isIdentity())
    view.strides = llvm::map_to_vector(strides, known);
  SmallVector<KernelParameter> parameters = getKernelParameters(type);
  for (auto [parameter, value] : llvm::zip_equal(parameters, parts))
    switch (parameter.kind) {
    case KernelParameter::Size:
      view.sizes[parameter.dim] = value;
      break;
    case KernelParameter::Stride:
      view.strides[parameter.dim] = value;
      break;
    case KernelParameter::Offset:
      view.offset = value;
      break;
    default:
      view.buffer = value;
    }
  if (type.getLayout().isIdentity())
    view.strides = getIdentityStrides(builder, builder.getLoc(), view.sizes);
  return view;
}

SmallVector<Value> mx::mxgpu::getParts(MemRefType type, const View &view) {
  return llvm::map_to_vector(getKernelParameters(type),
                             [&](KernelParameter parameter) {
                               switch (parameter.kind) {
                               case KernelParameter::Size:
                                 return view.sizes[parameter.dim];
                               case KernelParameter::Stride:
                                 return view.strides[parameter.dim];
                               case KernelParameter::Offset:
                                 return view.offset;
                               default:
                                 return view.buffer;
                               }
                             });
}

Value mx::mxgpu::getBytes(PlanBuilder &builder, MemRefType type,
                          const View &view) {
  return builder.mul(builder.multiply(view.sizes),
                     builder.index(getElementBits(type) / 8));
}

SmallVector<Value> mx::mxgpu::getSingles(ArrayRef<ValueRange> operands) {
  return llvm::map_to_vector(operands, [](ValueRange values) -> Value {
    return llvm::getSingleElement(values);
  });
}
