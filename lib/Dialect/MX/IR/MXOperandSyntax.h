//===- MXOperandSyntax.h - How operands of matmuls are written --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// `%a, %a_scales, %b, %b_scales : types`, or without the scales of a, or
// without any.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_IR_MXOPERANDSYNTAX_H
#define MX_LIB_DIALECT_MX_IR_MXOPERANDSYNTAX_H

#include "mlir/IR/OpImplementation.h"

namespace mx {

mlir::ParseResult parseScaledOperands(
    mlir::OpAsmParser &parser, mlir::OpAsmParser::UnresolvedOperand &a,
    std::optional<mlir::OpAsmParser::UnresolvedOperand> &aScales,
    mlir::OpAsmParser::UnresolvedOperand &b,
    std::optional<mlir::OpAsmParser::UnresolvedOperand> &bScales,
    mlir::Type &aType, mlir::Type &aScalesType, mlir::Type &bType,
    mlir::Type &bScalesType);

void printScaledOperands(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                         mlir::Value a, mlir::Value aScales, mlir::Value b,
                         mlir::Value bScales, mlir::Type aType,
                         mlir::Type aScalesType, mlir::Type bType,
                         mlir::Type bScalesType);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_IR_MXOPERANDSYNTAX_H
