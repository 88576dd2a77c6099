//===- Constants.cpp - What is known of values ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Constants.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

bool mx::isZeroBits(Value value) {
  Attribute attr;
  if (!matchPattern(value, m_Constant(&attr)))
    return false;
  if (auto number = dyn_cast<FloatAttr>(attr))
    return number.getValue().bitcastToAPInt().isZero();
  auto integer = dyn_cast<IntegerAttr>(attr);
  return integer && integer.getValue().isZero();
}

bool mx::isConstant(memref::GetGlobalOp reference) {
  auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
      reference, reference.getNameAttr());
  return global && global.getConstant() &&
         isa_and_present<ElementsAttr>(global.getInitialValueAttr());
}
