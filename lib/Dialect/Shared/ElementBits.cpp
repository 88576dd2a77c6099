//===- ElementBits.cpp - Element sizes in arrays --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Dialect/Shared/ElementBits.h"
#include "mlir/IR/BuiltinDialect.h"

using namespace mlir;

IntegerType mx::getStorageType(Type element) {
  if (isa<Float4E2M1FNType, Float6E3M2FNType, Float6E2M3FNType>(element))
    return IntegerType::get(element.getContext(), 8);
  return {};
}

IntegerType mx::getBitsOfForeignFloat(Type element) {
  if (!isa<FloatType>(element) || isa<BuiltinDialect>(element.getDialect()))
    return {};
  return IntegerType::get(element.getContext(), getElementBits(element));
}

MemRefLayoutAttrInterface mx::getHalvedLayout(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || strides.empty() ||
      strides.pop_back_val() != 1)
    return {};
  strides.push_back(offset);
  for (int64_t &number : strides) {
    if (ShapedType::isDynamic(number))
      continue;
    if (number % 2 != 0)
      return {};
    number /= 2;
  }
  offset = strides.back();
  strides.back() = 1;
  return StridedLayoutAttr::get(type.getContext(), offset, strides);
}

MemRefType mx::getStorageType(MemRefType type) {
  IntegerType storage = getStorageType(type.getElementType());
  if (!storage)
    return type;
  if (!isa<Float4E2M1FNType>(type.getElementType()))
    return MemRefType::Builder(type).setElementType(storage);
  if (type.getRank() == 0)
    return {};
  MemRefLayoutAttrInterface layout = type.getLayout();
  if (!layout.isIdentity())
    layout = getHalvedLayout(type);
  if (!layout)
    return {};
  SmallVector<int64_t> shape(type.getShape());
  if (!ShapedType::isDynamic(shape.back())) {
    if (shape.back() % 2 != 0)
      return {};
    shape.back() /= 2;
  }
  return MemRefType::Builder(type)
      .setElementType(storage)
      .setShape(shape)
      .setLayout(layout);
}
