//===- MXBar.h - The mxbar dialect ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_MXBAR_IR_MXBAR_H
#define MX_DIALECT_MXBAR_IR_MXBAR_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"

#include "mx/Dialect/MXBar/IR/MXBarDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "mx/Dialect/MXBar/IR/MXBarTypes.h.inc"

#define GET_OP_CLASSES
#include "mx/Dialect/MXBar/IR/MXBarOps.h.inc"

#endif // MX_DIALECT_MXBAR_IR_MXBAR_H
