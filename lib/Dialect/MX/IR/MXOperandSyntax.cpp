//===- MXOperandSyntax.cpp - How operands of products are written ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "MXOperandSyntax.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

/// Those that there are: three, or four with the scales of a.
static constexpr size_t kWithoutScales = 3, kWithScales = 4;

ParseResult
mx::parseScaledOperands(OpAsmParser &parser, OpAsmParser::UnresolvedOperand &a,
                        std::optional<OpAsmParser::UnresolvedOperand> &aScales,
                        OpAsmParser::UnresolvedOperand &b,
                        OpAsmParser::UnresolvedOperand &bScales, Type &aType,
                        Type &aScalesType, Type &bType, Type &bScalesType) {
  SmallVector<OpAsmParser::UnresolvedOperand, kWithScales> operands;
  SmallVector<Type, kWithScales> types;
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseOperandList(operands))
    return failure();
  if (operands.size() != kWithoutScales && operands.size() != kWithScales)
    return parser.emitError(start)
           << "expected a, its scales unless it is bf16 or f16, b and its "
              "scales, found "
           << operands.size() << " operands";
  SMLoc typesStart = parser.getCurrentLocation();
  if (parser.parseColonTypeList(types))
    return failure();
  if (types.size() != operands.size())
    return parser.emitError(typesStart) << "expected " << operands.size()
                                        << " types, found " << types.size();
  a = operands.front();
  aType = types.front();
  if (operands.size() == kWithScales) {
    aScales = operands[1];
    aScalesType = types[1];
  }
  b = operands.end()[-2];
  bType = types.end()[-2];
  bScales = operands.back();
  bScalesType = types.back();
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
  operands.append({b, bScales});
  types.append({bType, bScalesType});
  printer << operands << " : " << types;
}
