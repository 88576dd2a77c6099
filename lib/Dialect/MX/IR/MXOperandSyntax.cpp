//===- MXOperandSyntax.cpp - How operands of matmuls are written ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "MXOperandSyntax.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

/// Those that there are: two without scales, three with those of one operand,
/// or four.
static constexpr size_t kNumbers = 2, kWithScales = 4;

/// Of three operands, whether a has the scales: the second is such, or the
/// third is certainly none.
static bool isScalesOfA(ArrayRef<Type> types) {
  auto element = [&](size_t i) { return getElementTypeOrSelf(types[i]); };
  auto isNumber = [&](size_t i) {
    return isa<BFloat16Type, Float16Type>(element(i));
  };
  if (isa<Float8E8M0FNUType>(element(1)))
    return true;
  return isa<Float4E2M1FNType>(element(2)) || (isNumber(2) && !isNumber(0));
}

ParseResult
mx::parseScaledOperands(OpAsmParser &parser, OpAsmParser::UnresolvedOperand &a,
                        std::optional<OpAsmParser::UnresolvedOperand> &aScales,
                        OpAsmParser::UnresolvedOperand &b,
                        std::optional<OpAsmParser::UnresolvedOperand> &bScales,
                        Type &aType, Type &aScalesType, Type &bType,
                        Type &bScalesType) {
  SmallVector<OpAsmParser::UnresolvedOperand, kWithScales> operands;
  SmallVector<Type, kWithScales> types;
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseOperandList(operands))
    return failure();
  if (operands.size() < kNumbers || operands.size() > kWithScales)
    return parser.emitError(start)
           << "expected a, its scales unless it is bf16 or f16, b, and its "
              "scales unless it is bf16, found "
           << operands.size() << " operands";
  SMLoc typesStart = parser.getCurrentLocation();
  if (parser.parseColonTypeList(types))
    return failure();
  if (types.size() != operands.size())
    return parser.emitError(typesStart) << "expected " << operands.size()
                                        << " types, found " << types.size();
  a = operands.front();
  aType = types.front();
  bool hasScalesOfA = operands.size() == kWithScales ||
                      (operands.size() > kNumbers && isScalesOfA(types));
  if (hasScalesOfA) {
    aScales = operands[1];
    aScalesType = types[1];
  }
  size_t numberOfB = hasScalesOfA ? 2 : 1;
  b = operands[numberOfB];
  bType = types[numberOfB];
  if (operands.size() > numberOfB + 1) {
    bScales = operands.back();
    bScalesType = types.back();
  }
  return success();
}

void mx::printScaledOperands(OpAsmPrinter &printer, Operation *, Value a,
                             Value aScales, Value b, Value bScales, Type aType,
                             Type aScalesType, Type bType, Type bScalesType) {
  SmallVector<Value> operands = {a};
  SmallVector<Type> types = {aType};
  if (aScales) {
    operands.push_back(aScales);
    types.push_back(aScalesType);
  }
  operands.push_back(b);
  types.push_back(bType);
  if (bScales) {
    operands.push_back(bScales);
    types.push_back(bScalesType);
  }
  printer << operands << " : " << types;
}
